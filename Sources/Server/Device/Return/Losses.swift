import Synchronization

/// Losses of a device's client, and those that the device has recovered from.
///
/// Any thread, JACK's included: nothing here allocates or locks. A loss during a return is another
/// loss: the device is back once it has recovered from the latest one.
final class Losses: Sendable {
  private let number = Atomic<UInt64>(0)
  private let survived = Atomic<UInt64>(0)
  /// The latest loss; 0 before the first one.
  private let latest = Atomic<UInt8>(0)
  /// Set while the client is lost for good, so that another one must replace it.
  let needsClient = Atomic<Bool>(false)

  /// Number of losses.
  var count: UInt64 { number.load(ordering: .acquiring) }
  /// True from a loss until the device has recovered from it.
  var isLost: Bool { count != survived.load(ordering: .acquiring) }
  /// The latest loss, until the device has recovered from it.
  var present: Loss? { isLost ? Loss(rawValue: latest.load(ordering: .acquiring)) : nil }

  /// Notes a loss: cycles play nothing until the device is back.
  func add(_ loss: Loss) {
    if loss == .serverGone { needsClient.store(true, ordering: .releasing) }
    latest.store(loss.rawValue, ordering: .releasing)
    number.add(1, ordering: .acquiringAndReleasing)
  }

  /// Notes that the device is back after the first `count` losses.
  func recover(from count: UInt64) { survived.store(count, ordering: .releasing) }
}
