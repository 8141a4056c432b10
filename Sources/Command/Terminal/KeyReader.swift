import Glibc
import Synchronization
import System

/// A reader of single keys from the terminal, which it puts into cbreak mode: keys come at once and are
/// not shown. The terminal is as before after `end()`, while the process is stopped (Control-Z), and when
/// the process ends, by a crash, too.
final class KeyReader: Sendable {
  /// A key.
  enum Key: Sendable, Equatable {
    case character(Character)
    case left, right, up, down
  }

  /// The terminal's modes. Signal handlers read them and take no lock.
  private enum Terminal {
    nonisolated(unsafe) static var before = termios()
    nonisolated(unsafe) static var cbreak = termios()
    static let isChanged = Atomic<Bool>(false)
    static let wasContinued = Atomic<Bool>(false)

    /// A background process that changes the terminal, or reads from it, is stopped.
    static var isOurs: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    static func leave() {
      guard isChanged.load(ordering: .acquiring), isOurs else { return }
      unsafe tcsetattr(STDIN_FILENO, TCSANOW, &before)
    }

    static func enter() {
      guard isChanged.load(ordering: .acquiring), isOurs else { return }
      unsafe tcsetattr(STDIN_FILENO, TCSANOW, &cbreak)
    }
  }
  private let isOver = Atomic<Bool>(false)

  /// Calls `onKey` for each key on a thread of its own.
  ///
  /// - Returns: Nil if standard input is no terminal.
  init?(_ onKey: @escaping @Sendable (Key) -> Void) {
    var mode = termios()
    guard isatty(STDIN_FILENO) == 1, Terminal.isOurs, unsafe tcgetattr(STDIN_FILENO, &mode) == 0
    else { return nil }
    unsafe Terminal.before = mode
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe Terminal.cbreak = mode
    Terminal.isChanged.store(true, ordering: .releasing)
    Self.followSignals()
    Terminal.enter()
    atexit { KeyReader.restore() }
    startThread(named: "cuejack-keys") { [weak self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      while true {
        var source = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let ready = unsafe poll(&source, 1, 200)
        guard let self, !isOver.load(ordering: .acquiring) else { return }
        if ready <= 0 { continue }
        if !Terminal.isOurs {
          usleep(200_000)
          continue
        }
        let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        for key in Self.keys(bytes[..<count]) { onKey(key) }
      }
    }
  }

  /// Restores the terminal. No key is reported afterwards.
  func end() {
    isOver.store(true, ordering: .releasing)
    Self.restore()
  }

  /// Restores the terminal, if a reader has changed it.
  static func restore() {
    Terminal.leave()
    Terminal.isChanged.store(false, ordering: .releasing)
  }

  /// Returns true once after each time that the process was stopped and goes on: something else is on the
  /// terminal now.
  static func takeContinuation() -> Bool {
    Terminal.wasContinued.exchange(false, ordering: .acquiringAndReleasing)
  }

  /// Restores the terminal when a signal stops or ends the process, and changes it again when the process goes
  /// on. `StopSignals` has the signals that end it in good order.
  private static func followSignals() {
    if !StopSignals.isIgnored(SIGTSTP) {
      handle(SIGTSTP, flags: SA_RESTART) { _ in
        Terminal.leave()
        raise(SIGSTOP)
      }
    }
    handle(SIGCONT, flags: SA_RESTART) { _ in
      Terminal.enter()
      Terminal.wasContinued.store(true, ordering: .releasing)
    }
    for number in [SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS] {
      // The handler is gone when it is called, so the signal ends the process afterwards.
      handle(number, flags: CInt(bitPattern: 0x8000_0000)) { number in
        Terminal.leave()
        raise(number)
      }
    }
  }

  private static func handle(
    _ number: CInt, flags: CInt, _ body: @escaping @convention(c) (CInt) -> Void
  ) {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = body
    action.sa_flags = flags
    unsafe sigaction(number, &action, nil)
  }

  /// Returns the keys of bytes that a terminal sent together.
  static func keys(_ bytes: ArraySlice<UInt8>) -> [Key] {
    var keys: [Key] = []
    var rest = bytes
    while let byte = rest.first {
      // ESC [ A, or ESC O A in application mode.
      if byte == 0x1B, rest.count >= 3, [0x5B, 0x4F].contains(rest[rest.startIndex + 1]) {
        switch rest[rest.startIndex + 2] {
        case UInt8(ascii: "A"): keys.append(.up)
        case UInt8(ascii: "B"): keys.append(.down)
        case UInt8(ascii: "C"): keys.append(.right)
        case UInt8(ascii: "D"): keys.append(.left)
        default: break
        }
        rest = rest.dropFirst(3)
        continue
      }
      if byte >= 0x20, byte < 0x7F { keys.append(.character(Character(UnicodeScalar(byte)))) }
      rest = rest.dropFirst()
    }
    return keys
  }
}
