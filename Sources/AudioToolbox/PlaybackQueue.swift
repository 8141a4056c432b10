public import CAudioToolbox
import Logging
import Synchronization

/// Plays sound: a queue of the C API, its buffers and its callbacks in one object.
///
/// A queue is fed in one of two ways. A task writes samples and waits while all buffers are full:
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
/// Packets are written with where they lie:
///
/// ```swift
/// let queue = try PlaybackQueue(packets: format, magicCookie: cookie)
/// try queue.start()
/// try await queue.write(packets: bytes, descriptions, trimmingStart: 2112)
/// ```
///
/// The queue ends with its last reference. Its methods may be called on any thread that is not real
/// time, the render closure included, unless they say otherwise.
public final class PlaybackQueue: Sendable {
  /// When a queue starts.
  public enum StartTime: Hashable, Sendable {
    /// As soon as it can.
    case now
    /// With the device's frame of this number. Queues that are given one frame start on it together.
    case deviceFrame(Int64)
    /// With the frame that this host time falls on, in nanoseconds of CLOCK_MONOTONIC.
    case hostTime(UInt64)
  }

  /// The format of the samples.
  public let format: AudioStreamBasicDescription
  let core: PlaybackCore
  /// Held while a ramp is set.
  let ramps = Mutex<Void>(())

  /// A queue that plays what is written to it.
  ///
  /// - Parameters:
  ///   - format: Linear PCM, interleaved.
  ///   - bufferFrames: Frames that a buffer has room for; a tenth of a second if that is nil.
  ///   - buffers: How many buffers there are: what `write` has taken and the device has not.
  /// - Throws: kAudioFormatUnsupportedDataFormatError, kAudio_ParamError for no room at all.
  public convenience init(
    _ format: AudioStreamBasicDescription, bufferFrames: Int? = nil, buffers: Int = 4
  ) throws(AudioQueueError) {
    try self.init(format, bufferFrames, buffers, render: nil)
  }

  /// A queue that asks a closure for its samples, from its start to its end.
  ///
  /// - Parameters:
  ///   - sample: The type of the samples.
  ///   - sampleRate: Frames per second.
  ///   - channels: Samples in a frame.
  ///   - bufferFrames: Frames that the closure is asked for at a time; a tenth of a second if nil.
  ///   - buffers: How many times that it is asked ahead of what is heard.
  ///   - render: Appends frames to its second argument, interleaved, as many as it likes and there
  ///     is room for; a run ends, when all is played, with a call that appends nothing. A frame that is
  ///     not whole is left out. Its first argument is the number of frames that it has appended
  ///     since the start of the run. It is called on a thread of the queue's own, one call at a
  ///     time, and need not be quick. If it uses the queue, it must hold it weakly.
  /// - Throws: kAudioFormatUnsupportedDataFormatError, kAudio_ParamError for no room at all.
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

  /// A queue that plays packets that are written to it.
  ///
  /// - Parameters:
  ///   - format: What the packets are; of the sizes those that vary may be 0.
  ///   - magicCookie: What the decoder needs besides, in any form that files and programs use.
  ///   - bufferSize: Bytes that a buffer has room for: the largest packet, at least.
  ///   - buffers: How many buffers there are.
  /// - Throws: kAudioFormatUnsupportedDataFormatError, kAudioQueueErr_CodecNotFound,
  ///   kAudioQueueErr_InvalidPropertyValue for what is no cookie, kAudio_ParamError for no room at all.
  public convenience init(
    packets format: AudioStreamBasicDescription, magicCookie: some Collection<UInt8> = [],
    bufferSize: Int = 65536, buffers: Int = 4
  ) throws(AudioQueueError) {
    guard buffers > 0, bufferSize > 0, bufferSize <= Int(UInt32.max) else {
      log.debug("PlaybackQueue: \(buffers) buffers of \(bufferSize) bytes cannot be made")
      throw AudioQueueError(kAudio_ParamError)
    }
    // As if a byte were a frame.
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
    // The C API fills in what a description leaves out; how long its frames are must be known here.
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
    // From here on the object is complete, and closes the queue when it goes.
    try core.open(format, buffers: buffers)
  }

  deinit { core.close() }

  /// Frames of a buffer.
  private static func capacity(of format: AudioStreamBasicDescription, _ frames: Int?) -> Int {
    let tenth = (format.mSampleRate / 10).rounded(.up)
    return frames ?? (tenth.isFinite ? Int(min(max(tenth, 0), 1_000_000)) : 0)
  }

  /// The queue as the functions of the C API know it, for what this class has no method for.
  ///
  /// It belongs to this object: neither dispose of it nor stop, reset or start it behind its back.
  public var reference: AudioQueueRef { unsafe core.queue.reference }

  // MARK: Control

  /// Starts the queue, or lets it go on where it was paused.
  ///
  /// A queue that renders asks its closure for all of its buffers before this returns, so do not hold a
  /// lock that the closure takes. If the closure has nothing to give, the queue does not start.
  /// Without anything written, a queue plays silence until something comes.
  ///
  /// - Throws: kAudioQueueErr_CannotStart if there is no server.
  public func start(at time: StartTime = .now) throws(AudioQueueError) {
    try core.start(time == .now ? nil : AudioTimeStamp(time))
  }

  /// Halts the queue; what it holds and its time stay where they are.
  public func pause() throws(AudioQueueError) { try core.pause() }

  /// Stops the queue at once, and forgets what it holds.
  ///
  /// A task that is writing goes on with what it has not written yet: cancel it if that is not wanted.
  public func stop() throws(AudioQueueError) { try core.stop() }

  /// Stops the queue when all that it holds has been played. A closure is asked for no more.
  ///
  /// Returns when the last frame has left, or the queue is stopped; at once if it has not been started:
  /// then the run that is started next ends with what the queue holds now.
  ///
  /// - Throws: `AudioQueueError.cancelled` if the task is cancelled; the queue stops all the same.
  public func stopAfterPlaying() async throws(AudioQueueError) {
    await core.waitForEnd(ofRun: try core.stopAfterPlaying())
    if Task.isCancelled { throw .cancelled }
  }

  /// Waits until the run that was started last is over: because its closure had nothing more to give,
  /// or because it was stopped. Returns at once if nothing was started.
  ///
  /// - Throws: `AudioQueueError.cancelled` if the task is cancelled.
  public func waitForEnd() async throws(AudioQueueError) {
    await core.waitForEnd(ofRun: core.startedRuns)
    if Task.isCancelled { throw .cancelled }
  }

  /// Readies what is enqueued ahead of the start, and opens the device. A closure is asked for all
  /// buffers first.
  ///
  /// - Parameter frames: How many at least; 0 for all.
  /// - Returns: How many are ready.
  @discardableResult
  public func prime(frames: Int = 0) throws(AudioQueueError) -> Int {
    try core.prime(frames: frames)
  }

  /// Sees to it that all that is enqueued is played to its last frame. Does not wait.
  public func flush() throws(AudioQueueError) { try core.flush() }

  /// Silences the queue and forgets what it holds, but does not stop it.
  public func reset() throws(AudioQueueError) { try core.reset() }

  // MARK: Sound

  /// Writes samples, interleaved; returns when the last of them is in a buffer of the queue.
  ///
  /// While all buffers are full this waits, so start the queue first, or from another task. Each call
  /// begins a buffer of its own: write long pieces. Pieces of several tasks follow one another, each
  /// whole.
  ///
  /// - Throws: kAudioFormatUnsupportedDataFormatError if the queue's samples are of another type,
  ///   kAudio_ParamError if a frame is not whole or a closure makes the sound,
  ///   `AudioQueueError.cancelled` if the task is cancelled: what is in buffers by then is played.
  public func write<Sample: LinearPCMSample>(_ samples: some Collection<Sample> & Sendable)
    async throws(AudioQueueError)
  {
    guard format.holds(Sample.self) else {
      log.debug("PlaybackQueue.write: the queue does not play samples of \(Sample.self)")
      throw AudioQueueError(kAudioFormatUnsupportedDataFormatError)
    }
    try await write(samples, perFrame: Int(format.mChannelsPerFrame))
  }

  /// Writes frames as their bytes in the queue's format, whatever that is; else like `write(_:)`.
  public func write(bytes: some Collection<UInt8> & Sendable) async throws(AudioQueueError) {
    try await write(bytes, perFrame: core.bytesPerFrame)
  }

  /// Writes packets; returns when the last of them is in a buffer of the queue. Else like `write(_:)`.
  ///
  /// - Parameters:
  ///   - bytes: The packets.
  ///   - descriptions: Where each lies in `bytes`; none if all are of one size.
  ///   - trimmingStart: Frames that the first packets decode to, and that are left out.
  ///   - trimmingEnd: Frames that the last packets decode to, and that are left out.
  /// - Throws: kAudio_ParamError if packets lie outside of `bytes`, one is larger than a buffer, packets
  ///   that vary are not described, or more is to be left out than a buffer has.
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

  /// Packets as they go into the buffers; nil if that cannot be.
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
