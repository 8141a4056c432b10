package import Codecs
import Glibc
package import RealTime
package import Server
import Synchronization
import System
import Timeline

/// A playback queue: takes buffers from an app and plays them through one server client.
///
/// Safe to call on any thread that is not real-time, callbacks included. The queue holds no lock
/// during callbacks. The app's times are in frames at the queue's rate, device times in frames at
/// the server's.
@safe
package final class OutputQueue: CoreQueue, @unchecked Sendable {
  package typealias Options = QueueOptions
  /// The number identifies the buffer that the queue returns.
  package typealias Handlers = QueueHandlers<OutputQueue, UInt32>

  /// The format of the data in the buffers.
  package let streamFormat: StreamFormat
  let layout: SampleLayout
  let handlers: Handlers
  let core: QueueCore<PlaybackPart>

  /// Creates a queue for linear PCM.
  ///
  /// - Throws: `unsupportedFormat`.
  package convenience init(
    _ format: PCMFormat, options: Options, server: any Server,
    callingBackOn executor: CallbackExecutor,
    _ handlers: Handlers
  ) throws(QueueError) {
    try self.init(
      .pcm(format), options: options, server: server, callingBackOn: executor, handlers)
  }

  /// Creates a queue for linear PCM, or for packets with a known rate and channel count.
  ///
  /// - Throws: `unsupportedFormat`, `codecNotFound`.
  package init(
    _ format: StreamFormat, options: Options, server: any Server,
    callingBackOn executor: CallbackExecutor, _ handlers: Handlers
  ) throws(QueueError) {
    streamFormat = format
    if case .packets(let packets) = format, !packets.codec.hasDecoder { throw .codecNotFound }
    let format = format.decoded
    guard let layout = format.layout else { throw .unsupportedFormat }
    self.layout = layout
    self.handlers = handlers
    core = QueueCore(
      PlaybackPart(), format, options, memory: VoiceMemory(channels: format.channels),
      target: .server(server))
    core.callBack(self, on: executor) { $0.call($1) }
  }

  /// Ends a queue at once that was released before its disposal was complete.
  deinit {
    core.end()
    LastSounds.shared.end(self)
  }

  // MARK: Buffers

  /// Trimming, parameter changes and start time of an enqueued buffer.
  package struct Schedule: Sendable {
    /// Frames to leave out at each end.
    package var trimmedAtStart: Int
    package var trimmedAtEnd: Int
    /// Parameter changes that take effect on the buffer's first frame.
    package var changes: ParameterChanges
    /// The frame of the run, at the queue's rate, at which the buffer begins. It begins later if
    /// the buffers before it end later. Nil to follow them directly.
    package var start: Int64?
    /// Rate and pitch from the buffer's first frame on.
    package var timePitch = TimePitchChanges()
    /// The latest start time in seconds after the beginning of a run, about 30 years. At every rate
    /// its frame number fits an `Int64` and a `Double`.
    package static let latestSeconds = 1e9

    package init(
      trimmedAtStart: Int = 0, trimmedAtEnd: Int = 0,
      changes: ParameterChanges = ParameterChanges(), start: Int64? = nil
    ) {
      self.trimmedAtStart = trimmedAtStart
      self.trimmedAtEnd = trimmedAtEnd
      self.changes = changes
      self.start = start
    }
  }

  /// Enqueues the first `bytes` bytes of a buffer after all buffers enqueued before.
  ///
  /// The queue owns the memory until it calls the app back with the buffer.
  ///
  /// - Parameter packets: Offsets and sizes of the packets in the buffer; required if they vary in
  ///   size. Linear PCM needs none.
  package func enqueue(_ id: UInt32, bytes: Int, packets: [PacketExtent] = []) throws(QueueError) {
    try state.change { state throws(QueueError) in
      _ = try append(id, bytes: bytes, packets, Schedule(), &state)
    }
  }

  /// Enqueues the first `bytes` bytes of a buffer after all buffers enqueued before, with a
  /// schedule.
  ///
  /// The queue owns the memory until it calls the app back with the buffer.
  ///
  /// - Returns: The frame of the run, at the queue's rate, at which the buffer will begin unless
  ///   the queue runs dry before.
  package func enqueue(
    _ id: UInt32, bytes: Int, packets: [PacketExtent] = [], _ schedule: Schedule
  ) throws(QueueError) -> Int64 {
    let begin = try state.change { state throws(QueueError) in
      state.part.tail = max(state.part.tail, presentFrame(state))
      let begin = try append(id, bytes: bytes, packets, schedule, &state)
      noteBalance(schedule.changes, &state)
      return begin
    }
    // The buffer is enqueued even if the port cannot be opened.
    try? openSecondPortIfNeeded()
    return begin
  }

  private func append(
    _ id: UInt32, bytes: Int, _ described: [PacketExtent], _ schedule: Schedule,
    _ state: inout PlaybackState
  ) throws(QueueError) -> Int64 {
    try state.checkReturns()
    guard let buffer = state.buffers[id] else { throw .invalidBuffer }
    guard bytes <= buffer.capacity else { throw .bufferOverfull }
    guard bytes > 0 else { throw .bufferEmpty }
    let packets = try packets(described, bytes: bytes, schedule)
    let frames = packets?.expectedFrames ?? (bytes / format.bytesPerFrame)
    guard frames > 0 || packets != nil else { throw .bufferEmpty }
    try state.checkNotResetting()
    guard state.buffers.isFree(id) else { throw .enqueuedTwice }
    var left = frames - schedule.trimmedAtStart - schedule.trimmedAtEnd
    // Packets of unknown length may contain enough frames.
    let isCounted = packets?.extents.allSatisfy { $0.frames > 0 } ?? true
    if !isCounted { left = max(left, 0) }
    guard left >= 0 else { throw .trimmedTooMuch }
    if !schedule.timePitch.isEmpty && !state.part.settings.isTimePitchEnabled {
      throw .invalidParameter
    }
    if let start = schedule.start {
      guard Double(start).magnitude <= Schedule.latestSeconds * format.sampleRate else {
        throw .startOutOfRange
      }
      if let last = state.lastStart, start < last { throw .startsOutOfOrder }
    }
    let begin = max(state.part.tail, schedule.start ?? .min)
    // Waiting buffers may still change the rate, so this is an estimate.
    let rate = state.rateAtTail(schedule.timePitch)
    state.part.tail = begin + Int64(held: (Double(left) / rate).rounded())
    state.buffers.setFree(false, id)
    state.part.endsEmpty = false
    let item = PlaybackPart.Item.buffer(
      PlaybackPart.Piece(
        id: id, first: schedule.trimmedAtStart, frames: left, packets: packets,
        start: schedule.start, begin: begin,
        changes: schedule.changes.clamped(toVolume: options.maximumVolume),
        timePitch: schedule.timePitch))
    if !state.waiting.isEmpty || !push(item, &state) { state.waiting.append(item) }
    return begin
  }

  /// Pushes waiting items into the ring, as far as it has room. A converter pushes its own entries.
  func pump(_ state: inout PlaybackState) {
    while let item = state.waiting.first, push(item, &state) { state.waiting.removeFirst() }
  }

  /// Pushes an item into the ring, ahead of the waiting ones.
  ///
  /// - Returns: False if there is no room, or a converter pushes the entries.
  private func push(_ item: PlaybackPart.Item, _ state: inout PlaybackState) -> Bool {
    guard let device = state.device, state.converter == nil else { return false }
    let entry: Entry
    switch item {
    case .buffer(let piece):
      guard let data = unsafe state.buffers[piece.id]?.data.baseAddress else { return false }
      unsafe entry = Entry(
        data + piece.first * format.bytesPerFrame, frames: piece.frames, layout: layout,
        token: piece.id,
        start: piece.start.map { deviceStart($0, device.client.sampleRate) } ?? .min,
        changes: piece.changes)
    case .end: entry = .end
    case .stagingBuffer, .replay, .flush: return true
    }
    guard memory.push(entry, after: state.inRing.count) else {
      // The event thread pumps whenever it wakes: entries leave the ring before their events come.
      memory.followsEveryWake.store(true, ordering: .relaxed)
      return false
    }
    state.inRing.append(item)
    return true
  }

  /// Converts a frame of the run to device frames.
  func deviceStart(_ start: Int64, _ deviceRate: Double) -> Int64 {
    Int64(held: (Double(start) * deviceRate / format.sampleRate).rounded())
  }

  // MARK: Events

  package func readEvents() -> Bool {
    state.change { state in
      // A converter follows the frames that are played, and the length of the cycles.
      let converts = state.converter != nil
      if converts, let period = state.device?.periodFrames { state.part.setPeriod(period) }
      memory.followsEveryWake.store(converts, ordering: .relaxed)
      readEvents(&state)
      pump(&state)
      return !state.notices.isEmpty
    }
  }

  /// Converts as far ahead as the longer cycles need, before the first of them comes.
  package func deviceWillChangePeriod(to frames: Int) {
    guard let converter = state.read({ $0.isRunning ? $0.converter : nil }) else { return }
    state.change { $0.part.announcedPeriodFrames = frames }
    _ = state.wait(seconds: 0.2) { converter.isAhead($0) ? () : nil }
  }

  /// Processes the events of the process thread.
  func readEvents(_ state: inout PlaybackState) {
    state.part.playedFrames = unsafe memory.voice.pointee.playedFrames.load(ordering: .relaxed)
    while let event = unsafe memory.voice.pointee.events.pop() {
      switch event.kind {
      case .played:
        guard !state.inRing.isEmpty else { continue }
        switch state.inRing.removeFirst() {
        case .buffer(let piece): state.notices.append(.buffer(piece.id, isReset: false))
        case .stagingBuffer(let piece):
          for piece in state.recycle(piece) {
            state.notices.append(.buffer(piece.id, isReset: false))
          }
        case .replay, .end, .flush: break
        }
      case .runBegan:
        state.beganAt = event.frame
        state.setRunning(true)
        if state.part.isBeginning {
          state.part.isBeginning = false
        } else if state.part.isRestarting {
          state.part.isRestarting = false
          state.part.starts.removeFirst()
          if let next = state.part.starts.first { restart(&state, at: next) }
        }
      case .runEnded:
        if !state.inRing.isEmpty { state.inRing.removeFirst() }
        state.part.ends -= 1
        state.part.runs.over += 1
        runEnded(&state, lasting: event.position)
        if state.part.starts.isEmpty {
          state.phase = .idle
          if state.disposal == .draining {
            startThread(named: "cuejack-dispose") { self.finishDisposal() }
          }
        }
      }
    }
  }

  /// Tells the voice to begin its next run at `start`, after the present one ends.
  func restart(_ state: inout PlaybackState, at start: StartPoint) {
    state.part.isRestarting = true
    unsafe memory.voice.pointee.startAfterEnd(at: start)
  }

  /// Records the end of the run and its length in device frames.
  func runEnded(_ state: inout PlaybackState, lasting frames: Int64) {
    state.lastedFrames = frames
    state.endRun()
  }

  // MARK: Callbacks

  private func call(_ notice: Notice<UInt32>) {
    switch notice {
    case .buffer(let id, _): handlers.bufferDone(self, id)
    case .isRunning: handlers.changed(self, .isRunning)
    case .changed(let change): handlers.changed(self, change)
    }
  }
}
