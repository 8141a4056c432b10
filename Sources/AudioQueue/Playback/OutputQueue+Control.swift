import Glibc
import Logging
import RealTime
import Server
import Synchronization
import System
package import Timeline

extension OutputQueue {
  // MARK: Start and pause

  /// Starts the queue at `time`, or resumes a paused run.
  ///
  /// Opens the device if it is not open. While a run plays its last buffers, the next run begins
  /// after it. With nothing enqueued the queue plays silence until a buffer comes.
  package func start(at time: StartTime = .atOnce) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      let device = try openDevice()
      // A start "now" begins on the first frame that the connections carry, on all channels
      // together.
      if time == .atOnce { try awaitHeard(on: device) }
      state.change { state in
        if state.part.endsEmpty { appendEnd(&state, evenOfNothing: true) }
      }
      awaitConversion()
      // Offline there is no clock for a start time.
      let start = StartPoint(state.read { $0.part.isOffline } ? .atOnce : time)
      let isSeenTo = state.change { state in
        readEvents(&state)
        // A paused run resumes; otherwise a run begins.
        defer {
          if !state.isRunning && !state.part.isRestarting {
            state.part.isBeginning = true
            state.start = start
          }
        }
        guard state.phase == .started else { return false }
        if state.part.ends > state.part.starts.count {
          // The present run has an end enqueued, so another run follows it.
          state.part.starts.append(start)
          state.part.runs.started += 1
          if !state.part.isRestarting { restart(&state, at: start) }
          return true
        }
        // A running queue needs no start, and holding the voice would silence it.
        return state.isRunning
      }
      if isSeenTo { return }
      try core.holding {
        // Before a cycle can begin the run, and end a short one.
        state.change { state in
          if state.phase.isIdle {
            state.part.offline?.renderedFrames = 0
            state.part.runs.started += 1
          }
          state.phase = .started
        }
        unsafe memory.voice.pointee.start(at: start)
      }
    }
  }

  /// Lets the converter get ahead before a run begins, for 30 ms at most, so that the first cycles do
  /// not run dry.
  private func awaitConversion() {
    guard let converter = state.read({ $0.phase.isIdle && !$0.part.isOffline ? $0.converter : nil })
    else { return }
    state.change { $0.part.isStarting = true }
    _ = state.wait(seconds: 0.03) { converter.isAhead($0) ? () : nil }
    state.change { $0.part.isStarting = false }
  }

  /// Pauses the queue. It keeps its buffers and its time.
  package func pause() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      guard state.read({ $0.phase == .started }) else { return }
      try core.holding { unsafe memory.voice.pointee.pause() }
      state.change { state in
        readEvents(&state)
        if state.phase == .started { state.phase = .paused }
        // A run that has not begun waits for another start.
        state.part.isBeginning = false
      }
    }
  }

  // MARK: Stop, reset, flush

  /// Ends the run after everything enqueued has been played. Returns without waiting.
  ///
  /// Before a start the buffers stay enqueued: the run that plays them ends with them.
  package func stopAfterPlaying() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { state in
        readEvents(&state)
        appendEnd(&state)
      }
    }
    deliverEvents()
  }

  /// Enqueues the end of the run, unless it is the last item already. Without buffers and without a run there is
  /// nothing to end but the first run, which may still come.
  private func appendEnd(_ state: inout PlaybackState, evenOfNothing: Bool = false) {
    // A start that follows an end needs an end of its own.
    if state.part.ends > state.part.starts.count,
      case .end = state.waiting.last ?? state.inRing.last
    {
      return
    }
    guard
      !state.phase.isIdle || !state.waiting.isEmpty || !state.inRing.isEmpty || state.part.holdsBack
        || evenOfNothing
    else {
      state.part.endsEmpty = state.part.runs.started == 0
      return
    }
    state.part.endsEmpty = false
    state.part.ends += 1
    // Later buffers belong to the next run.
    state.part.tail = 0
    state.waiting.append(.end)
    pump(&state)
  }

  /// Ends the run at once and hands every buffer back before this returns.
  package func stop() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      try resetting { state in
        let lastedFrames = core.ranFrames
        // Read the events first: a run that has begun schedules the next one, which the stop
        // cancels.
        readEvents(&state)
        unsafe memory.voice.pointee.stop()
        state.phase = .idle
        state.part.starts = []
        state.part.isRestarting = false
        state.part.isBeginning = false
        state.part.endRuns()
        state.part.endsEmpty = false
        runEnded(&state, lasting: state.isRunning ? lastedFrames : state.lastedFrames)
        state.returnAll()
        forgetRing(&state)
      }
    }
    core.handBack()
  }

  /// Hands every buffer back before this returns. The run continues in silence.
  package func reset() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      try resetting { state in
        unsafe memory.voice.pointee.forgetEntries()
        readEvents(&state)
        // The ends stay enqueued: otherwise runs that were told to end would never end.
        let ends = state.phase.isIdle ? 0 : state.part.ends
        state.returnAll()
        forgetRing(&state)
        state.part.ends = ends
        state.waiting = Array(repeating: .end, count: ends)
        pump(&state)
      }
    }
    core.handBack()
  }

  /// Runs `body`, which empties the ring, while the converter is idle and the process thread is
  /// kept out of the voice. Buffers are refused meanwhile. After success the caller must call
  /// `handBack`, which admits buffers and the converter again.
  ///
  /// The ring and the queue's record of it change under one lock. Otherwise another thread could
  /// fill the ring with buffers that are about to be handed back.
  private func resetting(_ body: (inout PlaybackState) -> Void) throws(QueueError) {
    state.change { state in
      state.resets += 1
      state.part.generation += 1
    }
    waitForConverter()
    do throws(QueueError) {
      try core.holding { state.change(body) }
    } catch {
      state.change { $0.resets -= 1 }
      throw error
    }
  }

  /// Flushes everything enqueued to the ports, including the frames that the converter holds back.
  /// If the device is not open yet, its converter ends the stream there.
  package func flush() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { state in
        guard state.converter != nil || state.device == nil else { return }
        // The end of the stream is flushed already unless a buffer follows it.
        if case .buffer = state.waiting.last {
          state.waiting.append(.flush)
        } else if state.waiting.isEmpty, state.part.holdsBack {
          state.waiting.append(.flush)
        }
      }
    }
  }

  /// Waits until the converter is idle. An app's tap may be waiting for a lock that the caller
  /// holds. In that case the converter's result is dropped later.
  ///
  /// - Returns: False if the converter is still working.
  @discardableResult
  func waitForConverter() -> Bool {
    let isDone: Void? = state.wait(seconds: core.patience) { $0.isConverting ? nil : () }
    if isDone == nil { log.warning("the converter did not stop: the app's tap did not return") }
    return isDone != nil
  }

  // MARK: Disposal

  /// Disposes of the queue, even if the server is gone. No callback begins after this returns.
  ///
  /// Waits a limited time for a callback in progress, and only briefly if enqueued buffers play
  /// first.
  ///
  /// - Parameter afterPlaying: True to play the enqueued buffers first. The call returns before
  ///   that.
  package func dispose(afterPlaying: Bool) throws(QueueError) {
    let isDraining = try core.controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { state in
        readEvents(&state)
        // A stopped or paused queue would never reach the end, nor would an offline queue that is
        // not rendered.
        let drains =
          afterPlaying && state.phase == .started && !state.isLost && !state.part.isOffline
        state.disposal = drains ? .draining : .disposed
        if drains {
          LastSounds.shared.begin(self)
          appendEnd(&state)
        }
        return drains
      } as Bool
    }
    core.awaitCallback(isPatient: !afterPlaying)
    context.invalidate()
    if !isDraining { finishDisposal() }
  }

  /// Gives the device back. Nothing plays after that.
  func finishDisposal() {
    control.withLock {
      state.change { state in
        state.disposal = .disposed
        state.part.generation += 1
      }
      core.returnDevice()
      waitForConverter()
    }
    core.tellDisposed()
    LastSounds.shared.end(self)
  }
}
