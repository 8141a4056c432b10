import Foundation
import TestSupport

/// The installation of this process, and a folder of one test for programs that use it.
struct Installation {
  let prefix: URL
  let folder: URL

  static func with(_ body: (Installation) throws -> Void) throws {
    let prefix = try ProgramBuilds.shared.get().installation
    try withTemporaryFolder { try body(Installation(prefix: prefix, folder: $0)) }
  }

  /// The installed library.
  var library: URL { prefix.appendingPathComponent("lib/libAudioToolbox.so") }

  /// Returns the words that pkg-config prints for the installed library, without other packages.
  func flags(_ options: String...) throws -> [String] {
    let result = try TestSupport.run(
      "pkg-config", options + ["AudioToolbox"],
      environment: ["PKG_CONFIG_PATH": prefix.appendingPathComponent("lib/pkgconfig").path])
    guard result.status == 0 else { throw SupportError(result.errors) }
    return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// Builds a program, or with `-shared` a library, with pkg-config's flags only.
  func build(
    _ source: String, suffix: String = "c", options: [String] = [], as name: String = "program"
  ) throws -> String {
    let path = folder.appendingPathComponent("\(name).\(suffix)")
    let binary = folder.appendingPathComponent(name).path
    try Data(source.utf8).write(to: path)
    let compiler = try flags("--variable=clang")[0] + (suffix == "c" ? "" : "++")
    let built = try TestSupport.run(
      compiler,
      ["-Wall", "-Werror", path.path, "-o", binary] + options + flags("--cflags", "--libs"))
    guard built.status == 0 else { throw SupportError(built.errors) }
    return binary
  }

  /// Builds and runs a program with pkg-config's flags only.
  func run(
    _ program: String, _ arguments: [String], suffix: String, options: [String],
    environment: [String: String]
  ) throws -> CommandResult {
    let binary = try build(program, suffix: suffix, options: options)
    return try TestSupport.run(
      binary, arguments, environment: environment.merging(["LD_LIBRARY_PATH": ""]) { $1 })
  }
}
