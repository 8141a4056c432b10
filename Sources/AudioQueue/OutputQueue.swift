package import Codecs
import Glibc
import Logging
package import RealTime
package import Server
import Synchronization
import Timeline

let log = Logger(label: "cuejack")

/// A playback queue: takes buffers from an app and plays them through one client of a server.
///
/// Safe on every thread that is not real time, callbacks included. No lock is held while the app
/// is called. Times that the app sees are in frames at the queue's own rate, device times in
/// frames at the server's.
@safe
package final class OutputQueue: CallingQueue, VoiceOwner, @unchecked Sendable {
  package typealias Options = QueueOptions
  /// The number names the buffer that the queue is done with.
  package typealias Handlers = QueueHandlers<OutputQueue, UInt32>

  /// What buffers hold.
  package let streamFormat: StreamFormat
  /// The same if that is PCM; else what it decodes to.
  package let format: PCMFormat
  let layout: SampleLayout
  let options: Options
  let handlers: Handlers
  let memory: VoiceMemory
  let state = Monitor(QueueState())
  /// Held by the calls that change what the queue does, never while the app is called.
  let control = Turn()
  /// The server, or the device of another queue, that this one plays through.
  let target: Mutex<Target>
  /// What to do once the queue has given its device back.
  let onDisposed = Mutex<(@Sendable () -> Void)?>(nil)
  private let contextStorage = Mutex<(any CallbackContext)?>(nil)

  enum Target: Sendable {
    case server(any Server)
    case device(Device)
  }

  /// A queue for linear PCM.
  ///
  /// - Throws: `unsupportedFormat`.
  package convenience init(
    _ format: PCMFormat, options: Options, server: any Server, callingBackOn place: CallbackPlace,
    _ handlers: Handlers
  ) throws(QueueError) {
    try self.init(
      .pcm(format), options: options, server: server, callingBackOn: place, handlers)
  }

  /// A queue for linear PCM, or for packets whose rate and channels are known.
  ///
  /// - Throws: `unsupportedFormat`, `codecNotFound`.
  package init(
    _ format: StreamFormat, options: Options, server: any Server,
    callingBackOn place: CallbackPlace, _ handlers: Handlers
  ) throws(QueueError) {
    streamFormat = format
    if case .packets(let packets) = format, !packets.codec.hasDecoder { throw .codecNotFound }
    let format = format.decoded
    guard let layout = format.layout else { throw .unsupportedFormat }
    self.format = format
    self.layout = layout
    self.options = options
    self.handlers = handlers
    memory = VoiceMemory(channels: format.channels)
    target = Mutex(.server(server))
    let context = makeCallbackContext(place) { [weak self] in self?.deliver() }
    contextStorage.withLock { $0 = context }
  }

  /// A queue that is let go of without having been disposed of, or before that is complete, ends
  /// at once: no cycle may see its memory any more.
  deinit {
    context.invalidate()
    let (device, converter) = state.change { state in
      state.disposal = .disposed
      return (state.device, state.converter)
    }
    if let device, !device.retire(memory) { keepMemory(converter) }
  }

  /// Where the app is called back.
  var context: any CallbackContext { contextStorage.withLock { $0! } }

  /// Has `body` run once a disposal is complete, on any thread.
  package func whenDisposed(_ body: @escaping @Sendable () -> Void) {
    onDisposed.withLock { $0 = body }
  }

  // MARK: Buffers

  /// How a buffer is to be played.
  package struct Schedule: Sendable {
    /// Frames that are left out.
    package var trimmedAtStart: Int
    package var trimmedAtEnd: Int
    /// Parameters that change with the buffer's first frame.
    package var changes: ParameterChanges
    /// Frame of the run, at the queue's rate, at which it begins, or as soon after as what was
    /// enqueued before lets it; nil for as soon as that.
    package var start: Int64?
    /// Rate and pitch from the buffer's first frame on.
    package var timePitch = TimePitchChanges()
    /// Seconds, some 30 years, between the beginning of a run and the latest start: at every rate the
    /// frames fit an `Int64` and a `Double`.
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

  /// Has the first `bytes` bytes of a buffer played after all that is enqueued.
  ///
  /// The bytes belong to the queue until the app is called back with the buffer.
  ///
  /// - Parameter packets: Where the packets lie in the buffer; needed if they vary in size. Of linear
  ///   PCM it does not matter.
  package func enqueue(_ id: UInt32, bytes: Int, packets: [PacketExtent] = []) throws(QueueError) {
    try state.change { state throws(QueueError) in
      _ = try append(id, bytes: bytes, packets, Schedule(), &state)
    }
  }

  /// Has the first `bytes` bytes of a buffer played after all that is enqueued, as `schedule` says.
  ///
  /// The bytes belong to the queue until the app is called back with the buffer.
  ///
  /// - Returns: The frame of the run, at the queue's rate, at which the buffer will begin if the queue
  ///   does not run dry before.
  package func enqueue(
    _ id: UInt32, bytes: Int, packets: [PacketExtent] = [], _ schedule: Schedule
  ) throws(QueueError) -> Int64 {
    let begin = try state.change { state throws(QueueError) in
      state.tail = max(state.tail, presentFrame(state))
      let begin = try append(id, bytes: bytes, packets, schedule, &state)
      noteBalance(schedule.changes, &state)
      return begin
    }
    // The buffer is enqueued, whatever becomes of the port.
    try? openSecondPortIfNeeded()
    return begin
  }

  private func append(
    _ id: UInt32, bytes: Int, _ described: [PacketExtent], _ schedule: Schedule,
    _ state: inout QueueState
  ) throws(QueueError) -> Int64 {
    try state.checkUsable()
    guard let record = state.buffers[id] else { throw .invalidBuffer }
    guard bytes <= record.buffer.capacity else { throw .bufferOverfull }
    guard bytes > 0 else { throw .bufferEmpty }
    let packets = try packets(described, bytes: bytes, schedule)
    let frames = packets?.expectedFrames ?? (bytes / format.bytesPerFrame)
    guard frames > 0 || packets != nil else { throw .bufferEmpty }
    if state.resets > 0 { throw .enqueueDuringReset }
    if state.isInCallback, case .buffer(_, isReset: true) = state.delivering?.notice {
      throw .enqueueDuringReset
    }
    guard record.isFree else { throw .enqueuedTwice }
    var left = frames - schedule.trimmedAtStart - schedule.trimmedAtEnd
    // Packets whose frames are not known may have enough.
    let isCounted = packets?.extents.allSatisfy { $0.frames > 0 } ?? true
    if !isCounted { left = max(left, 0) }
    guard left >= 0 else { throw .trimmedTooMuch }
    if !schedule.timePitch.isEmpty && !state.settings.isTimePitchEnabled {
      throw .invalidParameter
    }
    if let start = schedule.start {
      guard Double(start).magnitude <= Schedule.latestSeconds * format.sampleRate else {
        throw .startOutOfRange
      }
      if let last = state.lastStart, start < last { throw .startsOutOfOrder }
    }
    let begin = max(state.tail, schedule.start ?? .min)
    // What waits may bring other rates yet: as far as is known.
    let rate = state.rateAtTail(schedule.timePitch)
    state.tail = begin + Int64((Double(left) / rate).rounded())
    state.buffers[id]?.isFree = false
    state.waiting.append(
      .buffer(
        QueueState.Piece(
          id: id, first: schedule.trimmedAtStart, frames: left, packets: packets,
          start: schedule.start, begin: begin, changes: schedule.changes.clamped,
          timePitch: schedule.timePitch)))
    pump(&state)
    return begin
  }

  /// Pushes what waits into the ring, as far as it has room. A converter does its own pushing.
  func pump(_ state: inout QueueState) {
    guard let device = state.device, state.converter == nil else { return }
    while let item = state.waiting.first {
      switch item {
      case .buffer(let piece):
        guard let data = unsafe state.buffers[piece.id]?.buffer.data.baseAddress,
          unsafe memory.voice.pointee.entries.push(
            Entry(
              data + piece.first * format.bytesPerFrame, frames: piece.frames, layout: layout,
              token: piece.id, start: deviceStart(piece.start, device.client.sampleRate),
              changes: piece.changes))
        else { return }
        state.inRing.append(item)
      case .end:
        guard unsafe memory.voice.pointee.entries.push(.end) else { return }
        state.inRing.append(item)
      case .slab, .replay, .flush:
        break
      }
      state.waiting.removeFirst()
    }
  }

  /// A frame of the run in device frames; `.min` for none.
  func deviceStart(_ start: Int64?, _ deviceRate: Double) -> Int64 {
    guard let start else { return .min }
    return Int64((Double(start) * deviceRate / format.sampleRate).rounded())
  }

  // MARK: Events

  package func relay() {
    let hasNotices = state.change { state in
      readEvents(&state)
      pump(&state)
      return !state.notices.isEmpty
    }
    if hasNotices { context.wake() }
  }

  /// Takes in what the cycles have done.
  func readEvents(_ state: inout QueueState) {
    while let event = unsafe memory.voice.pointee.events.pop() {
      switch event.kind {
      case .played:
        guard !state.inRing.isEmpty else { continue }
        switch state.inRing.removeFirst() {
        case .buffer(let piece): state.notices.append(.buffer(piece.id, isReset: false))
        case .slab(let piece):
          if piece.isLast, piece.slab.isPooled { state.freeSlabs.append(piece.slab) }
        case .replay, .end, .flush: break
        }
      case .runBegan:
        state.beganAt = event.frame
        state.isRunning = true
        state.notices.append(.isRunning(true))
        if state.isBeginning {
          state.isBeginning = false
        } else if state.isRestarting {
          state.isRestarting = false
          state.starts.removeFirst()
          if let next = state.starts.first { restart(&state, at: next) }
        }
      case .runEnded:
        if !state.inRing.isEmpty { state.inRing.removeFirst() }
        state.ends -= 1
        runEnded(&state, lasting: event.position)
        if state.starts.isEmpty {
          state.phase = .idle
          if state.disposal == .draining {
            startThread(named: "cuejack-dispose") { self.finishDisposal() }
          }
        }
      }
    }
  }

  /// Has the voice begin its next run at `start`, when the present one is over.
  func restart(_ state: inout QueueState, at start: StartPoint) {
    state.isRestarting = true
    unsafe memory.voice.pointee.startAfterEnd(at: start)
  }

  /// Notes that the run is over, after that many device frames.
  func runEnded(_ state: inout QueueState, lasting frames: Int64) {
    state.lastedFrames = frames
    state.wasRunning = false
    state.isPrimed = false
    guard state.isRunning else { return }
    state.isRunning = false
    state.notices.append(.isRunning(false))
  }

  // MARK: Calling back

  func call(_ notice: Notice) {
    switch notice {
    case .buffer(let id, _): handlers.bufferDone(self, id)
    case .isRunning: handlers.changed(self, .isRunning)
    case .changed(let change): handlers.changed(self, change)
    }
  }
}
