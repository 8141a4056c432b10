import Glibc
import Synchronization
import System

/// A reader of single keys from the terminal, which it puts into cbreak mode: keys come at once and are
/// not shown. `end()` restores the terminal, and so does the end of the process by `exit`.
final class KeyReader: Sendable {
  /// A key.
  enum Key: Sendable, Equatable {
    case character(Character)
    case left, right, up, down
  }

  private static let saved = Mutex<termios?>(nil)
  private let isOver = Atomic<Bool>(false)

  /// Calls `onKey` for each key on a thread of its own.
  ///
  /// - Returns: Nil if standard input is no terminal.
  init?(_ onKey: @escaping @Sendable (Key) -> Void) {
    var mode = termios()
    // A background process that changed the terminal would be stopped.
    guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(),
      unsafe tcgetattr(STDIN_FILENO, &mode) == 0
    else { return nil }
    let old = mode
    Self.saved.withLock { $0 = old }
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0 else { return nil }
    atexit { KeyReader.restore() }
    startThread(named: "cuejack-keys") { [weak self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      while true {
        var source = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let ready = unsafe poll(&source, 1, 200)
        guard let self, !isOver.load(ordering: .acquiring) else { return }
        if ready <= 0 { continue }
        let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
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
    saved.withLock { saved in
      guard var mode = saved else { return }
      unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
      saved = nil
    }
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
