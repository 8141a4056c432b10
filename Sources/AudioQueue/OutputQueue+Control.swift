import Glibc
import Logging
import RealTime
import Server
import Synchronization
package import Timeline

extension OutputQueue {
  // MARK: Start and pause

  /// Has the queue run from `time` on, or go on from where it was paused.
  ///
  /// Opens the device if that has not happened. While a run plays its last buffers, the next one
  /// begins when it is over. With nothing enqueued the queue plays silence until a buffer comes.
  package func start(at time: StartTime = .atOnce) throws(QueueError) {
    try controlled { () throws(QueueError) in
      let device = try openDevice()
      // A start at once begins on the first frame that the connections carry, on all channels together.
      if time == .atOnce { try awaitHeard(on: device) }
      // Offline there is no clock that a time could be one of.
      let start = StartPoint(state.read { $0.isOffline } ? .atOnce : time)
      let isSeenTo = state.change { state in
        readEvents(&state)
        // A run that is paused goes on; any other begins.
        defer {
          if !state.isRunning && !state.isRestarting {
            state.isBeginning = true
            state.start = start
          }
        }
        guard state.phase == .started else { return false }
        if state.ends > state.starts.count {
          // The present run has an end on its way: another one follows it.
          state.starts.append(start)
          if !state.isRestarting { restart(&state, at: start) }
          return true
        }
        // A run that goes on needs no start, and holding the voice would silence it.
        return state.isRunning
      }
      if isSeenTo { return }
      try holding { unsafe memory.voice.pointee.start(at: start) }
      state.change { state in
        if state.phase == .idle { state.renderedFrames = 0 }
        state.phase = .started
      }
    }
  }

  /// Silences the queue and keeps its buffers and its time.
  package func pause() throws(QueueError) {
    try controlled { () throws(QueueError) in
      guard state.read({ $0.phase == .started }) else { return }
      try holding { unsafe memory.voice.pointee.pause() }
      state.change { state in
        readEvents(&state)
        if state.phase == .started { state.phase = .paused }
        // A run that has not begun waits for another start.
        state.isBeginning = false
      }
    }
  }

  // MARK: Stop, reset, flush

  /// Ends the run when everything that is enqueued has been played. Returns at once.
  ///
  /// Before a start it keeps the buffers: the run that plays them ends with them.
  package func stopAfterPlaying() throws(QueueError) {
    try controlled { () throws(QueueError) in
      state.change { state in
        readEvents(&state)
        appendEnd(&state)
      }
    }
    relay()
  }

  /// Puts the end of the run after all that is enqueued, unless it stands there already.
  private func appendEnd(_ state: inout QueueState) {
    // A start that follows an end needs an end of its own.
    if state.ends > state.starts.count, case .end = state.waiting.last ?? state.inRing.last {
      return
    }
    // Nothing to play and no run: there is nothing to end.
    guard
      state.phase != .idle || !state.waiting.isEmpty || !state.inRing.isEmpty || state.holdsBack
    else { return }
    state.ends += 1
    // What follows belongs to the next run.
    state.tail = 0
    state.waiting.append(.end)
    pump(&state)
  }

  /// Ends the run at once and hands every buffer back before it returns.
  package func stop() throws(QueueError) {
    try controlled { () throws(QueueError) in
      try resetting { state in
        let lastedFrames = ranFrames
        // First: a run that has begun has the next one follow it, which the stop takes back.
        readEvents(&state)
        unsafe memory.voice.pointee.stop()
        state.phase = .idle
        state.starts = []
        state.isRestarting = false
        state.isBeginning = false
        runEnded(&state, lasting: state.isRunning ? lastedFrames : state.lastedFrames)
        state.returnAll()
      }
    }
    handBack()
  }

  /// Hands every buffer back before it returns. The run goes on, in silence.
  package func reset() throws(QueueError) {
    try controlled { () throws(QueueError) in
      try resetting { state in
        unsafe memory.voice.pointee.forgetEntries()
        readEvents(&state)
        // The ends stay: without them runs that were told to end would go on for ever.
        let ends = state.phase == .idle ? 0 : state.ends
        state.returnAll()
        state.ends = ends
        state.waiting = Array(repeating: .end, count: ends)
        pump(&state)
      }
    }
    handBack()
  }

  /// Runs `body`, which empties the ring, while buffers and the converter are kept out and no cycle
  /// is in the queue's voice. If it succeeds, `handBack` is to follow: it lets both in again.
  ///
  /// The ring and what the queue knows of it change under one lock: were they apart, somebody could
  /// fill the ring in between with buffers that are about to be handed back.
  private func resetting(_ body: (inout QueueState) -> Void) throws(QueueError) {
    state.change { state in
      state.resets += 1
      state.generation += 1
    }
    waitForConverter()
    do throws(QueueError) {
      try holding { state.change(body) }
    } catch {
      state.change { $0.resets -= 1 }
      throw error
    }
  }

  /// Has everything that is enqueued reach the ports, the converter's tail included. Before the device is
  /// open too: the converter that comes with it ends its stream there.
  package func flush() throws(QueueError) {
    try controlled { () throws(QueueError) in
      state.change { state in
        guard state.converter != nil || state.device == nil else { return }
        // What nothing follows is flushed already.
        if case .buffer = state.waiting.last {
          state.waiting.append(.flush)
        } else if state.waiting.isEmpty, state.holdsBack {
          state.waiting.append(.flush)
        }
      }
    }
  }

  /// Waits until the converter is not at work. A tap of the app's may wait for something that our caller
  /// holds: then what it is at work on is dropped when it comes back.
  ///
  /// - Returns: False if it is at work yet.
  @discardableResult
  func waitForConverter() -> Bool {
    let isDone: Void? = state.wait(seconds: Self.patience) { $0.isConverting ? nil : () }
    if isDone == nil { log.warning("the converter did not stop: the app's tap did not return") }
    return isDone != nil
  }

  // MARK: Dispose

  /// Ends the queue. No callback begins after it has returned; one that runs is waited for, but not for
  /// ever, and hardly if what is enqueued is played first. Works when the server is gone, too.
  ///
  /// - Parameter afterPlaying: True to have what is enqueued played first; the call returns
  ///   before that.
  package func dispose(afterPlaying: Bool) throws(QueueError) {
    let isDraining = try controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { state in
        readEvents(&state)
        // A queue that stands still would never get to the end, nor does one that nobody renders.
        let drains =
          afterPlaying && state.phase == .started && !state.isLost && !state.isOffline
        state.disposal = drains ? .draining : .disposed
        if drains { appendEnd(&state) }
        return drains
      } as Bool
    }
    awaitCallback(isPatient: !afterPlaying)
    context.invalidate()
    if !isDraining { finishDisposal() }
  }

  /// Gives the device back. Nothing is played any more.
  func finishDisposal() {
    control.withLock {
      let (device, converter) = state.change { state in
        state.disposal = .disposed
        state.generation += 1
        defer { state.device = nil }
        return (state.device, state.converter)
      }
      if let device, !device.retire(memory) { keepMemory(converter) }
      waitForConverter()
    }
    onDisposed.withLock { $0?() }
  }

  // MARK: Helpers

  /// Runs `body` while no cycle is in the queue's voice.
  private func holding(_ body: () -> Void) throws(QueueError) {
    guard let device = state.read({ $0.device }) else { return body() }
    try holding(device, body)
  }
}
