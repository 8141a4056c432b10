import CTestSupport
import Foundation

/// A pseudo-terminal, and the program that has it as its controlling terminal. One thread at a time.
package final class PseudoTerminal {
  private let master: Int32
  private let child: Child
  private let folder: URL
  private var bytes: [UInt8] = []
  package let processIdentifier: Int32

  /// Starts a program in a session of its own on a new terminal.
  package init(
    _ executable: String, _ arguments: [String], environment: [String: String] = [:],
    columns: Int = 80, rows: Int = 24
  ) throws {
    var name = [CChar](repeating: 0, count: 64)
    master = cue_terminal_open(UInt16(columns), UInt16(rows), &name, name.count)
    guard master >= 0 else {
      throw SupportError("there is no pseudo-terminal: \(String(cString: strerror(errno)))")
    }
    let device = String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    folder = try makeTemporaryFolder()
    let number = folder.appendingPathComponent("pid")
    let words = ([executable] + arguments).map { "'\($0)'" }.joined(separator: " ")
    var settings = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    settings["TERM"] = "xterm"
    // The first terminal that the leader of a session opens becomes its controlling terminal.
    child = try Child(
      "setsid",
      [
        "--wait", "sh", "-c",
        "ulimit -c 0; echo $$ >'\(number.path)'; exec \(words) <>'\(device)' >&0 2>&1",
      ], environment: settings, output: folder.appendingPathComponent("output"))
    var found: Int32?
    try TestSupport.wait(for: "the program's number") {
      let text = text(of: number)
      found = text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
      return found != nil
    }
    processIdentifier = found!
  }

  deinit {
    kill(processIdentifier, SIGKILL)
    child.end()
    close(master)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Everything that the program has written so far.
  package var display: String {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(master, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Forgets what the program has written.
  package func clear() {
    _ = display
    bytes = []
  }

  /// Presses keys.
  package func type(_ keys: String) {
    let bytes = Array(keys.utf8)
    _ = write(master, bytes, bytes.count)
  }

  /// Whether the terminal passes lines, and shows what is typed, as it does for a shell.
  package var isCooked: Bool {
    var mode = termios()
    tcgetattr(master, &mode)
    return mode.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
  }

  /// The state of the program in /proc: `T` while it is stopped; nil if it has ended.
  package var state: Character? {
    let text = text(of: URL(fileURLWithPath: "/proc/\(processIdentifier)/stat"))
    return text.split(separator: ")").last?.dropFirst().first
  }

  package func send(signal: Int32) { kill(processIdentifier, signal) }

  /// Waits for the exit. Returns the exit code, or nil if the program has not ended after `seconds`. A
  /// signal that ends the program counts as a code that is not 0.
  package func wait(seconds: Double) -> Int32? {
    // A program that fills the terminal waits for its reader.
    var code: Int32?
    _ = waits(seconds: seconds) {
      _ = display
      code = child.wait(seconds: 0.01)
      return code != nil
    }
    return code
  }
}
