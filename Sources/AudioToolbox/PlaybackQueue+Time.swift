import CAudioToolbox

extension PlaybackQueue {
  /// A time of the device in both of its forms.
  public struct DeviceTime: Hashable, Sendable {
    /// Frames of the device.
    public var frame: Int64
    /// Nanoseconds of CLOCK_MONOTONIC.
    public var hostTime: UInt64

    fileprivate init(_ time: AudioTimeStamp) throws(AudioQueueError) {
      guard time.mFlags.contains(.sampleHostTimeValid) else {
        throw AudioQueueError(kAudioQueueErr_InvalidRunState)
      }
      frame = Int64(time.mSampleTime)
      hostTime = time.mHostTime
    }
  }

  /// Frames at the queue's rate since it was started; nil while it does not run. Stands still while
  /// the queue is paused.
  public var currentFrame: Double? {
    var time = AudioTimeStamp()
    let status = unsafe AudioQueueGetCurrentTime(reference, nil, &time, nil)
    return status == noErr ? time.mSampleTime : nil
  }

  /// The device's time now.
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState before the queue has opened its device: `prime` does.
  public var deviceTime: DeviceTime {
    get throws(AudioQueueError) {
      var time = AudioTimeStamp()
      try unsafe check(AudioQueueDeviceGetCurrentTime(reference, &time))
      return try DeviceTime(time)
    }
  }

  /// The device's frame of a host time, or the other way round.
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState before the queue has opened its device,
  ///   kAudio_ParamError for `now`.
  public func deviceTime(of time: StartTime) throws(AudioQueueError) -> DeviceTime {
    var translated = AudioTimeStamp()
    try unsafe check(
      AudioQueueDeviceTranslateTime(reference, [AudioTimeStamp(time)], &translated))
    return try DeviceTime(translated)
  }

  /// The first time, not earlier than the one given, at which a queue of this device can still start.
  ///
  /// ```swift
  /// for queue in [drums, bass] { try queue.prime() }
  /// let frame = try drums.nearestStartTime().frame + 4800
  /// for queue in [drums, bass] { try queue.start(at: .deviceFrame(frame)) }
  /// ```
  ///
  /// - Throws: kAudioQueueErr_InvalidRunState before the queue has opened its device.
  public func nearestStartTime(to time: StartTime = .now) throws(AudioQueueError) -> DeviceTime {
    var nearest = AudioTimeStamp(time)
    try unsafe check(AudioQueueDeviceGetNearestStartTime(reference, &nearest, 0))
    return try DeviceTime(nearest)
  }
}

extension AudioTimeStamp {
  /// What a start time says; nothing is valid for `now`.
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
