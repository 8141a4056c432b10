import AudioQueue
import Dispatch
import Files
import RealTime
import Synchronization
import Timeline

/// The consumer of a recording queue's filled buffers. It writes them to the file, and enqueues them
/// again.
final class RecordingFeed: Sendable {
  /// Four seconds in total, in small buffers that reach the file soon.
  private static let bufferCount = 32
  private static let buffersPerSecond = 8.0
  private struct State {
    var buffers: [UInt32: QueueBuffer] = [:]
    /// Buffers that are not enqueued.
    var idle: [UInt32] = []
    var file: (any RecordingOutput)?
    var observer: (any RecordingObserver)?
    var limit: Int64?
    var trigger: RecordingTrigger?
    /// Sound that was recorded before the trigger's start.
    var history = RecordingHistory()
    var isEnding = false
    /// True if the queue accepts no more buffers.
    var isCut = false
    /// True if the trigger has ended the recording.
    var hasEnded = false
    var failure: SoundFileError?
    var frames: Int64 = 0
    var silentFrames: Int64 = 0
    /// The frame of the run that was written first.
    var firstFrame: Int64?
    /// The frame of the run that would be the recording's first one if the present take had no others before.
    var origin: Int64?
    /// True if the next frame written is the first one of a take.
    var isTakeStart = true
    /// The gain of the input, and that at the end of the latest buffer.
    var gain: Float = 1
    var latestGain: Float = 1
    /// The frame of the run that follows the last one received.
    var nextFrame: Int64 = 0
    /// For each channel, the frame of the run that follows its last sample other than zero.
    var soundEnds: [Int64] = []

    /// True if nothing more will be written.
    var isOver: Bool { failure != nil || isCut || hasEnded || frames == limit }
  }
  private let state = Mutex(State())
  private let onFailure: @Sendable (String) -> Void
  private let onEvent: @Sendable () -> Void
  /// Signalled for each buffer that is not enqueued again.
  private let returned = DispatchSemaphore(value: 0)

  init(
    _ onFailure: @escaping @Sendable (String) -> Void, _ onEvent: @escaping @Sendable () -> Void
  ) {
    self.onFailure = onFailure
    self.onEvent = onEvent
  }

  /// Why recording has failed; nil if it has not.
  var failure: String? {
    state.withLock { state in
      state.failure.map { "\($0)" } ?? (state.isCut ? "the queue takes no more buffers" : nil)
    }
  }
  var hasFailed: Bool { state.withLock { $0.failure != nil || $0.isCut } }
  var frames: Int64 { state.withLock { $0.frames } }
  var silentFrames: Int64 { state.withLock { $0.silentFrames } }
  var firstFrame: Int64? { state.withLock { $0.firstFrame } }
  var origin: Int64? { state.withLock { $0.origin } }
  var gain: Float {
    get { state.withLock { $0.gain } }
    set { state.withLock { $0.gain = newValue } }
  }
  var receivedFrames: Int64 { state.withLock { $0.nextFrame } }
  var silence: [Int64] { state.withLock { state in state.soundEnds.map { state.nextFrame - $0 } } }
  var isOver: Bool { state.withLock { $0.isOver } }
  private var isIdle: Bool { state.withLock { $0.idle.count == $0.buffers.count } }

  func allocate(_ queue: InputQueue) throws(QueueError) {
    let frames = max(256, Int(queue.format.sampleRate / Self.buffersPerSecond))
    for _ in 0..<Self.bufferCount {
      let buffer = try queue.allocateBuffer(capacity: frames * queue.format.bytesPerFrame)
      state.withLock { state in
        state.buffers[buffer.id] = buffer
        state.idle.append(buffer.id)
      }
    }
  }

  func begin(
    _ file: any RecordingOutput, limit: Int64?, trigger: RecordingTrigger?,
    _ observer: (any RecordingObserver)?
  ) {
    state.withLock { state in
      state.file = file
      state.observer = observer
      state.limit = limit
      state.trigger = trigger
    }
  }

  /// Writes no more than this many frames.
  func end(after frames: Int64) { state.withLock { $0.limit = frames } }

  /// Prevents further buffers from being enqueued.
  func end() { state.withLock { $0.isEnding = true } }

  func enqueueIdle(_ queue: InputQueue) throws(QueueError) {
    while let id = state.withLock({ $0.idle.popLast() }) {
      do throws(QueueError) {
        try queue.enqueue(id)
      } catch {
        state.withLock { $0.idle.append(id) }
        throw error
      }
    }
  }

  /// Waits until every buffer has come back and been written.
  func waitUntilIdle() {
    while !isIdle { returned.wait() }
  }

  /// Writes a buffer's frames, and enqueues it again unless recording is over. One call at a time,
  /// on the queue's callback thread.
  func take(_ recording: Recording, of queue: InputQueue) {
    let (buffer, isOver) = state.withLock { ($0.buffers[recording.buffer], $0.isOver) }
    guard let buffer else { return }
    if recording.frames > 0, !isOver {
      do throws(SoundFileError) {
        try write(recording, buffer, queue)
      } catch {
        state.withLock { $0.failure = error }
        onFailure("\(error)")
      }
    }
    let isEnqueued = state.withLock { state -> Bool in
      // Decided under the same lock as `end`: a buffer enqueued after a stop would not come back.
      if !state.isEnding, !state.isOver {
        do throws(QueueError) {
          try queue.enqueue(recording.buffer)
          return true
        } catch {
          state.isCut = true
        }
      }
      state.idle.append(recording.buffer)
      return false
    }
    guard !isEnqueued else { return }
    returned.signal()
    onEvent()
  }

  private func write(_ recording: Recording, _ buffer: QueueBuffer, _ queue: InputQueue)
    throws(SoundFileError)
  {
    let format = queue.format
    let (file, next, trigger) = state.withLock { ($0.file, $0.nextFrame, $0.trigger) }
    guard let file else { return }
    let first = recording.startFrame
    if first > next {
      let ago = UInt64(held: (Double(first - next) / format.sampleRate * 1e9).rounded())
      let hostTime = recording.hostTime > ago ? recording.hostTime - ago : 0
      try takes(
        unsafe RecordedSound(frame: next, frames: first - next, bytes: nil, hostTime: hostTime),
        nil, file, queue, trigger)
    }
    let memory = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.data[..<(recording.frames * format.bytesPerFrame)])
    let bytes = UnsafeRawBufferPointer(memory)
    var channels = unsafe ChannelSamples(bytes, format)
    let (old, new) = state.withLock { state in
      defer { state.latestGain = state.gain }
      return (state.latestGain, state.gain)
    }
    if old != 1 || new != 1 {
      unsafe channels?.amplify(from: old, to: new, memory, format)
    }
    note(channels, first, recording.frames, format)
    try takes(
      unsafe RecordedSound(
        frame: first, frames: Int64(recording.frames), bytes: bytes, hostTime: recording.hostTime),
      channels, file, queue, trigger)
    try file.checkpoint()
  }

  /// Writes the parts of a sound that are in a take. If the trigger repeats, a sound may have several of them.
  private func takes(
    _ sound: RecordedSound, _ channels: ChannelSamples?, _ file: any RecordingOutput,
    _ queue: InputQueue, _ trigger: RecordingTrigger?
  ) throws(SoundFileError) {
    var rest = sound
    while true {
      trigger?.follow(queue)
      trigger?.follow(channels, rest, from: sound.frame)
      try pass(rest, file, queue.format, trigger)
      guard let trigger, trigger.repeats, let end = trigger.end, rest.end >= end,
        state.withLock({ $0.frames != $0.limit })
      else { return }
      try file.endTake()
      trigger.rearm(from: end)
      state.withLock { $0.isTakeStart = true }
      rest = rest.from(end, queue.format)
    }
  }

  /// Notes which frames of a buffer are digital silence.
  private func note(
    _ channels: ChannelSamples?, _ first: Int64, _ frames: Int, _ format: PCMFormat
  ) {
    let ends = channels?.soundEnds ?? []
    state.withLock { state in
      if state.soundEnds.isEmpty {
        state.soundEnds = Array(repeating: 0, count: format.channels)
      }
      for (channel, end) in ends.enumerated() where end > 0 {
        state.soundEnds[channel] = first + Int64(end)
      }
      state.nextFrame = first + Int64(frames)
    }
  }

  /// Writes sound from the trigger's start on, and keeps what comes before.
  private func pass(
    _ sound: RecordedSound, _ file: any RecordingOutput, _ format: PCMFormat,
    _ trigger: RecordingTrigger?
  ) throws(SoundFileError) {
    guard let trigger else { return try put(sound, file, format, end: nil) }
    guard let first = trigger.firstFrame else {
      state.withLock { state in
        state.history.append(sound)
        state.history.keep(from: sound.end - trigger.preRollFrames)
      }
      return
    }
    let kept = state.withLock { $0.history.takeAll() }
    for piece in kept {
      try piece.withSound { (sound) throws(SoundFileError) in
        try put(sound.from(first, format), file, format, end: trigger.end)
      }
    }
    try put(sound.from(first, format), file, format, end: trigger.end)
  }

  /// Writes sound, as far as the limit and the end reach.
  ///
  /// - Parameter end: The frame of the run that follows the recording's last one; nil for no end.
  private func put(
    _ sound: RecordedSound, _ file: any RecordingOutput, _ format: PCMFormat, end: Int64?
  ) throws(SoundFileError) {
    let (left, observer) = state.withLock { state in
      (state.limit.map { $0 - state.frames } ?? .max, state.observer)
    }
    let frames = min(sound.frames, left, end.map { max(0, $0 - sound.frame) } ?? .max)
    if frames > 0 {
      if let bytes = unsafe sound.bytes {
        let written = unsafe UnsafeRawBufferPointer(
          rebasing: bytes[..<(Int(frames) * format.bytesPerFrame)])
        try unsafe file.append(written, at: sound.hostTime)
        unsafe observer?.note(written, frames: Int(frames))
      } else {
        try file.appendSilence(frames: frames, at: sound.hostTime)
        observer?.noteSilence(frames: frames)
      }
    }
    state.withLock { state in
      if frames > 0, state.firstFrame == nil { state.firstFrame = sound.frame }
      if frames > 0, state.isTakeStart {
        state.origin = sound.frame - state.frames
        state.isTakeStart = false
      }
      state.frames += frames
      if unsafe sound.bytes == nil { state.silentFrames += frames }
      if let end, sound.end >= end, state.trigger?.repeats != true { state.hasEnded = true }
    }
  }
}
