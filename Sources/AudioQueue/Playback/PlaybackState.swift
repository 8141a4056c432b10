import Glibc

typealias PlaybackState = QueueState<PlaybackPart>

/// The number of runs that were requested, and how many are over.
package struct QueueRuns: Sendable {
  package var started = 0
  package internal(set) var over = 0
  /// The number of runs that were over at the latest callback about `isRunning`.
  package var toldOver = 0
}

extension PlaybackState {
  /// True if a second port is needed and can be opened.
  var lacksSecondPort: Bool {
    part.needsSecondPort && device != nil && !part.isOffline && portNames.count == 1
  }

  /// The start time of the last buffer that has one, belongs to the run and has not been played.
  var lastStart: Int64? {
    for items in [waiting, part.held.map { .buffer($0) }, inRing] {
      for item in items.reversed() {
        switch item {
        case .end: return nil
        case .buffer(let piece):
          if let start = piece.start { return start }
        case .stagingBuffer(let piece):
          if let start = piece.ended.last(where: { $0.start != nil })?.start { return start }
        case .replay, .flush: break
        }
      }
    }
    return nil
  }

  /// True if the app is about to receive a buffer, or has received one and is still in its callback.
  var isReturning: Bool {
    delivering?.notice.isBuffer ?? false || notices.contains(where: \.isBuffer)
  }

  /// The number of device frames that are ready to play. Without a converter the process thread
  /// reads app buffers directly, so waiting buffers count too.
  var readyFrames: Int {
    (converter == nil ? inRing + waiting : inRing).reduce(0) { sum, item in
      switch item {
      case .buffer(let piece): sum + piece.frames
      case .stagingBuffer(let piece): sum + piece.frames
      case .replay, .end, .flush: sum
      }
    }
  }

  /// Forgets what was prepared for a start that has not come.
  mutating func unprime() {
    if phase == .primed { phase = .idle }
  }

  /// Hands back every enqueued buffer as not played.
  mutating func returnAll() {
    var pieces: [PlaybackPart.Piece] = []
    for item in inRing {
      if case .buffer(let piece) = item { pieces.append(piece) }
      if case .stagingBuffer(let piece) = item { pieces += recycle(piece) }
    }
    pieces += part.held
    for case .buffer(let piece) in waiting { pieces.append(piece) }
    notices += pieces.map { .buffer($0.id, isReset: true) }
    inRing = []
    waiting = []
    part.held = []
    part.replays = 0
    part.holdsBack = false
    part.ends = 0
    part.tail = 0
    unprime()
  }

  /// Frees a staging buffer whose last frames have left the ring.
  ///
  /// - Returns: The buffers that end with these frames.
  mutating func recycle(_ piece: PlaybackPart.StagingPiece) -> [PlaybackPart.Piece] {
    if piece.isLast, piece.stagingBuffer.isPooled {
      part.freeStagingBuffers.append(piece.stagingBuffer)
    }
    return piece.ended
  }
}
