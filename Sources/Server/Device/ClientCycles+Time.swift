import Glibc
import RealTime
import System
import Timeline

/// Device time and host time, extrapolated from the latest cycle.
extension ClientCycles {
  /// Device time now. It stays within the latest cycle until the next one begins, even if that is
  /// late.
  var now: Int64 {
    let times = engine.times
    let client = client
    let frame = times.frame(atHostTime: client.hostTime, sampleRate: client.sampleRate)
    // Before the first cycle, time follows the clock.
    let hasBegun = times.nextFrame > times.frame
    return hasBegun ? min(max(frame, times.frame), times.nextFrame) : max(frame, times.frame)
  }

  /// First device frame of the latest cycle.
  var latestFrame: Int64 { engine.times.frame }

  /// The first device frame at which a run requested soon can begin; nil if no cycle comes within
  /// five seconds.
  ///
  /// A cycle may be about to begin; only the one after that is certain to know of the run.
  var earliestStart: Int64? {
    let deadline = HostTime.now + 5_000_000_000
    while !losses.isLost && HostTime.now < deadline {
      if let next = engine.upcomingFrame { return next + max(0, next - latestFrame) }
      // The first cycle is on its way, unless the caller drives the cycles.
      if unsafe client.handle == nil { return nil }
      usleep(500)
    }
    return nil
  }

  /// Returns the host time (CLOCK_MONOTONIC, nanoseconds) at device frame `frame`.
  func hostTime(ofFrame frame: Int64) -> UInt64 {
    engine.times.hostTime(ofFrame: frame, sampleRate: client.sampleRate)
  }

  /// Returns the device frame at host time `time`, in nanoseconds.
  func frame(atHostTime time: UInt64) -> Int64 {
    engine.times.frame(atHostTime: time, sampleRate: client.sampleRate)
  }

  /// Returns device time and host time now, for a new client. PipeWire clients of one process
  /// continue each other's device time.
  static func anchor(for client: any ServerClient) -> TimeAnchor {
    guard client.isPipeWire else { return client.anchor }
    let others = DeviceRegistry.shared.all.map(\.cycles)
    guard let other = others.first(where: { $0.canBeContinued(by: client) }) else {
      return client.anchor
    }
    let hostTime = client.hostTime
    return TimeAnchor(frame: other.frame(atHostTime: hostTime), microseconds: hostTime / 1000)
  }

  private func canBeContinued(by client: any ServerClient) -> Bool {
    let own = self.client
    return engine.upcomingFrame != nil && !losses.isLost && own.isPipeWire
      && own.sampleRate == client.sampleRate
  }
}
