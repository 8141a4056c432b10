import AudioQueue
public import CAudioToolbox
import System
import Timeline

// The time functions of AudioQueue.h and HostTime.h.

extension AudioTimeStamp {
  /// Creates a time stamp from a device frame and the matching host time.
  fileprivate init(_ time: (frame: Int64, hostTime: UInt64)) {
    self.init()
    mSampleTime = Double(time.frame)
    mHostTime = time.hostTime
    mFlags = [.sampleTimeValid, .hostTimeValid]
  }

  /// Creates a time stamp from a frame of the run and, if known, the matching host time.
  init(runFrame: Int64, hostTime: UInt64?) {
    self.init()
    mSampleTime = Double(runFrame)
    mFlags = .sampleTimeValid
    if let hostTime {
      mHostTime = hostTime
      mFlags.insert(.hostTimeValid)
    }
  }

  /// Creates a time stamp that has only a host time.
  fileprivate init(hostTime: UInt64) {
    self.init()
    mHostTime = hostTime
    mFlags = .hostTimeValid
  }
}

extension OutputQueue {
  /// Returns the frame of the run for a time stamp: its sample time if that is valid, otherwise the
  /// frame at its host time. Nil if neither is valid.
  func runFrame(of time: AudioTimeStamp) throws(QueueError) -> Int64? {
    switch try startTime(time) {
    case .atOnce: nil
    case .frame(let frame): frame
    case .hostTime(let hostTime): try runFrame(atHostTime: hostTime)
    }
  }
}

// MARK: Timelines

/// Creates a timeline of a queue.
@c @implementation
public func AudioQueueCreateTimeline(
  _ inAQ: AudioQueueRef, _ outTimeline: UnsafeMutablePointer<AudioQueueTimelineRef?>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueCreateTimeline", needs: outTimeline) {
    (handle) throws(QueueError) in
    let timeline = handle.timelines.add { _ in QueueTimeline(of: handle.queue) }
    unsafe outTimeline.pointee = AudioQueueTimelineRef(bitPattern: timeline)
  }
}

/// Disposes of a timeline of a queue.
@c @implementation
public func AudioQueueDisposeTimeline(
  _ inAQ: AudioQueueRef, _ inTimeline: AudioQueueTimelineRef
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDisposeTimeline") { (handle) throws(QueueError) in
    guard handle.timelines.remove(UInt(bitPattern: inTimeline)) != nil else {
      throw .invalidTimeline
    }
  }
}

/// Returns the frames since the queue started, at its rate. Negative before a scheduled start.
@c @implementation
public func AudioQueueGetCurrentTime(
  _ inAQ: AudioQueueRef, _ inTimeline: AudioQueueTimelineRef?,
  _ outTimeStamp: UnsafeMutablePointer<AudioTimeStamp>?,
  _ outTimelineDiscontinuity: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  var time = AudioTimeStamp(hostTime: HostTime.now)
  defer { unsafe outTimeStamp?.pointee = time }
  unsafe outTimelineDiscontinuity?.pointee = false
  return unsafe withQueue(inAQ, "AudioQueueGetCurrentTime") { (handle) throws(QueueError) in
    var timeline: QueueTimeline?
    if let reference = unsafe inTimeline {
      timeline = handle.timelines.object(UInt(bitPattern: reference))
      if timeline == nil { throw .invalidTimeline }
    }
    guard let present = handle.queue.currentTime else { throw .invalidRunState }
    time.mSampleTime = present.frame
    time.mHostTime = present.hostTime
    time.mFlags = [.sampleTimeValid, .hostTimeValid]
    // A caller that does not ask for the discontinuity leaves it to be reported later.
    if let timeline, let isBroken = unsafe outTimelineDiscontinuity {
      unsafe isBroken.pointee = timeline.takeDiscontinuity(of: handle.queue)
    }
  }
}

/// Returns the device's time in frames at its rate, and the host time.
@c @implementation
public func AudioQueueDeviceGetCurrentTime(
  _ inAQ: AudioQueueRef, _ outTimeStamp: UnsafeMutablePointer<AudioTimeStamp>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDeviceGetCurrentTime", needs: outTimeStamp) {
    (handle) throws(QueueError) in
    let time = handle.queue.deviceTime.map { AudioTimeStamp($0) }
    unsafe outTimeStamp.pointee = time ?? AudioTimeStamp(hostTime: HostTime.now)
  }
}

/// Translates a time of the device between frame and host time.
@c @implementation
public func AudioQueueDeviceTranslateTime(
  _ inAQ: AudioQueueRef, _ inTime: UnsafePointer<AudioTimeStamp>,
  _ outTime: UnsafeMutablePointer<AudioTimeStamp>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDeviceTranslateTime", needs: inTime, outTime) {
    (handle) throws(QueueError) in
    let start = unsafe try startTime(inTime.pointee)
    if start == .atOnce { throw .noTime }
    unsafe outTime.pointee = AudioTimeStamp(try handle.queue.deviceTime(of: start))
  }
}

/// Returns the earliest time, not before the requested one, at which a queue can still start.
@c @implementation
public func AudioQueueDeviceGetNearestStartTime(
  _ inAQ: AudioQueueRef, _ ioRequestedStartTime: UnsafeMutablePointer<AudioTimeStamp>,
  _ inFlags: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDeviceGetNearestStartTime", needs: ioRequestedStartTime) {
    (handle) throws(QueueError) in
    guard inFlags == 0 else { throw .badArgument("the flags are \(inFlags), not 0") }
    let start = unsafe try startTime(ioRequestedStartTime.pointee)
    unsafe ioRequestedStartTime.pointee = AudioTimeStamp(try handle.queue.nearestStart(to: start))
  }
}

// MARK: Host time

/// Returns the current host time in nanoseconds of CLOCK_MONOTONIC.
@c @implementation
public func AudioGetCurrentHostTime() -> UInt64 { HostTime.now }

/// Returns the number of host time ticks per second.
@c @implementation
public func AudioGetHostClockFrequency() -> Float64 { 1_000_000_000 }

/// Returns the smallest difference in ticks between two different readings.
@c @implementation
public func AudioGetHostClockMinimumTimeDelta() -> UInt32 { 1 }

/// Converts a host time to nanoseconds, which are the same number.
@c @implementation
public func AudioConvertHostTimeToNanos(_ inHostTime: UInt64) -> UInt64 { inHostTime }

/// Converts nanoseconds to a host time, which is the same number.
@c @implementation
public func AudioConvertNanosToHostTime(_ inNanos: UInt64) -> UInt64 { inNanos }
