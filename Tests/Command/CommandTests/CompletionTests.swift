import Foundation
import TestSupport
import Testing

/// The completions of bash, zsh and fish, each run interactively on a pseudo-terminal.
@Suite(.tags(.server, .program), .serialized) struct CompletionTests {
  enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

  /// A folder with a command `cuejack` that completes as the real one does, and otherwise writes its
  /// arguments to a file.
  private final class Stage {
    let folder: URL
    private let environment: [String: String]
    private let cuejack: String

    init(_ changes: [String: String] = [:]) throws {
      folder = try makeTemporaryFolder()
      cuejack = try builtProduct(named: "cuejack").path
      let bin = folder.appendingPathComponent("bin")
      try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
      let program = bin.appendingPathComponent("cuejack")
      try Data(
        """
        #!/bin/sh
        case "$1" in ---completion) exec '\(cuejack)' "$@" ;; esac
        printf '%s\\n' "$@" END >> '\(folder.path)/words'

        """.utf8
      ).write(to: program)
      chmod(program.path, 0o755)
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      environment = playEnvironment(try pluginEnvironment()).merging([
        "PATH": "\(bin.path):\(path)", "TERM": "xterm", "HOME": folder.path,
        "XDG_CONFIG_HOME": folder.appendingPathComponent("config").path,
        "XDG_DATA_HOME": folder.appendingPathComponent("data").path,
        "XDG_RUNTIME_DIR": "", "TMPDIR": folder.path, "LC_ALL": "C.UTF-8",
      ]) { $1 }.merging(changes) { $1 }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Writes the script of a shell to the place where the shell is going to look for it. Returns the
    /// commands that make it look there, and the shell's own.
    private func prepare(_ shell: Shell) throws -> (program: String, commands: String) {
      let script = try run(cuejack, ["--generate-completion-script", shell.rawValue])
      try require(script.status == 0, "\(script)")
      let (place, program, commands) =
        switch shell {
        case .bash:
          ("cuejack", "bash --noprofile --norc -i", "source '\(folder.path)/bash/cuejack'\n")
        case .zsh:
          (
            "_cuejack", "zsh -f -i",
            "fpath=('\(folder.path)/zsh' $fpath); autoload -Uz compinit; compinit -u -D\n"
          )
        case .fish: ("cuejack.fish", "fish --private -i", "")
        }
      let scripts =
        shell == .fish
        ? folder.appendingPathComponent("config/fish/completions")
        : folder.appendingPathComponent(shell.rawValue)
      try FileManager.default.createDirectory(at: scripts, withIntermediateDirectories: true)
      try Data(script.output.utf8).write(to: scripts.appendingPathComponent(place))
      return (program, commands)
    }

    /// Types lines into a shell, and returns the words that `cuejack` was run with in each of them, without
    /// slashes at their ends: zsh takes those of folders away.
    func type(_ lines: [String], into shell: Shell) throws -> [[String]] {
      let (program, commands) = try prepare(shell)
      let words = folder.appendingPathComponent("words")
      try? FileManager.default.removeItem(at: words)
      let keys = folder.appendingPathComponent("keys")
      try Data((commands + lines.map { $0 + "\n" }.joined() + "exit\n").utf8).write(to: keys)
      let typescript = folder.appendingPathComponent("typescript").path
      let result = try TestSupport.run(
        "sh", ["-c", "script -qec '\(program)' '\(typescript)' < '\(keys.path)'"],
        environment: environment, folder: folder)
      try require(result.status == 0, "\(result)")
      return text(of: words).components(separatedBy: "END\n").dropLast()
        .map {
          $0.split(separator: "\n").map { word in
            String(word.hasSuffix("/") ? word.dropLast() : word)
          }
        }
    }
  }

  /// Types `typed` in each line, and expects the words.
  private func expect(
    _ cases: [(typed: String, words: [String])], in shell: Shell, on stage: Stage
  ) throws {
    let words = try stage.type(cases.map { "cuejack " + $0.typed }, into: shell)
    let typescript = text(of: stage.folder.appendingPathComponent("typescript"))
    expectEqual(words.count, cases.count, "\(typescript)")
    for (found, expected) in zip(words, cases) {
      expectEqual(found, expected.words, "\(shell): \(expected.typed)\n\(typescript)")
    }
  }

  @Test(arguments: Shell.allCases) func commandsOptionsAndFilesAreCompleted(shell: Shell) throws {
    let stage = try Stage()
    for name in ["my take.wav", "my text.txt", "LOUD.AIFF"] {
      try Data().write(to: stage.folder.appendingPathComponent(name))
    }
    try FileManager.default.createDirectory(
      at: stage.folder.appendingPathComponent("duo.session"), withIntermediateDirectories: true)
    try expect(
      [
        ("conv\t", ["convert"]),
        ("session coll\tduo\t", ["session", "collect", "duo.session"]),
        ("play --fade-i\t2", ["play", "--fade-in", "2"]),
        ("convert a.wav b.wav --quality lo\t", ["convert", "a.wav", "b.wav", "--quality", "low"]),
        (
          "convert a.wav b.flac --format flac --bits 2\t",
          [
            "convert", "a.wav", "b.flac", "--format", "flac", "--bits", "24",
          ]
        ),
        ("info my\t", ["info", "my take.wav"]),
        ("play LO\t", ["play", "LOUD.AIFF"]),
        ("record my\\ te\t", ["record", "my text.txt"]),
      ], in: shell, on: stage)
  }

  @Test(arguments: Shell.allCases) func pluginsAreCompleted(shell: Shell) throws {
    let limiter = "urn:cuejack:plugins:limiter"
    let amp = "http://lv2plug.in/plugins/eg-amp"
    try expect(
      [
        ("play a.wav --plugin urn:cuejack:plugins:lim\t", ["play", "a.wav", "--plugin", limiter]),
        (
          "play a.wav --plugin urn:cuejack:plugins:limiter:ceil\t-3",
          [
            "play", "a.wav", "--plugin", "\(limiter):ceiling=-3",
          ]
        ),
        (
          "play a.wav --plugin urn:cuejack:plugins:limiter:ceiling=-3,rele\t50",
          [
            "play", "a.wav", "--plugin", "\(limiter):ceiling=-3,release=50",
          ]
        ),
        (
          "play a.wav --plugin urn:cuejack:plugins:preset-eq#roc\t",
          [
            "play", "a.wav", "--plugin", "urn:cuejack:plugins:preset-eq#rock",
          ]
        ),
        (
          "play a.wav --plugin http://lv2plug.in/plugins/eg-am\t --isolate ht\t",
          [
            "play", "a.wav", "--plugin", amp, "--isolate", amp,
          ]
        ),
        (
          "play a.wav --plugin \(limiter) --plugin \(amp) --map cc7=2:ga\t",
          [
            "play", "a.wav", "--plugin", limiter, "--plugin", amp, "--map", "cc7=2:gain",
          ]
        ),
        (
          "play a.wav --plugin \(amp) --learn 1:ga\t",
          [
            "play", "a.wav", "--plugin", amp, "--learn", "1:gain",
          ]
        ),
        ("plugins info http://lv2plug.in/plugins/eg-am\t", ["plugins", "info", amp]),
      ], in: shell, on: Stage())
  }

  /// Other programs choose the names of ports. A shell must not run what is in them.
  @Test(arguments: Shell.allCases) func portsAndServersAreCompleted(shell: Shell) throws {
    let server = try JackDaemon(playbackPorts: 2, capturePorts: 2)
    let name = "a b$(touch ran)`touch ran`"
    let client = try CaptureClient(on: server, name: name, channels: 1, capacity: 1)
    defer { withExtendedLifetime(client) {} }
    let stage = try Stage(["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"])
    let start = server.name.dropLast()
    try expect(
      [
        (
          "play a.wav --connect system:play\t2",
          ["play", "a.wav", "--connect", "system:playback_2"]
        ),
        (
          "record a.wav --server \(server.name) --connect system:capt\t1",
          [
            "record", "a.wav", "--server", server.name, "--connect", "system:capture_1",
          ]
        ),
        ("play a.wav --connect a\t", ["play", "a.wav", "--connect", "\(name):in_1"]),
        ("play a.wav --server \(start)\t", ["play", "a.wav", "--server", server.name]),
      ], in: shell, on: stage)
    let ran = stage.folder.appendingPathComponent("ran").path
    expectTrue(
      !FileManager.default.fileExists(atPath: ran), "\(shell) ran a command in a port's name")
  }

  @Test(arguments: Shell.allCases) func runningSessionsAreCompleted(shell: Shell) throws {
    let stage = try Stage()
    let session = try Child(
      builtProduct(named: "managed-session").path, ["--remote", "deck"],
      environment: ProcessInfo.processInfo.environment.merging([
        "XDG_RUNTIME_DIR": "", "TMPDIR": stage.folder.path, "NSM_URL": "",
      ]) { $1 },
      output: stage.folder.appendingPathComponent("session"))
    defer { session.end() }
    try wait(for: "the session") {
      text(of: stage.folder.appendingPathComponent("session")).contains("remote ")
    }
    try expect(
      [
        ("set de\ttracks/1/ga\t-6", ["set", "deck", "tracks/1/gain=-6"]),
        ("osc de\t/cuejack/sta\t", ["osc", "deck", "/cuejack/start"]),
        ("session save de\t", ["session", "save", "deck"]),
      ], in: shell, on: stage)
  }

  /// fish shows what follows a tab as a description. The other shells would take it for a part of the word.
  @Test(arguments: Shell.allCases) func onlyFishGetsDescriptions(shell: Shell) throws {
    try withTemporaryFolder { folder in
      let result = try run(
        builtProduct(named: "cuejack").path,
        ["---completion", "plugins", "info", "--", "positional@0", "3", "0"]
          + ["cuejack", "plugins", "info", "urn:cuejack"],
        environment: try pluginEnvironment().merging(["SAP_SHELL": shell.rawValue]) { $1 })
      let mono = result.output.split(separator: "\n").first { $0.contains("plugins:limiter-mono") }
      expectEqual(
        mono, "urn:cuejack:plugins:limiter-mono\(shell == .fish ? "\tLimiter (mono)" : "")",
        "\(result)")
    }
  }
}
