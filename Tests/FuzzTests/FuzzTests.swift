import Foundation
import TestSupport
import Testing

/// A short run of what `make fuzz` does at length, in the build at hand: AddressSanitizer's library, loaded
/// before all others, watches the memory that it takes and what C's functions do with it.
@Suite struct FuzzTests {
  private func fuzz(_ arguments: [String]) throws -> CommandResult {
    try withTemporaryFolder { folder in
      try run(
        builtProduct(named: "cuejack-fuzz").path,
        arguments + ["--keep", folder.appendingPathComponent("findings").path],
        environment: [
          "LD_PRELOAD": try Self.library.get(), "ASAN_OPTIONS": "detect_leaks=0",
          "TMPDIR": folder.path,
        ])
    }
  }

  /// The sanitizer's library of the toolchain's clang.
  private static let library = Result {
    let information = try run("swiftc", ["-print-target-info"]).output
    let line = try #require(information.split(separator: "\n").first { $0.contains("runtimeResourcePath") })
    let resources = String(line.split(separator: "\"")[3])
    let result = try run(
      "\(resources)/../../bin/clang", ["-print-file-name=libclang_rt.asan-x86_64.so"])
    return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test func damagedFilesGiveErrorsAndNothingWorse() throws {
    let result = try fuzz(["--cases", "100000", "--seconds", "20", "--seed", "4"])
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains(" 0 findings"), "\(result.output)\(result.errors)")
  }

  @Test(arguments: [
    ("overrun", "heap-buffer-overflow"), ("trap", "got signal"), ("hang", "took more than 2 s"),
    ("flood", "got "),
  ])
  func whatIsWrongIsFound(fault: String, words: String) throws {
    let result = try fuzz([
      "--cases", "6", "--jobs", "1", "--only", "s16.wav", "--deadline", "2", "--plant", fault,
    ])
    #expect(result.status == 1, "\(result.output)\(result.errors)")
    #expect(result.output.contains("case 3 of seed 1, s16.wav: "), "\(result.output)")
    #expect(result.output.contains(words), "\(result.output)")
    // The cases after it are run all the same.
    #expect(result.output.contains("6 cases in "), "\(result.output)")
  }
}
