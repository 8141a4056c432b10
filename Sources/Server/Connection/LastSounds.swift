import System

/// Sounds that play on when the process ends: the process waits for them, for two seconds at most.
package final class LastSounds: Sendable {
  package static let shared = LastSounds()

  private let sounds = Monitor<Set<ObjectIdentifier>>([])

  /// Waits until all of them have ended.
  func wait() { _ = sounds.wait(seconds: 2) { $0.isEmpty ? () : nil } }

  /// Notes that `owner` plays on, until `end`.
  package func begin(_ owner: AnyObject) {
    sounds.change { sounds in _ = sounds.insert(ObjectIdentifier(owner)) }
  }

  /// Notes that `owner` has played everything, if it was playing on.
  package func end(_ owner: AnyObject) {
    sounds.change { sounds in _ = sounds.remove(ObjectIdentifier(owner)) }
  }
}
