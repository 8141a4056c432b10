import AudioQueue
import Files
import RealTime
import Server
import Synchronization
import Timeline

/// What is to be played of a file, and how.
struct Passage: Sendable {
  /// The part of the file, in its frames.
  var part: Range<Int64>
  /// Frames to play in all: more than the part has if it is repeated. Nil is for ever.
  var frames: Int64?
  /// Frames of silence before the first, at the file's rate.
  var delay: Int64 = 0
  /// The factor on every sample, between the fades.
  var volume: Float = 1
  /// The balance, -1 to 1.
  var pan: Float = 0
  /// How fast it is played, and by how many cents its pitch is shifted.
  var rate = 1.0
  var cents = 0.0
  /// Seconds.
  var fadeIn: Double = 0
  var fadeOut: Double = 0
}

/// One sound file and the queue that plays it. Any thread that is not real time.
final class FilePlayer: Sendable {
  let file: SoundReader
  let queue: OutputQueue
  private let feed: Feed
  private let over: Ended

  /// What is played.
  let passage: Passage
  /// True once the last frame has been played.
  var isOver: Bool { over.flag.load(ordering: .acquiring) }
  /// Seconds that it takes; nil if it has no end.
  var duration: Double? {
    passage.frames.map { Double($0) / (file.format.sampleRate * passage.rate) }
  }
  /// True if the last frame of the file is among those that are played.
  var playsToTheEnd: Bool {
    passage.part.upperBound == file.frames
      && passage.frames.map { $0 >= Int64(passage.part.count) } ?? true
  }
  /// True if the file could not be read to its end.
  var hasFailed: Bool { feed.hasFailed }

  private final class Ended: Sendable {
    let flag = Atomic<Bool>(false)
  }
  /// The position that was shown last, in seconds.
  private let shownPosition = Mutex(0.0)

  /// A player for `passage` of `file`; `onEnd` is called when it has been played.
  init(
    _ file: SoundReader, _ passage: Passage, options: OutputQueue.Options, server: JackServer,
    onEnd: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = Feed(file, passage)
    let over = Ended()
    self.file = file
    self.passage = passage
    self.feed = feed
    self.over = over
    queue = try OutputQueue(
      file.format, options: options, server: server, callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { queue, buffer in feed.fill(buffer, of: queue) },
        changed: { queue, change in
          guard change == .isRunning else { return }
          // A run that a server which went away has cut goes on when it is back.
          if queue.hasEnded { over.flag.store(true, ordering: .releasing) }
          feed.resume(queue)
          onEnd()
        }))
    if passage.rate != 1 || passage.cents != 0 {
      try queue.setTimePitchEnabled(true)
      try queue.change(TimePitchChanges(rate: passage.rate, cents: passage.cents))
    }
    try queue.change(
      ParameterChanges(volume: passage.fadeIn > 0 ? 0 : passage.volume, pan: passage.pan))
  }

  /// Opens the client, connects it and gets the first second ready. Blocks; starts a server if
  /// need be.
  ///
  /// - Returns: False if the file cannot be read; that has been told.
  func prime() throws(QueueError) -> Bool {
    try feed.begin(queue)
    if hasFailed { return false }
    _ = try queue.prime(frames: 0)
    return true
  }

  /// Ends playing at once, whatever is under way, and gives the client back.
  func close() {
    feed.end()
    // Either may find that there is nothing left to do.
    try? queue.stop()
    try? queue.dispose(afterPlaying: false)
  }

  /// Seconds of sound since its first frame; negative before that. Stands still while the server is gone.
  func position(startingAt frame: Int64?) -> Double {
    if queue.isLost { return shownPosition.withLock { $0 } }
    let position = currentPosition(startingAt: frame)
    shownPosition.withLock { $0 = position }
    return position
  }

  private func currentPosition(startingAt frame: Int64?) -> Double {
    let delay = Double(passage.delay) / file.format.sampleRate
    if let current = queue.currentFrame { return current / file.format.sampleRate - delay }
    if isOver { return duration ?? 0 }
    guard let frame, let now = queue.deviceTime?.frame, let rate = try? queue.deviceSampleRate()
    else { return 0 }
    return min(0, Double(now - frame) / rate) - delay
  }
}

/// Fills a queue's buffers from a file.
private final class Feed: Sendable {
  private let file: SoundReader
  private let passage: Passage
  /// A quarter of a second each; with four of them a read may take most of a second.
  private let framesPerBuffer: Int
  private static let bufferCount = 4

  /// A buffer that is filled, and whether it is the last one.
  private struct Piece {
    let buffer: UInt32
    /// 0 once they are enqueued.
    var frames: Int
    let schedule: OutputQueue.Schedule
    let isLast: Bool
  }

  private struct State {
    var buffers: [UInt32: QueueBuffer] = [:]
    /// Frames that were handed to the queue.
    var played: Int64 = 0
    var isOver = false
    var hasFailed = false
    /// What the queue has not taken yet.
    var pieces: [Piece] = []
  }
  private let state = Mutex(State())

  init(_ file: SoundReader, _ passage: Passage) {
    self.file = file
    self.passage = passage
    framesPerBuffer = max(1024, Int(file.format.sampleRate / 4))
  }

  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  /// No more buffers are filled.
  func end() { state.withLock { $0.isOver = true } }

  /// Allocates the buffers and fills them as the queue's callback will, later.
  func begin(_ queue: OutputQueue) throws(QueueError) {
    let capacity = framesPerBuffer * file.format.bytesPerFrame
    for _ in 0..<Self.bufferCount {
      let buffer = try queue.allocateBuffer(capacity: capacity)
      state.withLock { $0.buffers[buffer.id] = buffer }
      fill(buffer.id, of: queue)
    }
  }

  /// The frame, counted from the first that is played, at which the sound begins to fade out.
  private var fadeOutFrame: Int64? {
    guard let frames = passage.frames, passage.fadeOut > 0 else { return nil }
    return max(0, frames - frameCount(passage.fadeOut * passage.rate))
  }

  private func frameCount(_ seconds: Double) -> Int64 {
    Int64((seconds * file.format.sampleRate).rounded())
  }

  /// How the buffer that begins with frame `played` is to be played.
  private func schedule(at played: Int64) -> OutputQueue.Schedule {
    var schedule = OutputQueue.Schedule()
    if played == 0 {
      if passage.delay > 0 { schedule.start = passage.delay }
      if passage.fadeIn > 0 {
        schedule.changes = ParameterChanges(
          volume: passage.volume, rampSeconds: Float(passage.fadeIn))
      }
    }
    if played == fadeOutFrame {
      // All of it, if the fades meet.
      schedule.changes = ParameterChanges(volume: 0, rampSeconds: Float(passage.fadeOut))
    }
    return schedule
  }

  /// Enqueues the next part of the file; with the last one, has the queue stop after it. One call
  /// at a time.
  func fill(_ id: UInt32, of queue: OutputQueue) {
    let (next, played) = state.withLock { ($0.isOver ? nil : $0.buffers[id], $0.played) }
    guard let buffer = next else { return }
    let frame = passage.part.lowerBound + played % Int64(passage.part.count)
    let bounds = [
      Int64(framesPerBuffer), passage.part.upperBound - frame,
      passage.frames.map { $0 - played } ?? .max,
      // A fade begins with a buffer.
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
    let isLast = failure != nil || passage.frames.map { played + Int64(count) >= $0 } ?? false
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

  /// Hands the queue what it has not taken yet, in order: while its server is gone it takes nothing.
  /// Where `fill` is called, too.
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
        // The queue is being stopped: whoever did that tells of it.
      }
      state.withLock { state in _ = state.pieces.removeFirst() }
    }
  }
}
