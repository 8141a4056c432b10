import Synchronization

/// Reason why a device plays nothing.
package enum Absence: UInt8, Sendable {
  /// The server has gone: the device waits for another one of the same name.
  case serverGone = 1
  /// The server runs no cycles.
  case stalled
  /// The server has changed its sample rate.
  case rateChange
}

/// Losses of a device's client, and those that the device has recovered from.
///
/// Any thread, JACK's included: nothing here allocates or locks. A loss during a return is another
/// loss: the device is back once it has recovered from the latest one.
final class Losses: Sendable {
  /// Tells whether the client survives a loss.
  enum Consequence: UInt8, AtomicRepresentable {
    /// The client stays: the server is there.
    case none
    /// The client is lost for good, and another one must replace it.
    case needsClient
    /// Another client has replaced it, and the return is not finished.
    case hasNewClient
  }

  private let number = Atomic<UInt64>(0)
  private let survived = Atomic<UInt64>(0)
  /// Reason of the latest loss; 0 before the first one.
  private let reason = Atomic<UInt8>(0)
  /// The treatment that the client needs after the losses since its latest return.
  let consequence = Atomic<Consequence>(.none)

  /// Number of losses.
  var count: UInt64 { number.load(ordering: .acquiring) }
  /// True from a loss until the device has recovered from it.
  var isLost: Bool { count != survived.load(ordering: .acquiring) }
  /// Reason of the latest loss; nil if there was none.
  var latestReason: Absence? { Absence(rawValue: reason.load(ordering: .acquiring)) }

  /// Notes a loss: cycles play nothing until the device is back.
  func add(_ absence: Absence) {
    if absence == .serverGone { consequence.store(.needsClient, ordering: .releasing) }
    reason.store(absence.rawValue, ordering: .releasing)
    number.add(1, ordering: .acquiringAndReleasing)
  }

  /// Notes that the device is back after the first `count` losses.
  func recover(from count: UInt64) { survived.store(count, ordering: .releasing) }
}
