import Glibc
import Synchronization
import System

/// A reader of single keys from the terminal, which it puts into cbreak mode: keys come at once and are
/// not shown.
///
/// The terminal is as before after `end()`, `exit`, a crash, and while the process is stopped by Ctrl-Z.
final class KeyReader: Sendable {
  /// A key.
  enum Key: Sendable, Equatable {
    case character(Character)
    case left, right, up, down
    case shiftLeft, shiftRight
  }

  private let isOver = Atomic<Bool>(false)

  /// Calls `onKey` for each key on a thread of its own.
  ///
  /// - Returns: Nil if standard input is no terminal, or this is a background process.
  init?(_ onKey: @escaping @Sendable (Key) -> Void) {
    guard TerminalMode.enter() else { return nil }
    startThread(named: "cuejack-keys") { [weak self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      var waiting: [UInt8] = []
      while true {
        var source = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let ready = unsafe poll(&source, 1, 200)
        guard let self, !isOver.load(ordering: .acquiring) else { return }
        // The rest of a sequence comes at once, so this was the escape key.
        if ready == 0 { waiting = [] }
        // A background process that reads from the terminal would be stopped.
        if ready <= 0 || !TerminalMode.isForeground { continue }
        let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        waiting += bytes[..<count]
        for key in Self.keys(&waiting) { onKey(key) }
      }
    }
  }

  /// Restores the terminal. No key is reported afterwards.
  func end() {
    isOver.store(true, ordering: .releasing)
    TerminalMode.leave()
  }

  /// Takes the keys from bytes that a terminal sent. An incomplete sequence stays.
  static func keys(_ bytes: inout [UInt8]) -> [Key] {
    var keys: [Key] = []
    var rest = bytes[...]
    while let byte = rest.first {
      if byte == 0x1B {
        guard let (key, length) = sequence(rest) else { break }
        if let key { keys.append(key) }
        rest = rest.dropFirst(length)
        continue
      }
      if byte >= 0x20, byte < 0x7F { keys.append(.character(Character(UnicodeScalar(byte)))) }
      rest = rest.dropFirst()
    }
    bytes = Array(rest)
    return keys
  }

  /// Returns the key of an escape sequence, nil for others, and its length; nil if it is incomplete.
  private static func sequence(_ bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
    let bytes = Array(bytes)
    guard bytes.count >= 2 else { return nil }
    // ESC [ A, with parameters as in ESC [ 1 ; 2 A, or ESC O A in application mode.
    guard [UInt8(ascii: "["), UInt8(ascii: "O")].contains(bytes[1]) else { return (nil, 1) }
    guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
      // No terminal sends so much.
      return bytes.count > 16 ? (nil, bytes.count) : nil
    }
    let isShifted = String(decoding: bytes[2..<end], as: UTF8.self).hasSuffix(";2")
    let key: Key? =
      switch bytes[end] {
      case UInt8(ascii: "A"): .up
      case UInt8(ascii: "B"): .down
      case UInt8(ascii: "C"): isShifted ? .shiftRight : .right
      case UInt8(ascii: "D"): isShifted ? .shiftLeft : .left
      default: nil
      }
    return (key, end + 1)
  }
}
