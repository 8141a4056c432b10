import Foundation
import TestSupport

/// The C headers of the API.
enum PublicHeaders {
  static let folder = repository.appendingPathComponent("Sources/CAudioToolbox/include")

  /// Returns the paths of the headers in a folder, as programs include them.
  static func names(in folder: URL = folder) throws -> [String] {
    let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String }
    return (all ?? []).filter { $0.hasSuffix(".h") }.sorted()
  }

  /// Returns the names of functions that the headers declare but do not define.
  ///
  /// It reads clang's syntax tree of all headers, so macros and unusual formatting do not matter. The
  /// tree names a file only when it differs from the previous one, so the parser remembers it.
  static func functions(in folder: URL = folder) throws -> Set<String> {
    let toolchain = try SwiftToolchain()
    let program = try names(in: folder).map { "#include <\($0)>\n" }.joined()
    let result = try withTemporaryFolder { work in
      let source = work.appendingPathComponent("all.c")
      try Data(program.utf8).write(to: source)
      return try run(
        toolchain.clang,
        [
          "-fsyntax-only", "-fno-color-diagnostics", "-fblocks", "-fcf-runtime-abi=swift",
          "-D_GNU_SOURCE", "-isystem", toolchain.swiftLibraries, "-I", folder.path, "-Xclang",
          "-ast-dump", source.path,
        ])
    }
    guard result.status == 0 else { throw SupportError(result.errors) }

    var found: Set<String> = []
    var file: Substring = ""
    for line in result.output.split(separator: "\n") {
      // A location is a path, line and column; the path is missing if it is the previous one.
      let functionLine = line.hasPrefix("|-FunctionDecl ") || line.hasPrefix("`-FunctionDecl ")
      if line.contains("/") || line.contains("<built-in>") || line.contains("<scratch space>") {
        for location in line.matches(of: location) { file = location.output.1 }
      }
      // The compiler's own functions are implicit.
      guard functionLine, file.hasPrefix(folder.path + "/"), !line.contains(" implicit ") else {
        continue
      }
      guard let declared = line.firstMatch(of: declaration) else { continue }
      if declared.output.2.contains(" inline") || declared.output.2.contains("static") { continue }
      found.insert(String(declared.output.1))
    }
    return found
  }

  private nonisolated(unsafe) static let location =
    #/[<( ](/[^:<>,]+|<built-in>|<scratch space>):\d+:\d+/#
  private nonisolated(unsafe) static let declaration = #/ (\w+) '[^']*(?:'[^']*)*'([ \w]*)$/#

  /// Returns the C functions that a library exports, without Swift's symbols and those of the linker.
  static func exports(of library: URL) throws -> Set<String> {
    let result = try run("nm", ["-D", "--defined-only", "--format=posix", library.path])
    guard result.status == 0 else { throw SupportError(result.errors) }
    let symbols = result.output.split(separator: "\n").compactMap { line -> String? in
      let fields = line.split(separator: " ")
      guard fields.count > 1, fields[1] == "T" || fields[1] == "W" else { return nil }
      let name = fields[0].split(separator: "@")[0]
      let isSwift = name.hasPrefix("$s") || name.hasPrefix("__swift_") || name.hasPrefix("_swift_")
      return isSwift || name == "_init" || name == "_fini" ? nil : String(name)
    }
    return Set(symbols)
  }
}
