import Glibc
import Logging
import Synchronization
import System

/// Checks that a device's server is there and runs cycles at the rate that voices are prepared for.
/// Event thread.
final class LossDetector: Sendable {
  /// Nanoseconds between two checks of the cycles while the device is busy: its event thread is woken between them.
  private static let interval: UInt64 = 400_000_000
  /// Nanoseconds between two checks of an idle device, such as that of a paused queue.
  private static let longInterval = 4 * interval
  /// Nanoseconds without a new cycle after which the server counts as stalled.
  private static let patience = 5 * interval

  private struct Checks {
    /// Host time of the latest check, and the cycles that had begun.
    var checkedAt: UInt64 = 0
    var cycles: UInt64 = 0
    /// Nanoseconds until the next check.
    var interval = LossDetector.interval
    /// Sum of the intervals in a row without a new cycle. However long the whole process was stopped, it
    /// was one interval.
    var idle: UInt64 = 0
  }
  private let checks = Mutex(Checks())
  private let cycles: ClientCycles
  private let notices: DeviceNotices

  init(_ cycles: ClientCycles, _ notices: DeviceNotices) {
    self.cycles = cycles
    self.notices = notices
  }

  /// Notes a loss if the server is gone, has another rate or runs no cycles.
  ///
  /// - Returns: The seconds after which to check again; nil after a loss, or if the caller drives the
  ///   cycles.
  func check() -> Double? {
    if notices.mayBeLost.exchange(false, ordering: .acquiringAndReleasing) {
      if !runsOn() {
        cycles.losses.add(.serverGone)
        return nil
      }
      log.debug("the server reported an error and runs on")
    }
    let client = cycles.client
    let isOther = notices.mayHaveOtherRate.exchange(false, ordering: .acquiringAndReleasing)
    if isOther || cycles.engine.runsAtOtherRate, client.liveSampleRate != client.sampleRate {
      cycles.losses.add(.rateChange)
      return nil
    }
    guard unsafe client.handle != nil else { return nil }
    if isStalled() {
      cycles.losses.add(.stalled)
      return nil
    }
    return checks.withLock { Double($0.interval) / 1e9 }
  }

  /// Restarts the checks of the cycles, after a return.
  func restart() {
    checks.withLock { checks in
      checks = Checks(checkedAt: HostTime.now, cycles: checks.cycles)
    }
  }

  /// Waits for three more cycles, for half a second at most. PipeWire 0.3.65 reports any error as a
  /// lost server, and a daemon that is alive continues to run cycles.
  private func runsOn() -> Bool {
    let enough = cycles.engine.cyclesBegun + 3
    let deadline = HostTime.now + 500_000_000
    while cycles.engine.cyclesBegun < enough, HostTime.now < deadline, cycles.link.lifetime == .open
    {
      usleep(2000)
    }
    return cycles.engine.cyclesBegun >= enough
  }

  private func isStalled() -> Bool {
    checks.withLock { checks in
      let now = HostTime.now
      if now - checks.checkedAt < checks.interval / 10 * 9 {
        checks.interval = Self.interval
        return false
      }
      checks.checkedAt = now
      let begun = cycles.engine.cyclesBegun
      let stands = begun == checks.cycles && !notices.isFreewheeling.load(ordering: .relaxed)
      checks.cycles = begun
      checks.idle = stands ? checks.idle + checks.interval : 0
      checks.interval = stands ? Self.interval : min(2 * checks.interval, Self.longInterval)
      return checks.idle >= Self.patience
    }
  }
}
