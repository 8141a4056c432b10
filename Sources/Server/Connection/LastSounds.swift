import System

/// Sounds that play on when the process ends: the process waits for them, for two seconds at most.
package final class LastSounds: Sendable {
  package static let shared = LastSounds()

  private let sounds = Monitor<Set<ObjectIdentifier>>([])

  /// Waits for something else that is sent.
  private let other = Hook<@Sendable () -> Void>()

  /// Waits until all of them have ended.
  func wait() {
    other.function?()
    _ = sounds.wait(seconds: 2) { $0.isEmpty ? () : nil }
  }

  /// Sets a function that waits for what else is to be sent, for a second at most.
  package func alsoWait(_ body: @escaping @Sendable () -> Void) { other.set(body) }

  /// Notes that `owner` plays on, until `end`.
  package func begin(_ owner: AnyObject) {
    sounds.change { sounds in _ = sounds.insert(ObjectIdentifier(owner)) }
  }

  /// Notes that `owner` has played everything, if it was playing on.
  package func end(_ owner: AnyObject) {
    sounds.change { sounds in _ = sounds.remove(ObjectIdentifier(owner)) }
  }
}
