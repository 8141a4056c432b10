import Logging
import Synchronization
import System

/// The servers that devices of this process wait for. The log has a line when one goes, and when it is back.
final class LostServers: Sendable {
  static let shared = LostServers()
  private let names = Mutex<Set<String>>([])

  /// Notes that a device has left its server. Only the first one is told.
  func leave(_ server: String, _ loss: Loss?) {
    guard let loss, loss != .rateChange, Log.tellsLosses,
      names.withLock({ $0.insert(server).inserted })
    else { return }
    let words = loss == .stalled ? "runs no cycles" : "went away"
    log.warning("the JACK server “\(server)” \(words): queues and units go on when it is back")
  }

  /// Notes that a device is back on its server.
  func enter(_ server: String) {
    if names.withLock({ $0.remove(server) }) != nil {
      log.notice("the JACK server “\(server)” is back")
    }
  }
}
