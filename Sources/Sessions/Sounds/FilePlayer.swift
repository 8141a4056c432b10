package import AudioQueue
import Files
import RealTime
package import Server
import Synchronization
import Timeline

/// A sound and the queue that plays it. Any thread that is not real time.
package final class FilePlayer: Sendable {
  package let file: any SoundSource
  package let queue: OutputQueue
  private let feed: Feed
  private let over: Ended

  /// The part of the file to play.
  package var clip: Clip { feed.clip }
  /// True once the last frame has been played.
  package var isOver: Bool { over.flag.load(ordering: .acquiring) }
  /// Playing time in seconds; nil if it is endless or not known.
  package var duration: Double? {
    file.isOpenEnded ? nil : feed.limit.map { Double($0) / (file.format.sampleRate * clip.rate) }
  }
  /// Seconds from the common start to the clip's first frame.
  package var delay: Double { Double(clip.delay) / file.format.sampleRate }
  /// Warnings about files that are truncated or damaged, if the part that is played includes the last frame.
  package var warnings: [String] {
    let playsToTheEnd =
      clip.part.upperBound == file.frames
      && feed.limit.map { $0 >= Int64(clip.part.count) } ?? true
    return playsToTheEnd ? file.warnings : []
  }
  /// True if a read failed before the end.
  package var hasFailed: Bool { feed.hasFailed }
  /// One line for each reason why the clip is not heard as it should be: the warnings, the latest read that has
  /// failed, and sound that cannot be decoded.
  package var faults: [String] { warnings + [feed.failure].compactMap { $0 } + file.faults }
  /// Number of faults that are known. Does not wait for a read.
  package var faultCount: Int { warnings.count + feed.faultCount }

  private final class Ended: Sendable {
    let flag = Atomic<Bool>(false)
  }
  /// The position displayed last, in seconds.
  private let shownPosition = Mutex(0.0)

  /// Creates a player for `clip` of `file`. `onEnd` is called when it has been played, and `onFailure`
  /// with the reason if the file cannot be read to the clip's end.
  package init(
    _ file: any SoundSource, _ clip: Clip, options: OutputQueue.Options, server: any Server,
    onFailure: @escaping @Sendable (String) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = Feed(file, clip, onFailure)
    let over = Ended()
    self.file = file
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
    try queue.change(ParameterChanges(volume: feed.fade(at: 0).volume, pan: clip.pan))
  }

  /// Opens and connects the client, and prepares the first second of sound. Blocks; may start a
  /// server.
  ///
  /// - Returns: False if the file cannot be read; `onFailure` has been called.
  package func prime() throws(QueueError) -> Bool {
    try feed.begin(queue, at: 0, delay: clip.delay)
    if hasFailed { return false }
    _ = try queue.prime(frames: 0)
    return true
  }

  /// Lets the clip repeat without end, or end with the repetition that is being read.
  package func setLooping(_ isLooping: Bool) { feed.setLooping(isLooping) }

  /// Stops playing, and prepares a run that begins with `frame` of the clip. Fades are as if the clip
  /// had been played up to there. Blocks. After the clip's end there is nothing to play: `isOver`.
  ///
  /// - Parameter delay: Frames of silence before it, at the file's rate.
  /// - Returns: False if the file cannot be read; `onFailure` has been called.
  package func rewind(to frame: Int64, delay: Int64 = 0) throws(QueueError) -> Bool {
    try halt()
    if let frames = feed.limit, frame >= frames { return true }
    try queue.change(ParameterChanges(volume: feed.fade(at: frame).volume, rampSeconds: 0))
    over.flag.store(false, ordering: .releasing)
    try feed.begin(queue, at: frame, delay: delay)
    if hasFailed { return false }
    _ = try queue.prime(frames: 0)
    return true
  }

  /// Changes the speed and the pitch of a player that is halted. The next run has them.
  package func setSpeed(rate: Double, cents: Double) throws(QueueError) {
    if rate == clip.rate, cents == clip.cents { return }
    try queue.setTimePitchEnabled(true)
    try queue.change(TimePitchChanges(rate: rate, cents: cents))
    feed.setSpeed(rate: rate, cents: cents)
  }

  /// Stops playing at once. `rewind` prepares another run.
  package func halt() throws(QueueError) {
    feed.end()
    try queue.stop()
    over.flag.store(true, ordering: .releasing)
  }

  /// Stops playing immediately and closes the client.
  package func close() {
    feed.end()
    file.stop()
    // Either call fails if there is nothing left to do.
    try? queue.stop()
    try? queue.dispose(afterPlaying: false)
  }

  /// Returns the position in seconds from the first frame; negative before it. It stands still
  /// while the server is gone.
  package func position(startingAt frame: Int64?) -> Double {
    if queue.isLost { return shownPosition.withLock { $0 } }
    let position = currentPosition(startingAt: frame)
    shownPosition.withLock { $0 = position }
    return position
  }

  private func currentPosition(startingAt frame: Int64?) -> Double {
    let (first, silence) = feed.run
    let begin = Double(first) / (file.format.sampleRate * clip.rate)
    let delay = Double(silence) / file.format.sampleRate
    if let current = queue.currentFrame { return begin + current / file.format.sampleRate - delay }
    if isOver { return duration ?? 0 }
    guard let frame, let now = queue.deviceTime?.frame, let rate = try? queue.deviceSampleRate()
    else { return begin }
    return begin + min(0, Double(now - frame) / rate) - delay
  }
}

/// The source of a queue's buffers, which it fills from a file.
private final class Feed: Sendable {
  private let file: any SoundSource
  private let held: Mutex<Clip>
  private let onFailure: @Sendable (String) -> Void
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
    /// The clip's frame that the run begins with, and the next one to read for the queue.
    var first: Int64 = 0
    var played: Int64 = 0
    /// Frames of silence before the first one of the run.
    var delay: Int64 = 0
    /// Frames to play in all; nil for an endless loop.
    var limit: Int64?
    var isOver = false
    var hasFailed = false
    /// Why the latest read that failed did so.
    var failure: String?
    /// Number of files with sound that cannot be decoded.
    var faultyFiles = 0
    /// Buffers that the queue has not accepted yet.
    var pieces: [Piece] = []
  }
  private let state: Mutex<State>

  init(_ file: any SoundSource, _ clip: Clip, _ onFailure: @escaping @Sendable (String) -> Void) {
    state = Mutex(State(limit: clip.frames))
    held = Mutex(clip)
    self.file = file
    self.onFailure = onFailure
    framesPerBuffer = max(1024, Int(file.format.sampleRate / 4))
  }

  var clip: Clip { held.withLock { $0 } }

  func setSpeed(rate: Double, cents: Double) {
    held.withLock { clip in
      clip.rate = rate
      clip.cents = cents
    }
  }

  var hasFailed: Bool { state.withLock { $0.hasFailed } }
  var failure: String? { state.withLock { $0.failure } }
  var faultCount: Int { state.withLock { $0.faultyFiles + ($0.failure == nil ? 0 : 1) } }
  /// Frames to play in all; nil for an endless loop.
  var limit: Int64? { state.withLock { $0.limit } }
  /// The clip's frame that the run begins with, and the frames of silence before it.
  var run: (first: Int64, delay: Int64) { state.withLock { ($0.first, $0.delay) } }

  func setLooping(_ isLooping: Bool) {
    state.withLock { state in
      let count = Int64(clip.part.count)
      // Whole repetitions, the one being read included.
      state.limit = isLooping ? nil : (state.played / count + 1) * count
    }
  }

  /// Prevents further buffers from being filled.
  func end() { state.withLock { $0.isOver = true } }

  /// Allocates the buffers on the first call, and fills them as the queue's callback does later. The
  /// queue does not run, and the clip has frames from `frame` on.
  func begin(_ queue: OutputQueue, at frame: Int64, delay: Int64) throws(QueueError) {
    let capacity = framesPerBuffer * file.format.bytesPerFrame
    while state.withLock({ $0.buffers.count }) < Self.bufferCount {
      let buffer = try queue.allocateBuffer(capacity: capacity)
      state.withLock { $0.buffers[buffer.id] = buffer }
    }
    let buffers = state.withLock { state in
      state.first = frame
      state.delay = delay
      state.played = frame
      state.pieces = []
      state.isOver = false
      state.hasFailed = false
      return state.buffers.keys.sorted()
    }
    for buffer in buffers { fill(buffer, of: queue) }
  }

  /// The frame at which the fade-out begins, counted from the first frame played.
  private var fadeOutFrame: Int64? {
    guard let frames = limit, clip.fadeOut > 0 else { return nil }
    return max(0, frames - frameCount(clip.fadeOut * clip.rate))
  }

  private func frameCount(_ seconds: Double) -> Int64 {
    Int64(held: (seconds * file.format.sampleRate).rounded())
  }

  /// Returns the volume with which a run that begins with `frame` starts, and its first ramp.
  func fade(at frame: Int64) -> (volume: Float, changes: ParameterChanges) {
    func seconds(_ frames: Int64) -> Double {
      Double(frames) / (file.format.sampleRate * clip.rate)
    }
    if let end = fadeOutFrame, frame >= end {
      let left = clip.fadeOut - seconds(frame - end)
      // Replaces the fade-in if both fades begin with the first frame.
      let volume = frame == 0 && clip.fadeIn > 0 ? 0 : clip.volume * Float(left / clip.fadeOut)
      return (volume, ParameterChanges(volume: 0, rampSeconds: Float(left)))
    }
    let left = clip.fadeIn - seconds(frame)
    guard left > 0 else { return (clip.volume, ParameterChanges()) }
    return (
      clip.volume * Float(1 - left / clip.fadeIn),
      ParameterChanges(volume: clip.volume, rampSeconds: Float(left))
    )
  }

  /// Returns the schedule of the buffer that begins with frame `played`.
  private func schedule(at played: Int64) -> OutputQueue.Schedule {
    var schedule = OutputQueue.Schedule()
    let run = run
    if played == run.first, run.delay > 0 { schedule.start = run.delay }
    if played == run.first || played == fadeOutFrame { schedule.changes = fade(at: played).changes }
    return schedule
  }

  /// Fills and enqueues a buffer with the next part of the file. After the last part the queue
  /// stops. One call at a time.
  func fill(_ id: UInt32, of queue: OutputQueue) {
    let (next, played, limit) = state.withLock {
      ($0.isOver ? nil : $0.buffers[id], $0.played, $0.limit)
    }
    guard let buffer = next else { return }
    let frame = clip.part.lowerBound + played % Int64(clip.part.count)
    let bounds = [
      Int64(framesPerBuffer), clip.part.upperBound - frame,
      limit.map { $0 - played } ?? .max,
      // A fade begins at a buffer's first frame.
      fadeOutFrame.flatMap { played < $0 ? $0 - played : nil } ?? .max,
    ]
    let wanted = Int(bounds.min()!)
    var failure: String?
    var count = 0
    do throws(SoundFileError) {
      count = try unsafe file.read(startingAt: frame, frames: wanted, into: buffer.data)
      if count == 0, !file.isOpenEnded {
        failure = "\(file.path): the file ended early, after \(frame) frames"
      }
    } catch {
      failure = "\(error)"
    }
    let isLast =
      failure != nil || count == 0 || self.limit.map { played + Int64(count) >= $0 } ?? false
    let faultyFiles = file.faults.count
    state.withLock { state in
      state.played = played + Int64(count)
      state.faultyFiles = faultyFiles
      if isLast { state.isOver = true }
      if let failure {
        state.hasFailed = true
        state.failure = failure
      }
    }
    if let failure { onFailure(failure) }
    let schedule = schedule(at: played)
    state.withLock {
      $0.pieces.append(Piece(buffer: id, frames: count, schedule: schedule, isLast: isLast))
    }
    resume(queue)
  }

  /// Enqueues the waiting buffers in order. A queue that cannot return to its server accepts none. Call it on the
  /// thread that calls `fill`.
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
