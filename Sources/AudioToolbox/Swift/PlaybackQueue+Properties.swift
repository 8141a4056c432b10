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

  private func parameter(_ id: AudioQueueParameterID) -> Float {
    var value: AudioQueueParameterValue = 0
    _ = unsafe AudioQueueGetParameter(reference, id, &value)
    return value
  }

  private func setParameter(_ id: AudioQueueParameterID, _ value: Float) {
    _ = unsafe AudioQueueSetParameter(reference, id, value)
  }

  // MARK: Properties

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
  public static var isRunning: Self {
    Self(kAudioQueueProperty_IsRunning, initial: 0 as UInt32, { $0 != 0 }, { $0 ? 1 : 0 })
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
