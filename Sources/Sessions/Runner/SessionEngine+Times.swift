import Server
import Synchronization
import System
import Timeline

/// Groups that start at a time: a frame, a host time, or a time on the wall clock.
///
/// The sound card's clock drifts against the host's, and the wall clock may be set. So a group is ordered to
/// start on the frame that its time is expected on, and once more, finally, a fraction of a second before.
extension SessionEngine {
  /// Starts the groups whose start is a frame or a time, then. Times that are past are reported, and so is a
  /// clock that nobody keeps.
  package func arm() throws(SessionRunError) {
    let waiting = runs.withLock { runs in
      runs.enumerated().filter { $1.motion == .stopped }.map { ($0, $1.group) }
    }
    for (index, group) in waiting {
      guard let trigger = group?.trigger, let frame = frame(of: trigger) else { continue }
      let path = "groups[\(group?.name ?? "")].trigger"
      if isTooLate(for: frame) {
        options.onMessage("\(path): \(Self.words(for: trigger)) is past")
        continue
      }
      if case .wallTime(let time) = trigger, let warning = WallClock.now.warning(for: time) {
        options.onMessage("\(path): \(warning)")
      }
      try start([index], at: frame)
      if Self.hostTime(of: trigger) != nil {
        runs.withLock { $0[index].waitsForTime = $0[index].motion == .playing }
      }
      let seconds = Int(held: Double(frame - device.now) / plan.timeline.sampleRate)
      var words = "waits until \(Self.words(for: trigger)), \(seconds) seconds from now"
      if case .wallTime = trigger { words += "; \(WallClock.now.words)" }
      options.onMessage("\(path): \(words)")
    }
  }

  /// A time as the document gives it.
  private static func words(for trigger: SessionTrigger) -> String {
    switch trigger {
    case .frame(let frame): "frame \(frame)"
    case .hostTime(let time): "host time \(time)ns"
    case .wallTime(let time): time.text
    default: ""
    }
  }

  /// The host time at which a trigger starts a group; nil if it is none.
  private static func hostTime(of trigger: SessionTrigger?) -> UInt64? {
    switch trigger {
    case .hostTime(let time): UInt64(time)
    case .wallTime(let time): time.hostTime
    default: nil
    }
  }

  /// The device frame at which a trigger starts a group, as far as it is known now; nil if it is none.
  private func frame(of trigger: SessionTrigger) -> Int64? {
    if case .frame(let number) = trigger {
      return number < 1 << 32
        ? DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: device.now) : number
    }
    return Self.hostTime(of: trigger).map { device.frame(atHostTime: $0) }
  }

  /// Moves groups that wait for a time to the frame on which it is expected now. The caller holds the control
  /// lock.
  func followTimes() throws(SessionRunError) {
    if device.isLost { return }
    let second = Int64(plan.timeline.sampleRate)
    for (index, run) in runs.withLock({ $0 }).enumerated()
    where run.waitsForTime && run.motion == .playing {
      guard let trigger = run.group?.trigger, let frame = frame(of: trigger) else { continue }
      let lead = lead(run.tracks.count, attempt: 0)
      let isFinal = frame - device.now < 2 * lead + second / 10
      // Before that, only a clock that was set matters.
      if isFinal || abs(frame - run.anchor) > second / 20 {
        // Too little time is left for another order, or none is needed.
        let isOrdered =
          frame == run.anchor
          || isTooLate(for: min(frame, run.anchor) - lead)
        if !isOrdered {
          try halt([index]) { _, run, _ in (.stopped, run.origin) }
          _ = try begin([index], at: frame)
        }
        runs.withLock { $0[index].waitsForTime = !isFinal }
      }
    }
  }
}
