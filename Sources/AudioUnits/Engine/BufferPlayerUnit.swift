package import CRealTime
import Glibc
import Logging
package import RealTime
import Synchronization
import System

/// Sound that a `BufferPlayerUnit` plays: samples of the app, or a part of a file.
package struct ScheduledSound: Sendable {
  /// The source of the samples.
  @safe
  package enum Source: @unchecked Sendable {
    /// Samples of the app, and the object that keeps them.
    case samples(UnsafeMutablePointer<cue_buffer_list>, BusFormat, frames: Int, AnyObject)
    case region(PlayerRegion)
  }
  package var source: Source
  package var start = BufferStart.next
  package var loops = false
  package var turn = BufferTurn.queued
  /// True if the handler is to be called when the last frame is heard, not when it is rendered.
  package var isHeard = false
  /// Called once when the sound is over, or was ended, on the thread of the unit.
  package var handler: (@Sendable () -> Void)?

  package init(_ source: Source) { self.source = source }
}

/// A player of an engine: plays buffers and parts of files in the order in which they come, by a clock of
/// its own. Any thread that is not real time.
@safe
package final class BufferPlayerUnit: Unit, EngineService, @unchecked Sendable {
  /// An entry of the player's list.
  @safe
  private struct Entry: @unchecked Sendable {
    let buffer: UnsafeMutablePointer<ScheduledBuffer>
    let isHeard: Bool
    /// Nil once it was called, or for none.
    var handler: (@Sendable () -> Void)?
    /// Keeps the samples; nil once the player reads them no more.
    var owner: AnyObject?
    /// True for a part of a file, which was read ahead.
    let isPart: Bool

    func free() {
      unsafe buffer.deinitialize(count: 1)
      unsafe buffer.deallocate()
    }
  }

  private struct Queue {
    /// Entries that the player may still read, from the `first`-th on: the oldest first.
    var entries: [Entry] = []
    var first = 0
    var nextID: UInt64 = 1
    var stops: UInt32 = 0
    var commands: UInt32 = 0
    var halts: UInt8 = 0
    /// Sounds that wait for a part of a file before them.
    var waiting: [ScheduledSound] = []
    /// Changes whenever the sounds that wait are dropped.
    var generation = 0
    /// Parts of files in `entries`.
    var parts = 0
    /// Handlers to call, and the host times in nanoseconds from which on.
    var due: [(time: UInt64, handler: @Sendable () -> Void)] = []
    /// True while a thread calls handlers.
    var isServed = false
    /// Entries that a render which does not end may still read.
    var kept: [Entry] = []
    var thread: EngineThread?
    var reader: RegionReader?
    var hasClock = false
  }
  private let queue: Mutex<Queue>
  let memory: BufferPlayerMemory
  /// Seconds from the end of a render's frame to the moment when it is heard.
  private let heardAfter = Atomic<UInt64>(0)

  package init(_ name: String) throws(UnitError) {
    let memory = BufferPlayerMemory()
    self.memory = memory
    var queue = Queue()
    queue.entries = [
      unsafe Entry(buffer: memory.first, isHeard: false, handler: nil, owner: nil, isPart: false)
    ]
    self.queue = Mutex(queue)
    unsafe super.init(name, inputs: [], outputs: [try Self.standardFormat], Self.makeRender())
  }

  deinit {
    queue.withLock { queue in
      for entry in queue.entries[queue.first...] + queue.kept { entry.free() }
    }
  }

  override package var channelCounts: (inputs: Int, outputs: Int)? { (0, -1) }

  override func kernel(inputs: Int) -> Kernel {
    unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runBuffers($0, $1) }, context: UnsafeMutableRawPointer(memory.player)),
      owner: memory)
  }

  /// Sets the threads that call handlers and read files; nil while the unit belongs to no engine.
  package func setThreads(_ thread: EngineThread?, reading readerThread: EngineThread?) {
    let (old, oldReader) = queue.withLock { queue in
      let reader = queue.reader
      unsafe memory.player.pointee.setSignal(thread?.signal)
      defer {
        queue.thread = thread
        queue.reader = readerThread.map { RegionReader(self, on: $0) }
      }
      return (queue.thread, reader)
    }
    settle()
    old?.remove(self)
    if let oldReader { oldReader.thread.remove(oldReader) }
    if let thread { thread.add(self) } else if old != nil { serveAlone() }
    if let reader = queue.withLock({ $0.reader }) { reader.thread.add(reader) }
  }

  // MARK: Scheduling

  /// Adds a sound behind those that were scheduled before.
  ///
  /// One that ends those before it ends the reading of files at once, so that what was read ahead of them
  /// plays until it begins.
  package func schedule(_ sound: ScheduledSound) {
    let reader = queue.withLock { queue -> RegionReader? in
      if sound.turn != .queued { dropWaiting(&queue) }
      queue.waiting.append(sound)
      passOn(&queue)
      return queue.waiting.isEmpty ? nil : queue.reader
    }
    reader?.thread.wake()
  }

  /// Puts entries without sound in the place of the sounds that wait. Their handlers are called in turn.
  private func dropWaiting(_ queue: inout Queue) {
    for sound in queue.waiting {
      var empty = sound
      (empty.start, empty.loops, empty.turn, empty.isHeard) = (.next, false, .queued, false)
      unsafe append(memory.nothing, memory.format, frames: 0, nil, empty, &queue)
    }
    queue.waiting = []
    queue.generation += 1
  }

  /// Gives the player the sounds that wait, up to the next part of a file.
  private func passOn(_ queue: inout Queue) {
    var count = 0
    for sound in queue.waiting {
      guard case .samples(let samples, let format, let frames, let owner) = sound.source else {
        break
      }
      unsafe append(samples, format, frames: frames, owner, sound, &queue)
      count += 1
    }
    queue.waiting.removeFirst(count)
  }

  /// Appends an entry to the player's list.
  private func append(
    _ samples: UnsafeMutablePointer<cue_buffer_list>, _ format: BusFormat, frames: Int,
    _ owner: AnyObject?, _ sound: ScheduledSound, isPart: Bool = false, _ queue: inout Queue
  ) {
    let buffer = UnsafeMutablePointer<ScheduledBuffer>.allocate(capacity: 1)
    unsafe buffer.initialize(
      to: ScheduledBuffer(
        id: queue.nextID, stops: queue.stops & 0xFF_FFFF, samples, format, frames: frames,
        start: sound.start, loops: sound.loops, turn: sound.turn))
    queue.nextID += 1
    if isPart { queue.parts += 1 }
    if let last = queue.entries.last { unsafe last.buffer.pointee.append(buffer) }
    queue.entries.append(
      unsafe Entry(
        buffer: buffer, isHeard: sound.isHeard, handler: sound.handler, owner: owner,
        isPart: isPart))
    if sound.turn != .queued { unsafe memory.player.pointee.interrupt(with: buffer) }
  }

  // MARK: Clock

  package func play(_ start: PlayerStart) {
    queue.withLock { queue in
      queue.hasClock = true
      switch start {
      case .nextRender: send(.play, &queue)
      case .sample(let sample): send(.playAtSample, &queue, moment: sample.bitPattern)
      case .host(let time): send(.playAtHost, &queue, moment: time)
      }
    }
  }

  /// Holds the clock.
  package func pause() {
    queue.withLock { queue in
      queue.hasClock = false
      send(.pause, &queue)
    }
  }

  /// Holds the clock, which begins anew with the next `play`. What was scheduled stays.
  package func halt() {
    queue.withLock { queue in
      queue.hasClock = false
      queue.halts &+= 1
      send(.pause, &queue)
      unsafe memory.player.pointee.clearClock()
    }
  }

  private func send(_ kind: PlayerCommand.Kind, _ queue: inout Queue, moment: UInt64 = 0) {
    queue.commands = (queue.commands + 1) & 0xFF_FFFF
    unsafe memory.player.pointee.send(
      PlayerCommand(
        kind, number: queue.commands, stops: queue.stops & 0xFF_FFFF, halts: queue.halts,
        moment: moment))
  }

  /// True from `play` on until the clock is held.
  package var isPlaying: Bool { queue.withLock { $0.hasClock } }

  /// A sample time of renders and the player's frame then; nil while the clock is held or has not run.
  package var clock: (sampleTime: Double, frame: Int64)? {
    queue.withLock { $0.hasClock ? unsafe memory.player.pointee.clock : nil }
  }

  /// Ends all that was scheduled, and the clock, which begins anew with the next `play`. The handlers of
  /// what did not play to its end are called soon.
  package func stop() {
    let id = queue.withLock { queue -> UInt64 in
      dropWaiting(&queue)
      queue.stops += 1
      queue.hasClock = false
      let marker = unsafe ScheduledSound(
        .samples(memory.nothing, memory.format, frames: 0, memory))
      unsafe append(memory.nothing, memory.format, frames: 0, nil, marker, &queue)
      let last = queue.entries[queue.entries.count - 1]
      unsafe memory.player.pointee.stop(goingOnAt: last.buffer)
      return unsafe last.buffer.pointee.id
    }
    let isSettled = settle()
    let thread = queue.withLock { queue in
      if !queue.hasClock { unsafe memory.player.pointee.clearClock() }
      retire(before: id, isSettled: isSettled, &queue)
      return queue.thread
    }
    if let thread {
      thread.wake()
    } else {
      serveAlone()
    }
  }

  /// Calls the handlers that are left after the unit has left its engine.
  private func serveAlone() {
    startThread(named: "player") {
      while let time = self.serve() {
        let now = HostTime.now
        if time > now { usleep(UInt32(min(time - now, 1_000_000_000) / 1000)) }
      }
    }
  }

  /// Takes the entries before one with a number from the list: the player reads them no more.
  private func retire(before id: UInt64, isSettled: Bool = true, _ queue: inout Queue) {
    while queue.first < queue.entries.count,
      unsafe queue.entries[queue.first].buffer.pointee.id < id
    {
      let entry = queue.entries[queue.first]
      // The list keeps the place of the entry, not what the app gave.
      (queue.entries[queue.first].handler, queue.entries[queue.first].owner) = (nil, nil)
      queue.first += 1
      if entry.isPart { queue.parts -= 1 }
      note(entry, unsafe entry.buffer.pointee.endTime, &queue)
      if isSettled { entry.free() } else { queue.kept.append(entry) }
    }
    if queue.first > 64 && queue.first > queue.entries.count / 2 {
      queue.entries.removeFirst(queue.first)
      queue.first = 0
    }
  }

  // MARK: Ends

  /// Sets how long after its render a frame is heard, in seconds.
  package func setHeardAfter(_ seconds: Double) {
    heardAfter.store(UInt64(max(0, seconds) * 1e9), ordering: .relaxed)
  }

  /// Adds the handler of an entry to those to call.
  ///
  /// - Parameter end: When it was over; nil if it was ended before.
  private func note(_ entry: Entry, _ end: UInt64?, _ queue: inout Queue) {
    guard let handler = entry.handler else { return }
    // One that was ended comes behind all others.
    var time = queue.due.last?.time ?? 0
    if let end {
      let isLater = entry.isHeard && end > 1 && queue.thread != nil
      time = isLater ? end + heardAfter.load(ordering: .relaxed) : 0
    }
    let index = queue.due.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
    queue.due.insert((time, handler), at: index)
  }

  /// Takes note of the entries that are over.
  private func collect(_ queue: inout Queue) {
    let reached = unsafe memory.player.pointee.reached
    retire(before: reached, &queue)
    guard queue.first < queue.entries.count else { return }
    let entry = queue.entries[queue.first]
    guard unsafe entry.buffer.pointee.id == reached, let end = unsafe entry.buffer.pointee.endTime
    else { return }
    note(entry, end, &queue)
    queue.entries[queue.first].handler = nil
  }

  package func serve() -> UInt64? {
    let (isBusy, reader) = queue.withLock { queue in
      collect(&queue)
      defer { queue.isServed = true }
      return (queue.isServed, queue.waiting.isEmpty ? nil : queue.reader)
    }
    reader?.thread.wake()
    // The thread that calls handlers finds those that have come.
    if isBusy { return nil }
    while true {
      let (handler, time) = queue.withLock { queue -> ((@Sendable () -> Void)?, UInt64?) in
        guard let first = queue.due.first, first.time <= HostTime.now else {
          queue.isServed = false
          return (nil, queue.due.first?.time)
        }
        queue.due.removeFirst()
        return (first.handler, nil)
      }
      guard let handler else { return time }
      handler()
    }
  }

  // MARK: Files

  /// Parts of files that are read ahead, at least a render beyond the one that plays, and the frames of each.
  private var mostParts: Int { max(4, maximumFrames / Self.partFrames + 2) }
  private static var partFrames: Int { 16_384 }
  /// Held while a file is read. Lock it before `queue`.
  private let reading = Mutex<RegionProgress>(RegionProgress())

  /// Reads ahead as far as there is room. For renders that no device waits for, call it before each.
  package func readAhead() {
    let most = mostParts
    reading.withLock { progress in
      while true {
        let (sound, generation) = queue.withLock { queue -> (ScheduledSound?, Int) in
          collect(&queue)
          return (queue.parts < most ? queue.waiting.first : nil, queue.generation)
        }
        guard let sound, case .region(let region) = sound.source else { return }
        if progress.generation != generation || !progress.isGoing {
          progress = RegionProgress(generation: generation)
          progress.isGoing = true
        }
        read(region, of: sound, &progress)
      }
    }
  }

  /// Reads the next part of a file, and gives it to the player.
  private func read(
    _ region: PlayerRegion, of sound: ScheduledSound, _ progress: inout RegionProgress
  ) {
    var part = sound
    part.handler = nil
    part.isHeard = false
    if progress.done > 0 {
      part.start = .next
      part.turn = .queued
    }
    var isOver = false
    var buffer: BufferMemory?
    var count = 0
    do throws(UnitError) {
      let output =
        if let format = region.format { format } else { try bus(.output, 0).format }
      guard
        let format = BusFormat.planar(channels: output.channels, sampleRate: output.sampleRate)
      else { throw .formatNotSupported("\(output.channels) channels") }
      if progress.done == 0 { try region.file.seek(to: region.firstFrame) }
      let length = region.frames.map {
        Int((Double($0) * output.sampleRate / region.file.sampleRate).rounded())
      }
      let wanted = min(Self.partFrames, length.map { $0 - progress.done } ?? Self.partFrames)
      let memory = BufferMemory(format, capacity: max(1, wanted))
      memory.reset(frames: wanted)
      count = wanted > 0 ? try unsafe region.file.read(memory.list, frames: wanted) : 0
      progress.done += count
      isOver = count < wanted || progress.done == length
      buffer = memory
    } catch {
      log.error("a player cannot read a file: \(error)")
      isOver = true
    }
    if isOver {
      part.handler = sound.handler
      part.isHeard = sound.isHeard
    }
    let generation = progress.generation
    if isOver { progress.isGoing = false }
    queue.withLock { queue in
      guard queue.generation == generation else { return }
      if let buffer, count > 0 || isOver {
        unsafe append(
          buffer.list, buffer.format, frames: count, buffer, part, isPart: true, &queue)
      } else if isOver {
        unsafe append(memory.nothing, memory.format, frames: 0, nil, part, &queue)
      }
      guard isOver else { return }
      queue.waiting.removeFirst()
      passOn(&queue)
    }
  }

  override package func dispose() {
    setThreads(nil, reading: nil)
    super.dispose()
  }
}

/// How far the part of a file that is being read has come.
private struct RegionProgress: Sendable {
  /// Frames that were read, at the rate of the player.
  var done = 0
  var generation = 0
  var isGoing = false
}

/// Reads ahead for a player, on a thread of the engine.
private final class RegionReader: EngineService, @unchecked Sendable {
  private weak let player: BufferPlayerUnit?
  let thread: EngineThread
  init(_ player: BufferPlayerUnit, on thread: EngineThread) {
    self.player = player
    self.thread = thread
  }
  func serve() -> UInt64? {
    player?.readAhead()
    return nil
  }
}

/// Memory of a `BufferPlayer`.
@safe
final class BufferPlayerMemory: @unchecked Sendable {
  let player: UnsafeMutablePointer<BufferPlayer>
  /// The entry before all others, which the list frees.
  let first: UnsafeMutablePointer<ScheduledBuffer>
  /// An empty list for entries without sound, and their format.
  let nothing: UnsafeMutablePointer<cue_buffer_list>
  let format: BusFormat
  private let state: UnsafeMutablePointer<BufferPlayerState>
  private let reader = SliceReaderMemory()

  init() {
    guard let format = BusFormat.planar(channels: 1, sampleRate: 44_100) else {
      preconditionFailure("one channel of floats is a format")
    }
    self.format = format
    unsafe nothing = BufferMemory.allocateList(buffers: 1)
    unsafe first = .allocate(capacity: 1)
    unsafe first.initialize(
      to: ScheduledBuffer(
        id: 0, stops: 0, nothing, format, frames: 0, start: .next, loops: false, turn: .queued))
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: BufferPlayerState(first))
    unsafe player = .allocate(capacity: 1)
    unsafe player.initialize(to: BufferPlayer(state, reader: reader.reader))
  }

  deinit {
    unsafe player.deinitialize(count: 1)
    unsafe player.deallocate()
    unsafe state.deallocate()
    unsafe nothing.deallocate()
  }
}
