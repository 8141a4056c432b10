import FileSupport
import Foundation
import Testing

private let package = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().path
private let include = "\(package)/Sources/CAudioToolbox/include"
private let programs = "\(package)/Tests/API/HeadersTests/Programs"

private let dialects = [
  ("c", "c99"), ("c", "c11"), ("c", "gnu17"), ("c++", "c++11"), ("c++", "c++17"), ("c++", "c++20"),
]

/// Runs clang with the flags of the installed pkg-config file and all warnings.
private func clang(_ arguments: [String]) throws -> Outcome {
  let root = try toolchain()
  return try run(
    "\(root)/bin/clang",
    [
      "-I\(include)", "-isystem", "\(root)/lib/swift", "-D_GNU_SOURCE", "-fblocks",
      "-fcf-runtime-abi=swift", "-Wall", "-Wextra", "-Werror", "-pedantic",
    ] + arguments)
}

/// Returns the flags to link with the built package.
private func linking() throws -> [String] {
  let folders = [try buildFolder(), "\(try toolchain())/lib/swift/linux"]
  return folders.flatMap { ["-L\($0)", "-Wl,-rpath,\($0)"] } + ["-lAudioToolbox", "-lFoundation"]
}

@Suite struct HeadersTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: dialects, [[], ["-D__APPLE__"]])
  func everyHeaderCompilesAlone(dialect: (String, String), defines: [String]) throws {
    let headers = try #require(FileManager.default.enumerator(atPath: include))
      .compactMap { $0 as? String }.filter { $0.hasSuffix(".h") }
    #expect(headers.count >= 14)
    let sources = try headers.enumerated().map { index, header in
      // Include it twice, and add something to compile.
      try folder.write(
        Data("#include <\(header)>\n#include <\(header)>\nint one;\n".utf8), to: "\(index).c")
    }
    let outcome = try clang(
      defines + ["-fsyntax-only", "-std=\(dialect.1)", "-x", dialect.0] + sources)
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  /// glibc defines a macro with this name.
  @Test func noHeaderSaysDoubleUnderscoreNonnull() throws {
    let outcome = try run("grep", ["-rlE", "__(nonnull|nullable)", include])
    #expect(outcome.status == 1 && outcome.text == "")
  }

  @Test(arguments: [("c", "c11"), ("c++", "c++17")])
  func valuesAndLayoutsAreThoseOfTheOriginal(dialect: (String, String)) throws {
    let outcome = try clang(
      ["-fsyntax-only", "-std=\(dialect.1)", "-x", dialect.0, "\(programs)/values.c"])
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test func aWrongValueWouldBeSeen() throws {
    let wrong =
      "#include <AudioToolbox/AudioQueue.h>\n_Static_assert(sizeof(AudioQueueBuffer) == 48, \"\");\n"
    let path = try folder.write(Data(wrong.utf8), to: "wrong.c")
    #expect(try clang(["-fsyntax-only", "-std=c11", path]).status != 0)
  }

  @Test func aCProgramReadsAFile() throws {
    let program = folder.file("reader")
    let built = try clang(
      ["-std=c99", "\(programs)/reader.c", "-o", program] + (try linking()))
    try #require(built.status == 0, "\(built.errors)")
    let recipe = Recipe(.sox, "a.aiff", .s16, bigEndian: true)
    let path = try recipe.make(in: folder)
    let outcome = try run(program, [path])
    let sum = recipe.bytes.reduce(0) { $0 + UInt64($1) }
    #expect(outcome.text == "1000 packets 4000 bytes sum \(sum)\n")
    #expect(outcome.status == 0)
    let missing = try run(program, [folder.file("missing")])
    #expect(missing.text == "open -43\n")
    #expect(missing.errors.contains("there is no such file"))
  }

  @Test func aCPlusPlusProgramRuns() throws {
    let program = folder.file("plus")
    let built = try clang(
      ["--driver-mode=g++", "-std=c++11", "\(programs)/plus.cpp", "-o", program]
        + (try linking()))
    try #require(built.status == 0, "\(built.errors)")
    #expect(try run(program, []).status == 0)
  }
}
