import CRealTime
import Synchronization
import Timeline

extension cue_time_stamp {
  /// False if it has a sample time that no clock can reach.
  var hasFrameTime: Bool {
    @_noLocks get { flags & UInt32(cue_time_has_sample) == 0 || sample_time.isFrameTime }
  }
}

/// Time of a unit's latest render, published by each render and read by any thread.
package struct RenderClock: ~Copyable {
  /// Odd while a render publishes. Reading restarts if it changes meanwhile.
  private let version = Atomic<UInt64>(0)
  /// The bits of the sample time, NaN if it is unknown.
  private let sampleTime = Atomic<UInt64>(Double.nan.bitPattern)
  /// The host time in nanoseconds, 0 if it is unknown.
  private let hostTime = Atomic<UInt64>(0)

  package init() {}

  @inline(__always)
  @_noLocks borrowing func publish(_ time: cue_time_stamp) {
    let hasSample = time.flags & UInt32(cue_time_has_sample) != 0
    let hasHost = time.flags & UInt32(cue_time_has_host) != 0
    publish(sampleTime: hasSample ? time.sample_time : .nan, hostTime: hasHost ? time.host_time : 0)
  }

  /// Forgets the time, while no render publishes one.
  func clear() { publish(sampleTime: .nan, hostTime: 0) }

  @_noLocks private borrowing func publish(sampleTime: Double, hostTime: UInt64) {
    let next = version.load(ordering: .relaxed) &+ 2
    version.store(next &- 1, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    self.sampleTime.store(sampleTime.bitPattern, ordering: .relaxed)
    self.hostTime.store(hostTime, ordering: .relaxed)
    version.store(next, ordering: .releasing)
  }

  /// The latest time; nil if there is none.
  var reading: (sampleTime: Double?, hostTime: UInt64?)? {
    while true {
      let before = version.load(ordering: .acquiring)
      let sampleTime = Double(bitPattern: sampleTime.load(ordering: .relaxed))
      let hostTime = hostTime.load(ordering: .relaxed)
      atomicMemoryFence(ordering: .acquiring)
      guard before % 2 == 0, version.load(ordering: .relaxed) == before else { continue }
      if sampleTime.isNaN && hostTime == 0 { return nil }
      return (sampleTime.isNaN ? nil : sampleTime, hostTime == 0 ? nil : hostTime)
    }
  }
}
