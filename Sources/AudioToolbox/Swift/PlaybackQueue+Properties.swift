public import CAudioToolbox
import CoreFoundation
import Synchronization

extension PlaybackQueue {
  // MARK: Parameters

  /// The present linear gain, 0 to 1; other values are clamped. A new gain takes effect with the
  /// next cycle.
  public var volume: Float {
    get { parameter(kAudioQueueParam_Volume) }
    set { ramp(to: newValue, over: 0) }
  }

  /// Ramps the gain linearly, frame by frame, from its present value.
  ///
  /// ```swift
  /// queue.ramp(to: 0, over: 2)
  /// ```
  ///
  /// - Parameters:
  ///   - volume: The final gain, 0 to 1.
  ///   - seconds: The duration of the ramp.
  public func ramp(to volume: Float, over seconds: Double) {
    // The two parameters must not be interleaved with those of another ramp.
    ramps.withLock { _ in
      setParameter(kAudioQueueParam_VolumeRampTime, Float(seconds))
      setParameter(kAudioQueueParam_Volume, volume)
    }
  }

  /// The balance of one or two channels: -1 is left, 1 is right. The default 0 leaves both
  /// unchanged.
  public var pan: Float {
    get { parameter(kAudioQueueParam_Pan) }
    set { setParameter(kAudioQueueParam_Pan, newValue) }
  }

  /// The playback rate as a factor, 0.5 to 2, at the same pitch; other values are clamped. It is heard within
  /// a few hundredths of a second.
  ///
  /// ```swift
  /// try queue.setValue(true, of: .timePitch)  // before the start
  /// try queue.start()
  /// queue.rate = 0.75
  /// queue.pitch = -200
  /// ```
  ///
  /// It has no effect unless the queue plays through the time-pitch processor, which the property
  /// `timePitch` turns on.
  public var rate: Float {
    get { parameter(kAudioQueueParam_PlayRate) }
    set { setParameter(kAudioQueueParam_PlayRate, newValue) }
  }

  /// The pitch shift in cents, -2400 to 2400, at the same rate; other values are clamped. It needs the
  /// time-pitch processor, as `rate` does.
  public var pitch: Float {
    get { parameter(kAudioQueueParam_Pitch) }
    set { setParameter(kAudioQueueParam_Pitch, newValue) }
  }

  private func parameter(_ id: AudioQueueParameterID) -> Float {
    var value: AudioQueueParameterValue = 0
    _ = unsafe AudioQueueGetParameter(reference, id, &value)
    return value
  }

  private func setParameter(_ id: AudioQueueParameterID, _ value: Float) {
    _ = unsafe AudioQueueSetParameter(reference, id, value)
  }

  // MARK: Levels

  /// The level of one channel in the latest cycle, in decibels from -120 to 0.
  public struct Level: Hashable, Sendable {
    /// The root mean square of the samples.
    public let average: Float
    /// The largest sample.
    public let peak: Float

    /// Creates a level.
    public init(average: Float, peak: Float) {
      self.average = average
      self.peak = peak
    }
  }

  /// The levels of the queue's channels, gain and balance included; empty unless they are measured.
  ///
  /// ```swift
  /// try queue.setValue(true, of: .levelMetering)
  /// for level in queue.levels { print("\(level.peak) dB") }
  /// ```
  public var levels: [Level] { (try? value(of: .levels)) ?? [] }

  // MARK: Properties

  /// How the time-pitch processor changes rate and pitch.
  public enum TimePitchAlgorithm: Hashable, Sendable, CaseIterable {
    /// Rate and pitch by themselves, for all kinds of sound.
    case spectral
    /// Rate and pitch by themselves, at half the cost, for speech.
    case timeDomain
    /// The pitch follows the rate, as on a tape. `PlaybackQueue.pitch` is ignored.
    case varispeed

    fileprivate var id: UInt32 {
      switch self {
      case .spectral: UInt32(kAudioQueueTimePitchAlgorithm_Spectral)
      case .timeDomain: UInt32(kAudioQueueTimePitchAlgorithm_TimeDomain)
      case .varispeed: UInt32(kAudioQueueTimePitchAlgorithm_Varispeed)
      }
    }
  }

  /// A property of queues and the type of its value.
  public struct Property<Value: Sendable>: Sendable {
    let id: AudioQueuePropertyID
    let read: @Sendable (PlaybackCore.Queue) throws(AudioQueueError) -> Value
    let write: @Sendable (PlaybackCore.Queue, Value) throws(AudioQueueError) -> Void

    fileprivate init(
      id: AudioQueuePropertyID,
      read: @escaping @Sendable (PlaybackCore.Queue) throws(AudioQueueError) -> Value,
      write: @escaping @Sendable (PlaybackCore.Queue, Value) throws(AudioQueueError) -> Void
    ) {
      self.id = id
      self.read = read
      self.write = write
    }

    fileprivate init<Raw: BitwiseCopyable>(
      _ id: AudioQueuePropertyID, initial: Raw, _ value: @escaping @Sendable (Raw) -> Value,
      _ raw: @escaping @Sendable (Value) -> Raw
    ) where Raw: Sendable {
      self.id = id
      read = { (queue) throws(AudioQueueError) in
        var raw = initial
        var size = UInt32(MemoryLayout<Raw>.size)
        try unsafe check(AudioQueueGetProperty(queue.reference, id, &raw, &size))
        return value(raw)
      }
      write = { (queue, value) throws(AudioQueueError) in
        try unsafe check(
          AudioQueueSetProperty(queue.reference, id, [raw(value)], UInt32(MemoryLayout<Raw>.size)))
      }
    }

    /// Creates a property of the C API whose value is a number or a structure.
    ///
    /// - Parameters:
    ///   - id: The property ID, such as `kAudioQueueProperty_StreamDescription`.
    ///   - initial: Any value of the type.
    public init(_ id: AudioQueuePropertyID, initial: Value) where Value: BitwiseCopyable {
      self.init(id, initial: initial, { $0 }, { $0 })
    }
  }

  /// Reads a property.
  ///
  /// ```swift
  /// let rate = try queue.value(of: .deviceSampleRate)
  /// ```
  ///
  /// - Throws: The error of AudioQueueGetProperty. Reading the device's rate opens the device.
  public func value<Value>(of property: Property<Value>) throws(AudioQueueError) -> Value {
    try property.read(core.queue)
  }

  /// Sets a property.
  ///
  /// ```swift
  /// try queue.setValue("jack:studio", of: .device)
  /// ```
  ///
  /// - Throws: The error of AudioQueueSetProperty. For the device, kAudioQueueErr_InvalidDevice if
  ///   it does not exist, kAudioQueueErr_InvalidRunState once the queue has been started.
  public func setValue<Value>(_ value: Value, of property: Property<Value>) throws(AudioQueueError)
  {
    try property.write(core.queue, value)
  }

  /// Returns the future values of a property, one per change. The stream ends with the queue, but
  /// does not keep it alive.
  ///
  /// ```swift
  /// for await isRunning in try queue.changes(of: .isRunning) {
  ///   print(isRunning ? "the first frame is out" : "the last frame has left")
  /// }
  /// ```
  ///
  /// - Throws: kAudioQueueErr_InvalidProperty.
  public func changes<Value>(of property: Property<Value>) throws(AudioQueueError)
    -> AsyncStream<Value>
  {
    let (stream, continuation) = AsyncStream<Value>.makeStream()
    let id = try core.addObserver(
      of: property.id,
      { queue in if let value = try? property.read(queue) { continuation.yield(value) } },
      finish: { continuation.finish() })
    continuation.onTermination = { [weak core] _ in core?.removeObserver(id) }
    return stream
  }

  /// True from the first to the last frame of playback.
  public var isRunning: Bool { (try? value(of: .isRunning)) ?? false }
}

extension PlaybackQueue.Property<Bool> {
  /// True from the first to the last frame of playback. Read-only.
  public static var isRunning: Self { flag(kAudioQueueProperty_IsRunning) }

  /// Whether a playback queue plays through the time-pitch processor, which `PlaybackQueue.rate` and
  /// `PlaybackQueue.pitch` need. Set it while the queue is stopped.
  public static var timePitch: Self { flag(kAudioQueueProperty_EnableTimePitch) }

  /// Whether the time-pitch processor is bypassed. Set it at any time.
  public static var timePitchBypass: Self { flag(kAudioQueueProperty_TimePitchBypass) }

  /// Whether levels are measured.
  public static var levelMetering: Self { flag(kAudioQueueProperty_EnableLevelMetering) }

  private static func flag(_ id: AudioQueuePropertyID) -> Self {
    Self(id, initial: 0 as UInt32, { $0 != 0 }, { $0 ? 1 : 0 })
  }
}

extension PlaybackQueue.Property<PlaybackQueue.TimePitchAlgorithm> {
  /// How the time-pitch processor works. Set it while the queue is stopped.
  public static var timePitchAlgorithm: Self {
    Self(
      kAudioQueueProperty_TimePitchAlgorithm, initial: 0 as UInt32,
      { id in Value.allCases.first { $0.id == id } ?? .spectral }, { $0.id })
  }
}

extension PlaybackQueue.Property<[PlaybackQueue.Level]> {
  /// The levels of the channels. Read-only; an error while they are not measured.
  public static var levels: Self {
    Self(
      id: kAudioQueueProperty_CurrentLevelMeterDB,
      read: { (queue) throws(AudioQueueError) in
        let bytes = try queue.bytes(kAudioQueueProperty_CurrentLevelMeterDB)
        return unsafe bytes.withUnsafeBytes { bytes in
          unsafe bytes.bindMemory(to: AudioQueueLevelMeterState.self).map {
            PlaybackQueue.Level(average: $0.mAveragePower, peak: $0.mPeakPower)
          }
        }
      },
      write: { (queue, _) throws(AudioQueueError) in
        try queue.setBytes([], kAudioQueueProperty_CurrentLevelMeterDB)
      })
  }
}

extension PlaybackQueue.Property<Double> {
  /// The device's sample rate in Hz. Read-only.
  public static var deviceSampleRate: Self {
    Self(kAudioQueueDeviceProperty_SampleRate, initial: 0)
  }
}

extension PlaybackQueue.Property<Int> {
  /// The number of device channels. Read-only.
  public static var deviceChannels: Self {
    Self(
      kAudioQueueDeviceProperty_NumberChannels, initial: 0 as UInt32, { Int($0) },
      { UInt32(clamping: $0) })
  }
}

extension PlaybackQueue.Property<String> {
  /// The device's UID: `jack:SERVER`, or `jack:SERVER/CLIENT` to share a client.
  public static var device: Self {
    Self(
      id: kAudioQueueProperty_CurrentDevice,
      read: { (queue) throws(AudioQueueError) in
        var uid: Unmanaged<CFString>?
        var size = unsafe UInt32(MemoryLayout<UnsafeRawPointer>.size)
        try unsafe check(
          AudioQueueGetProperty(queue.reference, kAudioQueueProperty_CurrentDevice, &uid, &size))
        // The property function returns a retained copy.
        return unsafe uid?.takeRetainedValue().string ?? ""
      },
      write: { (queue, value) throws(AudioQueueError) in
        let uid = value.cfString
        try withExtendedLifetime(uid) { () throws(AudioQueueError) in
          try unsafe check(
            AudioQueueSetProperty(
              queue.reference, kAudioQueueProperty_CurrentDevice, [Unmanaged.passUnretained(uid)],
              UInt32(MemoryLayout<UnsafeRawPointer>.size)))
        }
      })
  }
}
