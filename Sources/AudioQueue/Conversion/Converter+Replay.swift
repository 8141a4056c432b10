import Codecs
import RealTime
import Server
import System

/// Conversion of what has been played to another device rate.
extension Converter {
  /// Creates a converter for another device rate that continues where the queue stands. The queue's
  /// present converter must be idle, and the ring must be empty.
  ///
  /// Items that the queue lists in `inRing` wait again; frames in staging buffers are converted
  /// once more. Returns nil, with the state unchanged, if there is no conversion to that rate.
  ///
  /// - Parameter played: Frames already played of the first item in `inRing`.
  convenience init?(_ plan: Plan, played: Int, takingOver state: inout QueueState) {
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
    generation = state.generation
    state.inRing = []
    state.freeStagingBuffers = pool
  }

  private convenience init?(
    _ plan: Plan, continuing old: Converter, played: Int, _ state: inout QueueState
  ) {
    let isFresh = old.generation != state.generation
    // After a reset the stream begins again, even if the old converter has not noticed the reset.
    if isFresh { old.beginAnew() }
    guard let resampler = old.chain.resampler(continuingAt: plan.deviceRate) else { return nil }
    self.init(plan, old.chain, old.packets)
    replayScale = ratio / old.ratio
    func scaled(_ frame: Int64) -> Int64 {
      frame == .min ? .min : Int64((Double(frame) * replayScale).rounded())
    }
    var items: [QueueState.Item] = []
    var frames = 0
    func replay(
      _ stagingBuffer: StagingBuffer?, _ range: Range<Int>, _ start: Int64,
      _ changes: ParameterChanges
    ) {
      if range.isEmpty && start == .min && changes.isEmpty { return }
      // Silence separates the two: the earlier frames end here.
      if start != .min && !items.isEmpty { items.append(.flush) }
      let planes = Planes(channels: plan.format.channels, capacity: range.count)
      if let stagingBuffer {
        unsafe planes.copy(stagingBuffer.pointers(at: range.lowerBound), frames: range.count)
      }
      items.append(.replay(replays.count))
      replays.append(Replay(planes: planes, start: scaled(start), changes: changes))
      frames += range.count
    }
    for (i, item) in state.inRing.enumerated() {
      guard case .stagingBuffer(let piece) = item else {
        items.append(item)
        continue
      }
      let end = piece.first + piece.frames
      if i == 0 && played > 0 {
        replay(piece.stagingBuffer, piece.first + played..<end, .min, ParameterChanges())
      } else {
        replay(piece.stagingBuffer, piece.first..<end, piece.start, piece.changes)
      }
    }
    func replayFilled() {
      replay(old.stagingBuffer, old.pushed..<old.filled, old.start, old.changes)
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
    old.stagingBuffer = old.stagingBuffer ?? old.pool[0]
    for item in state.waiting.prefix(state.replays) {
      let work = Work(
        item: item, source: nil, cookie: [], generation: generation, setting: state.timePitch,
        isReplay: true)
      while !old.convert(work) { replayFilled() }
      replayFilled()
      old.endReplay(item)
      if case .end = item { items.append(item) }
    }
    heldBack = state.replays > 0 ? old.heldBack : state.holdsBack
    if !heldBack, case .replay = items.last { items.append(.flush) }
    chain.go(on: resampler)
    if !isFresh {
      offset = old.offset
      isNew = old.isNew
    }
    streamStart = scaled(old.streamStart)
    streamFrames = Int(scaled(Int64(old.streamFrames - frames)))
    replayStart = streamFrames
    marks = old.marks.map {
      Mark(frame: Int(scaled(Int64($0.frame))), changes: $0.changes)
    }
    state.waiting = items + state.waiting.dropFirst(state.replays)
    state.replays = items.count
  }

  /// Converts frames of a previous device rate once more.
  ///
  /// - Returns: True if all of them are converted; false if the staging buffer must be pushed
  ///   first.
  func replay(_ index: Int, into stagingBuffer: StagingBuffer) throws(ConverterFailure)
    -> Bool
  {
    let replay = replays[index]
    if replayOffset == 0 {
      if replay.start != .min { start = replay.start }
      if !replay.changes.isEmpty {
        let frame = replayStart + Int((Double(replayedFrames) * replayScale).rounded())
        let index = marks.firstIndex { $0.frame > frame } ?? marks.count
        marks.insert(Mark(frame: frame, changes: replay.changes), at: index)
      }
    }
    while replayOffset < replay.planes.capacity {
      let before = (replayOffset, filled)
      let wantsMore = try unsafe fill(stagingBuffer) { (planes, room) throws(ConverterFailure) in
        let (consumed, produced) = try unsafe chain.replay(
          replay.planes, from: replayOffset, frames: replay.planes.capacity - replayOffset,
          into: planes, room: room)
        replayOffset += consumed
        replayedFrames += consumed
        return produced
      }
      if !wantsMore { return false }
      if before == (replayOffset, filled) { throw .resampling("no progress") }
    }
    return true
  }

  /// Ends the conversion of a replay or of a replayed sequence.
  func endReplay(_ item: QueueState.Item) {
    replayOffset = 0
    if case .replay = item { return }
    chain.endReplay()
    replayedFrames = 0
    replayStart = streamFrames
  }
}
