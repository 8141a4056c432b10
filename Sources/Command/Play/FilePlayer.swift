import AudioQueue
import Files
import RealTime
import Server
import Synchronization
import Timeline

/// The part of a file to play, with delay, volume, pan, rate and fades.
struct Clip: Sendable {
  /// The part of the file, in its frames.
  var part: Range<Int64>
  /// Total frames to play: more than the part has if it repeats; nil for an endless loop.
  var frames: Int64?
  /// Frames of silence before the first frame, at the file's rate.
  var delay: Int64 = 0
  /// Gain between the fades.
  var volume: Float = 1
  /// The balance, -1 to 1.
  var pan: Float = 0
  /// Speed factor, and pitch shift in cents.
  var rate = 1.0
  var cents = 0.0
  /// Fade times in seconds.
  var fadeIn: Double = 0
  var fadeOut: Double = 0
}

/// A sound file and the queue that plays it. Any thread that is not real time.
final class FilePlayer: Sendable {
  let file: SoundReader
  let queue: OutputQueue
  private let feed: Feed
  private let over: Ended

  /// The part of the file to play.
  let clip: Clip
  /// True once the last frame has been played.
  var isOver: Bool { over.flag.load(ordering: .acquiring) }
  /// Playing time in seconds; nil if it is endless.
  var duration: Double? {
    clip.frames.map { Double($0) / (file.format.sampleRate * clip.rate) }
  }
  /// True if the part that is played includes the file's last frame.
  var playsToTheEnd: Bool {
    clip.part.upperBound == file.frames
      && clip.frames.map { $0 >= Int64(clip.part.count) } ?? true
  }
  /// True if a read failed before the end.
  var hasFailed: Bool { feed.hasFailed }

  private final class Ended: Sendable {
    let flag = Atomic<Bool>(false)
  }
  /// The position displayed last, in seconds.
  private let shownPosition = Mutex(0.0)

  /// Creates a player for `clip` of `file`. `onEnd` is called when it has been played.
  init(
    _ file: SoundReader, _ clip: Clip, options: OutputQueue.Options, server: JackServer,
    onEnd: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = Feed(file, clip)
    let over = Ended()
    self.file = file
    self.clip = clip
    self.feed = feed
    self.over = over
    queue = try OutputQueue(
      file.format, options: options, server: server, callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { queue, buffer in feed.fill(buffer, of: queue) },
        changed: { queue, change in
          guard change == .isRunning else { return }
          // A run that a lost server interrupted continues when the server is back.
          if queue.hasEnded { over.flag.store(true, ordering: .releasing) }
          feed.resume(queue)
          onEnd()
        }))
    // The whole file is at hand, and a busy machine may keep the converter waiting.
    try queue.setDecodeFrames(16384)
    if clip.rate != 1 || clip.cents != 0 {
      try queue.setTimePitchEnabled(true)
      try queue.change(TimePitchChanges(rate: clip.rate, cents: clip.cents))
    }
    try queue.change(
      ParameterChanges(volume: clip.fadeIn > 0 ? 0 : clip.volume, pan: clip.pan))
  }

  /// Opens and connects the client, and prepares the first second of sound. Blocks; may start a
  /// server.
  ///
  /// - Returns: False if the file cannot be read; the error has been printed.
  func prime() throws(QueueError) -> Bool {
    try feed.begin(queue)
    if hasFailed { return false }
    _ = try queue.prime(frames: 0)
    return true
  }

  /// Stops playing immediately and closes the client.
  func close() {
    feed.end()
    // Either call fails if there is nothing left to do.
    try? queue.stop()
    try? queue.dispose(afterPlaying: false)
  }

  /// Returns the position in seconds from the first frame; negative before it. It stands still
  /// while the server is gone.
  func position(startingAt frame: Int64?) -> Double {
    if queue.isLost { return shownPosition.withLock { $0 } }
    let position = currentPosition(startingAt: frame)
    shownPosition.withLock { $0 = position }
    return position
  }

  private func currentPosition(startingAt frame: Int64?) -> Double {
    let delay = Double(clip.delay) / file.format.sampleRate
    if let current = queue.currentFrame { return current / file.format.sampleRate - delay }
    if isOver { return duration ?? 0 }
    guard let frame, let now = queue.deviceTime?.frame, let rate = try? queue.deviceSampleRate()
    else { return 0 }
    return min(0, Double(now - frame) / rate) - delay
  }
}

/// The source of a queue's buffers, which it fills from a file.
private final class Feed: Sendable {
  private let file: SoundReader
  private let clip: Clip
  /// A quarter of a second per buffer. With four buffers, a read may take most of a second.
  private let framesPerBuffer: Int
  private static let bufferCount = 4

  /// A filled buffer that waits to be enqueued.
  private struct Piece {
    let buffer: UInt32
    /// 0 once the frames are enqueued.
    var frames: Int
    let schedule: OutputQueue.Schedule
    let isLast: Bool
  }

  private struct State {
    var buffers: [UInt32: QueueBuffer] = [:]
    /// Frames read for the queue so far.
    var played: Int64 = 0
    var isOver = false
    var hasFailed = false
    /// Buffers that the queue has not accepted yet.
    var pieces: [Piece] = []
  }
  private let state = Mutex(State())

  init(_ file: SoundReader, _ clip: Clip) {
    self.file = file
    self.clip = clip
    framesPerBuffer = max(1024, Int(file.format.sampleRate / 4))
  }

  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  /// Prevents further buffers from being filled.
  func end() { state.withLock { $0.isOver = true } }

  /// Allocates the buffers, and fills them as the queue's callback does later.
  func begin(_ queue: OutputQueue) throws(QueueError) {
    let capacity = framesPerBuffer * file.format.bytesPerFrame
    for _ in 0..<Self.bufferCount {
      let buffer = try queue.allocateBuffer(capacity: capacity)
      state.withLock { $0.buffers[buffer.id] = buffer }
      fill(buffer.id, of: queue)
    }
  }

  /// The frame at which the fade-out begins, counted from the first frame played.
  private var fadeOutFrame: Int64? {
    guard let frames = clip.frames, clip.fadeOut > 0 else { return nil }
    return max(0, frames - frameCount(clip.fadeOut * clip.rate))
  }

  private func frameCount(_ seconds: Double) -> Int64 {
    Int64((seconds * file.format.sampleRate).rounded())
  }

  /// Returns the schedule of the buffer that begins with frame `played`.
  private func schedule(at played: Int64) -> OutputQueue.Schedule {
    var schedule = OutputQueue.Schedule()
    if played == 0 {
      if clip.delay > 0 { schedule.start = clip.delay }
      if clip.fadeIn > 0 {
        schedule.changes = ParameterChanges(
          volume: clip.volume, rampSeconds: Float(clip.fadeIn))
      }
    }
    if played == fadeOutFrame {
      // Replaces the fade-in if both fades begin in this buffer.
      schedule.changes = ParameterChanges(volume: 0, rampSeconds: Float(clip.fadeOut))
    }
    return schedule
  }

  /// Fills and enqueues a buffer with the next part of the file. After the last part the queue
  /// stops. One call at a time.
  func fill(_ id: UInt32, of queue: OutputQueue) {
    let (next, played) = state.withLock { ($0.isOver ? nil : $0.buffers[id], $0.played) }
    guard let buffer = next else { return }
    let frame = clip.part.lowerBound + played % Int64(clip.part.count)
    let bounds = [
      Int64(framesPerBuffer), clip.part.upperBound - frame,
      clip.frames.map { $0 - played } ?? .max,
      // A fade begins at a buffer's first frame.
      fadeOutFrame.flatMap { played < $0 ? $0 - played : nil } ?? .max,
    ]
    let wanted = Int(bounds.min()!)
    var failure: String?
    var count = 0
    do throws(SoundFileError) {
      count = try unsafe file.read(startingAt: frame, frames: wanted, into: buffer.data)
      if count == 0 { failure = "\(file.path): the file ended early, after \(frame) frames" }
    } catch {
      failure = "\(error)"
    }
    let isLast = failure != nil || clip.frames.map { played + Int64(count) >= $0 } ?? false
    state.withLock { state in
      state.played = played + Int64(count)
      if isLast { state.isOver = true }
      if failure != nil { state.hasFailed = true }
    }
    if let failure { Screen.shared.complain(failure) }
    state.withLock {
      $0.pieces.append(
        Piece(buffer: id, frames: count, schedule: schedule(at: played), isLast: isLast))
    }
    resume(queue)
  }

  /// Enqueues the waiting buffers in order. While its server is gone, the queue accepts none. Call
  /// it on the thread that calls `fill`.
  func resume(_ queue: OutputQueue) {
    while let piece = state.withLock({ $0.pieces.first }) {
      do throws(QueueError) {
        if piece.frames > 0 {
          _ = try queue.enqueue(
            piece.buffer, bytes: piece.frames * file.format.bytesPerFrame, piece.schedule)
          state.withLock { $0.pieces[0].frames = 0 }
        }
        if piece.isLast { try queue.stopAfterPlaying() }
      } catch {
        if error == .invalidated { return }
        // The queue is being stopped; the caller that stops it reports errors.
      }
      state.withLock { state in _ = state.pieces.removeFirst() }
    }
  }
}
