import Logging
import RealTime
import Server
import Synchronization
package import Timeline

extension InputQueue: Queue {
  // MARK: Start and pause

  /// Has the queue record from `time` on, or go on from where it was paused.
  ///
  /// Opens the device if that has not happened.
  package func start(at time: StartTime = .atOnce) throws(QueueError) {
    try controlled { () throws(QueueError) in
      let device = try openDevice()
      // A run that goes on needs no start, and holding the recorder would leave a hole.
      if state.change({ state in
        readEvents(&state)
        return state.phase == .started && state.isRunning
      }) {
        return
      }
      try holding(device) { unsafe memory.recorder.pointee.start(at: StartPoint(time)) }
      state.change { $0.phase = .started }
    }
  }

  /// Stops recording and keeps the buffers and the queue's time.
  package func pause() throws(QueueError) {
    try controlled { () throws(QueueError) in
      guard let device = state.read({ $0.phase == .started ? $0.device : nil }) else { return }
      try holding(device) { unsafe memory.recorder.pointee.pause() }
      state.change { state in
        readEvents(&state)
        state.phase = .paused
      }
    }
  }

  // MARK: Stop, reset, flush

  /// Ends the run: the app gets what has been recorded, then every buffer that is left, empty.
  ///
  /// - Parameter atOnce: True if the app is to have all of that before this returns. If not, it is
  ///   called soon; before a start that does nothing.
  package func stop(atOnce: Bool) throws(QueueError) {
    let isOver = try controlled(evenIfLost: true) { () throws(QueueError) in
      if !atOnce && state.read({ $0.phase == .idle }) { return true }
      return endRun(refusingBuffers: atOnce)
    }
    if atOnce { handBack() } else { context.wake() }
    if !isOver { throw .invalidated }
  }

  /// Hands every buffer back before it returns, with what has been recorded. The run goes on.
  package func reset() throws(QueueError) {
    try controlled { () throws(QueueError) in
      let converter = claim(refusingBuffers: true)
      var last: RecordEvent?
      let position = device.map { _ in ranFrames }
      guard hold({ last = unsafe memory.recorder.pointee.forgetSpaces() }) else {
        state.change { state in
          state.resets -= 1
          state.isConverting = false
        }
        throw .invalidated
      }
      finish(last, at: position ?? 0, with: converter, isReset: true)
    }
    handBack()
  }

  /// Nothing: what has been recorded stands in the buffers already.
  package func flush() throws(QueueError) {
    try controlled { () throws(QueueError) in }
  }

  /// Ends the run and hands all buffers back; `handBack` is to follow if buffers are refused meanwhile.
  /// Holding `control`.
  ///
  /// - Returns: False if a cycle does not end.
  @discardableResult
  func endRun(refusingBuffers: Bool) -> Bool {
    let converter = claim(refusingBuffers: refusingBuffers)
    var last: RecordEvent?
    var position: Int64 = 0
    let isHeld = hold {
      position = ranFrames
      last = unsafe memory.recorder.pointee.stop()
    }
    finish(last, at: position, with: converter, isReset: refusingBuffers)
    state.change { state in
      state.phase = .idle
      state.wasRunning = false
      guard state.isRunning else { return }
      state.lastedFrames = position
      state.isRunning = false
      // Those who ask before they have been told see the run go on until its buffers have come.
      state.isEnding = !refusingBuffers
      state.notices.append(.isRunning(false))
    }
    return isHeld
  }

  /// Waits for the converter and keeps it.
  private func claim(refusingBuffers: Bool) -> RecordConverter? {
    if refusingBuffers { state.change { $0.resets += 1 } }
    return claimConverter()
  }

  /// Waits until nobody is at work with the converter, and keeps it: until `isConverting` is false again.
  @discardableResult
  func claimConverter() -> RecordConverter? {
    state.wait { state -> RecordConverter?? in
      if state.isConverting { return nil }
      state.isConverting = true
      return .some(state.converter)
    }
  }

  /// Hands back what the cycles have recorded, `last` at the end, then the other buffers, empty; and
  /// lets go of the converter. The recorder is empty.
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
        Int64((Double(position) * format.sampleRate / $0.client.sampleRate).rounded())
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

  // MARK: Dispose

  /// Ends the queue. No callback comes after it has returned. Works when the server is gone, too.
  ///
  /// - Parameter atOnce: False to have the app called with what has been recorded before it
  ///   returns; inside a callback that is not possible.
  package func dispose(atOnce: Bool) throws(QueueError) {
    if !atOnce, !state.read({ $0.isInCallback }) { try stop(atOnce: true) }
    try controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { $0.disposal = .disposed }
    }
    // One that is under way is waited for, unless it is ours or waits for something of our caller's.
    state.wait(seconds: Self.patience) { state in
      state.delivering == nil || state.isInCallback ? () : nil
    }
    context.invalidate()
    control.withLock {
      let device = state.change { state in
        defer { state.device = nil }
        return state.device
      }
      device?.unseat(memory)
      state.wait { $0.isConverting ? nil : () }
    }
    onDisposed.withLock { $0?() }
  }

  // MARK: Helpers

  private var device: Device? { state.read { $0.device } }

  /// Runs `body` while no cycle is in the queue's recorder; false if a cycle does not end, and nothing
  /// was done.
  @discardableResult
  func hold(_ body: () -> Void) -> Bool {
    guard let device else {
      body()
      return true
    }
    do throws(QueueError) {
      try holding(device, body)
      return true
    } catch {
      return false
    }
  }
}
