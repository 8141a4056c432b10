import Logging
package import Server
import Synchronization
import System

extension HardwareDevice {
  /// Tells in the log why an output unit is silent, once until one can start.
  package func tellUnusable(_ error: ServerError) {
    if hasToldLoss.exchange(true, ordering: .relaxed) { return }
    log.error("an output unit cannot use the JACK server “\(serverName)”: \(error)")
  }
}
