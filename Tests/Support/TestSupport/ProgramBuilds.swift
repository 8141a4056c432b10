import Foundation

/// One installation and the programs built against it, for the tests of one process.
package final class ProgramBuilds: Sendable {
  package static let shared = Result { try ProgramBuilds() }

  private let folder: URL

  init() throws {
    folder = try makeTemporaryFolder()
    atexit {
      if case .success(let builds) = ProgramBuilds.shared {
        try? FileManager.default.removeItem(at: builds.folder)
      }
    }
    let made = try run(
      "make",
      ["install", "PREFIX=\(folder.path)/installed", "BUILT=\(proof ?? builtProducts.path)"],
      folder: repository)
    guard made.status == 0 else { throw SupportError(made.errors) }
  }

  private func flags(_ arguments: String...) throws -> [String] {
    let path = folder.appendingPathComponent("installed/lib/pkgconfig").path
    let result = try run("pkg-config", arguments, environment: ["PKG_CONFIG_PATH": path])
    guard result.status == 0 else { throw SupportError(result.errors) }
    return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// Builds a program; its recording half is plain C, and needs JACK's flags.
  package func build(_ source: String, isSanitized: Bool) throws -> URL {
    let programs = repository.appendingPathComponent("Tests/API/APITests/Programs")
    let support = repository.appendingPathComponent("Tests/Support/CTestSupport")
    let name = String(source.prefix { $0 != "." })
    let work = folder.appendingPathComponent(isSanitized ? "sanitized" : "plain")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    let binary = work.appendingPathComponent(name)
    let clang = try flags("--variable=clang", "AudioToolbox")[0]
    let options =
      ["-g", "-Wall", "-Wextra", "-Werror", "-I", support.appendingPathComponent("include").path]
      + (isSanitized ? ["-fsanitize=address"] : [])
    func compile(_ compiler: String, _ arguments: [String]) throws {
      let result = try run(compiler, options + arguments)
      guard result.status == 0 else { throw SupportError(result.errors) }
    }
    let objects = try ["Clients", "Lockstep"].map { source in
      let object = work.appendingPathComponent("\(source).o").path
      if !FileManager.default.fileExists(atPath: object) {
        try compile(
          clang,
          ["-O2", "-c", support.appendingPathComponent("\(source).c").path, "-o", object])
      }
      return object
    }
    try compile(
      clang + (source.hasSuffix(".cc") ? "++" : ""),
      [programs.appendingPathComponent(source).path]
        + flags("--cflags", "AudioToolbox") + ["-x", "none"] + objects + ["-o", binary.path]
        + flags("--libs", "AudioToolbox", "jack") + ["-lm", "-fuse-ld=lld"])
    return binary
  }
}
