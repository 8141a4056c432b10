import AudioQueue
import Files
import RealTime
import Server
import Synchronization
import Timeline

/// One sound file and the queue that plays it. Any thread that is not real time.
final class FilePlayer: Sendable {
  let file: SoundFile
  let queue: OutputQueue
  private let feed: Feed
  private let over: Ended

  /// Frames that are to be played, at the file's rate.
  var frames: Int64 { feed.endFrame }
  /// True once the last frame has been played.
  var isOver: Bool { over.flag.load(ordering: .acquiring) }
  /// True if the file could not be read to its end.
  var hasFailed: Bool { feed.hasFailed }

  private final class Ended: Sendable {
    let flag = Atomic<Bool>(false)
  }
  /// The position that was shown last, in seconds.
  private let shownPosition = Mutex(0.0)

  /// A player for the first `frames` frames of `file`; `onEnd` is called when they have been played.
  init(
    _ file: SoundFile, frames: Int64, options: OutputQueue.Options, server: JackServer,
    onEnd: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = Feed(file, frames: frames)
    let over = Ended()
    self.file = file
    self.feed = feed
    self.over = over
    queue = try OutputQueue(
      file.format, options: options, server: server, callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { queue, buffer in feed.fill(buffer, of: queue) },
        changed: { queue, _ in
          // A run that a server which went away has cut goes on when it is back.
          if queue.hasEnded { over.flag.store(true, ordering: .releasing) }
          feed.resume(queue)
          onEnd()
        }))
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

  /// Seconds since the start; negative before it. Stands still while the server is gone.
  func position(startingAt frame: Int64?) -> Double {
    if queue.isLost { return shownPosition.withLock { $0 } }
    let position = currentPosition(startingAt: frame)
    shownPosition.withLock { $0 = position }
    return position
  }

  private func currentPosition(startingAt frame: Int64?) -> Double {
    if let current = queue.currentFrame { return current / file.format.sampleRate }
    if isOver { return Double(frames) / file.format.sampleRate }
    guard let frame, let now = queue.deviceTime?.frame, let rate = try? queue.deviceSampleRate()
    else { return 0 }
    return min(0, Double(now - frame) / rate)
  }
}

/// Fills a queue's buffers from a file.
private final class Feed: Sendable {
  /// The first frame that is not played.
  let endFrame: Int64
  private let file: SoundFile
  /// A quarter of a second each; with four of them a read may take most of a second.
  private let framesPerBuffer: Int
  private static let bufferCount = 4

  /// A buffer that is filled, and whether it is the last one.
  private struct Piece {
    let buffer: UInt32
    /// 0 once they are enqueued.
    var frames: Int
    let isLast: Bool
  }

  private struct State {
    var buffers: [UInt32: QueueBuffer] = [:]
    var nextFrame: Int64 = 0
    var isOver = false
    var hasFailed = false
    /// What the queue has not taken yet.
    var pieces: [Piece] = []
  }
  private let state = Mutex(State())

  init(_ file: SoundFile, frames: Int64) {
    self.file = file
    endFrame = frames
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

  /// Enqueues the next part of the file; with the last one, has the queue stop after it. One call
  /// at a time.
  func fill(_ id: UInt32, of queue: OutputQueue) {
    let (next, frame) = state.withLock { ($0.isOver ? nil : $0.buffers[id], $0.nextFrame) }
    guard let buffer = next else { return }
    let wanted = Int(min(Int64(framesPerBuffer), endFrame - frame))
    var failure: String?
    var count = 0
    do throws(SoundFileError) {
      count = try unsafe file.readRaw(startingAt: frame, frames: wanted, into: buffer.data)
      if count == 0 { failure = "\(file.path): the file ended early, after \(frame) frames" }
    } catch {
      failure = "\(error)"
    }
    let isLast = failure != nil || frame + Int64(count) >= endFrame
    state.withLock { state in
      state.nextFrame = frame + Int64(count)
      if isLast { state.isOver = true }
      if failure != nil { state.hasFailed = true }
    }
    if let failure { Screen.shared.complain(failure) }
    state.withLock { $0.pieces.append(Piece(buffer: id, frames: count, isLast: isLast)) }
    resume(queue)
  }

  /// Hands the queue what it has not taken yet, in order: while its server is gone it takes nothing.
  /// Where `fill` is called, too.
  func resume(_ queue: OutputQueue) {
    while let piece = state.withLock({ $0.pieces.first }) {
      do throws(QueueError) {
        if piece.frames > 0 {
          try queue.enqueue(piece.buffer, bytes: piece.frames * file.format.bytesPerFrame)
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
