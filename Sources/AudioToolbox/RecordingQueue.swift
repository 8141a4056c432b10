public import CAudioToolbox
import Dispatch
import Logging
import Synchronization

/// Records sound: a queue of the C API, its buffers and its callbacks in one object.
///
/// ```swift
/// let queue = try RecordingQueue(.pcm(Int16.self, sampleRate: 44100, channels: 1))
/// for await recording in try queue.start() {
///   sound += recording.samples(as: Int16.self)
///   if sound.count >= 10 * 44100 { try queue.stop() }
/// }
/// ```
///
/// Packets come with their descriptions, and a decoder needs the `magicCookie` besides:
///
/// ```swift
/// let queue = try RecordingQueue(.packets(kAudioFormatMPEG4AAC))
/// for await recording in try queue.start() { try file.append(recording.bytes, recording.packets) }
/// ```
///
/// The queue ends with its last reference. Its methods may be called on any thread that is not real
/// time.
public final class RecordingQueue: Sendable {
  /// What came in one buffer.
  public struct Recording: Sendable {
    /// The sound, in the queue's format.
    public let bytes: [UInt8]
    /// Where the packets lie in `bytes`, if they vary in size; else there are none.
    public let packets: [AudioStreamPacketDescription]
    /// Packets in `bytes`; frames of linear PCM.
    public let packetCount: Int
    /// The first frame, at the queue's rate, counted from the start of the run. Where it is not what
    /// follows from the buffer before, frames were lost.
    public let frame: Int64
    /// Nanoseconds of CLOCK_MONOTONIC at the first frame.
    public let hostTime: UInt64

    /// The samples of linear PCM, interleaved.
    ///
    /// - Parameter sample: A type of the size that the queue's samples have; a rest that is none is left
    ///   out.
    public func samples<Sample: LinearPCMSample>(as sample: Sample.Type = Sample.self) -> [Sample] {
      let size = MemoryLayout<Sample>.size
      return unsafe bytes.withUnsafeBytes { bytes in
        (0..<bytes.count / size).map {
          unsafe bytes.loadUnaligned(fromByteOffset: $0 * size, as: Sample.self)
        }
      }
    }
  }

  /// The format of what is recorded, with every field filled in.
  public let format: AudioStreamBasicDescription
  private let core: RecordingCore

  /// A queue.
  ///
  /// - Parameters:
  ///   - format: Linear PCM, interleaved, or packets. A rate of 0 is that of the device, which this opens
  ///     then.
  ///   - bufferSeconds: How much sound a buffer has room for, at least a packet.
  ///   - buffers: How many buffers there are.
  /// - Throws: kAudioFormatUnsupportedDataFormatError, kAudioQueueErr_CodecNotFound,
  ///   kAudio_ParamError for no room at all, kAudioQueueErr_CannotStart if the device is needed and there
  ///   is no server.
  public init(_ format: AudioStreamBasicDescription, bufferSeconds: Double = 0.25, buffers: Int = 4)
    throws(AudioQueueError)
  {
    let core = RecordingCore()
    self.core = core
    do throws(AudioQueueError) {
      self.format = try core.open(format, bufferSeconds: bufferSeconds, buffers: buffers)
    } catch {
      core.close()
      throw error
    }
  }

  deinit { core.close() }

  /// The queue as the functions of the C API know it, for what this class has no method for.
  ///
  /// It belongs to this object: neither dispose of it nor stop, reset or start it behind its back.
  public var reference: AudioQueueRef { unsafe core.queue.reference }

  // MARK: Control

  /// Starts a run.
  ///
  /// - Returns: What is recorded, buffer after buffer; it ends with the run. Nothing is lost while nobody
  ///   takes it: it takes memory. Who stops to take it ends the run. A run that was under way ends here.
  /// - Throws: kAudioQueueErr_CannotStart if there is no server.
  public func start(at time: PlaybackQueue.StartTime = .now) throws(AudioQueueError)
    -> AsyncStream<Recording>
  {
    try core.start(time == .now ? nil : AudioTimeStamp(time))
  }

  /// Halts the queue; what it holds and its time stay where they are.
  public func pause() throws(AudioQueueError) {
    try unsafe check(AudioQueuePause(reference))
  }

  /// Lets a run go on where it was paused.
  public func resume() throws(AudioQueueError) { try core.resume() }

  /// Ends the run: all that was recorded is in its stream when this returns. Does nothing without a run.
  public func stop() throws(AudioQueueError) { try core.stop() }

  // MARK: Properties

  /// Reads a property.
  ///
  /// - Throws: What AudioQueueGetProperty answers. Reading the device's rate opens the device.
  public func value<Value>(of property: PlaybackQueue.Property<Value>) throws(AudioQueueError)
    -> Value
  {
    try property.read(core.queue)
  }

  /// Sets a property.
  ///
  /// - Throws: What AudioQueueSetProperty answers.
  public func setValue<Value>(_ value: Value, of property: PlaybackQueue.Property<Value>)
    throws(AudioQueueError)
  {
    try property.write(core.queue, value)
  }

  /// True from the first frame that is recorded until the run's last buffer has come.
  public var isRunning: Bool { (try? value(of: .isRunning)) ?? false }

  /// What a decoder of the packets needs besides them: complete once a run is over. Empty if it needs
  /// nothing.
  public var magicCookie: [UInt8] { (try? core.queue.bytes(kAudioQueueProperty_MagicCookie)) ?? [] }

  /// Bytes of the largest packet that there can be; of a frame of linear PCM.
  public var maximumPacketSize: Int { core.maximumPacketSize }
}

extension AudioStreamBasicDescription {
  /// Packets of a codec, with the usual sizes.
  ///
  /// ```swift
  /// let queue = try RecordingQueue(.packets(kAudioFormatAppleLossless))
  /// ```
  ///
  /// - Parameters:
  ///   - formatID: Such as `kAudioFormatMPEG4AAC`.
  ///   - sampleRate: Frames per second; 0, for a queue that records, is the rate of the device.
  ///   - flags: Such as `kAppleLosslessFormatFlag_24BitSourceData`.
  public static func packets(
    _ formatID: AudioFormatID, sampleRate: Double = 0, channels: Int = 2,
    flags: AudioFormatFlags = 0
  ) -> AudioStreamBasicDescription {
    AudioStreamBasicDescription(
      mSampleRate: sampleRate, mFormatID: formatID, mFormatFlags: flags, mBytesPerPacket: 0,
      mFramesPerPacket: 0, mBytesPerFrame: 0, mChannelsPerFrame: UInt32(clamping: channels),
      mBitsPerChannel: 0, mReserved: 0)
  }
}

/// The part of a `RecordingQueue` that the C API's callbacks reach. It knows nothing of the object that
/// programs hold, so that nothing keeps that alive. Callbacks come on a dispatch queue of their own.
final class RecordingCore: Sendable {
  private struct State {
    var queue: PlaybackCore.Queue?
    var isDisposed = false
    /// Where the present run's recordings go, and how many runs there were.
    var stream: AsyncStream<RecordingQueue.Recording>.Continuation?
    var runs = 0
    /// Buffers that are not enqueued.
    var free: [PlaybackCore.Buffer] = []
    var maximumPacketSize = 0
  }
  private let state = Mutex(State())
  /// Held by the calls that start and stop, never in a callback.
  private let control = Mutex<Void>(())
  private let callbacks = DispatchQueue(label: "cuejack.recording")

  /// Makes the queue and its buffers. If this throws, `close` is to be called all the same.
  ///
  /// - Returns: The format, complete.
  func open(_ format: AudioStreamBasicDescription, bufferSeconds: Double, buffers: Int)
    throws(AudioQueueError) -> AudioStreamBasicDescription
  {
    var reference: AudioQueueRef?
    try unsafe check(
      AudioQueueNewInputWithDispatchQueue(&reference, [format], 0, callbacks) {
        [weak self] queue, buffer, time, count, packets in
        unsafe self?.bufferDone(
          PlaybackCore.Queue(queue), PlaybackCore.Buffer(buffer), time.pointee, Int(count), packets)
      })
    guard let reference = unsafe reference else { throw AudioQueueError(kAudio_ParamError) }
    let queue = unsafe PlaybackCore.Queue(reference)
    state.withLock { $0.queue = queue }
    let format: AudioStreamBasicDescription = try queue.value(
      kAudioQueueProperty_StreamDescription, AudioStreamBasicDescription())
    let most: UInt32 = try queue.value(kAudioQueueProperty_MaximumOutputPacketSize, 0)
    state.withLock { $0.maximumPacketSize = Int(most) }
    let packets =
      bufferSeconds * format.mSampleRate / Double(max(1, format.mFramesPerPacket))
    guard buffers > 0, packets.isFinite, packets > 0,
      max(1, packets) * Double(most) <= Double(UInt32.max)
    else {
      log.debug("RecordingQueue: \(buffers) buffers of \(bufferSeconds) s cannot be made")
      throw AudioQueueError(kAudio_ParamError)
    }
    let bytes = max(1, UInt32(packets.rounded(.up))) &* most
    for _ in 0..<buffers {
      var buffer: AudioQueueBufferRef?
      try unsafe check(AudioQueueAllocateBuffer(reference, bytes, &buffer))
      guard let buffer = unsafe buffer else { continue }
      state.withLock { $0.free.append(unsafe PlaybackCore.Buffer(buffer)) }
    }
    return format
  }

  /// Ends the queue at once.
  func close() {
    let (queue, stream) = state.withLock { state in
      state.isDisposed = true
      defer { state.stream = nil }
      return (state.queue, state.stream)
    }
    if let queue { _ = unsafe AudioQueueDispose(queue.reference, true) }
    stream?.finish()
  }

  /// The queue, for calls that may come at any time.
  var queue: PlaybackCore.Queue { state.withLock { $0.queue! } }
  var maximumPacketSize: Int { state.withLock { $0.maximumPacketSize } }

  // MARK: Control

  func start(_ time: AudioTimeStamp?) throws(AudioQueueError)
    -> AsyncStream<RecordingQueue.Recording>
  {
    try alone { () throws(AudioQueueError) in
      try endRun()
      let (stream, continuation) = AsyncStream<RecordingQueue.Recording>.makeStream()
      let (queue, free, run) = state.withLock { state in
        state.stream = continuation
        state.runs += 1
        defer { state.free = [] }
        return (state.queue!, state.free, state.runs)
      }
      for buffer in free { try enqueue(buffer, of: queue) }
      let status =
        if let time { unsafe AudioQueueStart(queue.reference, [time]) } else {
          unsafe AudioQueueStart(queue.reference, nil)
        }
      do throws(AudioQueueError) {
        try check(status)
      } catch {
        try? endRun()
        throw error
      }
      continuation.onTermination = { [weak self] reason in
        // Not on the thread of who stops to listen, nor on that of the callbacks, which a stop waits for.
        guard case .cancelled = reason, let self else { return }
        DispatchQueue.global().async { self.leave(run) }
      }
      return stream
    }
  }

  func resume() throws(AudioQueueError) {
    try alone { () throws(AudioQueueError) in
      guard state.withLock({ $0.stream != nil }) else {
        throw AudioQueueError(kAudioQueueErr_InvalidRunState)
      }
      try unsafe check(AudioQueueStart(queue.reference, nil))
    }
  }

  func stop() throws(AudioQueueError) {
    try alone { () throws(AudioQueueError) in try endRun() }
  }

  /// Ends a run that nobody listens to any more, unless another one has begun.
  private func leave(_ run: Int) {
    do throws(AudioQueueError) {
      try alone { () throws(AudioQueueError) in
        if state.withLock({ $0.runs == run && $0.stream != nil }) { try endRun() }
      }
    } catch {
      log.debug("a recording that nobody listens to: \(error)")
    }
  }

  /// Ends the run, if there is one.
  private func endRun() throws(AudioQueueError) {
    guard state.withLock({ $0.stream != nil }) else { return }
    try unsafe check(AudioQueueStop(queue.reference, true))
    state.withLock { state in
      defer { state.stream = nil }
      return state.stream
    }?.finish()
  }

  /// Runs `body` alone among the calls that start and stop.
  private func alone<R>(_ body: () throws(AudioQueueError) -> R) throws(AudioQueueError) -> R {
    try control.withLock { (_) throws(AudioQueueError) in
      if state.withLock({ $0.isDisposed }) { throw AudioQueueError(kAudio_ParamError) }
      return try body()
    }
  }

  // MARK: Sound

  private func bufferDone(
    _ queue: PlaybackCore.Queue, _ buffer: PlaybackCore.Buffer, _ time: AudioTimeStamp,
    _ count: Int, _ packets: UnsafePointer<AudioStreamPacketDescription>?
  ) {
    if count > 0 {
      let header = unsafe buffer.reference.pointee
      let bytes = unsafe UnsafeRawBufferPointer(
        start: header.mAudioData, count: Int(header.mAudioDataByteSize))
      let recording = RecordingQueue.Recording(
        bytes: unsafe Array(bytes),
        packets: unsafe packets.map { unsafe Array(UnsafeBufferPointer(start: $0, count: count)) }
          ?? [],
        packetCount: count, frame: Int64(time.mSampleTime), hostTime: time.mHostTime)
      state.withLock { $0.stream }?.yield(recording)
    }
    try? enqueue(buffer, of: queue)
  }

  /// Enqueues a buffer; one that is refused, as all are at a stop, is kept for the next run.
  private func enqueue(_ buffer: PlaybackCore.Buffer, of queue: PlaybackCore.Queue)
    throws(AudioQueueError)
  {
    let status = unsafe AudioQueueEnqueueBuffer(queue.reference, buffer.reference, 0, nil)
    if status != noErr { state.withLock { $0.free.append(buffer) } }
    if status != kAudioQueueErr_EnqueueDuringReset { try check(status) }
  }
}

extension PlaybackCore.Queue {
  /// Reads a property whose value is a number or a structure.
  func value<Value: BitwiseCopyable>(_ id: AudioQueuePropertyID, _ initial: Value)
    throws(AudioQueueError) -> Value
  {
    var value = initial
    var size = UInt32(MemoryLayout<Value>.size)
    try unsafe check(AudioQueueGetProperty(reference, id, &value, &size))
    return value
  }

  /// Reads a property whose value is bytes.
  func bytes(_ id: AudioQueuePropertyID) throws(AudioQueueError) -> [UInt8] {
    var size: UInt32 = 0
    try unsafe check(AudioQueueGetPropertySize(reference, id, &size))
    if size == 0 { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    try unsafe check(AudioQueueGetProperty(reference, id, &bytes, &size))
    return Array(bytes.prefix(Int(size)))
  }

  /// Sets a property whose value is bytes.
  func setBytes(_ bytes: [UInt8], _ id: AudioQueuePropertyID) throws(AudioQueueError) {
    try unsafe check(AudioQueueSetProperty(reference, id, bytes, UInt32(bytes.count)))
  }
}
