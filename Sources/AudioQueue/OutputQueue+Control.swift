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
      _ = try openDevice()
      let start = StartPoint(time)
      let isEnding = state.change { state in
        guard state.phase == .started, state.ends > 0, state.isRunning else { return false }
        state.startsAfterEnd = true
        unsafe memory.voice.pointee.startAfterEnd(at: start)
        return true
      }
      // A run that goes on needs no start, and holding the voice would silence it.
      let goesOn = state.read { $0.phase == .started && $0.isRunning }
      if isEnding || goesOn { return }
      try holding { unsafe memory.voice.pointee.start(at: start) }
      state.change { $0.phase = .started }
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
    if case .end = state.waiting.last ?? state.inRing.last { return }
    // Nothing to play and no run: there is nothing to end.
    guard state.phase != .idle || !state.waiting.isEmpty || !state.inRing.isEmpty else { return }
    state.ends += 1
    state.waiting.append(.end)
    pump(&state)
  }

  /// Ends the run at once and hands every buffer back before it returns.
  package func stop() throws(QueueError) {
    try controlled { () throws(QueueError) in
      beginReset()
      var lastedFrames: Int64 = 0
      try holding {
        lastedFrames = ranFrames
        unsafe memory.voice.pointee.stop()
      }
      state.change { state in
        readEvents(&state)
        if state.isRunning { state.lastedFrames = lastedFrames }
        state.phase = .idle
        state.startsAfterEnd = false
        runEnded(&state, at: nil)
        state.returnAll()
      }
    }
    handBack()
  }

  /// Hands every buffer back before it returns. The run goes on, in silence.
  package func reset() throws(QueueError) {
    try controlled { () throws(QueueError) in
      beginReset()
      try holding { unsafe memory.voice.pointee.forgetEntries() }
      state.change { state in
        readEvents(&state)
        let wasEnding = state.ends > 0 && state.phase != .idle
        state.returnAll()
        if wasEnding { appendEnd(&state) }
      }
    }
    handBack()
  }

  /// Keeps buffers out, and waits for the converter to let go of the one it reads.
  private func beginReset() {
    state.change { state in
      state.isResetting = true
      state.generation += 1
    }
    state.wait { $0.isConverting ? nil : () }
  }

  /// Has everything that is enqueued reach the ports, the converter's tail included.
  package func flush() throws(QueueError) {
    try controlled { () throws(QueueError) in
      state.change { state in
        if state.converter != nil { state.waiting.append(.flush) }
      }
    }
  }

  /// Converts ahead what is enqueued, so that a start finds it ready. Opens the device.
  ///
  /// - Parameter frames: How many at least, at the queue's rate; 0 for all that fits.
  /// - Returns: The frames that are ready, at the queue's rate.
  package func prime(frames: Int) throws(QueueError) -> Int {
    let device = try controlled { () throws(QueueError) in try openDevice() }
    let ratio = format.sampleRate / device.client.sampleRate
    let ready = state.wait(seconds: 10) { state -> Int? in
      let ready = Int(Double(state.readyFrames) * ratio)
      let isEnough = frames > 0 && ready >= frames
      let isAll = state.waiting.isEmpty && !state.isConverting
      let isFull = state.converter != nil && state.freeSlabs.isEmpty && !state.isConverting
      return isEnough || isAll || isFull || state.converter == nil ? ready : nil
    }
    guard let ready else { throw .primeTimedOut }
    return ready
  }

  // MARK: Dispose

  /// Ends the queue. No callback comes after it has returned. Works when the server is gone, too.
  ///
  /// - Parameter afterPlaying: True to have what is enqueued played first; the call returns
  ///   before that.
  package func dispose(afterPlaying: Bool) throws(QueueError) {
    let isDraining = try controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { state in
        readEvents(&state)
        // A queue that stands still would never get to the end.
        let drains = afterPlaying && state.phase == .started && !state.isLost
        state.disposal = drains ? .draining : .disposed
        if drains {
          state.startsAfterEnd = false
          appendEnd(&state)
        }
        return drains
      } as Bool
    }
    // One that is under way is waited for, unless it is ours or waits for something of our caller's.
    state.wait(seconds: Self.patience) { state in
      state.delivering == nil || state.isInCallback ? () : nil
    }
    context.invalidate()
    if !isDraining { finishDisposal() }
  }

  /// Gives the device back. Nothing is played any more.
  func finishDisposal() {
    control.withLock { _ in
      let device = state.change { state in
        state.disposal = .disposed
        state.generation += 1
        defer { state.device = nil }
        return state.device
      }
      device?.unseat(memory)
      state.wait { $0.isConverting ? nil : () }
    }
    onDisposed.withLock { $0?() }
  }

  // MARK: Helpers

  /// Runs `body` alone among the calls that change what the queue does.
  func controlled<R>(evenIfLost: Bool = false, _ body: () throws(QueueError) -> R)
    throws(QueueError) -> R
  {
    let result = control.withLock { _ -> Result<R, QueueError> in
      do throws(QueueError) {
        try state.change { state throws(QueueError) in
          if evenIfLost && state.isLost && state.disposal == .none { return }
          try state.checkUsable()
        }
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Runs `body` while no cycle is in the queue's voice.
  private func holding(_ body: () -> Void) throws(QueueError) {
    guard let device = state.read({ $0.device }) else { return body() }
    do throws(ServerError) {
      try device.holding(memory, body)
    } catch {
      log.error("\(error)")
      throw .invalidated
    }
  }
}
