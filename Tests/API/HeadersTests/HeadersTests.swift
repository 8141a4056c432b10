import FileSupport
import Foundation
import Testing

let package = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().path
let include = "\(package)/Sources/CAudioToolbox/include"
private let programs = "\(package)/Tests/API/HeadersTests/Programs"

/// Languages and standards in which programs include the headers. Objective-C files of such programs
/// contain only C: there is no runtime.
private let dialects = [
  ("c", "c99"), ("c", "c11"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++14"),
  ("c++", "c++17"), ("c++", "c++20"), ("c++", "c++23"), ("objective-c", "gnu11"),
  ("objective-c++", "c++17"),
]

/// Warnings of -Weverything about older standards, about what C shares with C++, about names that Apple
/// chose, or about any use of a pointer.
private let noise = [
  "reserved-identifier", "reserved-macro-identifier", "c++98-compat", "c++98-compat-pedantic",
  "c99-compat", "pre-c11-compat", "pre-c23-compat", "old-style-cast", "four-char-constants",
  "zero-as-null-pointer-constant", "declaration-after-statement", "missing-variable-declarations",
  "padded", "unused-macros", "unsafe-buffer-usage",
].map { "-Wno-\($0)" }

/// The headers, as programs include them.
private let headers: [String] =
  (FileManager.default.enumerator(atPath: include)?
  .compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".h") }.sorted()

/// Runs clang with the flags of the installed pkg-config file and all warnings.
func clang(_ arguments: [String]) throws -> Outcome {
  let root = try toolchain()
  return try run(
    "\(root)/bin/clang",
    [
      "-I\(include)", "-isystem", "\(root)/lib/swift", "-D_GNU_SOURCE", "-fblocks",
      "-fcf-runtime-abi=swift", "-Wall", "-Wextra", "-Werror", "-pedantic",
    ] + arguments)
}

/// Returns the flags to link with the built package.
func linking() throws -> [String] {
  let folders = [try buildFolder(), "\(try toolchain())/lib/swift/linux"]
  return folders.flatMap { ["-L\($0)", "-Wl,-rpath,\($0)"] } + ["-lAudioToolbox", "-lFoundation"]
}

@Suite(.tags(.program)) struct HeadersTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Each header, with nothing before it, in C, which brings fewer types by itself than C++ does. Two compilers at a
  /// time, each with half of the headers.
  @Test func everyHeaderCompilesAlone() throws {
    expectTrue(headers.count >= 29)
    let sources = try headers.enumerated().map { index, header in
      // Include it twice, and add something to compile.
      try folder.write(
        Data("#include <\(header)>\n#include <\(header)>\nint one;\n".utf8), to: "\(index).c")
    }
    let options = ["-fsyntax-only", "-std=c11", "-x", "c"]
    DispatchQueue.concurrentPerform(iterations: 2) { half in
      do {
        let own = sources.indices.filter { $0 % 2 == half }.map { sources[$0] }
        let outcome = try clang(options + own)
        expectEqual(outcome.status, 0, "\(outcome.errors)")
      } catch {
        Issue.record(error)
      }
    }
  }

  /// All headers in one file.
  @Test(arguments: dialects) func theHeadersCompile(dialect: (String, String)) throws {
    let all = headers.map { "#include <\($0)>\n" }.joined()
    let path = try folder.write(Data("\(all)int one;\n".utf8), to: "all.c")
    let outcome = try clang(["-fsyntax-only", "-std=\(dialect.1)", "-x", dialect.0, path])
    expectEqual(outcome.status, 0, "\(outcome.errors)")
  }

  @Test(arguments: [("c", "c17"), ("c++", "c++20")])
  func theHeadersAreCleanUnderWeverything(dialect: (String, String)) throws {
    let all = headers.map { "#include <\($0)>\n" }.joined()
    let path = try folder.write(Data("\(all)int one;\n".utf8), to: "all.c")
    let outcome = try clang(
      ["-Weverything"] + noise + ["-fsyntax-only", "-std=\(dialect.1)", "-x", dialect.0, path])
    expectEqual(outcome.status, 0, "\(outcome.errors)")
  }

  /// Some programs define __APPLE__ to select their code for Core Audio. It changes no declaration and
  /// no macro.
  @Test(arguments: ["c", "c++"]) func theMacroAPPLEChangesNothing(language: String) throws {
    let all = headers.map { "#include <\($0)>\n" }.joined()
    let path = try folder.write(Data(all.utf8), to: "apple.c")
    for output in ["-P", "-dM"] {
      let texts = try [[], ["-D__APPLE__"]].map { defines in
        let outcome = try clang(defines + ["-E", output, "-x", language, path])
        return outcome.text.split(separator: "\n").filter { $0 != "#define __APPLE__ 1" }
      }
      expectEqual(texts[0], texts[1], "\(output)")
      expectTrue(texts[0].count > 1000, "\(output)")
    }
  }

  /// Compilers that cannot read Core Foundation's headers, and missing flags.
  @Test(arguments: [
    ["gcc"], ["g++"], ["clang"], ["clang", "-fblocks", "-std=c11"],
    ["clang", "-fblocks", "-D_GNU_SOURCE"],
  ])
  func aCompilerThatCannotReadThemIsToldWhichOneCan(command: [String]) throws {
    let root = try toolchain()
    let compiler = command[0] == "clang" ? "\(root)/bin/clang" : "/usr/bin/\(command[0])"
    try require(FileManager.default.fileExists(atPath: compiler))
    let path = try folder.write(
      Data("#include <AudioToolbox/AudioToolbox.h>\nint one;\n".utf8),
      to: command[0] == "g++" ? "told.cpp" : "told.c")
    let outcome = try run(
      compiler,
      command.dropFirst() + [
        "-I\(include)", "-isystem", "\(root)/lib/swift", "-fsyntax-only", path,
      ])
    let errors = outcome.errors.split(separator: "\n").filter { $0.contains("error: ") }
    expectTrue(outcome.status != 0)
    expectEqual(errors.first?.contains("pkg-config --cflags AudioToolbox"), true, "\(errors)")
    // The compiler stops there.
    expectTrue(errors.count <= 2, "\(errors)")
  }

  /// Debian's compilers, if they are installed.
  @Test func otherClangsReadTheHeaders() throws {
    let all = headers.map { "#include <\($0)>\n" }.joined()
    let path = try folder.write(Data("\(all)int one;\n".utf8), to: "all.c")
    let root = try toolchain()
    let names = try FileManager.default.contentsOfDirectory(atPath: "/usr/bin")
    for name in names where name.wholeMatch(of: #/clang-\d+/#) != nil {
      for (language, standard) in [("c", "c11"), ("c++", "c++14"), ("c++", "c++20")] {
        let outcome = try run(
          "/usr/bin/\(name)",
          [
            "-I\(include)", "-isystem", "\(root)/lib/swift", "-D_GNU_SOURCE", "-fblocks",
            "-fcf-runtime-abi=swift", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only",
            "-std=\(standard)", "-x", language, path,
          ])
        expectEqual(outcome.status, 0, "\(name) \(standard) \(outcome.errors)")
      }
    }
  }

  /// glibc defines a macro with this name.
  @Test func noHeaderSaysDoubleUnderscoreNonnull() throws {
    let outcome = try run("grep", ["-rlE", "__(nonnull|nullable)", include])
    expectTrue(outcome.status == 1 && outcome.text == "", "\(outcome)")
  }

  @Test(arguments: [("c", "c11"), ("c++", "c++17")])
  func valuesAndLayoutsAreThoseOfTheOriginal(dialect: (String, String)) throws {
    let outcome = try clang(
      ["-fsyntax-only", "-std=\(dialect.1)", "-x", dialect.0, "\(programs)/values.c"])
    expectEqual(outcome.status, 0, "\(outcome.errors)")
  }

  @Test func aWrongValueWouldBeSeen() throws {
    let wrong =
      "#include <AudioToolbox/AudioQueue.h>\n_Static_assert(sizeof(AudioQueueBuffer) == 48, \"\");\n"
    let path = try folder.write(Data(wrong.utf8), to: "wrong.c")
    expectTrue(try clang(["-fsyntax-only", "-std=c11", path]).status != 0)
  }

  @Test func aCProgramReadsAFile() throws {
    let program = folder.file("reader")
    let built = try clang(
      ["-std=c99", "\(programs)/reader.c", "-o", program] + (try linking()))
    try require(built.status == 0, "\(built.errors)")
    let recipe = Recipe(.sox, "a.aiff", .s16, bigEndian: true)
    let path = try recipe.make(in: folder)
    let outcome = try run(program, [path])
    let sum = recipe.bytes.reduce(0) { $0 + UInt64($1) }
    expectEqual(outcome.text, "1000 packets 4000 bytes sum \(sum)\n")
    expectEqual(outcome.status, 0)
    let missing = try run(
      program, [folder.file("missing")], environment: ["CUEJACK_LOG": "warning"])
    expectEqual(missing.text, "open -43\n")
    expectTrue(missing.errors.contains("there is no such file"))
  }

  @Test func aCPlusPlusProgramRuns() throws {
    let program = folder.file("plus")
    let built = try clang(
      ["--driver-mode=g++", "-std=c++11", "\(programs)/plus.cpp", "-o", program]
        + (try linking()))
    try require(built.status == 0, "\(built.errors)")
    try expectEqual(run(program, []).status, 0)
  }

  /// Strings, result codes, byte order, atomic operations and versions, with what `compatible.c` says.
  @Test(arguments: [
    ("c", "c11", []), ("c", "gnu17", ["-D__APPLE__"]), ("c++", "c++17", []),
    ("objective-c", "gnu11", []),
    (
      "c", "c17",
      ["-DMAC_OS_X_VERSION_MIN_REQUIRED=1060", "-DWANTED_MIN=1060", "-DWANTED_MAX=110000"]
    ),
    (
      "c", "c17",
      ["-D__MAC_OS_X_VERSION_MIN_REQUIRED=130000", "-DWANTED_MIN=130000", "-DWANTED_MAX=130000"]
    ),
  ])
  func programsFindWhatElseTheyExpect(language: String, standard: String, defines: [String]) throws
  {
    let program = folder.file("compatible")
    let built = try clang(
      (language == "c++" ? ["--driver-mode=g++"] : []) + defines + [
        "-std=\(standard)", "-x", language, "\(programs)/compatible.c", "-o", program,
      ] + (try linking()))
    try require(built.status == 0, "\(built.errors)")
    let outcome = try run(program, [])
    expectTrue(outcome.text == "compatible 0\n" && outcome.status == 0, "\(outcome.text)")
  }

  /// A program's own definitions take precedence, and do not clash.
  @Test func aProgramMayDefineTheStringFunctions() throws {
    let source = """
      #include <AudioToolbox/AudioToolbox.h>
      size_t strlcpy(char *destination, const char *source, size_t size) {
        return destination && source ? size + 1000 : 0;
      }
      int main(void) {
        char text[4];
        return strlcpy(text, "abc", sizeof text) == 1004 ? 0 : 1;
      }

      """
    let path = try folder.write(Data(source.utf8), to: "own.c")
    let program = folder.file("own")
    let built = try clang(["-std=c11", "-fno-builtin", path, "-o", program] + (try linking()))
    try require(built.status == 0, "\(built.errors)")
    try expectEqual(run(program, []).status, 0)
  }
}
