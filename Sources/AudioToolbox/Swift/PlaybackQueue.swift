public import CAudioToolbox
import Logging
import Synchronization
import System

/// A playback queue: an audio queue of the C API, its buffers and its callbacks in one object.
///
/// There are two ways to feed a queue. A task writes samples and waits while all buffers are full:
///
/// ```swift
/// let queue = try PlaybackQueue(.pcm(Float.self, sampleRate: 48000, channels: 1))
/// let tone = (0..<48000).map { sin(Float($0) * 2 * .pi * 440 / 48000) }
/// try queue.start()
/// try await queue.write(tone)
/// try await queue.stopAfterPlaying()
/// ```
///
/// Or the queue asks a closure for samples, on a thread of its own:
///
/// ```swift
/// let queue = try PlaybackQueue(Float.self, sampleRate: 48000, channels: 1) { frame, output in
///   for i in frame..<frame + output.freeCapacity {
///     output.append(sin(Float(i % 48000) * 2 * .pi * 440 / 48000))
///   }
/// }
/// try queue.start()
/// ```
///
/// Compressed packets are written together with their descriptions:
///
/// ```swift
/// let queue = try PlaybackQueue(packets: format, magicCookie: cookie)
/// try queue.start()
/// try await queue.write(packets: bytes, descriptions, trimmingStart: 2112)
/// ```
///
/// Releasing the last reference disposes of the queue. The methods may be called on any thread that
/// is not real-time, including the one that runs the render closure, unless stated otherwise.
public final class PlaybackQueue: Sendable {
  /// The start time of a queue.
  public enum StartTime: Hashable, Sendable {
    /// As soon as possible.
    case now
    /// The device frame with this number. Queues that start on the same frame start together.
    case deviceFrame(Int64)
    /// The device frame at this host time, in nanoseconds of CLOCK_MONOTONIC.
    case hostTime(UInt64)
  }

  /// The format of the samples or packets.
  public let format: AudioStreamBasicDescription
  let core: PlaybackCore
  /// Held while a ramp's two parameters are set.
  let ramps = Mutex<Void>(())

  /// Creates a queue that plays the samples written to it.
  ///
  /// - Parameters:
  ///   - format: Interleaved linear PCM.
  ///   - bufferFrames: The capacity of a buffer in frames; nil for a tenth of a second.
  ///   - buffers: The number of buffers between `write` and the device.
  /// - Throws: kAudioFormatUnsupportedDataFormatError. kAudio_ParamError if the number or the
  ///   capacity of the buffers is not valid.
  public convenience init(
    _ format: AudioStreamBasicDescription, bufferFrames: Int? = nil, buffers: Int = 4
  ) throws(AudioQueueError) {
    try self.init(format, bufferFrames, buffers, render: nil)
  }

  /// Creates a queue that asks a closure for its samples while it runs.
  ///
  /// - Parameters:
  ///   - sample: The sample type.
  ///   - sampleRate: Frames per second.
  ///   - channels: The number of channels.
  ///   - bufferFrames: The number of frames that the closure is asked for at a time; nil for a
  ///     tenth of a second.
  ///   - buffers: The number of buffers that the closure fills ahead of playback.
  ///   - render: Appends interleaved frames to its second argument, up to its capacity. A call that
  ///     appends nothing ends the run after all samples have been played. An incomplete frame is
  ///     dropped. The first argument is the number of frames appended since the start of the run.
  ///     The queue calls the closure on a thread of its own, one call at a time; it has no
  ///     real-time constraints. If it uses the queue, it must hold a weak reference.
  /// - Throws: kAudioFormatUnsupportedDataFormatError. kAudio_ParamError if the number or the
  ///   capacity of the buffers is not valid.
  public convenience init<Sample: LinearPCMSample>(
    _ sample: Sample.Type, sampleRate: Double = 48000, channels: Int = 2,
    bufferFrames: Int? = nil, buffers: Int = 4,
    render: sending @escaping (_ frame: Int, _ output: inout OutputSpan<Sample>) -> Void
  ) throws(AudioQueueError) {
    let format = AudioStreamBasicDescription.pcm(
      sample, sampleRate: sampleRate, channels: channels)
    let capacity = Self.capacity(of: format, bufferFrames) * max(channels, 0)
    try self.init(format, bufferFrames, buffers) { frame, use in
      let samples = [Sample](capacity: capacity) { render(frame, &$0) }
      use(unsafe samples.span.bytes)
    }
  }

  /// Creates a queue that plays the packets written to it.
  ///
  /// - Parameters:
  ///   - format: The packet format. Sizes that vary from packet to packet may be 0.
  ///   - magicCookie: The decoder configuration, in any form that files and programs use.
  ///   - bufferSize: The capacity of a buffer in bytes; at least the largest packet.
  ///   - buffers: The number of buffers.
  /// - Throws: kAudioFormatUnsupportedDataFormatError. kAudioQueueErr_CodecNotFound.
  ///   kAudioQueueErr_InvalidPropertyValue if the cookie is not valid. kAudio_ParamError if the
  ///   number or the capacity of the buffers is not valid.
  public convenience init(
    packets format: AudioStreamBasicDescription, magicCookie: some Collection<UInt8> = [],
    bufferSize: Int = 65536, buffers: Int = 4
  ) throws(AudioQueueError) {
    guard buffers > 0, bufferSize > 0, bufferSize <= Int(UInt32.max) else {
      log.debug("PlaybackQueue: \(buffers) buffers of \(bufferSize) bytes cannot be made")
      throw AudioQueueError(kAudio_ParamError)
    }
    // The core counts bytes as frames here.
    self.init(format, PlaybackCore(bytesPerFrame: 1, bufferFrames: bufferSize, render: nil))
    try core.open(format, buffers: buffers)
    if !magicCookie.isEmpty {
      try core.queue.setBytes(Array(magicCookie), kAudioQueueProperty_MagicCookie)
    }
  }

  private init(_ format: AudioStreamBasicDescription, _ core: PlaybackCore) {
    self.format = format
    self.core = core
  }

  private convenience init(
    _ format: AudioStreamBasicDescription, _ bufferFrames: Int?, _ buffers: Int,
    render: sending PlaybackCore.Render?
  ) throws(AudioQueueError) {
    let capacity = Self.capacity(of: format, bufferFrames)
    // The C API completes a partial description, but the frame size must be known here.
    let bytesPerFrame = Int(max(format.mBytesPerFrame, format.mBytesPerPacket))
    guard bytesPerFrame > 0, format.mSampleRate > 0 else {
      throw AudioQueueError(kAudioFormatUnsupportedDataFormatError)
    }
    guard buffers > 0, capacity > 0, capacity <= Int(UInt32.max) / bytesPerFrame else {
      log.debug("PlaybackQueue: \(buffers) buffers of \(capacity) frames cannot be made")
      throw AudioQueueError(kAudio_ParamError)
    }
    self.init(
      format, PlaybackCore(bytesPerFrame: bytesPerFrame, bufferFrames: capacity, render: render))
    // From here on the object is complete, so that `deinit` closes the queue.
    try core.open(format, buffers: buffers)
  }

  deinit { core.close() }

  /// Returns the capacity of a buffer in frames.
  private static func capacity(of format: AudioStreamBasicDescription, _ frames: Int?) -> Int {
    let tenth = (format.mSampleRate / 10).rounded(.up)
    return frames ?? (tenth.isFinite ? Int(min(max(tenth, 0), 1_000_000)) : 0)
  }

  /// The queue's C reference, for functions without a counterpart in this class.
  ///
  /// The object owns it: do not dispose of, stop, reset or start it through the C API.
  public var reference: AudioQueueRef { unsafe core.queue.reference }

  // MARK: Control

  /// Starts the queue, or resumes it after a pause.
  ///
  /// A queue with a render closure fills all of its buffers before this returns, so do not hold a
  /// lock that the closure takes. If the closure produces nothing, the queue does not start. A
  /// queue without written samples plays silence until some are written.
  ///
  /// - Throws: kAudioQueueErr_CannotStart if there is no server.
  public func start(at time: StartTime = .now) throws(AudioQueueError) {
    try core.start(time == .now ? nil : AudioTimeStamp(time))
  }

  /// Pauses the queue. It keeps its buffers and its time.
  public func pause() throws(AudioQueueError) { try core.pause() }

  /// Stops the queue at once and discards its buffers.
  ///
  /// A task in `write` continues with its remaining samples. Cancel the task to prevent that.
  public func stop() throws(AudioQueueError) { try core.stop() }

  /// Stops the queue after all of its buffers have been played. Does not call the closure any more.
  ///
  /// Returns when the last frame has been played or the queue is stopped. Returns at once if the
  /// queue was not started; the next run then ends with the present buffers.
  ///
  /// - Throws: `AudioQueueError.cancelled` if the task is cancelled. The queue stops all the same.
  public func stopAfterPlaying() async throws(AudioQueueError) {
    await core.waitForEnd(ofRun: try core.stopAfterPlaying())
    if Task.isCancelled { throw .cancelled }
  }

  /// Waits until the latest run is over, because its closure produced nothing or it was stopped.
  /// Returns at once if no run was started.
  ///
  /// - Throws: `AudioQueueError.cancelled` if the task is cancelled.
  public func waitForEnd() async throws(AudioQueueError) {
    await core.waitForEnd(ofRun: core.startedRuns)
    if Task.isCancelled { throw .cancelled }
  }

  /// Prepares the enqueued frames ahead of the start, and opens the device. A closure fills all
  /// buffers first.
  ///
  /// - Parameter frames: The minimum number of frames; 0 for all enqueued frames.
  /// - Returns: The number of prepared frames.
  @discardableResult
  public func prime(frames: Int = 0) throws(AudioQueueError) -> Int {
    try core.prime(frames: frames)
  }

  /// Flushes everything enqueued, so that it is played to its last frame. Does not wait.
  public func flush() throws(AudioQueueError) { try core.flush() }

  /// Silences the queue and discards its buffers without stopping it.
  public func reset() throws(AudioQueueError) { try core.reset() }

  // MARK: Sound

  /// Writes interleaved samples. Returns when the last of them is in a buffer of the queue.
  ///
  /// Waits while all buffers are full, so start the queue first or from another task. Each call
  /// begins a new buffer, so write many samples per call. Calls from several tasks follow one
  /// another and are not interleaved.
  ///
  /// - Throws: kAudioFormatUnsupportedDataFormatError if the queue has another sample type.
  ///   kAudio_ParamError if a frame is incomplete or the queue has a render closure.
  ///   `AudioQueueError.cancelled` if the task is cancelled; samples already in buffers are played.
  public func write<Sample: LinearPCMSample>(_ samples: some Collection<Sample> & Sendable)
    async throws(AudioQueueError)
  {
    guard format.holds(Sample.self) else {
      log.debug("PlaybackQueue.write: the queue does not play samples of \(Sample.self)")
      throw AudioQueueError(kAudioFormatUnsupportedDataFormatError)
    }
    try await write(samples, perFrame: Int(format.mChannelsPerFrame))
  }

  /// Writes frames as raw bytes in the queue's format. Otherwise like `write(_:)`.
  public func write(bytes: some Collection<UInt8> & Sendable) async throws(AudioQueueError) {
    try await write(bytes, perFrame: core.bytesPerFrame)
  }

  /// Writes packets. Returns when the last of them is in a buffer of the queue. Otherwise like
  /// `write(_:)`.
  ///
  /// - Parameters:
  ///   - bytes: The packets.
  ///   - descriptions: The packet descriptions, with offsets into `bytes`; none if all packets have
  ///     the same size.
  ///   - trimmingStart: The number of frames to drop from the beginning after decoding.
  ///   - trimmingEnd: The number of frames to drop from the end after decoding.
  /// - Throws: kAudio_ParamError if packets lie outside `bytes`, or one is larger than a buffer.
  ///   Also if packets of varying size have no descriptions, or more is trimmed than a buffer
  ///   holds.
  public func write(
    packets bytes: some Collection<UInt8> & Sendable,
    _ descriptions: [AudioStreamPacketDescription] = [], trimmingStart: Int = 0,
    trimmingEnd: Int = 0
  ) async throws(AudioQueueError) {
    guard let pieces = pieces(Array(bytes), descriptions), !core.renders else {
      log.debug("PlaybackQueue.write: packets that do not fit or are not in the bytes")
      throw AudioQueueError(kAudio_ParamError)
    }
    try await core.inTurn { () async throws(AudioQueueError) in
      for (i, piece) in pieces.enumerated() {
        try await core.write(
          piece.bytes,
          PlaybackCore.Packets(
            descriptions: piece.packets,
            trimmedAtStart: UInt32(clamping: i == 0 ? trimmingStart : 0),
            trimmedAtEnd: UInt32(clamping: i == pieces.count - 1 ? trimmingEnd : 0)))
      }
    }
  }

  /// Splits packets into buffers; nil if the arguments are not valid.
  private func pieces(_ bytes: [UInt8], _ descriptions: [AudioStreamPacketDescription])
    -> [(bytes: [UInt8], packets: [AudioStreamPacketDescription])]?
  {
    let room = core.bufferFrames
    if descriptions.isEmpty {
      let size = Int(format.mBytesPerPacket)
      guard size > 0, size <= room, bytes.count.isMultiple(of: size) else { return nil }
      return stride(from: 0, to: bytes.count, by: room / size * size).map {
        (Array(bytes[$0..<min($0 + room / size * size, bytes.count)]), [])
      }
    }
    var pieces: [(bytes: [UInt8], packets: [AudioStreamPacketDescription])] = [([], [])]
    for var packet in descriptions {
      let size = Int(packet.mDataByteSize)
      guard size <= room, packet.mStartOffset >= 0, packet.mStartOffset <= bytes.count - size else {
        return nil
      }
      if pieces[pieces.count - 1].bytes.count + size > room { pieces.append(([], [])) }
      let start = Int(packet.mStartOffset)
      packet.mStartOffset = Int64(pieces[pieces.count - 1].bytes.count)
      pieces[pieces.count - 1].bytes += bytes[start..<(start + size)]
      pieces[pieces.count - 1].packets.append(packet)
    }
    return pieces
  }

  private func write<Element: BitwiseCopyable & Sendable>(
    _ elements: some Collection<Element> & Sendable, perFrame: Int
  ) async throws(AudioQueueError) {
    guard elements.count.isMultiple(of: perFrame), !core.renders else {
      log.debug("PlaybackQueue.write: a frame is not whole, or a closure makes the sound")
      throw AudioQueueError(kAudio_ParamError)
    }
    try await core.inTurn { () async throws(AudioQueueError) in
      var rest = elements[...]
      while !rest.isEmpty {
        let piece = rest.prefix(core.bufferFrames * perFrame)
        try await core.write(Array(piece))
        rest = rest[piece.endIndex...]
      }
    }
  }
}
