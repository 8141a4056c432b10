import Foundation

/// One installation and the programs built against it: for all processes of the gate, else for the tests of one process.
package final class ProgramBuilds: Sendable {
  package static let shared = Result { try ProgramBuilds() }

  private let folder: URL
  /// The folder that Cuejack is installed to.
  package let installation: URL

  init() throws {
    if let made = ProcessInfo.processInfo.environment["CUEJACK_INSTALLATION"] {
      installation = URL(fileURLWithPath: made)
      folder = installation.deletingLastPathComponent().appendingPathComponent("programs")
      return
    }
    folder = try makeTemporaryFolder()
    // Programs of another user read it.
    chmod(folder.path, 0o755)
    atexit {
      if case .success(let builds) = ProgramBuilds.shared {
        try? FileManager.default.removeItem(at: builds.folder)
      }
    }
    installation = folder.appendingPathComponent("installed")
    let made = try run(
      "make", ["install", "PREFIX=\(installation.path)", "BUILT=\(proof ?? builtProducts.path)"],
      folder: repository)
    guard made.status == 0 else { throw SupportError(made.errors) }
  }

  /// Returns the words that pkg-config prints for a package of the installation.
  package func flags(_ arguments: String...) throws -> [String] {
    let path = installation.appendingPathComponent("lib/pkgconfig").path
    let result = try run("pkg-config", arguments, environment: ["PKG_CONFIG_PATH": path])
    guard result.status == 0 else { throw SupportError(result.errors) }
    return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// Makes a file, unless another test or process has made it.
  private func make(_ file: URL, _ body: () throws -> Void) throws -> URL {
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    let lock = open(file.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(lock) }
    guard flock(lock, LOCK_EX) == 0 else { throw SupportError("\(file.path) cannot be locked") }
    if !FileManager.default.fileExists(atPath: file.path) { try body() }
    return file
  }

  /// Builds a program, once; its recording half is plain C, and needs JACK's flags.
  package func build(_ source: String, isSanitized: Bool) throws -> URL {
    let programs = repository.appendingPathComponent("Tests/API/APITests/Programs")
    let support = repository.appendingPathComponent("Tests/Support/CTestSupport")
    let name = String(source.prefix { $0 != "." })
    let work = folder.appendingPathComponent(isSanitized ? "sanitized" : "plain")
    let clang = try flags("--variable=clang", "AudioToolbox")[0]
    let options =
      ["-g", "-Wall", "-Wextra", "-Werror", "-I", support.appendingPathComponent("include").path]
      + (isSanitized ? ["-fsanitize=address"] : [])
    func compile(_ compiler: String, _ arguments: [String]) throws {
      let result = try run(compiler, options + arguments)
      guard result.status == 0 else { throw SupportError(result.errors) }
    }
    let objects = try ["Clients", "Lockstep", "Music"].map { source in
      let object = work.appendingPathComponent("\(source).o")
      return try make(object) {
        let file = support.appendingPathComponent("\(source).c").path
        try compile(clang, ["-O2", "-c", file, "-o", object.path])
      }.path
    }
    let binary = work.appendingPathComponent(name)
    return try make(binary) {
      try compile(
        clang + (source.hasSuffix(".cc") ? "++" : ""),
        [programs.appendingPathComponent(source).path]
          + flags("--cflags", "AudioToolbox") + ["-x", "none"] + objects + ["-o", binary.path]
          + flags("--libs", "AudioToolbox", "jack") + ["-lm", "-fuse-ld=lld"])
    }
  }

  /// Builds a client program in one language, once, with the flags of the installation only. The linker is the fast one.
  package func build(_ client: ClientProgram) throws -> URL {
    let binary = folder.appendingPathComponent("\(client.language.rawValue)/\(client.name)")
    return try make(binary) {
      let compiler = try flags("--variable=clang", "AudioToolbox")[0]
      let result = try run(
        compiler + (client.language == .c ? "" : "++"),
        ["-g", "-Wall", "-Wextra", "-Werror", "-fuse-ld=lld", "-x", client.language.rawValue]
          + [client.source.path]
          + flags("--cflags", "--libs", "AudioToolbox") + ["-o", binary.path])
      guard result.status == 0 else { throw SupportError("\(client): \(result.errors)") }
    }
  }

  /// Builds a Swift program, once, in a language mode and with the flags of the installation only.
  package func build(_ program: SwiftProgram) throws -> URL {
    let binary = folder.appendingPathComponent(program.name)
    if FileManager.default.fileExists(atPath: binary.path) { return binary }
    let result = try run(
      SwiftToolchain().tool("swiftc"),
      ["-swift-version", "\(program.modes.max()!)", "-warnings-as-errors", program.source.path]
        + flags("--cflags", "--libs", "AudioToolbox-swift") + ["-o", binary.path])
    guard result.status == 0 else { throw SupportError("\(program.name): \(result.errors)") }
    // The program runs as built in its newest mode; in the others the compiler only checks it.
    for mode in program.modes where mode != program.modes.max() {
      let checked = try run(
        SwiftToolchain().tool("swiftc"),
        ["-swift-version", "\(mode)", "-warnings-as-errors", "-typecheck", program.source.path]
          + flags("--cflags", "AudioToolbox-swift"))
      guard checked.status == 0 else {
        throw SupportError("\(program.name) in mode \(mode): \(checked.errors)")
      }
    }
    return binary
  }
}

/// A program of `Tests/API/SwiftPrograms` or of `Examples`: a file as it is for Apple's systems.
package struct SwiftProgram: Hashable, Sendable {
  package let name: String
  package let source: URL
  /// The language modes of Swift that it is written for.
  package let modes: Set<Int>

  package init(_ name: String, modes: Set<Int> = [5, 6]) {
    self.init(name, Self.folder.appendingPathComponent("\(name).swift"), modes)
  }

  /// - Parameter name: The folder and the file of an example.
  package init(example name: String) {
    let source = repository.appendingPathComponent("Examples/\(name)/\(name).swift")
    self.init(name, source, [5, 6])
  }

  private init(_ name: String, _ source: URL, _ modes: Set<Int>) {
    self.name = name
    self.source = source
    self.modes = modes
  }

  package static let folder = repository.appendingPathComponent("Tests/API/SwiftPrograms")

  /// Builds the program and runs it until it exits.
  package func run(_ arguments: [String], environment: [String: String] = [:]) throws
    -> CommandResult
  {
    try TestSupport.run(
      ProgramBuilds.shared.get().build(self).path, arguments,
      environment: ["LD_LIBRARY_PATH": ""].merging(environment) { $1 })
  }
}

/// A program of `Tests/API/Clients`, and the language that it is compiled as.
package struct ClientProgram: Hashable, Sendable, CustomStringConvertible {
  package enum Language: String, CaseIterable, Sendable {
    case c
    case cxx = "c++"
  }

  package let name: String
  package let language: Language

  package init(_ name: String, _ language: Language = .c) {
    self.name = name
    self.language = language
  }

  package var description: String { "\(name) in \(language.rawValue)" }

  private static let folder = repository.appendingPathComponent("Tests/API/Clients")

  /// The source file. Those called `.c` compile as either language, those called `.cc` as C++ only.
  package var source: URL {
    let file = Self.folder.appendingPathComponent(name)
    let plain = file.appendingPathExtension("c")
    return FileManager.default.fileExists(atPath: plain.path)
      ? plain : file.appendingPathExtension("cc")
  }

  /// Every program of the folder in every language that its source is written in.
  package static var all: [ClientProgram] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.sorted().flatMap { file -> [ClientProgram] in
      let name = String(file.prefix { $0 != "." })
      return file.hasSuffix(".c")
        ? Language.allCases.map { ClientProgram(name, $0) } : [ClientProgram(name, .cxx)]
    }
  }

  /// Builds the program, and gives it another name as well. A queue's JACK client has the name of its
  /// program.
  package func built(as name: String? = nil) throws -> URL {
    let binary = try ProgramBuilds.shared.get().build(self)
    guard let name else { return binary }
    let link = binary.deletingLastPathComponent().appendingPathComponent(name)
    if symlink(binary.path, link.path) != 0, errno != EEXIST {
      throw SupportError("\(link.path): \(String(cString: strerror(errno)))")
    }
    return link
  }

  /// Builds the program and runs it until it exits, optionally under another name.
  package func run(
    _ arguments: [String], as name: String? = nil, environment: [String: String] = [:],
    timeout: Double = 120
  ) throws -> CommandResult {
    try TestSupport.run(
      built(as: name).path, arguments,
      environment: ["LD_LIBRARY_PATH": ""].merging(environment) { $1 }, timeout: timeout)
  }
}
