import Logging
import RealTime
import Server
import Synchronization
import System
package import Timeline

extension InputQueue: Queue {
  // MARK: Start and pause

  /// Starts recording at `time`, or resumes a paused run.
  ///
  /// Opens the device if it is not open.
  package func start(at time: StartTime = .atOnce) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      let device = try openDevice()
      let isFull = state.change { state in
        // A run that was to end when its buffers are full continues.
        if state.part.ending != .now { state.part.ending = .none }
        return state.part.ending == .now
      }
      if isFull {
        guard endRun(refusingBuffers: false) else { throw .invalidated }
        state.change { $0.part.ending = .none }
        context.wake()
      }
      // A running queue needs no start, and holding the recorder would leave a hole.
      if state.change({ state in
        readEvents(&state)
        return state.phase == .started && state.isRunning
      }) {
        return
      }
      // A start "now" begins on the first frame that the connections carry.
      if time == .atOnce { try awaitHeard(on: device) }
      let start = StartPoint(time)
      try core.holding { unsafe memory.recorder.pointee.start(at: start) }
      state.change { state in
        state.phase = .started
        if !state.isRunning { state.start = start }
      }
    }
  }

  /// Pauses recording. The queue keeps its buffers and its time.
  package func pause() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      guard state.read({ $0.phase == .started && $0.device != nil }) else { return }
      try core.holding { unsafe memory.recorder.pointee.pause() }
      state.change { state in
        readEvents(&state)
        state.phase = .paused
        // After the return of the server, too.
        state.part.lostAt = nil
      }
    }
  }

  // MARK: Stop, reset, flush

  /// Ends the run.
  ///
  /// - Parameter atOnce: True to end it now. The app receives the recorded sound, then every
  ///   remaining buffer, empty, before this returns. False to continue until every enqueued buffer
  ///   is full; the queue accepts no others, and before a start the call does nothing. A queue that
  ///   cannot fill buffers ends soon: because it is paused, has none, or has lost its server.
  package func stop(atOnce: Bool) throws(QueueError) {
    guard atOnce else {
      return try endRunAndDeliverSoon { state in
        readEvents(&state)
        let isFilling =
          state.phase == .started && !state.isLost && !(state.inRing + state.waiting).isEmpty
        if isFilling { state.part.ending = .whenFull }
        return isFilling
      }
    }
    try stopAtOnce(isDisposing: false)
  }

  private func stopAtOnce(isDisposing: Bool) throws(QueueError) {
    let isOver = try core.controlled(evenIfLost: true) { () throws(QueueError) in
      endRun(refusingBuffers: true)
    }
    core.handBack(isDisposing: isDisposing)
    if !isOver { throw .invalidated }
  }

  /// Ends the run now. Soon after this returns, the app receives the recorded sound, then every
  /// remaining buffer, empty.
  package func stopAndDeliverSoon() throws(QueueError) {
    try endRunAndDeliverSoon { _ in false }
  }

  /// Ends the present run unless `goesOn` returns true.
  private func endRunAndDeliverSoon(unless goesOn: (inout RecordState) -> Bool)
    throws(QueueError)
  {
    let isOver = try core.controlled(evenIfLost: true) { () throws(QueueError) in
      if state.change({ $0.phase.isIdle || goesOn(&$0) }) { return true }
      return endRun(refusingBuffers: false)
    }
    context.wake()
    if !isOver { throw .invalidated }
  }

  /// Starts a thread that ends the run, in which no buffer is left to fill.
  func endRunSoon(_ state: inout RecordState) {
    state.part.ending = .now
    startThread(named: "cuejack-stop") { [weak self] in
      guard let self else { return }
      // A queue that has been disposed of has no run to end.
      try? endRunAndDeliverSoon { $0.part.ending != .now }
    }
  }

  /// Hands every buffer back, with the sound recorded so far, before this returns. The run
  /// continues.
  package func reset() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      let converter = claim(refusingBuffers: true)
      var last: RecordEvent?
      let position = state.read({ $0.device }) == nil ? 0 : core.ranFrames
      do throws(QueueError) {
        try core.holding { last = unsafe memory.recorder.pointee.forgetSpaces() }
      } catch {
        state.change { state in
          state.resets -= 1
          state.isConverting = false
        }
        throw error
      }
      finish(last, at: position, with: converter, isReset: true)
    }
    core.handBack()
  }

  /// Does nothing but check the queue: recorded frames are already in the buffers.
  package func flush() throws(QueueError) {
    try core.controlled(evenIfLost: true) { () throws(QueueError) in }
  }

  /// Ends the run and hands all buffers back. If buffers are refused meanwhile, `handBack` must
  /// follow. The caller must hold `control`.
  ///
  /// - Returns: False if a cycle does not end. The run then continues and keeps the buffers.
  func endRun(refusingBuffers: Bool) -> Bool {
    let converter = claim(refusingBuffers: refusingBuffers)
    var last: RecordEvent?
    var position: Int64 = 0
    do throws(QueueError) {
      try core.holding {
        position = core.ranFrames
        last = unsafe memory.recorder.pointee.stop()
      }
    } catch {
      log.error("a cycle of the server does not end: the recorder keeps its buffers")
      state.change { $0.isConverting = false }
      return false
    }
    state.change { state in
      // Frames after the last buffer are not a loss.
      if state.part.ending != .none { state.part.ending = .now }
      position = min(position, state.part.fullAt)
    }
    finish(last, at: position, with: converter, isReset: refusingBuffers)
    state.change { state in
      state.phase = .idle
      let endsWhenFull = state.part.ending != .none && !refusingBuffers
      let wasRunning = state.isRunning || state.isInterrupted
      state.part.ending = endsWhenFull && wasRunning ? .over : .none
      state.part.fullAt = .max
      guard wasRunning else { return }
      state.lastedFrames = position
      // Until the app is notified, `isRunning` stays true: the last buffers have not come yet.
      state.part.isEnding = !refusingBuffers
      state.endRun()
    }
    return true
  }

  /// Waits until the converter is idle and claims it.
  private func claim(refusingBuffers: Bool) -> RecordConverter? {
    if refusingBuffers { state.change { $0.resets += 1 } }
    return claimConverter()
  }

  /// Waits until no thread uses the converter and claims it by setting `isConverting`.
  @discardableResult
  func claimConverter() -> RecordConverter? {
    state.wait { state -> RecordConverter?? in
      if state.isConverting { return nil }
      state.isConverting = true
      return .some(state.converter)
    }
  }

  /// Hands back the recorded sound with `last` at its end, then the remaining buffers, empty.
  /// Releases the converter. The recorder must be empty.
  private func finish(
    _ last: RecordEvent?, at position: Int64, with converter: RecordConverter?, isReset: Bool
  ) {
    state.change { state in
      readEvents(&state)
      if let last { take(last, isReset: isReset, &state) }
    }
    if let converter { convertRest(with: converter, isReset: isReset) }
    state.change { state in
      let empty = state.inRing + state.waiting
      state.inRing = []
      state.waiting = []
      let device = state.device
      let frame = device?.latestFrame ?? 0
      let startFrame = device.map {
        Int64(held: (Double(position) * format.sampleRate / $0.client.sampleRate).rounded())
      }
      for id in empty {
        give(
          &state, id,
          Recorded(frames: 0, bytes: 0, packets: [], startFrame: startFrame ?? 0),
          deviceFrame: frame, isReset: isReset)
      }
      state.isConverting = false
    }
  }

  // MARK: Disposal

  /// Disposes of the queue, even if the server is gone. No callback begins after this returns.
  ///
  /// Waits a limited time for a callback in progress, and only briefly if `atOnce` is false.
  ///
  /// - Parameter atOnce: False to deliver the recorded sound to the app before this returns. Inside
  ///   a callback that is not possible.
  package func dispose(atOnce: Bool) throws(QueueError) {
    if !atOnce, !state.read({ $0.isInCallback }) {
      // The queue can be disposed of even if the run does not end.
      try? stopAtOnce(isDisposing: true)
    }
    try core.controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { $0.disposal = .disposed }
    }
    core.awaitCallback(isPatient: atOnce)
    context.invalidate()
    control.withLock {
      core.returnDevice()
      state.wait { $0.isConverting ? nil : () }
    }
    core.tellDisposed()
  }
}
