import Foundation
import TestSupport

/// A person who follows the pages with two terminals: commands that go on are left running in one of them.
final class Story {
  let folder: URL
  /// Words before each command, such as `ip netns exec`.
  private let launcher: [String]
  private let environment: [String: String]
  /// The commands that go on, with their output.
  private var running: [(command: String, child: Child, output: URL)] = []

  init(in folder: URL, environment: [String: String], launcher: [String] = []) {
    self.folder = folder
    self.launcher = launcher
    var all = playEnvironment(environment)
    all["PATH"] = "\(builtProducts.path):\(all["PATH"] ?? "")"
    all["XDG_RUNTIME_DIR"] = environment["XDG_RUNTIME_DIR"] ?? folder.path
    // Sessions are looked for there, too, and other tests have some of the same name.
    all["TMPDIR"] = folder.path
    all["NSM_URL"] = ""
    self.environment = all
  }

  deinit { for program in running.reversed() { program.child.end() } }

  /// The lines of the commands below a heading of level 2 of a page, in order.
  static func lines(_ page: String, below heading: String) throws -> [String] {
    let text = Page(page).text.components(separatedBy: "\n## ").dropFirst()
      .first { $0.hasPrefix("\(heading)\n") }
    guard let text else { throw SupportError("\(page) has no heading “\(heading)”") }
    return commands(in: text)
  }

  /// The lines of the first block of commands of any page whose first line begins so, without that line.
  static func lines(of first: String) throws -> [String] {
    for page in Page.documentation {
      for block in page.blocks where block.language == "sh" && block.text.hasPrefix(first) {
        return block.text.split(separator: "\n").dropFirst().map(String.init)
      }
    }
    throw SupportError("no page has commands “\(first)”")
  }

  /// The commands in blocks of a text, without those that install Cuejack and make its demo.
  private static func commands(in text: String) -> [String] {
    var isCommand = false
    return text.components(separatedBy: "\n").filter { line in
      if line.hasPrefix("```") {
        isCommand = line == "```sh"
        return false
      }
      return isCommand && !line.isEmpty && !line.hasPrefix("make ")
        && !line.hasPrefix("cuejack demo")
    }
  }

  /// Whether a command goes on until it is ended.
  private static func goesOn(_ command: String) -> Bool {
    ["cuejack session run ", "jackd ", "jack_netsource "].contains { command.hasPrefix($0) }
  }

  /// Runs a command, and waits until it has ended, or until a session runs.
  ///
  /// - Returns: What it prints; empty for a command that goes on.
  @discardableResult
  func run(_ command: String) throws -> String {
    let words = launcher + ["sh", "-c", Self.goesOn(command) ? "exec \(command)" : command]
    if Self.goesOn(command) {
      let output = folder.appendingPathComponent("output-\(running.count)-\(UUID().uuidString)")
      let child = try Child(
        words[0], Array(words.dropFirst()), environment: environment, folder: folder, output: output
      )
      running.append((command, child, output))
      if command.hasPrefix("cuejack ") {
        guard waits(for: { text(of: output).contains(": server ") }) else {
          throw SupportError("\(command): \(text(of: output))")
        }
      }
      return ""
    }
    let result = try TestSupport.run(
      words[0], Array(words.dropFirst()), environment: environment, folder: folder)
    if result.status != 0 { throw SupportError("\(command): \(result)") }
    if command.hasSuffix(" quit"), let session = running.popLast() {
      guard session.child.wait(seconds: 60) == 0 else {
        throw SupportError("\(session.command): \(text(of: session.output))")
      }
    }
    return result.output
  }

  func run(_ commands: [String]) throws { for command in commands { try run(command) } }

  /// The output of the commands that go on.
  var log: String { running.map { "\($0.command):\n\(text(of: $0.output))" }.joined() }

  /// Returns the samples of a sound file, channel by channel.
  func samples(of file: String) throws -> [[Float]] {
    let raw = folder.appendingPathComponent("\(UUID().uuidString).raw")
    let made = try TestSupport.run(
      "sox", [file, "-t", "f32", raw.path], folder: folder)
    if made.status != 0 { throw SupportError("\(file): \(made.errors)") }
    let info = try TestSupport.run("soxi", ["-c", file], folder: folder)
    let count = Int(info.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 1
    let all = try [UInt8](Data(contentsOf: raw)).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
    return (0..<count).map { channel in
      stride(from: channel, to: all.count, by: count).map { all[$0] }
    }
  }
}
