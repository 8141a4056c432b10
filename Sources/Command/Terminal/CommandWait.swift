import Dispatch
import Synchronization

/// The wait of a command that plays or records until it is over. Main thread.
struct CommandWait {
  let signals: StopSignals
  /// Signalled when there is something to look at.
  let awake: DispatchSemaphore

  /// Seconds between two looks while something changes or somebody watches.
  static let interval = 0.1
  /// Seconds between two looks while nothing does.
  static let longInterval = 1.0

  /// Keys that wait to be carried out, from the thread that reads them.
  private final class Keys: Sendable {
    private let keys = Mutex<[KeyReader.Key]>([])

    func add(_ key: KeyReader.Key) { keys.withLock { $0.append(key) } }
    func take() -> [KeyReader.Key] {
      keys.withLock { keys in
        defer { keys = [] }
        return keys
      }
    }
  }

  /// Looks, carries out the keys and shows the state, again and again, until a signal arrives.
  ///
  /// - Parameters:
  ///   - look: Looks at what goes on. Returns the longest time until the next look in seconds; nil ends the wait.
  ///     A terminal is looked after at each `interval`.
  ///   - press: Carries out a key. Only a terminal has keys.
  ///   - show: Shows the state.
  func run(
    _ look: () -> Double?, press: (KeyReader.Key) -> Void, show: () -> Void
  ) {
    let waiting = Keys()
    let awake = awake
    let keys =
      Screen.shared.isTerminal
      ? KeyReader { key in
        waiting.add(key)
        awake.signal()
      } : nil
    defer { keys?.end() }
    while signals.received == nil, let seconds = look() {
      for key in waiting.take() { press(key) }
      show()
      let limit = Screen.shared.isTerminal ? Self.interval : Self.longInterval
      _ = awake.wait(timeout: .now() + min(seconds, limit))
    }
  }
}
