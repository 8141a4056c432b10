import CAudioToolbox

extension PlaybackQueue {
  /// A device time as a frame and as a host time.
  public struct DeviceTime: Hashable, Sendable {
    /// The device frame.
    public var frame: Int64
    /// The host time in nanoseconds of CLOCK_MONOTONIC.
    public var hostTime: UInt64

    fileprivate init(_ time: AudioTimeStamp) throws(AudioQueueError) {
      guard time.mFlags.contains(.sampleHostTimeValid) else {
        throw AudioQueueError(kAudioQueueErr_InvalidRunState)
      }
      frame = Int64(time.mSampleTime)
      hostTime = time.mHostTime
    }
  }

  /// Frames at the queue's rate since the start; nil while the queue is not running. Does not
  /// advance while the queue is paused.
  public var currentFrame: Double? {
    var time = AudioTimeStamp()
    let status = unsafe AudioQueueGetCurrentTime(reference, nil, &time, nil)
    return status == noErr ? time.mSampleTime : nil
  }

  /// The current device time.
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState until the queue has opened its device, as `prime`
  ///   does.
  public var deviceTime: DeviceTime {
    get throws(AudioQueueError) {
      var time = AudioTimeStamp()
      try unsafe check(AudioQueueDeviceGetCurrentTime(reference, &time))
      return try DeviceTime(time)
    }
  }

  /// Translates a host time to a device frame, or a device frame to a host time.
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState until the queue has opened its device.
  ///   kAudio_ParamError for `now`.
  public func deviceTime(of time: StartTime) throws(AudioQueueError) -> DeviceTime {
    var translated = AudioTimeStamp()
    try unsafe check(
      AudioQueueDeviceTranslateTime(reference, [AudioTimeStamp(time)], &translated))
    return try DeviceTime(translated)
  }

  /// Returns the earliest time, not before the given one, at which a queue of this device can still
  /// start.
  ///
  /// ```swift
  /// for queue in [drums, bass] { try queue.prime() }
  /// let frame = try drums.nearestStartTime().frame + 4800
  /// for queue in [drums, bass] { try queue.start(at: .deviceFrame(frame)) }
  /// ```
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState until the queue has opened its device.
  public func nearestStartTime(to time: StartTime = .now) throws(AudioQueueError) -> DeviceTime {
    var nearest = AudioTimeStamp(time)
    try unsafe check(AudioQueueDeviceGetNearestStartTime(reference, &nearest, 0))
    return try DeviceTime(nearest)
  }
}

extension AudioTimeStamp {
  /// Creates a time stamp for a start time. For `now` none of its fields is valid.
  init(_ time: PlaybackQueue.StartTime) {
    self.init()
    switch time {
    case .now: break
    case .deviceFrame(let frame):
      mSampleTime = Double(frame)
      mFlags = .sampleTimeValid
    case .hostTime(let hostTime):
      mHostTime = hostTime
      mFlags = .hostTimeValid
    }
  }
}
