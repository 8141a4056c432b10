import Foundation
import TestSupport
import Testing

/// Short runs of `make fuzz` in the current build. The preloaded AddressSanitizer library checks
/// allocations and calls of C functions.
@Suite(.tags(.program)) struct FuzzTests {
  private func fuzz(_ arguments: [String], environment: [String: String] = [:]) throws
    -> CommandResult
  {
    try withTemporaryFolder { folder in
      try run(
        builtProduct(named: "cuejack-fuzz").path,
        arguments
          + ["--keep", folder.appendingPathComponent("findings").path]
          + ["--preload", Self.library.get()], environment: environment)
    }
  }

  /// Path of the AddressSanitizer library in clang's resource folder.
  private static let library = Result {
    let information = try run("swiftc", ["-print-target-info"]).output
    let line = try require(
      information.split(separator: "\n").first { $0.contains("runtimeResourcePath") })
    let resources = String(line.split(separator: "\"")[3])
    let result = try run(
      "\(resources)/../../bin/clang", ["-print-file-name=libclang_rt.asan-x86_64.so"])
    return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test func damagedFilesGiveErrorsAndNothingWorse() throws {
    let result = try fuzz(["--cases", "100000", "--seconds", "3", "--seed", "4"])
    expectEqual(result.status, 0, "\(result.output)\(result.errors)")
    expectTrue(result.output.contains(" 0 findings"), "\(result.output)\(result.errors)")
  }

  /// Bundles of plugins, memory shared with a plugin's process, MIDI messages, graph reports, sessions, and OSC packets.
  @Test(arguments: ["bundles", "memory", "messages", "reports", "sessions", "packets"])
  func whatOthersWriteIsHeldToBeHostile(subject: String) throws {
    let result = try fuzz([subject, "--cases", "100000", "--seconds", "1", "--seed", "4"])
    expectEqual(result.status, 0, "\(result.output)\(result.errors)")
    expectTrue(result.output.contains(" 0 findings"), "\(result.output)\(result.errors)")
  }

  @Test func damagedMIDIFilesGiveErrorsAndNothingWorse() throws {
    let result = try fuzz(["midi", "--cases", "5000", "--seconds", "3", "--seed", "4"])
    expectEqual(result.status, 0, "\(result.output)\(result.errors)")
    expectTrue(result.output.contains(" 0 findings"), "\(result.output)\(result.errors)")
  }

  @Test func damagedSoundFontsGiveErrorsAndNothingWorse() throws {
    let result = try fuzz(
      ["soundfonts", "--cases", "2000", "--seconds", "5", "--seed", "4"],
      environment: pluginEnvironment())
    expectEqual(result.status, 0, "\(result.output)\(result.errors)")
    expectTrue(result.output.contains(" 0 findings"), "\(result.output)\(result.errors)")
  }

  @Test func whatIsWrongIsFound() throws {
    let result = try fuzz([
      "--cases", "11", "--jobs", "1", "--only", "s16", "--deadline", "5", "--plant-faults",
    ])
    expectEqual(result.status, 1, "\(result.output)\(result.errors)")
    let lines = result.output.split(separator: "\n")
    for number in [3, 5, 7, 9] {
      expectTrue(
        lines.contains { $0.hasPrefix("case \(number) of seed 1, ") }, "\(result.output)")
    }
    for words in ["heap-buffer-overflow", "on purpose", "took more than 5 s"] {
      expectTrue(result.output.contains(words), "\(result.output)")
    }
    // The remaining cases still run.
    expectTrue(
      lines.last?.hasPrefix("11 cases in ") == true && result.output.contains(", 4 findings"))
  }
}
