public import CAudioToolbox
import CoreFoundation
import Synchronization

extension PlaybackQueue {
  // MARK: Parameters

  /// The gain at this moment, 0 to 1, linear; what lies outside is clamped. A gain that is set is heard
  /// from the next cycle on.
  public var volume: Float {
    get { parameter(kAudioQueueParam_Volume) }
    set { ramp(to: newValue, over: 0) }
  }

  /// Has the gain change linearly, frame by frame, from what it is now.
  ///
  /// ```swift
  /// queue.ramp(to: 0, over: 2)
  /// ```
  ///
  /// - Parameters:
  ///   - volume: The gain in the end, 0 to 1.
  ///   - seconds: How long that takes.
  public func ramp(to volume: Float, over seconds: Double) {
    // The two belong together.
    ramps.withLock { _ in
      setParameter(kAudioQueueParam_VolumeRampTime, Float(seconds))
      setParameter(kAudioQueueParam_Volume, volume)
    }
  }

  /// The balance of one or two channels: -1 is left, 1 right, and 0, as it is at first, leaves both as
  /// they are.
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

  /// A property of queues, and the type of its value.
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

    /// A property of the C API whose value is a number or a structure.
    ///
    /// - Parameters:
    ///   - id: Its number, such as `kAudioQueueProperty_StreamDescription`.
    ///   - initial: Some value of its type.
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
  /// - Throws: What AudioQueueGetProperty answers. Reading the device's rate opens the device.
  public func value<Value>(of property: Property<Value>) throws(AudioQueueError) -> Value {
    try property.read(core.queue)
  }

  /// Sets a property.
  ///
  /// ```swift
  /// try queue.setValue("jack:studio", of: .device)
  /// ```
  ///
  /// - Throws: What AudioQueueSetProperty answers; for the device kAudioQueueErr_InvalidDevice if there
  ///   is none, kAudioQueueErr_InvalidRunState once the queue has been started.
  public func setValue<Value>(_ value: Value, of property: Property<Value>) throws(AudioQueueError)
  {
    try property.write(core.queue, value)
  }

  /// The values that a property changes to, from now on. Ends when the queue does, which this does
  /// not hold.
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

  /// True from the first frame that is played to the last that has left.
  public var isRunning: Bool { (try? value(of: .isRunning)) ?? false }
}

extension PlaybackQueue.Property<Bool> {
  /// True from the first frame that is played to the last that has left. Only to be read.
  public static var isRunning: Self {
    Self(kAudioQueueProperty_IsRunning, initial: 0 as UInt32, { $0 != 0 }, { $0 ? 1 : 0 })
  }
}

extension PlaybackQueue.Property<Double> {
  /// Frames per second of the device. Only to be read.
  public static var deviceSampleRate: Self {
    Self(kAudioQueueDeviceProperty_SampleRate, initial: 0)
  }
}

extension PlaybackQueue.Property<Int> {
  /// Channels of the device. Only to be read.
  public static var deviceChannels: Self {
    Self(
      kAudioQueueDeviceProperty_NumberChannels, initial: 0 as UInt32, { Int($0) },
      { UInt32(clamping: $0) })
  }
}

extension PlaybackQueue.Property<String> {
  /// The UID of the device: `jack:SERVER`, or `jack:SERVER/CLIENT` to share a client.
  public static var device: Self {
    Self(
      id: kAudioQueueProperty_CurrentDevice,
      read: { (queue) throws(AudioQueueError) in
        var uid: Unmanaged<CFString>?
        var size = unsafe UInt32(MemoryLayout<UnsafeRawPointer>.size)
        try unsafe check(
          AudioQueueGetProperty(queue.reference, kAudioQueueProperty_CurrentDevice, &uid, &size))
        // It was copied for us.
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
