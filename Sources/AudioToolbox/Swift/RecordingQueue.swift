public import CAudioToolbox
import Dispatch
import Logging
import Synchronization
import System
import Timeline

/// A recording queue: an audio queue of the C API, its buffers and its callbacks in one object.
///
/// ```swift
/// let queue = try RecordingQueue(.pcm(Int16.self, sampleRate: 44100, channels: 1))
/// for await recording in try queue.start() {
///   sound += recording.samples(as: Int16.self)
///   if sound.count >= 10 * 44100 { try queue.stop() }
/// }
/// ```
///
/// Packets come with their descriptions. A decoder needs the `magicCookie` too:
///
/// ```swift
/// let queue = try RecordingQueue(.packets(kAudioFormatMPEG4AAC))
/// for await recording in try queue.start() { try file.append(recording.bytes, recording.packets) }
/// ```
///
/// Releasing the last reference disposes of the queue. The methods may be called on any thread that
/// is not real-time.
public final class RecordingQueue: Sendable {
  /// The content of one recorded buffer.
  public struct Recording: Sendable {
    /// The sound in the queue's format.
    public let bytes: [UInt8]
    /// The packet descriptions, with offsets into `bytes`; empty if packets do not vary in size.
    public let packets: [AudioStreamPacketDescription]
    /// The number of packets in `bytes`; of frames for linear PCM.
    public let packetCount: Int
    /// The position of the first frame in the run, at the queue's rate. A gap to the end of the
    /// previous buffer means that frames were lost.
    public let frame: Int64
    /// The host time of the first frame in nanoseconds of CLOCK_MONOTONIC.
    public let hostTime: UInt64

    /// Returns the interleaved samples of linear PCM.
    ///
    /// - Parameter sample: A type with the size of the queue's samples. Trailing bytes that do not
    ///   fill a sample are ignored.
    public func samples<Sample: LinearPCMSample>(as sample: Sample.Type = Sample.self) -> [Sample] {
      let size = MemoryLayout<Sample>.size
      return unsafe bytes.withUnsafeBytes { bytes in
        (0..<bytes.count / size).map {
          unsafe bytes.loadUnaligned(fromByteOffset: $0 * size, as: Sample.self)
        }
      }
    }
  }

  /// The format of the recorded data with every field filled in.
  public let format: AudioStreamBasicDescription
  private let core: RecordingCore

  /// Creates a recording queue.
  ///
  /// - Parameters:
  ///   - format: Interleaved linear PCM, or a packet format. A rate of 0 selects the device's rate,
  ///     which opens the device.
  ///   - bufferSeconds: The capacity of a buffer in seconds; at least one packet.
  ///   - buffers: The number of buffers.
  /// - Throws: kAudioFormatUnsupportedDataFormatError. kAudioQueueErr_CodecNotFound.
  ///   kAudio_ParamError if the number or the capacity of the buffers is not valid.
  ///   kAudioQueueErr_CannotStart if the device is needed and there is no server.
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

  /// The queue's C reference, for functions without a counterpart in this class.
  ///
  /// The object owns it: do not dispose of, stop, reset or start it through the C API.
  public var reference: AudioQueueRef { unsafe core.queue.reference }

  // MARK: Control

  /// Starts a run. A previous run ends first.
  ///
  /// - Returns: The recorded buffers in order; the stream ends with the run. Buffers that are not
  ///   consumed accumulate in memory, so none is lost. Ending the iteration ends the run.
  /// - Throws: kAudioQueueErr_CannotStart if there is no server.
  public func start(at time: PlaybackQueue.StartTime = .now) throws(AudioQueueError)
    -> AsyncStream<Recording>
  {
    try core.start(time == .now ? nil : AudioTimeStamp(time))
  }

  /// Pauses the queue. It keeps its buffers and its time.
  public func pause() throws(AudioQueueError) {
    try unsafe check(AudioQueuePause(reference))
  }

  /// Resumes a paused run.
  public func resume() throws(AudioQueueError) { try core.resume() }

  /// Ends the run. On return its stream holds everything recorded. Does nothing without a run.
  public func stop() throws(AudioQueueError) { try core.stop() }

  // MARK: Properties

  /// Reads a property.
  ///
  /// - Throws: The error of AudioQueueGetProperty. Reading the device's rate opens the device.
  public func value<Value>(of property: PlaybackQueue.Property<Value>) throws(AudioQueueError)
    -> Value
  {
    try property.read(core.queue)
  }

  /// Sets a property.
  ///
  /// - Throws: The error of AudioQueueSetProperty.
  public func setValue<Value>(_ value: Value, of property: PlaybackQueue.Property<Value>)
    throws(AudioQueueError)
  {
    try property.write(core.queue, value)
  }

  /// True from the first recorded frame until the run's last buffer is delivered.
  public var isRunning: Bool { (try? value(of: .isRunning)) ?? false }

  /// The levels of the queue's channels in the latest cycle; empty unless they are measured. The property
  /// `levelMetering` turns that on.
  public var levels: [PlaybackQueue.Level] { (try? value(of: .levels)) ?? [] }

  /// The decoder configuration for the packets, complete once a run is over. Empty if the decoder
  /// needs none.
  public var magicCookie: [UInt8] { (try? core.queue.bytes(kAudioQueueProperty_MagicCookie)) ?? [] }

  /// The maximum packet size in bytes. For linear PCM the size of a frame.
  public var maximumPacketSize: Int { core.maximumPacketSize }
}

extension AudioStreamBasicDescription {
  /// Returns a packet format with the codec's default sizes.
  ///
  /// ```swift
  /// let queue = try RecordingQueue(.packets(kAudioFormatAppleLossless))
  /// ```
  ///
  /// - Parameters:
  ///   - formatID: The format ID, such as `kAudioFormatMPEG4AAC`.
  ///   - sampleRate: Frames per second. For a recording queue 0 selects the device's rate.
  ///   - flags: Format flags, such as `kAppleLosslessFormatFlag_24BitSourceData`.
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

/// The part of a `RecordingQueue` that the C API's callbacks use. It has no reference to the public
/// object, so that callbacks do not keep that alive. Callbacks run on a dispatch queue of their
/// own.
final class RecordingCore: Sendable {
  private struct State {
    var queue: PlaybackCore.Queue?
    var isDisposed = false
    /// The stream of the present run, and the number of runs so far.
    var stream: AsyncStream<RecordingQueue.Recording>.Continuation?
    var runs = 0
    /// The buffers that are not enqueued.
    var free: [PlaybackCore.Buffer] = []
    var maximumPacketSize = 0
  }
  private let state = Mutex(State())
  /// The control lock: held by calls that start and stop, never in a callback.
  private let control = Mutex<Void>(())
  private let callbacks = DispatchQueue(label: "cuejack.recording")

  /// Creates the queue and its buffers. The caller must call `close` even if this throws.
  ///
  /// - Returns: The format with every field filled in.
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
    let bytes = max(1, UInt32(held: packets.rounded(.up))) &* most
    for _ in 0..<buffers {
      var buffer: AudioQueueBufferRef?
      try unsafe check(AudioQueueAllocateBuffer(reference, bytes, &buffer))
      guard let buffer = unsafe buffer else { continue }
      state.withLock { $0.free.append(unsafe PlaybackCore.Buffer(buffer)) }
    }
    return format
  }

  /// Disposes of the queue at once.
  func close() {
    let (queue, stream) = state.withLock { state in
      state.isDisposed = true
      defer { state.stream = nil }
      return (state.queue, state.stream)
    }
    if let queue { _ = unsafe AudioQueueDispose(queue.reference, true) }
    stream?.finish()
  }

  /// The queue, for calls that may be made at any time.
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
        // Neither on the thread that ends the iteration nor on the callback thread, which a stop
        // waits for.
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

  /// Ends a run whose stream has no consumer any more, unless another run has begun.
  private func leave(_ run: Int) {
    do throws(AudioQueueError) {
      try alone { () throws(AudioQueueError) in
        if state.withLock({ $0.runs == run && $0.stream != nil }) { try endRun() }
      }
    } catch {
      log.debug("a recording that nobody listens to: \(error)")
    }
  }

  /// Ends the run if there is one.
  private func endRun() throws(AudioQueueError) {
    guard state.withLock({ $0.stream != nil }) else { return }
    try unsafe check(AudioQueueStop(queue.reference, true))
    state.withLock { state in
      defer { state.stream = nil }
      return state.stream
    }?.finish()
  }

  /// Runs `body` while holding the control lock.
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

  /// Enqueues a buffer. The queue rejects buffers during a stop; they are kept for the next run.
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
