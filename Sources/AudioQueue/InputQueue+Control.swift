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
      let isFull = state.change { state in
        // A run that was to end when its buffers are full goes on.
        if state.ending != .now { state.ending = .none }
        return state.ending == .now
      }
      if isFull {
        guard endRun(refusingBuffers: false) else { throw .invalidated }
        state.change { $0.ending = .none }
        context.wake()
      }
      // A run that goes on needs no start, and holding the recorder would leave a hole.
      if state.change({ state in
        readEvents(&state)
        return state.phase == .started && state.isRunning
      }) {
        return
      }
      // A start at once begins on the first frame that the connections carry.
      if time == .atOnce { try awaitHeard(on: device) }
      let start = StartPoint(time)
      try holding(device) { unsafe memory.recorder.pointee.start(at: start) }
      state.change { state in
        state.phase = .started
        if !state.isRunning { state.start = start }
      }
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

  /// Ends the run.
  ///
  /// - Parameter atOnce: True to end it now: the app has what has been recorded, then every buffer that is
  ///   left, empty, before this returns. False to have it go on until every buffer that is enqueued is full,
  ///   and refuse others; before a start that does nothing. A queue that cannot fill a buffer, because it is
  ///   paused, has none, or has lost its server, ends soon.
  package func stop(atOnce: Bool) throws(QueueError) {
    guard atOnce else {
      return try endRunAndDeliverSoon { state in
        readEvents(&state)
        let isFilling =
          state.phase == .started && !state.isLost && !(state.inRing + state.waiting).isEmpty
        if isFilling { state.ending = .whenFull }
        return isFilling
      }
    }
    try stopAtOnce(isDisposing: false)
  }

  private func stopAtOnce(isDisposing: Bool) throws(QueueError) {
    let isOver = try controlled(evenIfLost: true) { () throws(QueueError) in
      endRun(refusingBuffers: true)
    }
    handBack(isDisposing: isDisposing)
    if !isOver { throw .invalidated }
  }

  /// Ends the run now: the app gets what has been recorded, then every buffer that is left, empty, soon
  /// after this has returned.
  package func stopAndDeliverSoon() throws(QueueError) {
    try endRunAndDeliverSoon { _ in false }
  }

  /// Ends the run that there is, unless `goesOn` says that it is to go on.
  private func endRunAndDeliverSoon(unless goesOn: (inout RecordState) -> Bool)
    throws(QueueError)
  {
    let isOver = try controlled(evenIfLost: true) { () throws(QueueError) in
      if state.change({ $0.phase == .idle || goesOn(&$0) }) { return true }
      return endRun(refusingBuffers: false)
    }
    context.wake()
    if !isOver { throw .invalidated }
  }

  /// Has a thread end the run, in which nothing is left to be filled.
  func endRunSoon(_ state: inout RecordState) {
    state.ending = .now
    startThread(named: "cuejack-stop") { [weak self] in
      guard let self else { return }
      // A queue that has been disposed of has no run.
      try? endRunAndDeliverSoon { $0.ending != .now }
    }
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
  /// - Returns: False if a cycle does not end. The run goes on then, and the buffers stay with it.
  func endRun(refusingBuffers: Bool) -> Bool {
    let converter = claim(refusingBuffers: refusingBuffers)
    var last: RecordEvent?
    var position: Int64 = 0
    let isHeld = hold {
      position = ranFrames
      last = unsafe memory.recorder.pointee.stop()
    }
    guard isHeld else {
      log.error("a cycle of the server does not end: the recorder keeps its buffers")
      state.change { $0.isConverting = false }
      return false
    }
    state.change { state in
      // What came after the last buffer is no loss.
      if state.ending != .none { state.ending = .now }
      position = min(position, state.fullAt)
    }
    finish(last, at: position, with: converter, isReset: refusingBuffers)
    state.change { state in
      state.phase = .idle
      let endsWhenFull = state.ending != .none && !refusingBuffers
      state.ending = endsWhenFull && state.isRunning ? .over : .none
      state.fullAt = .max
      state.wasRunning = false
      guard state.isRunning else { return }
      state.lastedFrames = position
      state.isRunning = false
      // Those who ask before they have been told see the run go on until its buffers have come.
      state.isEnding = !refusingBuffers
      state.notices.append(.isRunning(false))
    }
    return true
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

  /// Ends the queue. No callback begins after it has returned; one that runs is waited for, but not for
  /// ever, and hardly if it is not to end at once. Works when the server is gone, too.
  ///
  /// - Parameter atOnce: False to have the app called with what has been recorded before it
  ///   returns; inside a callback that is not possible.
  package func dispose(atOnce: Bool) throws(QueueError) {
    if !atOnce, !state.read({ $0.isInCallback }) {
      // Whatever keeps the run from ending, the queue can be disposed of.
      try? stopAtOnce(isDisposing: true)
    }
    try controlled(evenIfLost: true) { () throws(QueueError) in
      state.change { $0.disposal = .disposed }
    }
    awaitCallback(isPatient: atOnce)
    context.invalidate()
    control.withLock {
      let (device, converter) = state.change { state in
        defer { state.device = nil }
        return (state.device, state.converter)
      }
      if let device, !device.unseat(memory) { keepMemory(converter) }
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
