import Synchronization

/// The open devices of this process by UID, so that queues can share one. Any thread that is not
/// real time.
///
/// A device is listed under the UID of its present client, from its first cycles until it closes,
/// except while another client replaces a lost one. Nothing is called under the lock.
final class DeviceRegistry: Sendable {
  static let shared = DeviceRegistry()

  private struct Weak { weak var device: Device? }
  private let devices = Mutex<[String: Weak]>([:])

  /// Returns the device called `uid`; nil if there is none.
  func device(named uid: String) -> Device? { devices.withLock { $0[uid]?.device } }

  /// All listed devices.
  var all: [Device] { devices.withLock { $0.values.compactMap(\.device) } }

  func add(_ device: Device, named uid: String) {
    devices.withLock { $0[uid] = Weak(device: device) }
  }

  func remove(named uid: String) { devices.withLock { $0[uid] = nil } }
}
