import CRealTime
import Glibc
import Logging
package import RealTime
import Synchronization
import System

/// A player of an engine: plays buffers and parts of files in the order in which they come, by a clock of
/// its own. Any thread that is not real time.
@safe
package final class BufferPlayerUnit: Unit, EngineService, @unchecked Sendable {
  private struct Queue {
    /// The lists that the player may still read, the oldest first: each ends those before it when its turn has come. The
    /// first one has an entry.
    var lists: [SoundList] = []
    var nextList: UInt64 = 1
    var stops: UInt32 = 0
    var commands: UInt32 = 0
    var halts: UInt8 = 0
    /// True once the output has the format of a connection. Files are read from then on.
    var isConnected = false
    /// Handlers to call, and the host times in nanoseconds from which on.
    var due: [(time: UInt64, handler: @Sendable () -> Void)] = []
    /// True while a thread calls handlers.
    var isServed = false
    /// Entries that a render which does not end may still read.
    var kept: [SoundList.Entry] = []
    var thread: EngineThread?
    var reader: FileReader?
    var hasClock = false

    /// True while sounds wait for a part of a file.
    var isWaiting: Bool { lists.contains { !$0.waiting.isEmpty } }
  }
  private let queue: Mutex<Queue>
  let memory: BufferPlayerMemory
  /// Seconds from the end of a render's frame to the moment when it is heard.
  private let heardAfter = Atomic<UInt64>(0)

  package init(_ name: String) throws(UnitError) {
    let memory = BufferPlayerMemory()
    self.memory = memory
    var queue = Queue()
    var list = SoundList(number: 0)
    unsafe list.append(SoundList.Entry(memory.first, of: nil, owner: nil, isPart: false))
    queue.lists = [list]
    self.queue = Mutex(queue)
    unsafe super.init(name, inputs: [], outputs: [try Self.standardFormat], Self.makeRender())
  }

  deinit {
    queue.withLock { queue in
      for list in queue.lists { for entry in list.all { entry.free() } }
      for entry in queue.kept { entry.free() }
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
        queue.reader = readerThread.map { FileReader(self, on: $0) }
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

  /// Adds a sound behind those that were scheduled before, or as the first one of a list that interrupts them.
  package func schedule(_ sound: ScheduledSound) {
    let reader = queue.withLock { queue -> FileReader? in
      if sound.turn != .queued { beginList(&queue) }
      queue.lists[queue.lists.count - 1].waiting.append(sound)
      passOn(&queue)
      return queue.isWaiting ? queue.reader : nil
    }
    reader?.thread.wake()
  }

  private func beginList(_ queue: inout Queue) {
    queue.lists.append(SoundList(number: queue.nextList))
    queue.nextList += 1
  }

  /// Gives the player the sounds that wait, of each list up to the next part of a file.
  private func passOn(_ queue: inout Queue) {
    // Those before have no sounds that wait.
    let first = queue.lists.firstIndex { !$0.waiting.isEmpty } ?? queue.lists.endIndex
    for index in first..<queue.lists.endIndex {
      var count = 0
      for sound in queue.lists[index].waiting {
        guard case .samples(let samples, let format, let frames, let owner) = sound.source else {
          break
        }
        unsafe append(samples, format, frames: frames, owner, sound, index, &queue)
        count += 1
      }
      queue.lists[index].waiting.removeFirst(count)
      // A list is known by the first entry of the one before.
      if queue.lists[index].head == nil { return }
    }
  }

  /// Appends an entry to a list. The first one makes the list known to the player.
  ///
  /// - Parameter continues: True for a part of a sound that is not the last one; nil for a whole sound.
  private func append(
    _ samples: UnsafeMutablePointer<cue_buffer_list>, _ format: BusFormat, frames: Int,
    _ owner: AnyObject?, _ sound: ScheduledSound, continues: Bool? = nil, _ index: Int,
    _ queue: inout Queue
  ) {
    let buffer = UnsafeMutablePointer<ScheduledBuffer>.allocate(capacity: 1)
    unsafe buffer.initialize(
      to: ScheduledBuffer(
        id: queue.lists[index].nextID, stops: queue.stops & 0xFF_FFFF, samples, format,
        frames: frames, start: sound.start, loops: sound.loops, turn: sound.turn,
        continues: continues ?? false))
    let isFirst = queue.lists[index].head == nil
    queue.lists[index].append(
      unsafe SoundList.Entry(buffer, of: sound, owner: owner, isPart: continues != nil))
    if isFirst, index > 0, let head = queue.lists[index - 1].head {
      unsafe head.buffer.pointee.interrupt(with: buffer)
    }
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
    let number = queue.withLock { queue -> UInt64 in
      queue.stops += 1
      queue.hasClock = false
      beginList(&queue)
      let marker = unsafe ScheduledSound(
        .samples(memory.nothing, memory.format, frames: 0, memory))
      let list = queue.lists.removeLast()
      let earlier = queue.lists
      // The lists before do not know this one: the player goes to it at once.
      queue.lists = [list]
      unsafe append(memory.nothing, memory.format, frames: 0, nil, marker, 0, &queue)
      if let head = queue.lists[0].head {
        unsafe memory.player.pointee.stop(goingOnAt: head.buffer)
      }
      queue.lists = earlier + queue.lists
      return list.number
    }
    let isSettled = settle()
    let thread = queue.withLock { queue in
      if !queue.hasClock { unsafe memory.player.pointee.clearClock() }
      retire(listsBefore: number, isSettled: isSettled, &queue)
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

  /// Takes the lists before one from the queue: the player reads them no more.
  private func retire(listsBefore number: UInt64, isSettled: Bool = true, _ queue: inout Queue) {
    while queue.lists.count > 1, queue.lists[0].number < number {
      let list = queue.lists.removeFirst()
      for entry in list.left {
        note(SoundEnd(entry.handler, isHeard: entry.isHeard, time: entry.endTime), &queue)
      }
      for sound in list.waiting {
        note(SoundEnd(sound.handler, isHeard: false, time: nil), &queue)
      }
      if isSettled { for entry in list.all { entry.free() } } else { queue.kept += list.all }
    }
  }

  // MARK: Ends

  /// Sets how long after its render a frame is heard, in seconds.
  package func setHeardAfter(_ seconds: Double) {
    heardAfter.store(UInt64(max(0, seconds) * 1e9), ordering: .relaxed)
  }

  /// Adds the handler of a sound that is over to those to call.
  private func note(_ end: SoundEnd, _ queue: inout Queue) {
    guard let handler = end.handler else { return }
    // One that was ended comes behind all others.
    var time = queue.due.last?.time ?? 0
    if let host = end.time {
      let isLater = end.isHeard && host > 1 && queue.thread != nil
      time = isLater ? host + heardAfter.load(ordering: .relaxed) : 0
    }
    let index = queue.due.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
    queue.due.insert((time, handler), at: index)
  }

  /// Takes note of the sounds that are over.
  private func collect(_ queue: inout Queue) {
    let reached = unsafe memory.player.pointee.reached
    retire(listsBefore: SoundList.number(ofEntry: reached), &queue)
    while let end = queue.lists[0].nextEnd(reached: reached) { note(end, &queue) }
  }

  package func serve() -> UInt64? {
    let (isBusy, reader) = queue.withLock { queue in
      collect(&queue)
      defer { queue.isServed = true }
      return (queue.isServed, queue.isWaiting ? queue.reader : nil)
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

  /// Parts of files that are read ahead for a list, at least a render beyond the one that plays, and the frames of
  /// each.
  private var mostParts: Int {
    max(4, max(maximumFrames, longestPull.load(ordering: .relaxed)) / Self.partFrames + 2)
  }
  /// Frames that the converters behind the player may take for a render.
  private let longestPull = Atomic<Int>(0)
  private static var partFrames: Int { 16_384 }
  /// How far the files have come, by the numbers of their lists. Held while a file is read. Lock it before `queue`.
  private let reading = Mutex<[UInt64: FileProgress]>([:])

  /// Lets files be read, since the output has the format of a connection.
  package func isConnected() {
    let reader = queue.withLock { queue in
      queue.isConnected = true
      return queue.isWaiting ? queue.reader : nil
    }
    reader?.thread.wake()
  }

  /// Reads ahead as far as there is room. For renders that no device waits for, call it before each.
  ///
  /// - Parameter frames: Frames that the converters behind the player may take for a render.
  package func readAhead(frames: Int = 0) {
    longestPull.store(frames, ordering: .relaxed)
    let most = mostParts
    reading.withLock { progress in
      while true {
        let next = queue.withLock { queue -> (ScheduledSound?, UInt64) in
          collect(&queue)
          guard queue.isConnected else { return (nil, 0) }
          let oldest = queue.lists[0].number
          progress = progress.filter { $0.key >= oldest }
          // A list that the player does not know holds up those behind it.
          let list =
            queue.lists.first { $0.head == nil }
            ?? queue.lists.first { !$0.waiting.isEmpty && $0.parts < most }
          return (list?.waiting.first, list?.number ?? 0)
        }
        guard let sound = next.0 else { return }
        progress[next.1] = read(sound, progress[next.1], next.1)
      }
    }
  }

  /// Reads the next part of a file, and gives it to the player.
  ///
  /// - Returns: How far the file has come; nil at its end.
  private func read(_ sound: ScheduledSound, _ before: FileProgress?, _ number: UInt64)
    -> FileProgress?
  {
    var part = sound
    if before != nil {
      part.start = .next
      part.turn = .queued
    }
    var isOver = false
    var buffer: BufferMemory?
    var count = 0
    var progress = before
    do throws(UnitError) {
      var reached = if let before { before } else { try begin(sound.source) }
      let wanted = min(Self.partFrames, reached.length.map { $0 - reached.done } ?? Self.partFrames)
      let memory = BufferMemory(reached.format, capacity: max(1, wanted))
      memory.reset(frames: wanted)
      count = wanted > 0 ? try unsafe reached.file.read(memory.list, frames: wanted) : 0
      reached.done += count
      isOver = count < wanted || reached.done == reached.length
      buffer = memory
      progress = reached
    } catch {
      log.error("a player cannot read a file: \(error)")
      isOver = true
    }
    if !isOver {
      part.handler = nil
      part.isHeard = false
    }
    queue.withLock { queue in
      guard let index = queue.lists.firstIndex(where: { $0.number == number }) else { return }
      if isOver { queue.lists[index].waiting.removeFirst() }
      if let buffer {
        unsafe append(
          buffer.list, buffer.format, frames: count, buffer, part, continues: !isOver, index,
          &queue)
      } else {
        unsafe append(memory.nothing, memory.format, frames: 0, nil, part, index, &queue)
      }
      passOn(&queue)
    }
    return isOver ? nil : progress
  }

  /// Opens a file for the format that the output has.
  private func begin(_ source: ScheduledSound.Source) throws(UnitError) -> FileProgress {
    guard case .file(let firstFrame, let frames, let open) = source else {
      preconditionFailure("samples wait for files only")
    }
    let output = try bus(.output, 0).format
    guard let format = BusFormat.planar(channels: output.channels, sampleRate: output.sampleRate)
    else { throw .formatNotSupported("\(output.channels) channels") }
    let file = try open(format)
    try file.seek(to: firstFrame)
    let length = frames.map { Int((Double($0) * format.sampleRate / file.sampleRate).rounded()) }
    return FileProgress(file: file, format: format, length: length)
  }

  override package func dispose() {
    setThreads(nil, reading: nil)
    super.dispose()
  }
}

/// How far the part of a file that is being read has come.
private struct FileProgress: Sendable {
  let file: any PlayerFile
  let format: BusFormat
  /// Frames of the part, at the rate of the format; nil for all up to the end.
  let length: Int?
  /// Frames that were read.
  var done = 0
}

/// Reads ahead for a player, on a thread of the engine.
private final class FileReader: EngineService, @unchecked Sendable {
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
        id: 0, stops: 0, nothing, format, frames: 0, start: .next, loops: false, turn: .queued,
        continues: false))
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
