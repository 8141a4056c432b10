import AudioQueue
public import CAudioToolbox
import Server
import Synchronization
import Timeline

// The functions of AudioQueue.h and HostTime.h that tell the time.

extension AudioTimeStamp {
  /// A time of a device: its frame and the host time that goes with it.
  fileprivate init(_ time: (frame: Int64, hostTime: UInt64)) {
    self.init()
    mSampleTime = Double(time.frame)
    mHostTime = time.hostTime
    mFlags = [.sampleTimeValid, .hostTimeValid]
  }

  /// A time of a queue, and the host time that goes with it, if it is known.
  init(runFrame: Int64, hostTime: UInt64?) {
    self.init()
    mSampleTime = Double(runFrame)
    mFlags = .sampleTimeValid
    if let hostTime {
      mHostTime = hostTime
      mFlags.insert(.hostTimeValid)
    }
  }

  /// Host time alone.
  fileprivate init(hostTime: UInt64) {
    self.init()
    mHostTime = hostTime
    mFlags = .hostTimeValid
  }
}

extension OutputQueue {
  /// The frame of the run that a time stamp names: by its sample time if that is valid, else by its
  /// host time; nil for a stamp that names none.
  func runFrame(of time: AudioTimeStamp) throws(QueueError) -> Int64? {
    switch StartTime(time) {
    case .atOnce: nil
    case .frame(let frame): frame
    case .hostTime(let hostTime): try runFrame(atHostTime: hostTime)
    }
  }
}

/// What an `AudioQueueTimelineRef` stands for: tells of each break in a queue's time once. Any thread.
final class QueueTimeline: Sendable {
  private let told: Mutex<Discontinuities>

  init(of queue: any Queue) { told = Mutex(queue.discontinuities) }

  /// True if the queue's time was broken since the timeline was made and since the last call.
  func takeDiscontinuity(of queue: any Queue) -> Bool {
    told.withLock { told in
      // Read in here: with two threads an older reading would bring back what has been told.
      let present = queue.discontinuities
      defer { told = present }
      return told != present
    }
  }
}

// MARK: Timelines

/// Makes a timeline of a queue.
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

/// Ends a timeline of a queue.
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

/// Tells the frames, at the rate of the queue, since it started or until it will start.
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
    // What nobody hears of stays to be told.
    if let timeline, let isBroken = unsafe outTimelineDiscontinuity {
      unsafe isBroken.pointee = timeline.takeDiscontinuity(of: handle.queue)
    }
  }
}

/// Tells the device's time, in frames at its rate, and the host time.
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

/// Gives a time of the device in all of its forms.
@c @implementation
public func AudioQueueDeviceTranslateTime(
  _ inAQ: AudioQueueRef, _ inTime: UnsafePointer<AudioTimeStamp>,
  _ outTime: UnsafeMutablePointer<AudioTimeStamp>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDeviceTranslateTime", needs: inTime, outTime) {
    (handle) throws(QueueError) in
    let start = unsafe StartTime(inTime.pointee)
    if start == .atOnce { throw .noTime }
    unsafe outTime.pointee = AudioTimeStamp(try handle.queue.deviceTime(of: start))
  }
}

/// Gives the first time, not earlier than the one asked for, at which a queue can still start.
@c @implementation
public func AudioQueueDeviceGetNearestStartTime(
  _ inAQ: AudioQueueRef, _ ioRequestedStartTime: UnsafeMutablePointer<AudioTimeStamp>,
  _ inFlags: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDeviceGetNearestStartTime", needs: ioRequestedStartTime) {
    (handle) throws(QueueError) in
    guard inFlags == 0 else { throw .badArgument("the flags are \(inFlags), not 0") }
    let start = unsafe StartTime(ioRequestedStartTime.pointee)
    unsafe ioRequestedStartTime.pointee = AudioTimeStamp(try handle.queue.nearestStart(to: start))
  }
}

// MARK: Host time

/// The host time now: nanoseconds of CLOCK_MONOTONIC.
@c @implementation
public func AudioGetCurrentHostTime() -> UInt64 { HostTime.now }

/// Ticks of host time in a second.
@c @implementation
public func AudioGetHostClockFrequency() -> Float64 { 1_000_000_000 }

/// The least number of ticks by which two readings that differ do so.
@c @implementation
public func AudioGetHostClockMinimumTimeDelta() -> UInt32 { 1 }

/// Nanoseconds that a host time stands for: the same number.
@c @implementation
public func AudioConvertHostTimeToNanos(_ inHostTime: UInt64) -> UInt64 { inHostTime }

/// The host time that nanoseconds stand for: the same number.
@c @implementation
public func AudioConvertNanosToHostTime(_ inNanos: UInt64) -> UInt64 { inNanos }
