import CTestSupport
import Foundation

/// A pseudo-terminal, and the program that has it as its controlling terminal. One thread at a time; another
/// thread reads what the program writes, so that it never waits for the test.
package final class PseudoTerminal {
  private let master: Int32
  private let child: Child
  private let folder: URL
  private let output: Output
  package let processIdentifier: Int32

  /// The bytes that the program has written to the terminal. Any thread.
  private final class Output: @unchecked Sendable {
    private let lock = NSLock()
    private let master: Int32
    private var bytes: [UInt8] = []
    private var cleared = 0
    private var isOver = false
    private let ended = DispatchSemaphore(value: 0)

    init(_ master: Int32) {
      self.master = master
      Thread.detachNewThread { [self] in
        while lock.withLock({ !isOver }) {
          read()
          usleep(2000)
        }
        ended.signal()
      }
    }

    /// Reads what has come since the last call.
    private func read() {
      lock.withLock {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = Foundation.read(master, &chunk, chunk.count), count > 0 {
          bytes += chunk[..<count]
        }
      }
    }

    func text(sinceClear: Bool) -> String {
      read()
      return lock.withLock {
        String(decoding: sinceClear ? bytes[cleared...] : bytes[...], as: UTF8.self)
      }
    }

    func clear() {
      read()
      lock.withLock { cleared = bytes.count }
    }

    func end() {
      lock.withLock { isOver = true }
      ended.wait()
    }
  }

  /// Starts a program in a session of its own on a new terminal.
  ///
  /// - Parameter environment: Is added to `playEnvironment()`.
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
    var settings = playEnvironment(environment)
    settings["TERM"] = "xterm"
    settings["NO_COLOR"] = nil
    // The first terminal that the leader of a session opens becomes its controlling terminal.
    child = try Child(
      "setsid",
      [
        "--wait", "sh", "-c",
        "ulimit -c 0; echo $$ >'\(number.path)'; exec \(words) <>'\(device)' >&0 2>&1",
      ], environment: settings, output: folder.appendingPathComponent("output"))
    var found: Int32?
    try TestSupport.wait(for: "the program's number") {
      let text = TestSupport.text(of: number)
      found = text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
      return found != nil
    }
    processIdentifier = found!
    output = Output(master)
  }

  deinit {
    kill(processIdentifier, SIGKILL)
    child.end()
    output.end()
    close(master)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Everything that the program has written so far.
  package var text: String { output.text(sinceClear: false) }

  /// The text that the program has written since the last call of `clear`.
  package var display: String { output.text(sinceClear: true) }

  /// Forgets what the program has written, for `display`.
  package func clear() { output.clear() }

  /// Waits until the program has written `words`, `times` times since its start.
  package func wait(for words: String, times: Int = 1) throws {
    try wait("“\(words)”") { text.components(separatedBy: words).count > times }
  }

  /// Waits until `condition` holds.
  package func wait(_ what: String, until condition: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while try !condition() {
      guard Date() < end else { throw SupportError("no \(what) in:\n\(text.suffix(2000))") }
      usleep(10_000)
    }
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

  /// Gives the terminal another width, and tells the program.
  package func resize(columns: Int, rows: Int = 24) {
    cue_terminal_resize(master, UInt16(columns), UInt16(rows))
  }

  /// The state of the program in /proc: `T` while it is stopped; nil if it has ended.
  package var state: Character? {
    let text = TestSupport.text(of: URL(fileURLWithPath: "/proc/\(processIdentifier)/stat"))
    return text.split(separator: ")").last?.dropFirst().first
  }

  package func send(signal: Int32) { kill(processIdentifier, signal) }

  /// Waits for the exit. What the program has written counts as output and as errors.
  package func result(seconds: Double = 30) -> CommandResult {
    let status = wait(seconds: seconds) ?? -1
    return CommandResult(status: status, output: text, errors: text)
  }

  /// Waits for the exit. Returns the exit code, or nil if the program has not ended after `seconds`. A
  /// signal that ends the program counts as a code that is not 0.
  package func wait(seconds: Double) -> Int32? {
    child.wait(seconds: seconds)
  }
}
