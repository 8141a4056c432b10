import Logging
import Synchronization
import System

/// The validation of a plugin's latency port. Any thread.
final class LatencyReading: Sendable {
  private let hasTold = Mutex(false)

  /// Returns the reported latency in frames. An impossible value (not a number, negative, or more than
  /// half a minute) counts as 0 and is logged once.
  func frames(_ said: Float, sampleRate: Double, of name: String) -> Int {
    if said >= 0 && Double(said) <= 30 * sampleRate { return Int(said.rounded()) }
    let isFirst = hasTold.withLock { hasTold in
      defer { hasTold = true }
      return !hasTold
    }
    if isFirst {
      log.warning("\(name) says that its latency is \(said) frames: taken as none")
    }
    return 0
  }
}
