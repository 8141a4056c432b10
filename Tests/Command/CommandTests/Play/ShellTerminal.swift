import Foundation
import TestSupport
import Testing

/// A pseudo-terminal in which a shell runs `cuejack` and then prints the terminal's mode. One thread.
final class ShellTerminal {
  private let child: Child
  private let keys: Int32
  private let typescript: URL
  private let mark: String

  /// Starts `cuejack` with `arguments`, which have `mark` among them and no quotation marks.
  init(_ arguments: [String], mark: String, columns: Int = 80, in folder: URL) throws {
    let program = try builtProduct(named: "cuejack").path
    let words = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
    typescript = folder.appendingPathComponent("typescript-\(UUID().uuidString)")
    let pipe = folder.appendingPathComponent("keys-\(UUID().uuidString)").path
    try #require(mkfifo(pipe, 0o600) == 0)
    // Both ends are open, so that `script` never finds its end.
    keys = open(pipe, O_RDWR)
    self.mark = mark
    var environment = playEnvironment(["TERM": "xterm", "SHELL": "/bin/sh"])
    environment["NO_COLOR"] = nil
    child = try Child(
      "sh",
      [
        "-c",
        "exec script -qefc \"stty cols \(columns) rows 24; \(words); echo ended: \\$?; stty -a\" "
          + "'\(typescript.path)' <'\(pipe)' >/dev/null",
      ], environment: environment, folder: folder,
      output: folder.appendingPathComponent("script-\(UUID().uuidString)"))
  }

  deinit {
    if let process = try? process { kill(process, SIGKILL) }
    child.end()
    close(keys)
  }

  var text: String { TestSupport.text(of: typescript) }

  /// The process of `cuejack`; nil if it does not run.
  var process: Int32? {
    get throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
        guard let number = Int32(name) else { continue }
        let words = TestSupport.text(of: URL(fileURLWithPath: "/proc/\(name)/cmdline"))
          .split(separator: "\0")
        if words.first?.hasSuffix("/cuejack") == true, words.contains(where: { $0 == mark }) {
          return number
        }
      }
      return nil
    }
  }

  /// Sends keys as a terminal does.
  func press(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write(keys, $0.baseAddress, $0.count) }
  }

  /// Waits until the terminal has shown `words`, `times` times.
  func wait(for words: String, times: Int = 1, _ location: SourceLocation = #_sourceLocation) throws
  {
    let end = Date(timeIntervalSinceNow: 60)
    while text.components(separatedBy: words).count <= times {
      try #require(Date() < end, "no “\(words)” in:\n\(text)", sourceLocation: location)
      usleep(10_000)
    }
  }

  /// Waits until `condition` holds.
  func wait(
    _ words: String, _ location: SourceLocation = #_sourceLocation,
    until condition: () throws -> Bool
  ) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while try !condition() {
      try #require(Date() < end, "not \(words):\n\(text)", sourceLocation: location)
      usleep(10_000)
    }
  }

  /// True if the terminal shows what is typed.
  var echoes: Bool {
    get throws {
      let process = try #require(try process)
      let terminal = try FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/\(process)/fd/0")
      return try run("stty", ["-a", "-F", terminal]).output.contains(" echo ")
    }
  }

  /// Changes the number of columns.
  func resize(columns: Int) throws {
    let process = try #require(try process)
    let terminal = try FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/\(process)/fd/0")
    #expect(try run("stty", ["-F", terminal, "cols", "\(columns)"]).status == 0)
  }

  /// Waits for the end. Returns the exit code of `cuejack`, and whether the terminal echoes then.
  func end(_ location: SourceLocation = #_sourceLocation) throws -> (status: Int32, echoes: Bool) {
    try wait(for: "speed", location)
    try #require(child.wait(seconds: 30) != nil, "\(text)", sourceLocation: location)
    let status = try #require(
      text.firstMatch(of: #/ended: (\d+)/#).flatMap { Int32($0.output.1) }, sourceLocation: location
    )
    return (status, text.components(separatedBy: "ended: ").last?.contains(" echo ") == true)
  }
}
