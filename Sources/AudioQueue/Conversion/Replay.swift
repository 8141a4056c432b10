import Codecs
import RealTime
import Server
import System
import Timeline

/// Frames that were converted for a previous device rate and have not been played. The converter for
/// the present rate converts them once more before it continues with the app's buffers.
struct Replay {
  /// Converted frames, with their start time and changes.
  struct Piece {
    let planes: Planes
    /// The earliest device frame of the run; `.min` if they follow the previous frames directly.
    let start: Int64
    let changes: ParameterChanges
    /// The buffers that end with the last frame.
    let ended: [PlaybackPart.Piece]
  }

  /// The ratio of the present device rate to the previous one.
  let scale: Double
  /// The pieces that `PlaybackPart.Item.replay` refers to by index.
  private var pieces: [Piece] = []
  /// Pieces, ends and flushes in the order in which they are converted.
  private(set) var items: [PlaybackPart.Item] = []
  /// The length of all pieces.
  private(set) var frames = 0
  /// True if the converter holds frames back once everything has been replayed.
  private(set) var holdsBack = false

  /// Frames consumed of the current piece.
  private var offset = 0
  /// Frames consumed since the present sequence of pieces began, and the stream's length before it.
  private var consumed = 0
  private var begin = 0

  init(scale: Double = 1) { self.scale = scale }

  // MARK: Collecting

  /// Returns a frame of the previous rate at the present one.
  func scaled(_ frame: Int64) -> Int64 {
    frame == .min ? .min : Int64(held: (Double(frame) * scale).rounded())
  }

  /// Adds frames of a staging buffer.
  mutating func add(
    _ range: Range<Int>, of stagingBuffer: StagingBuffer?, channels: Int, start: Int64,
    _ changes: ParameterChanges, ended: [PlaybackPart.Piece]
  ) {
    if range.isEmpty && start == .min && changes.isEmpty && ended.isEmpty { return }
    // Silence separates the two: the earlier frames end here.
    if start != .min && !items.isEmpty { items.append(.flush) }
    let planes = Planes(channels: channels, capacity: range.count)
    if let stagingBuffer {
      unsafe planes.copy(stagingBuffer.pointers(at: range.lowerBound), frames: range.count)
    }
    items.append(.replay(pieces.count))
    pieces.append(Piece(planes: planes, start: scaled(start), changes: changes, ended: ended))
    frames += range.count
  }

  mutating func add(_ item: PlaybackPart.Item) { items.append(item) }

  /// Ends the collection.
  ///
  /// - Parameter holdsBack: True if the stream goes on after the last piece.
  mutating func finish(holdsBack: Bool) {
    self.holdsBack = holdsBack
    if !holdsBack, case .replay = items.last { items.append(.flush) }
  }

  // MARK: Converting

  /// Sets the length that the stream had before the first piece.
  mutating func begin(at streamFrames: Int) { begin = streamFrames }

  /// Returns the piece if none of its frames has been consumed, with the frames of the stream at
  /// which it begins and ends.
  func newPiece(_ index: Int) -> (piece: Piece, first: Int, end: Int)? {
    guard offset == 0 else { return nil }
    let piece = pieces[index]
    return (
      piece, begin + Int(held: (Double(consumed) * scale).rounded()),
      begin + Int(held: (Double(consumed + piece.planes.capacity) * scale).rounded())
    )
  }

  /// True once all frames of a piece have been consumed.
  func isConsumed(_ index: Int) -> Bool { offset == pieces[index].planes.capacity }

  /// Converts the next frames of a piece.
  ///
  /// - Returns: The numbers of frames consumed and produced.
  mutating func convert(
    _ index: Int, with chain: Chain, into planes: Planes.Pointers, room: Int
  ) throws(ConverterFailure) -> (consumed: Int, produced: Int) {
    let source = pieces[index].planes
    let result = try unsafe chain.replay(
      source, from: offset, frames: source.capacity - offset, into: planes, room: room)
    offset += result.consumed
    consumed += result.consumed
    return result
  }

  /// Goes on to the next piece.
  mutating func endPiece() { offset = 0 }

  /// Ends a sequence of pieces, after which the stream has this length.
  mutating func endSequence(at streamFrames: Int) {
    offset = 0
    consumed = 0
    begin = streamFrames
  }
}

// Conversion of what has not been played to another device rate.
extension Converter {
  /// Creates a converter for another device rate that continues where the queue stands. The queue's
  /// present converter must be idle, and the ring must be empty.
  ///
  /// Items that the queue lists in `inRing` wait again; frames in staging buffers are converted
  /// once more. Returns nil, with the state unchanged, if there is no conversion to that rate.
  ///
  /// - Parameter played: Frames already played of the first item in `inRing`.
  convenience init?(_ plan: Plan, played: Int, takingOver state: inout PlaybackState) {
    if let old = state.converter {
      self.init(plan, continuing: old, played: played, &state)
    } else {
      self.init(plan)
      if case .buffer(var piece) = state.inRing.first, played > 0 {
        // The process thread has begun this buffer.
        piece.first += played
        piece.frames -= played
        piece.begin += Int64(played)
        piece.start = nil
        piece.changes = ParameterChanges()
        state.inRing[0] = .buffer(piece)
      }
      state.waiting = state.inRing + state.waiting
    }
    generation = state.part.generation
    state.inRing = []
    state.part.freeStagingBuffers = []
  }

  private convenience init?(
    _ plan: Plan, continuing old: Converter, played: Int, _ state: inout PlaybackState
  ) {
    let isFresh = old.generation != state.part.generation
    // After a reset the stream begins again, even if the old converter has not noticed the reset.
    if isFresh { old.beginAnew() }
    guard let resampler = old.chain.resampler(continuingAt: plan.deviceRate) else { return nil }
    self.init(plan, old.chain, old.packets)
    let channels = plan.format.channels
    var replay = Replay(scale: ratio / old.ratio)
    var ended: [PlaybackPart.Piece] = []
    for (i, item) in state.inRing.enumerated() {
      guard case .stagingBuffer(let piece) = item else {
        replay.add(item)
        continue
      }
      let end = piece.first + piece.frames
      let isBegun = i == 0 && played > 0
      replay.add(
        (isBegun ? piece.first + played : piece.first)..<end, of: piece.stagingBuffer,
        channels: channels, start: isBegun ? .min : piece.start,
        isBegun ? ParameterChanges() : piece.changes, ended: piece.ended)
      ended += piece.ended
    }
    state.part.held = ended + state.part.held
    func replayFilled() {
      replay.add(
        old.pushed..<old.filled, of: old.stagingBuffer, channels: channels, start: old.start,
        old.changes, ended: old.ended)
      old.ended = []
      old.pushed = 0
      old.filled = 0
      old.start = .min
      old.changes = ParameterChanges()
    }
    if isFresh { old.stagingBuffer = nil }
    if old.stagingBuffer == nil {
      old.pushed = 0
      old.filled = 0
    }
    replayFilled()
    // Frames that still waited to be replayed for the rate in between.
    old.provideStagingBuffer()
    for item in state.waiting.prefix(state.part.replays) {
      let work = Work(
        item: item, source: nil, cookie: [], generation: generation, setting: state.part.timePitch,
        isReplay: true)
      while !old.convert(work) { replayFilled() }
      replayFilled()
      old.endReplay(item)
      if case .end = item { replay.add(item) }
    }
    replay.finish(
      holdsBack: state.part.replays > 0 ? old.replay.holdsBack : state.part.holdsBack)
    chain.go(on: resampler)
    if !isFresh {
      offset = old.offset
      isNew = old.isNew
    }
    streamStart = replay.scaled(old.streamStart)
    streamFrames = Int(replay.scaled(Int64(old.streamFrames - replay.frames)))
    replay.begin(at: streamFrames)
    marks = old.marks.map {
      Mark(
        frame: Int(replay.scaled(Int64($0.frame))), changes: $0.changes, ended: $0.ended)
    }
    state.waiting = replay.items + state.waiting.dropFirst(state.part.replays)
    state.part.replays = replay.items.count
    self.replay = replay
  }

  /// Converts frames of a previous device rate once more.
  ///
  /// - Returns: True if all of them are converted; false if the staging buffer must be pushed
  ///   first.
  func replay(_ index: Int, into stagingBuffer: StagingBuffer) throws(ConverterFailure)
    -> Bool
  {
    if let (piece, first, end) = replay.newPiece(index) {
      if piece.start != .min { start = piece.start }
      if !piece.changes.isEmpty { insert([Mark(frame: first, changes: piece.changes)]) }
      insert(piece.ended.map { Mark(frame: end, ended: $0) })
    }
    while !replay.isConsumed(index) {
      let before = filled
      var consumed = 0
      let wantsMore = try unsafe fill(stagingBuffer) { (planes, room) throws(ConverterFailure) in
        let result = try unsafe replay.convert(index, with: chain, into: planes, room: room)
        consumed += result.consumed
        return result.produced
      }
      if !wantsMore { return false }
      if consumed == 0 && before == filled { throw .resampling("no progress") }
    }
    return true
  }

  /// Inserts marks of one frame after those at that frame or before.
  private func insert(_ marks: [Mark]) {
    guard let frame = marks.first?.frame else { return }
    let index = self.marks.firstIndex { $0.frame > frame } ?? self.marks.count
    self.marks.insert(contentsOf: marks, at: index)
  }

  /// Ends the conversion of a replay or of a replayed sequence.
  func endReplay(_ item: PlaybackPart.Item) {
    if case .replay = item { return replay.endPiece() }
    chain.endReplay()
    replay.endSequence(at: streamFrames)
  }
}
