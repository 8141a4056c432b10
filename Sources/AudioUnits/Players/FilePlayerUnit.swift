import CRealTime
import RealTime
package import Synchronization
import Timeline

/// A part of a file that a player plays.
package struct PlayerRegion: Sendable {
  package let file: any PlayerFile
  /// The frame of the player at which it begins; nil for the end of the region before.
  package let start: Int64?
  /// The first frame and the number of frames, at the file's rate; nil for all up to the end.
  package let firstFrame: Int64
  package let frames: Int64?
  /// How often it is repeated.
  package let loops: Int

  package init(
    _ file: any PlayerFile, start: Int64?, firstFrame: Int64, frames: Int64?, loops: Int
  ) {
    self.file = file
    self.start = start
    self.firstFrame = firstFrame
    self.frames = frames
    self.loops = loops
  }
}

/// A generator that plays regions of sound files at their frames. A thread reads ahead.
package final class FilePlayerUnit: PlayerUnit, @unchecked Sendable {
  /// The end of a region.
  package enum End: Sendable {
    case played
    case cancelled
    case failed(UnitError)
  }

  /// A region on its way.
  private final class Task: @unchecked Sendable {
    let region: PlayerRegion
    let resets: UInt64
    let handler: @Sendable (End) -> Void
    /// Frames of a repetition, at the rate of the unit; nil for all up to the end of the file.
    let length: Int?
    var loop = 0
    /// Frames that were read of the present repetition.
    var done = 0
    var hasBegun = false
    /// Buffers that play.
    var pending = 0
    /// Set when a reset has removed the region: its buffers are freed after they are over, and do not count.
    var isRemoved = false
    var end: End?

    init(
      _ region: PlayerRegion, resets: UInt64, length: Int?,
      _ handler: @escaping @Sendable (End) -> Void
    ) {
      self.region = region
      self.resets = resets
      self.length = length
      self.handler = handler
    }
  }

  private struct Feed {
    var tasks: [Task] = []
    var free: [BufferMemory] = []
    /// Buffers that play or are free.
    var made = 0
    var format: BusFormat?
    var bufferFrames = 16_384
    var bufferCount = 4
    /// Frames that were given to the player, or left silent before them.
    var ready: Int64 = 0
  }
  private let feed = Mutex(Feed())

  /// The handles of the files that the app has named for regions.
  package let fileHandles = Mutex<[UInt]>([])

  /// Frames of each buffer that is read ahead, and their number; effective with new buffers.
  package var readAhead: (frames: Int, buffers: Int) {
    get { feed.withLock { ($0.bufferFrames, $0.bufferCount) } }
    set {
      feed.withLock { feed in
        (feed.bufferFrames, feed.bufferCount) = newValue
        feed.made -= feed.free.count
        feed.free = []
      }
    }
  }

  /// Frames from the start for which everything was read, as far as regions wait; the largest number if all
  /// was read.
  var readyFrames: Int64 {
    feed.withLock { feed in
      feed.tasks.contains { $0.end == nil } ? feed.ready : .max
    }
  }

  /// Adds a region, and reads its beginning.
  ///
  /// - Parameter handler: Called once when the region is over, on a thread of the library, not after
  ///   `dispose`.
  package func play(_ region: PlayerRegion, _ handler: @escaping @Sendable (End) -> Void)
    throws(UnitError)
  {
    let rate = try bus(.output, 0).format.sampleRate
    let length = region.frames.map { frames in
      Int(held: (Double(frames) * rate / region.file.sampleRate).rounded())
    }
    feed.withLock { feed in
      feed.tasks.append(
        Task(region, resets: unsafe render.pointee.resetCount, length: length, handler))
    }
    readMore()
  }

  /// Reads ahead as far as there are buffers.
  package func readMore() {
    guard let output = try? bus(.output, 0).format,
      let format = BusFormat.planar(channels: output.channels, sampleRate: output.sampleRate)
    else { return }
    let ended = feed.withLock { feed -> [(Task, End)] in
      if feed.format != format {
        feed.made -= feed.free.count
        feed.free = []
        feed.format = format
      }
      var ended: [(Task, End)] = []
      let resets = unsafe render.pointee.resetCount
      for task in feed.tasks where task.resets != resets && !task.isRemoved {
        if task.end == nil { task.end = .cancelled }
        task.isRemoved = true
        feed.made -= task.pending
        feed.ready = 0
      }
      for task in feed.tasks {
        while task.end == nil, let buffer = Self.buffer(&feed, format) {
          if !read(task, buffer, &feed.ready) { feed.free.append(buffer) }
        }
        if task.end == nil { break }
      }
      for task in feed.tasks {
        if let end = task.end, task.pending == 0 { ended.append((task, end)) }
      }
      feed.tasks.removeAll { $0.end != nil && $0.pending == 0 }
      return ended
    }
    for (task, end) in ended { task.handler(end) }
  }

  private static func buffer(_ feed: inout Feed, _ format: BusFormat) -> BufferMemory? {
    if let free = feed.free.popLast() { return free }
    if feed.made >= feed.bufferCount { return nil }
    feed.made += 1
    return BufferMemory(format, capacity: feed.bufferFrames)
  }

  /// Reads the next frames of a region, and lets them play.
  ///
  /// - Returns: False if the buffer is not used.
  private func read(_ task: Task, _ buffer: BufferMemory, _ ready: inout Int64) -> Bool {
    do throws(UnitError) {
      if task.done == 0 { try task.region.file.seek(to: task.region.firstFrame) }
      let left = task.length.map { $0 - task.done } ?? buffer.capacity
      let wanted = min(left, buffer.capacity)
      buffer.reset(frames: wanted)
      let count = try unsafe task.region.file.read(buffer.list, frames: wanted)
      task.done += count
      if count < wanted || task.done == task.length {
        // A repetition without a frame would go on for ever.
        task.loop += task.done == 0 ? task.region.loops + 1 : 1
        task.done = 0
        if task.loop > task.region.loops { task.end = .played }
      }
      if count == 0 { return false }
      let start = task.hasBegun ? nil : task.region.start
      guard
        unsafe memory.play(
          buffer.list, buffer.format, frames: count, start: start, resets: task.resets,
          { [weak self] kind in
            // Keeps the samples until then.
            if kind == .ended || kind == .cancelled { self?.over(buffer, of: task, kind) }
          })
      else { throw .unsupported("too many buffers of \(name) wait") }
      task.hasBegun = true
      task.pending += 1
      ready = max(ready, start ?? ready) + Int64(count)
      return true
    } catch {
      task.end = .failed(error)
      return false
    }
  }

  private func over(_ buffer: BufferMemory, of task: Task, _ kind: PlayerEvent.Kind) {
    feed.withLock { feed in
      task.pending -= 1
      if kind == .cancelled { task.end = .cancelled }
      if task.isRemoved {
        // The next region has other buffers.
      } else if buffer.format == feed.format && buffer.capacity == feed.bufferFrames
        && feed.made <= feed.bufferCount
      {
        feed.free.append(buffer)
      } else {
        feed.made -= 1
      }
    }
    readMore()
  }
}
