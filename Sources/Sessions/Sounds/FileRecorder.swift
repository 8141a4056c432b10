package import AudioQueue
import Dispatch
import Files
package import RealTime
package import Server
import Synchronization
package import Timeline

/// A recording queue and the sound file that it records to. Any thread that is not real time.
///
/// The queue's callback thread writes the file. The queue's buffers allow the disk to stall for
/// four seconds before frames are lost. Lost frames become silence in the file, so that it stays in
/// time.
package final class FileRecorder: Sendable {
  package let queue: InputQueue
  private let feed: RecordingFeed

  /// Creates a recorder for a file that is given later. `onEvent` is called when the owner should
  /// check the recorder's state, and `onFailure` with the reason if the file cannot be written.
  ///
  /// - Parameter format: The input format of the file's writer. With a rate of 0, the device is
  ///   opened and its rate is used.
  package init(
    _ format: PCMFormat, options: InputQueue.Options, server: any Server,
    onFailure: @escaping @Sendable (String) -> Void, onEvent: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = RecordingFeed(onFailure, onEvent)
    self.feed = feed
    queue = try InputQueue(
      format, options: options, server: server, callingBackOn: .ownThread,
      InputQueue.Handlers(
        bufferDone: { queue, recording in feed.take(recording, of: queue) },
        changed: { _, _ in onEvent() }))
  }

  /// Opens the device, connects its ports and allocates the buffers. Blocks.
  package func prepare() throws(QueueError) {
    _ = try queue.deviceSampleRate()
    try feed.allocate(queue)
  }

  /// Records to `file`, starting at `time`.
  ///
  /// - Parameters:
  ///   - limit: Frames to record; nil to record until `stop`.
  ///   - observer: Is told of what is written.
  package func start(
    _ file: RecordingFile, at time: StartTime, limit: Int64?,
    observer: (any RecordingObserver)? = nil
  ) throws(QueueError) {
    feed.begin(file, limit: limit, observer)
    try feed.enqueueIdle(queue)
    try queue.start(at: time)
  }

  /// Pauses recording. The time until `resume` is not in the file.
  package func pause() throws(QueueError) { try queue.pause() }
  package func resume() throws(QueueError) { try queue.start(at: .atOnce) }

  /// Stops recording, and waits until everything recorded is written, unless writing has failed.
  package func stop() {
    feed.end()
    // Even on an error, the buffers come back.
    try? queue.stopAndDeliverSoon()
    feed.waitUntilIdle()
  }

  package func close() { try? queue.dispose(atOnce: true) }

  /// True if nothing more will be written: the limit is reached, or recording has failed.
  package var isOver: Bool { feed.isOver }
  /// True if the file could not be written, or the queue cannot continue; `onFailure` has
  /// been called.
  package var hasFailed: Bool { feed.hasFailed }
  /// Frames recorded, including silence for lost ones.
  package var frames: Int64 { feed.frames }
  /// How often frames were lost because the disk or the machine was too slow.
  package var overruns: UInt64 {
    let breaks = queue.discontinuities
    return breaks.interruptions + breaks.starvations
  }
  /// Frames of silence inserted for lost frames.
  package var silentFrames: Int64 { feed.silentFrames }
}

/// An observer of what a recorder writes to its file, in the queue's format. Called on the recorder's
/// callback thread, one call at a time.
package protocol RecordingObserver: Sendable {
  func note(_ bytes: UnsafeRawBufferPointer, frames: Int)
  /// Silence in place of lost frames.
  func noteSilence(frames: Int64)
}

/// The consumer of a queue's filled buffers. It writes them to the file, and enqueues them again.
private final class RecordingFeed: Sendable {
  /// Four seconds in total, in small buffers that reach the file soon.
  private static let bufferCount = 32
  private static let buffersPerSecond = 8.0
  private struct State {
    var buffers: [UInt32: QueueBuffer] = [:]
    /// Buffers that are not enqueued.
    var idle: [UInt32] = []
    var file: RecordingFile?
    var observer: (any RecordingObserver)?
    var limit: Int64?
    var isEnding = false
    /// True if the queue accepts no more buffers.
    var isCut = false
    var failure: SoundFileError?
    var frames: Int64 = 0
    var silentFrames: Int64 = 0
    /// The frame of the run that follows the last written frame.
    var nextFrame: Int64 = 0

    /// True if nothing more will be written.
    var isOver: Bool { failure != nil || isCut || frames == limit }
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

  var hasFailed: Bool { state.withLock { $0.failure != nil || $0.isCut } }
  var frames: Int64 { state.withLock { $0.frames } }
  var silentFrames: Int64 { state.withLock { $0.silentFrames } }
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

  func begin(_ file: RecordingFile, limit: Int64?, _ observer: (any RecordingObserver)?) {
    state.withLock { state in
      state.file = file
      state.observer = observer
      state.limit = limit
    }
  }

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
    let (buffer, isOver) = state.withLock { ($0.buffers[recording.buffer], $0.failure != nil) }
    guard let buffer else { return }
    if recording.frames > 0, !isOver {
      do throws(SoundFileError) {
        try write(recording, buffer, queue.format)
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

  private func write(_ recording: Recording, _ buffer: QueueBuffer, _ format: PCMFormat)
    throws(SoundFileError)
  {
    let (file, next, written, limit) = state.withLock {
      ($0.file, $0.nextFrame, $0.frames, $0.limit)
    }
    guard let writer = try file?.beginning() else { return }
    let observer = state.withLock { $0.observer }
    var left = limit.map { $0 - written } ?? .max
    if recording.startFrame > next {
      let lost = min(recording.startFrame - next, left)
      try writer.writeSilence(frames: lost)
      observer?.noteSilence(frames: lost)
      left -= lost
      state.withLock { state in
        state.frames += lost
        state.silentFrames += lost
      }
    }
    let frames = min(recording.frames, Int(clamping: left))
    let bytes = unsafe UnsafeRawBufferPointer(
      rebasing: buffer.data[..<(frames * format.bytesPerFrame)])
    try unsafe writer.write(bytes)
    unsafe observer?.note(bytes, frames: frames)
    state.withLock { state in
      state.frames += Int64(frames)
      state.nextFrame = recording.startFrame + Int64(recording.frames)
    }
    try writer.checkpoint()
  }
}
