import CGlibc
import Glibc
import Synchronization
import System

/// Terminal output of the command: lines on standard output, messages on standard error, and on a
/// terminal a progress display below them.
///
/// Any thread that is not real time. No call waits for the terminal, or for the reader of a pipe: text waits
/// until it can be written, and what is not written when the command ends is dropped.
final class Screen: Sendable {
  static let shared = Screen()

  /// True if standard output is a terminal that supports the progress display, and has no events.
  var isTerminal: Bool { canDraw && !isJSON }
  private let canDraw: Bool
  /// True if the progress display has colors.
  let isColored: Bool
  /// True if standard output carries events as lines of JSON.
  var isJSON: Bool { hasEvents.load(ordering: .acquiring) }

  private struct State {
    /// The progress display's lines on the terminal.
    var drawn: [String] = []
    /// Errors already printed.
    var told: Set<String> = []
    var output = PatientOutput()
    var errors = PatientOutput()
  }
  private let state = Mutex(State())
  /// True if standard output carries sound.
  private let isSound = Atomic<Bool>(false)
  private let hasEvents = Atomic<Bool>(false)
  private let isHurried = Atomic<Bool>(false)

  private init() {
    let isDumb = unsafe getenv("TERM").map { unsafe strcmp($0, "dumb") == 0 } ?? false
    canDraw = isatty(STDOUT_FILENO) == 1 && !isDumb
    // https://no-color.org: any value but an empty one.
    let refusesColor = unsafe getenv("NO_COLOR").map { unsafe $0.pointee != 0 } ?? false
    isColored = canDraw && !refusesColor
  }

  /// Writes to standard error only from now on, because standard output carries sound.
  func leaveStandardOutput() { isSound.store(true, ordering: .releasing) }

  /// Writes events to standard output from now on, and nothing else. Messages are events, too.
  func startEvents() { hasEvents.store(true, ordering: .releasing) }

  /// Writes an event on a line of its own, at once, if there are events.
  func emit(_ event: some Encodable) {
    guard isJSON, let line = try? JSONText.line(event) else { return }
    state.withLock { $0.output.write(line + "\n", to: ForeignOutput.output) }
  }

  /// The terminal's current size; 80 by 24 if it is unknown.
  var size: (columns: Int, rows: Int) {
    var window = winsize()
    let status = unsafe ioctl(ForeignOutput.output, UInt(TIOCGWINSZ), &window)
    guard status == 0, window.ws_col > 0 else { return (80, 24) }
    return (Int(window.ws_col), window.ws_row > 0 ? Int(window.ws_row) : 24)
  }

  /// Writes lines to standard output, above the progress display.
  func say(_ lines: String...) {
    if isJSON { return }
    let text = lines.map { "\(printable($0))\n" }.joined()
    above {
      if isSound.load(ordering: .acquiring) {
        $0.errors.write(text, to: ForeignOutput.error)
      } else {
        $0.output.write(text, to: ForeignOutput.output)
      }
    }
  }

  /// Writes a message to standard error, above the progress display.
  ///
  /// - Parameter event: The event that it is: a warning, unless another one tells of the same.
  func remark(_ message: String, as event: MessageEvent.Kind? = .warning) {
    if let event { emit(MessageEvent(event: event, message: message)) }
    above { $0.errors.write("cuejack: \(printable(message))\n", to: ForeignOutput.error) }
  }

  /// Writes an error like `remark`, but each text only once: the queue logs an error and then
  /// throws it.
  func complain(_ message: String) {
    let isNew = state.withLock { $0.told.insert(message).inserted }
    if isNew { remark(message, as: .error) }
  }

  /// Writes lines to standard error as they are.
  func complain(lines: String) { above { $0.errors.write(lines + "\n", to: ForeignOutput.error) } }

  /// Draws the progress display, one string per line, none wider than the terminal. An empty array
  /// removes it.
  func draw(_ lines: [String]) {
    guard isTerminal, !isSound.load(ordering: .acquiring) else { return }
    state.withLock { state in
      // A display that waits would be old when it is seen.
      guard lines != state.drawn, state.output.isEmpty else { return }
      let text = lines.map { "\($0)\u{1B}[K" }.joined(separator: "\n")
      let isShorter = lines.count < state.drawn.count
      state.output.write(
        home(state) + (isShorter ? "\u{1B}[J" : "") + text, to: ForeignOutput.output)
      state.drawn = lines
    }
  }

  /// Runs `body` with the progress display temporarily removed.
  private func above(_ body: (inout State) -> Void) {
    state.withLock { state in
      guard !state.drawn.isEmpty else { return body(&state) }
      state.output.write(home(state) + "\u{1B}[J", to: ForeignOutput.output)
      body(&state)
      state.output.write(
        state.drawn.map { "\($0)\u{1B}[K" }.joined(separator: "\n"), to: ForeignOutput.output)
    }
  }

  /// Makes the next call of `finish` wait for a short time only: the command is to end.
  func hurry() { isHurried.store(true, ordering: .releasing) }

  /// Writes all text that waits. Call it at the end of the command.
  ///
  /// Waits for the reader of a pipe, but a second at most for a terminal, and after `hurry`.
  ///
  /// - Returns: False if standard output could not be written.
  func finish() -> Bool {
    let start = HostTime.now
    while true {
      let (isWritten, isPipe) = state.withLock { state in
        let isWritten = [state.output.flush(), state.errors.flush()].allSatisfy { $0 }
        return (isWritten, state.output.isPipe || state.errors.isPipe)
      }
      let isLate = HostTime.now > start + 1_000_000_000
      if isWritten || isLate && (!isPipe || isHurried.load(ordering: .acquiring)) { break }
      usleep(10_000)
    }
    let code = state.withLock { $0.output.failure } ?? (ForeignOutput.flush() ? nil : errno)
    guard let code else { return true }
    let reason = code == 0 ? "" : ": \(unsafe String(cString: strerror(code)))"
    remark("standard output cannot be written\(reason)")
    return false
  }

  /// Returns the escape sequence that moves the cursor to the start of the progress display.
  private func home(_ state: State) -> String {
    state.drawn.count > 1 ? "\r\u{1B}[\(state.drawn.count - 1)A" : "\r"
  }
}

/// Formats the ports that a port is connected to.
func listed(_ ports: [String]) -> String {
  ports.isEmpty ? "not connected" : ports.joined(separator: ", ")
}

/// Returns the columns that `text` occupies on a terminal.
func columns(of text: String) -> Int {
  let locale = unsafe uselocale(unicodeLocale)
  defer { unsafe uselocale(locale) }
  return text.unicodeScalars.reduce(0) { sum, scalar in
    let columns = Int(cue_wcwidth(CInt(scalar.value)))
    // The locale does not know the newest characters.
    return sum + (columns < 0 ? 1 : columns)
  }
}

/// A locale that knows the width of every Unicode character, whatever the user's locale is.
private nonisolated(unsafe) let unicodeLocale = unsafe newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

/// Returns `text` in exactly `width` columns: padded with spaces, or truncated and marked with a
/// dot.
func fitted(_ text: String, to width: Int) -> String {
  var result = text
  if columns(of: result) > width {
    while columns(of: result) > width - 1, !result.isEmpty { result.removeLast() }
    if width > 0 { result += "." }
  }
  return result + String(repeating: " ", count: max(0, width - columns(of: result)))
}
