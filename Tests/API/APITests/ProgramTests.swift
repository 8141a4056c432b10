import Foundation
import TestSupport
import Testing

/// Programs in C and C++ use the installed library in the ways that real ones do, on a server of
/// their own. `semantics.md` says which program covers which line of the behaviour.
@Suite struct ProgramTests {
  #if RubberBand
    @Test func rateAndPitchPass() throws { try Self.check(.timePitch) }
  #endif

  @Test(arguments: ProgramCase.all) func aProgramPasses(program: ProgramCase) throws {
    try Self.check(program)
  }

  /// Options of the sanitizer: leaks are reported, but for those of libraries that are listed in `leaks.supp`.
  static let sanitizer = [
    "ASAN_OPTIONS":
      "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
    "LSAN_OPTIONS": "print_suppressions=0:suppressions="
      + repository.appendingPathComponent("Tests/API/APITests/Programs/leaks.supp").path,
  ]

  static func check(_ program: ProgramCase, isSanitized: Bool = false) throws {
    // No playback ports: the program's own card is the only one, and hears all from the first frame.
    // Long cycles: if one comes late on a busy machine, JACK repeats what the last one left.
    let server = try JackDaemon(
      period: 1024, playbackPorts: 0, synchronous: program.waitsForClients)
    let binary = try ProgramBuilds.shared.get().build(program.program, isSanitized: isSanitized)
    let result = try run(
      binary.path, [program.argument].compactMap { $0 },
      environment: [
        "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
        "CUEJACK_LOG": "info",
      ].merging(sanitizer) { $1 })
    #expect(
      result.status == 0 && result.output == program.output, "\(result.output)\(result.errors)")
    #expect(!result.errors.contains("Sanitizer"), "\(result.errors)")
  }
}

/// The same programs under AddressSanitizer. A suite of its own, so that it runs beside the other.
@Suite struct SanitizedProgramTests {
  #if RubberBand
    @Test func rateAndPitchPass() throws {
      try ProgramTests.check(.timePitch, isSanitized: true)
    }
  #endif

  /// The sanitizer creates threads itself, which `threads.c` does, too.
  @Test(arguments: ProgramCase.all.filter { $0.program != "threads.c" })
  func aProgramPasses(program: ProgramCase) throws {
    try ProgramTests.check(program, isSanitized: true)
  }

  /// The leak check works where these programs run, so that its silence tells something.
  @Test func aLeakOfAProgramIsFound() throws {
    let binary = try ProgramBuilds.shared.get().build("leak.c", isSanitized: true)
    let result = try run(binary.path, environment: ProgramTests.sanitizer)
    #expect(result.status != 0 && result.errors.contains("LeakSanitizer"), "\(result)")
  }
}
