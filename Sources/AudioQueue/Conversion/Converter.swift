import Codecs
import RealTime
import Server
import System
import Timeline

/// Converts a queue's buffers for the process thread: runs them through the processing chain into
/// staging buffers.
///
/// Each step consists of `takeWork`, `convert` and `finish`. A worker thread repeats them ahead of
/// the process thread, which reads staging buffers in the same way as an app's buffers.
@safe
final class Converter: @unchecked Sendable {
  /// A parameter change, or the end of a buffer, at a frame of the stream.
  struct Mark {
    /// Device frames since the stream began.
    let frame: Int
    var changes = ParameterChanges()
    /// The buffer that ends just before this frame.
    var ended: PlaybackPart.Piece?
  }

  /// One conversion step, and the generation of the queue's state that it belongs to.
  struct Work {
    let item: PlaybackPart.Item
    let source: QueueBuffer?
    let cookie: [UInt8]
    let generation: UInt64
    let setting: TimePitch.Setting
    /// The length of a staging buffer to allocate; 0 if one is available.
    var stagingFrames = 0
    /// True if the staging buffer to allocate belongs to the pool.
    var growsPool = false
    /// True if the item was already converted for a previous device rate.
    let isReplay: Bool
  }

  private let plan: Plan
  var deviceRate: Double { plan.deviceRate }
  let ratio: Double
  let chain: Chain
  /// The packet decoder; nil if the buffers hold linear PCM.
  let packets: BufferDecoder?
  /// The staging buffers that are reused. They live as long as the converter.
  private var pool: [StagingBuffer] = []
  private let stagingLayout: SampleLayout
  var generation: UInt64 = 0

  /// The staging buffer being filled, the frames to fill, those in it, and those already pushed
  /// into the ring.
  var stagingBuffer: StagingBuffer?
  private var limit = 0
  var filled = 0
  var pushed = 0
  /// The start time and the parameter changes of the next ring entry. `start` is the earliest
  /// device frame of the run.
  var start = Int64.min
  var changes = ParameterChanges()
  var marks: [Mark] = []
  /// The buffers that end with the last frame in the staging buffer.
  var ended: [PlaybackPart.Piece] = []

  /// Frames of the current buffer that the chain has consumed; nil until the buffer is begun.
  var offset: Int?
  /// The length of the stream so far in device frames.
  var streamFrames = 0
  /// The device frame of the run at which the stream begins unless the queue runs dry.
  var streamStart: Int64 = 0

  /// Frames that are converted once more because the device's rate has changed.
  var replay = Replay()

  /// Creates a converter; nil if there is no conversion between these rates.
  convenience init?(_ plan: Plan) {
    let format = plan.format
    let settings = plan.settings
    guard
      let chain = Chain(
        channels: format.channels, from: format.sampleRate, to: plan.deviceRate, tap: settings.tap,
        timePitch: settings.isTimePitchEnabled ? settings.algorithm : nil)
    else { return nil }
    var packets: BufferDecoder?
    if case .packets(let format) = plan.streamFormat { packets = BufferDecoder(format) }
    self.init(plan, chain, packets)
  }

  init(_ plan: Plan, _ chain: Chain, _ packets: BufferDecoder?) {
    self.plan = plan
    self.chain = chain
    self.packets = packets
    ratio = plan.deviceRate / plan.format.sampleRate
    stagingLayout = .float32(channels: plan.format.channels)
  }

  // MARK: Converting

  /// The number of frames that an end or a flush would output, as far as is known. Read only on the
  /// thread that converts, or while none does.
  var heldFrames: Int {
    max(0, Int(held: (chain.expectedFrames * ratio).rounded(.up)) - streamFrames)
  }

  /// Returns true if nothing more can be converted until the process thread has played something.
  /// The caller must hold the state lock.
  func isFull(_ state: PlaybackState) -> Bool {
    if state.isConverting { return false }
    return state.inRing.count >= Self.mostEntries
      || (stagingBuffer == nil && nextStagingBuffer(state) == .none)
  }

  /// The number of ring entries from which the ring counts as full. The end of a step may push two more.
  private static var mostEntries: Int { VoiceMemory.entryCapacity - 2 }

  private enum NextStagingBuffer: Equatable {
    case none
    /// Take a free one and fill at most this many frames.
    case pooled(limit: Int)
    /// Allocate one with this many frames, for the pool or for one use.
    case fresh(frames: Int, growsPool: Bool)
  }

  /// The number of frames to convert ahead of the process thread. The caller must hold the state
  /// lock.
  private func framesAhead(_ state: PlaybackState) -> Int {
    plan.framesAhead(
      period: state.part.longestPeriodFrames,
      speed: plan.settings.isTimePitchEnabled ? state.part.timePitch.effectiveRate : 1)
  }

  /// The length of a staging buffer of the pool in frames.
  private static func pieceFrames(ahead: Int) -> Int {
    min(max(ahead / 4, 1), StagingBuffer.mostPooledFrames)
  }

  /// Returns where the next step finds a staging buffer. The caller must hold the state lock.
  private func nextStagingBuffer(_ state: PlaybackState) -> NextStagingBuffer {
    let ready = state.part.framesInRing
    let ahead = framesAhead(state)
    let piece = Self.pieceFrames(ahead: ahead)
    let missing = (state.part.primeTargets.max() ?? 0) - ready
    guard ready + piece <= ahead || missing > 0 else { return .none }
    let room = max(ahead - ready, missing)
    if !state.part.freeStagingBuffers.isEmpty { return .pooled(limit: room) }
    if ready + piece <= ahead { return .fresh(frames: piece, growsPool: true) }
    return .fresh(
      frames: min(max(missing, StagingBuffer.mostPooledFrames), StagingBuffer.mostFrames),
      growsPool: false)
  }

  /// Returns the next step if there are an item and a staging buffer for it. The caller must hold
  /// the state lock.
  func takeWork(_ state: inout PlaybackState) -> Work? {
    if state.part.generation != generation {
      generation = state.part.generation
      stagingBuffer = nil
      offset = nil
      replay = Replay()
      beginAnew()
    }
    guard state.resets == 0, !state.part.changesConverter, let item = state.waiting.first,
      state.inRing.count < Self.mostEntries
    else {
      return nil
    }
    var (stagingFrames, growsPool) = (0, false)
    if stagingBuffer == nil {
      switch nextStagingBuffer(state) {
      case .none: return nil
      case .pooled(let room):
        let free = state.part.freeStagingBuffers.removeLast()
        stagingBuffer = free
        limit = min(free.capacity, room)
      case .fresh(let frames, let isPooled): (stagingFrames, growsPool) = (frames, isPooled)
      }
      filled = 0
      pushed = 0
    }
    state.isConverting = true
    var source: QueueBuffer?
    if case .buffer(let piece) = item {
      source = state.buffers[piece.id]
      if offset == nil {
        offset = 0
        state.part.timePitch.follow(piece.timePitch)
        if let packets = piece.packets { self.packets?.begin(packets) }
        isNew = true
      }
    }
    return Work(
      item: item, source: source, cookie: state.cookie, generation: generation,
      setting: state.part.timePitch, stagingFrames: stagingFrames, growsPool: growsPool,
      isReplay: state.part.replays > 0)
  }

  /// True until the position of the current buffer in the stream is determined.
  var isNew = false

  /// Fills the staging buffer from the item until either is at its end. Call without holding the
  /// state lock.
  ///
  /// - Returns: True if the item is complete.
  func convert(_ work: Work) -> Bool {
    if stagingBuffer == nil, work.stagingFrames > 0 {
      // Allocated here because no lock is held: initializing much memory takes long.
      let fresh = StagingBuffer(
        channels: plan.format.channels, frames: work.stagingFrames, isPooled: work.growsPool)
      if work.growsPool { pool.append(fresh) }
      stagingBuffer = fresh
      limit = work.stagingFrames
    }
    guard let stagingBuffer else { return false }
    do throws(ConverterFailure) {
      switch work.item {
      case .buffer(let piece):
        return try convert(piece, work, into: stagingBuffer)
      case .replay(let index):
        return try replay(index, into: stagingBuffer)
      case .flush where work.isReplay, .end where work.isReplay:
        return try unsafe fill(stagingBuffer) { (planes, room) throws(ConverterFailure) in
          try unsafe chain.replay(nil, from: 0, frames: 0, into: planes, room: room).produced
        }
      case .flush, .end:
        guard try drainPackets(work, into: stagingBuffer) else { return false }
        let endsRun = if case .end = work.item { true } else { false }
        return try drain(work, into: stagingBuffer, endsRun: endsRun)
      case .stagingBuffer:
        return true
      }
    } catch {
      // A failed item counts as complete, so that the queue can still end.
      failure = error
      return true
    }
  }

  private var failure: ConverterFailure?

  private func convert(_ piece: PlaybackPart.Piece, _ work: Work, into stagingBuffer: StagingBuffer)
    throws(ConverterFailure) -> Bool
  {
    if isNew {
      if let wanted = piece.start {
        let frame = Int64(held: (Double(wanted) * ratio).rounded())
        if frame > streamStart + Int64(held: (chain.expectedFrames * ratio).rounded()) {
          // Silence separates the two: the earlier frames end here.
          guard try drain(work, into: stagingBuffer, endsRun: false), filled == pushed else {
            return false
          }
          takeMarks()
          if !ended.isEmpty { return false }
          begin(at: wanted, isNewRun: false)
          streamStart = frame
          start = frame
        }
      }
      if !chain.hasBegun, piece.begin > chain.base {
        chain.base = piece.begin
        streamStart = max(streamStart, Int64(held: (Double(piece.begin) * ratio).rounded()))
      }
      if !piece.changes.isEmpty {
        marks.append(Mark(frame: expectedFrame, changes: piece.changes))
      }
      isNew = false
    }
    while try fill(stagingBuffer, work) {
      guard let source = work.source else { return true }
      let count = takeFrames(piece, of: source, work.cookie, room: limit - filled)
      if count == 0 { return true }
      try chain.put(count, work.setting)
    }
    return false
  }

  /// The frame of the stream at which the frames put in so far end.
  private var expectedFrame: Int { Int(held: (chain.expectedFrames * ratio).rounded()) }

  /// Copies or decodes the next frames of a buffer to the chain's input: of linear PCM only what
  /// `room` device frames need, so that the app may fill its buffer late.
  ///
  /// - Returns: The number of frames; 0 if there are no more.
  private func takeFrames(
    _ piece: PlaybackPart.Piece, of source: QueueBuffer, _ cookie: [UInt8], room: Int
  ) -> Int {
    if let packets, let described = piece.packets {
      return unsafe packets.take(
        described, in: UnsafeRawBufferPointer(source.data), cookie: cookie,
        into: chain.input.pointers(), room: Chain.blockFrames)
    }
    let at = offset ?? 0
    let needed = Int(held: (Double(room) / ratio).rounded(.up))
    let count = min(piece.frames - at, Chain.blockFrames, max(needed, 32))
    if count == 0 { return 0 }
    unsafe plan.layout.copy(
      UnsafeRawPointer(source.data.baseAddress!) + (piece.first + at) * plan.format.bytesPerFrame,
      planeFrames: 0, frames: count, gain: ChannelGain(1), to: chain.input.pointers(), at: 0)
    offset = at + count
    return count
  }

  /// Passes the frames that the decoder holds back to the chain.
  ///
  /// - Returns: True if these were all; false if the staging buffer must be pushed first.
  private func drainPackets(_ work: Work, into stagingBuffer: StagingBuffer)
    throws(ConverterFailure) -> Bool
  {
    // Once the chain is ending it accepts no more input.
    guard let packets, !chain.isEnding else { return true }
    while try fill(stagingBuffer, work) {
      let count = unsafe packets.takeRest(into: chain.input.pointers(), room: Chain.blockFrames)
      if count == 0 { return true }
      try chain.put(count, work.setting)
    }
    return false
  }

  /// Ends the stream and outputs the frames that the chain holds back.
  ///
  /// - Returns: True if all of the stream is in the staging buffer.
  private func drain(_ work: Work, into stagingBuffer: StagingBuffer, endsRun: Bool)
    throws(ConverterFailure)
    -> Bool
  {
    chain.end(run: endsRun)
    while try fill(stagingBuffer, work) { if chain.isOver { return true } }
    return false
  }

  /// Moves the chain's output into the staging buffer.
  ///
  /// - Returns: True if the chain needs more input or is at its end; false if the staging buffer
  ///   must be pushed first.
  func fill(_ stagingBuffer: StagingBuffer, _ work: Work) throws(ConverterFailure) -> Bool {
    try unsafe fill(stagingBuffer) { (planes, room) throws(ConverterFailure) in
      try unsafe chain.take(into: planes, room: room, work.setting)
    }
  }

  func fill(
    _ stagingBuffer: StagingBuffer,
    from source: (Planes.Pointers, Int) throws(ConverterFailure) -> Int
  ) throws(ConverterFailure) -> Bool {
    while true {
      while let mark = marks.first, mark.frame <= streamFrames {
        // The frames before the mark go into the ring first: they end a buffer, or keep their
        // parameters.
        let hasEnds = takeEnds(before: streamFrames)
        if filled > pushed { return false }
        if hasEnds { continue }
        changes.add(mark.changes)
        marks.removeFirst()
      }
      if filled == limit { return false }
      let room = min(limit - filled, marks.first.map { $0.frame - streamFrames } ?? .max)
      let frames = try unsafe source(stagingBuffer.pointers(at: filled), room)
      filled += frames
      streamFrames += frames
      if frames < room { return true }
    }
  }

  /// Moves the buffers that end at `frame` or before from the first marks to `ended`.
  ///
  /// - Returns: True if there are any.
  private func takeEnds(before frame: Int) -> Bool {
    var hasEnds = false
    while let mark = marks.first, mark.frame <= frame, let piece = mark.ended {
      ended.append(piece)
      marks.removeFirst()
      hasEnds = true
    }
    return hasEnds
  }

  /// Provides a staging buffer to fill while the ring is empty.
  func provideStagingBuffer() {
    if stagingBuffer != nil { return }
    limit = StagingBuffer.mostPooledFrames
    stagingBuffer = StagingBuffer(channels: plan.format.channels, frames: limit, isPooled: false)
  }

  /// Takes all marks, at the end of the stream.
  private func takeMarks() {
    for mark in marks {
      changes.add(mark.changes)
      if let piece = mark.ended { ended.append(piece) }
    }
    marks = []
  }

  /// Discards all state: the next frame is the first of a run.
  func beginAnew() {
    ended = []
    packets?.reset()
    begin(at: 0, isNewRun: true)
  }

  /// Begins another stream at a frame of the run, at the queue's rate.
  private func begin(at frame: Int64, isNewRun: Bool) {
    chain.begin(at: frame, isNewRun: isNewRun)
    marks = []
    start = .min
    streamFrames = 0
    if isNewRun {
      streamStart = 0
      changes = ParameterChanges()
    }
  }

  /// Records the result of `convert` in the queue's state and pushes entries into the ring. The
  /// caller must hold the state lock.
  func finish(
    _ work: Work, isDone: Bool, _ state: inout PlaybackState,
    push: (_ entry: borrowing Entry, _ queued: Int) -> Bool
  ) {
    state.isConverting = false
    if let failure = failure ?? chain.takeFailure() ?? packets?.takeFailure() {
      state.report(failure)
    }
    failure = nil
    // A reset came in between and has taken back every staging buffer and item.
    guard work.generation == state.part.generation, stagingBuffer != nil else { return }
    var endsStream = false
    if isDone {
      state.waiting.removeFirst()
      if work.isReplay { endReplay(work.item) } else { offset = nil }
      if work.isReplay { state.part.replays -= 1 }
      switch work.item {
      case .buffer(let piece):
        state.part.holdsBack = true
        state.part.held.append(piece)
        marks.append(Mark(frame: expectedFrame, ended: piece))
      case .replay, .stagingBuffer:
        state.part.holdsBack = true
      case .flush, .end:
        state.part.holdsBack = work.isReplay && replay.holdsBack
        endsStream = true
        if !work.isReplay { takeMarks() }
      }
    }
    // At the end of replayed frames rounding may leave out one.
    _ = takeEnds(before: endsStream ? streamFrames + 1 : streamFrames)
    let isLeftOver = endsStream && !work.isReplay && (!changes.isEmpty || start != .min)
    let isDue = !isDone || endsStream || state.waiting.isEmpty || !ended.isEmpty
    if isDue, filled > pushed || isLeftOver { pushFrames(&state, push) }
    if !ended.isEmpty { endWithLatest(&state) }
    guard endsStream else { return }
    let after = streamStart + Int64(streamFrames)
    if case .end = work.item {
      _ = push(.end, state.inRing.count)
      state.inRing.append(.end)
    }
    if work.isReplay { return }
    if case .end = work.item {
      begin(at: 0, isNewRun: true)
    } else {
      begin(at: Int64(held: (Double(after) / ratio).rounded()), isNewRun: false)
      streamStart = after
    }
  }

  /// Pushes the frames of the staging buffer that are not in the ring yet.
  private func pushFrames(
    _ state: inout PlaybackState, _ push: (_ entry: borrowing Entry, _ queued: Int) -> Bool
  ) {
    guard let stagingBuffer else { return }
    let isLast = filled == limit
    _ = unsafe push(
      Entry(
        stagingBuffer.address(at: pushed), frames: filled - pushed, layout: stagingLayout,
        planeFrames: stagingBuffer.capacity, token: 0, start: start, changes: changes,
        tellsProgress: !stagingBuffer.isPooled),
      state.inRing.count)
    state.inRing.append(
      .stagingBuffer(
        PlaybackPart.StagingPiece(
          stagingBuffer: stagingBuffer, first: pushed, frames: filled - pushed, isLast: isLast,
          start: start, changes: changes, ended: ended)))
    state.part.pushedFrames += UInt64(filled - pushed)
    state.part.held.removeFirst(ended.count)
    ended = []
    pushed = filled
    start = .min
    changes = ParameterChanges()
    if isLast { self.stagingBuffer = nil }
  }

  /// Lets the buffers in `ended`, which have no frames of their own left to push, come back with the
  /// latest frames in the ring, or at once if it has none.
  private func endWithLatest(_ state: inout PlaybackState) {
    let latest = state.inRing.lastIndex { if case .stagingBuffer = $0 { true } else { false } }
    if let latest, case .stagingBuffer(var piece) = state.inRing[latest] {
      piece.ended += ended
      state.inRing[latest] = .stagingBuffer(piece)
    } else {
      state.notices += ended.map { .buffer($0.id, isReset: false) }
    }
    state.part.held.removeFirst(ended.count)
    ended = []
  }
}
