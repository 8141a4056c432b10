import Foundation
import TestSupport
import Testing

/// Programs in C and C++ use the installed library in the ways that real ones do, on a server of
/// their own. `semantics.md` says which program covers which line of the behaviour.
///
/// `make test` runs them under AddressSanitizer. Without it run those whose subject it changes, since it
/// creates threads and stands in for functions of the C library, and the slowest one; in `make proof`, all of them.
@Suite(.tags(.server, .program)) struct ProgramTests {
  private static let programs = ProgramCase.all.filter {
    proof != nil || ["threads.c", "forks.c", "exits.c", "private.c", slowest].contains($0.program)
  }

  /// The program that takes a quarter of the time of all of them under AddressSanitizer, which `make proof` grants.
  static let slowest = "numbers.c"

  @Test(arguments: programs) func aProgramPasses(program: ProgramCase) throws {
    try Self.check(program)
  }

  /// Options of the sanitizer: leaks are reported, but for those of libraries that are listed in `leaks.supp`.
  static let sanitizer = [
    "ASAN_OPTIONS":
      "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
    "LSAN_OPTIONS": "print_suppressions=0:suppressions="
      + repository.appendingPathComponent("Tests/API/APITests/Programs/leaks.supp").path,
  ]

  static func check(
    _ program: ProgramCase, isSanitized: Bool = false, rate: Int = 48000, period: Int = 1024
  ) throws {
    // No playback ports: the program's own card is the only one, and hears all from the first frame.
    // Long cycles: if one comes late on a busy machine, JACK repeats what the last one left.
    let server = try JackDaemon(
      rate: rate, period: period, playbackPorts: 0, synchronous: program.waitsForClients)
    let binary = try ProgramBuilds.shared.get().build(program.program, isSanitized: isSanitized)
    let result = try run(
      binary.path, [program.argument].compactMap { $0 },
      environment: [
        "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
        "CUEJACK_LOG": "info",
      ].merging(sanitizer) { $1 }, timeout: 600)
    expectTrue(
      result.status == 0 && result.output == program.output, "\(result.output)\(result.errors)")
    expectTrue(!result.errors.contains("Sanitizer"), "\(result.errors)")
  }
}

/// The programs under AddressSanitizer, in two suites that run side by side.
@Suite(.tags(.server, .program)) struct SanitizedProgramTests {
  fileprivate static let programs = ProgramCase.all.filter {
    !["threads.c", "strict.c"].contains($0.program)
      && (proof != nil || $0.program != ProgramTests.slowest)
  }

  @Test(arguments: programs.enumerated().filter { $0.offset % 2 == 0 }.map(\.element))
  func aProgramPasses(program: ProgramCase) throws {
    try ProgramTests.check(program, isSanitized: true)
  }

  /// The leak check works where these programs run, so that its silence tells something.
  @Test func aLeakOfAProgramIsFound() throws {
    let binary = try ProgramBuilds.shared.get().build("leak.c", isSanitized: true)
    let result = try run(binary.path, environment: ProgramTests.sanitizer)
    expectTrue(result.status != 0 && result.errors.contains("LeakSanitizer"), "\(result)")
  }
}

@Suite(.tags(.server, .program)) struct OtherSanitizedProgramTests {
  #if RubberBand
    @Test func rateAndPitchPass() throws {
      try ProgramTests.check(.timePitch, isSanitized: true)
    }
  #endif

  /// `strict.c` knows no rate and no period.
  @Test(arguments: [(48000, 256), (44100, 1024)] + (proof == nil ? [] : [(48000, 1024)]))
  func otherRatesAndPeriodsPass(rate: Int, period: Int) throws {
    let program = try require(ProgramCase.all.first { $0.program == "strict.c" })
    try ProgramTests.check(program, isSanitized: true, rate: rate, period: period)
  }

  @Test(
    arguments: SanitizedProgramTests.programs.enumerated().filter { $0.offset % 2 == 1 }.map(
      \.element))
  func aProgramPasses(program: ProgramCase) throws {
    try ProgramTests.check(program, isSanitized: true)
  }
}
