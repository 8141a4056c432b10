import Glibc
import Server
import Timeline

/// A queue's times at the moment at which its server went away.
struct LastTimes: Sendable {
  /// The queue's time; nil if no run was under way or about to begin.
  let frame: Double?
  let device: CycleTimes
  /// The device's rate in Hz.
  let sampleRate: Double

  init(frame: Double?, _ device: Device) {
    self.frame = frame
    let now = device.now
    self.device =
      TimeAnchor(frame: now, microseconds: device.hostTime(ofFrame: now) / 1000).times
    sampleRate = device.client.sampleRate
  }
}
