import Server
import System
import Timeline

// Early returns and flushes, for the time when the converter has read everything enqueued.
//
// A buffer comes back when its last frame has left for the port. The resampler and time-pitch hold
// frames back until more input comes, so the end of what is enqueued needs care. When the process
// thread is about to need more than is left, all buffers but the last come back early: the app may
// have no others to enqueue. If it enqueues nothing, the frames held back are flushed just before the
// process thread needs them, and the last buffer comes back with its last frame.
extension Converter {
  /// The time in seconds that the app has to enqueue another buffer.
  static var graceSeconds: Double { 0.005 }

  /// Returns true if the process thread needs the frames that are held back and nothing is enqueued.
  /// The caller must hold the state lock.
  private func lacksInput(_ state: PlaybackState) -> Bool {
    state.waiting.isEmpty && state.part.holdsBack && !state.isConverting && state.resets == 0
      && generation == state.part.generation && state.presence == .here
      && (state.phase == .started || state.part.isStarting)
  }

  /// The number of converted frames below which the next cycles run dry before the grace period is
  /// over.
  private func fewFrames(_ state: PlaybackState) -> Int {
    let period = state.part.longestPeriodFrames
    let margin = Int(held: deviceRate * Self.graceSeconds * 1.4)
    return period >= 2 * margin ? period : period + margin
  }

  /// Returns true if enough frames are converted for a run to start or for longer cycles, or if the
  /// app must enqueue more first. The caller must hold the state lock.
  func isAhead(_ state: PlaybackState) -> Bool {
    if state.part.framesInRing >= fewFrames(state) { return true }
    return state.waiting.isEmpty && !state.isConverting
      && (!state.part.holdsBack || state.isReturning)
  }

  /// The number of buffers that have been read and have not come back, not counting the last one.
  private func returnable(_ state: PlaybackState) -> Int {
    let ended = state.inRing.reduce(0) { count, item in
      if case .stagingBuffer(let piece) = item { count + piece.ended.count } else { count }
    }
    return ended + state.part.held.count - 1
  }

  /// Returns all buffers that have been read but the last, if the process thread is about to need
  /// more than is left. The caller must hold the state lock.
  ///
  /// - Returns: False if there are none to return.
  func returnEarly(_ state: inout PlaybackState) -> Bool {
    guard lacksInput(state), !state.isReturning, state.part.framesInRing < fewFrames(state),
      case let count = returnable(state), count > 0
    else { return false }
    var left = count
    for (i, item) in state.inRing.enumerated() {
      guard case .stagingBuffer(var piece) = item, left > 0 else { continue }
      let ended = piece.ended.prefix(left)
      state.notices += ended.map { .buffer($0.id, isReset: false) }
      piece.ended.removeFirst(ended.count)
      left -= ended.count
      state.inRing[i] = .stagingBuffer(piece)
    }
    returnHeld(left, &state)
    return true
  }

  /// Returns the first `count` buffers of those that have been read. The caller must hold the state
  /// lock.
  func returnHeld(_ count: Int, _ state: inout PlaybackState) {
    state.notices += state.part.held.prefix(count).map { .buffer($0.id, isReset: false) }
    state.part.held.removeFirst(count)
    var left = count
    marks.removeAll { mark in
      guard mark.ended != nil, left > 0 else { return false }
      left -= 1
      return true
    }
  }

  /// Returns the seconds after which the worker thread calls `returnEarly` and `flushIfNeeded`, if
  /// nothing is enqueued by then; nil if neither can be needed. The caller must hold the state lock.
  func patience(_ state: PlaybackState) -> Double? {
    guard lacksInput(state), !state.isReturning, state.isRunning || state.part.isStarting else {
      return nil
    }
    let spare = Double(state.part.framesInRing - fewFrames(state)) / deviceRate
    return max(spare, returnable(state) > 0 ? 0.001 : Self.graceSeconds)
  }

  /// Flushes the frames that are held back, if the process thread needs them now. Call after
  /// `patience`. The caller must hold the state lock.
  func flushIfNeeded(_ state: inout PlaybackState) {
    guard patience(state) != nil, state.part.framesInRing < fewFrames(state) else { return }
    state.waiting.append(.flush)
  }
}
