package import CRealTime
package import Synchronization
package import Timeline

/// State of a recorder. Only the process thread uses it, or the control thread while it holds the
/// recorder.
@safe
struct RecorderState: BitwiseCopyable {
  var phase = RunPhase.stopped
  var start = StartPoint(word: 0)
  /// Set if a run that resumes after `start` counts the frames in between as lost, to stay aligned
  /// with other queues.
  var keepsStep = false
  /// Device frames since the run began, pauses not counted.
  var position: Int64 = 0
  /// The next device frame to record while the run is going.
  var nextFrame: Int64 = 0
  var current: Space?
  /// Frames of `current` that are filled.
  var filled = 0
  /// Device frame and run position of the first frame in `current`.
  var filledFrame: Int64 = 0
  var filledPosition: Int64 = 0
  /// Set if the previous frame found no space.
  var isDry = false
  /// Set if a cycle in freewheel waited for spaces and none came.
  var hasWaitedInVain = false
}

/// A recording queue's part of the cycle: pops spaces from a ring and fills them from its ports.
///
/// The rings and the atomics may be used at any time. The functions marked "holding the recorder"
/// require `hold()` first, and then that no cycle is running (`Engine.areOver`). A held recorder
/// records nothing.
@safe
package struct Recorder: ~Copyable {
  /// Spaces for the process thread to fill.
  package let spaces: SpaceRing
  /// Events from the process thread.
  package let events: RecordEventRing
  package let clock = VoiceClock()
  /// Frames lost because no space was queued, the run resumed late, or `skip(_:)` was called.
  package let lostFrames = Atomic<UInt64>(0)

  private let held = Atomic<Bool>(false)
  private let metering = Atomic<Bool>(false)
  private let channels: Int
  private let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterSlot>
  private let state: UnsafeMutablePointer<RecorderState>

  /// Creates a recorder in memory that the caller owns. Each array has `channels` elements.
  package init(
    spaces: consuming SpaceRing, events: consuming RecordEventRing, channels: Int,
    ports: UnsafeMutablePointer<cue_port>,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    meters: UnsafeMutablePointer<MeterSlot>, state: UnsafeMutableRawPointer
  ) {
    self.spaces = spaces
    self.events = events
    self.channels = channels
    unsafe self.ports = ports
    unsafe self.planes = planes
    unsafe self.meters = meters
    unsafe self.state = state.initializeMemory(as: RecorderState.self, to: RecorderState())
  }

  /// Bytes that `init` needs for `state`.
  package static var stateBytes: Int { MemoryLayout<RecorderState>.size }

  // MARK: Any thread

  /// Switches level metering of all channels on or off, effective with the next cycle.
  package func setMetering(_ on: Bool) {
    if on { quieten() }
    metering.store(on, ordering: .relaxed)
  }
  /// Returns the level of a channel in the latest cycle; silence while no run is going.
  package func level(ofChannel channel: Int) -> Level { unsafe meters[channel].latest }
  /// Returns the highest sample magnitude of a channel since the last call, and resets it.
  package func takePeak(ofChannel channel: Int) -> Float { unsafe meters[channel].takePeak() }

  private func quieten() {
    for channel in 0..<channels { unsafe meters[channel].put(Level(peak: 0, rms: 0)) }
  }

  /// Excludes the recorder from cycles that begin from now on.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  /// Ends `hold()`: later cycles record again.
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  // MARK: Control thread, holding the recorder

  /// Starts a run at `start`, or resumes a paused one there.
  package func start(at start: StartPoint) {
    unsafe state.pointee.start = start
    switch unsafe state.pointee.phase {
    case .stopped, .armed: unsafe state.pointee.phase = .armed
    case .paused, .resuming: unsafe state.pointee.phase = .resuming
    case .running: break
    }
  }

  /// Resumes a paused run at `start`. If the first cycle comes later, the frames in between count
  /// as lost.
  package func resume(at start: StartPoint) {
    self.start(at: start)
    unsafe state.pointee.keepsStep = true
  }

  /// Pauses the run. A run that has not begun waits for another start.
  package func pause() {
    switch unsafe state.pointee.phase {
    case .running, .resuming: unsafe state.pointee.phase = .paused
    case .armed: unsafe state.pointee.phase = .stopped
    case .stopped, .paused: break
    }
    stand()
  }

  /// Stops the run and discards every space, without an event for any.
  ///
  /// - Returns: The `filled` event of the current space; nil if it holds no frames.
  package func stop() -> RecordEvent? {
    let last = forgetSpaces()
    unsafe state.pointee = RecorderState()
    stand()
    return last
  }

  /// Discards every space, without an event for any. The run continues.
  ///
  /// - Returns: The `filled` event of the current space; nil if it holds no frames.
  package func forgetSpaces() -> RecordEvent? {
    let last = takeCurrent()
    while spaces.pop() != nil {}
    return last
  }

  private func takeCurrent() -> RecordEvent? {
    defer { unsafe state.pointee.current = nil }
    guard let current = unsafe state.pointee.current, unsafe state.pointee.filled > 0 else {
      return nil
    }
    return unsafe filled(current, state.pointee)
  }

  /// Pauses the run because device time ends here. `translate` converts a pending start to the new
  /// device time.
  ///
  /// - Returns: The `filled` event of the current space, which the ring does not get; nil if it
  ///   holds no frames.
  package func leaveDeviceTime(_ translate: (StartPoint) -> StartPoint) -> RecordEvent? {
    switch unsafe state.pointee.phase {
    case .armed, .resuming: unsafe state.pointee.start = translate(state.pointee.start)
    case .running: unsafe state.pointee.phase = .paused
    case .stopped, .paused: break
    }
    stand()
    return takeCurrent()
  }

  /// Scales the run position by `ratio`, after the device's sample rate changed by that factor.
  package func scalePosition(by ratio: Double) {
    unsafe state.pointee.position = Int64(held: Double(state.pointee.position) * ratio + 0.5)
    stand()
  }

  /// Advances the run position by `frames` device frames, which count as lost.
  package func skip(_ frames: Int64) {
    unsafe state.pointee.position &+= frames
    lostFrames.add(UInt64(frames), ordering: .relaxed)
    stand()
  }

  private func stand() {
    let reading = clock.read()
    clock.publish(frame: reading.frame, ranFrames: 0, position: unsafe state.pointee.position)
    quieten()
  }

  // MARK: Process thread

  /// Returns true if spaces run out within the next `frames` frames and no wait for them was in
  /// vain. Call it before the cycle.
  @_noLocks borrowing func lacksSpaces(for frames: Int) -> Bool {
    let state = unsafe self.state.pointee
    guard case .running = state.phase, !state.hasWaitedInVain,
      !held.load(ordering: .sequentiallyConsistent)
    else { return false }
    var ready = 0
    if let current = state.current { ready = Int(current.frames) &- state.filled }
    var index = 0
    while ready < frames {
      guard let space = spaces.peek(index) else { return true }
      ready &+= Int(space.frames)
      index &+= 1
    }
    return false
  }

  /// Notes that a wait for spaces was in vain: `lacksSpaces` stays false until a space comes.
  @_noLocks borrowing func noteVainWait() { unsafe state.pointee.hasWaitedInVain = true }

  /// Records one cycle.
  ///
  /// - Returns: True if the event thread has events to read.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    for channel in 0..<channels {
      guard let plane = unsafe cue_rt_port_buffer(ports[channel], UInt32(time.frames)) else {
        return false
      }
      unsafe planes[channel] = plane
    }
    if time.isMute || held.load(ordering: .sequentiallyConsistent) { return false }
    let happened = unsafe record(time, &state.pointee)
    if case .running = unsafe state.pointee.phase, metering.load(ordering: .relaxed) {
      for channel in 0..<channels {
        unsafe meters[channel].measure(planes[channel], frames: time.frames)
      }
    }
    return happened
  }

  @_noLocks private borrowing func record(_ time: CycleTime, _ state: inout RecorderState) -> Bool {
    var at = 0
    var happened = false
    switch state.phase {
    case .stopped, .paused:
      at = time.frames
    case .armed, .resuming:
      let start = state.start.frame(
        inCycleAt: time.frame, frames: time.frames, from: time.microseconds,
        to: time.nextMicroseconds)
      at = Int(min(max(start, time.frame) &- time.frame, Int64(time.frames)))
      if at == time.frames { break }
      if case .armed = state.phase {
        guard events.push(RecordEvent(.runBegan, frame: time.frame &+ Int64(at))) else {
          return false
        }
        happened = true
      } else if state.keepsStep, start > .min / 4, time.frame > start {
        state.position &+= time.frame &- start
        lostFrames.add(UInt64(time.frame &- start), ordering: .relaxed)
      }
      state.keepsStep = false
      state.phase = .running
    case .running:
      // A shift of device time loses no frames. Frames that passed while the recorder was held are
      // missing.
      let missed = time.frame &- time.shift &- state.nextFrame
      // JACK may call a late client twice for the same cycle.
      if missed < 0 { return happened }
      if missed > 0 {
        miss(missed, before: time.frame, &state)
        happened = true
      }
    }
    clock.publish(
      frame: time.frame &+ Int64(at), ranFrames: Int64(time.frames &- at),
      position: state.position)
    if at < time.frames {
      if fillSpaces(from: at, time, &state) { happened = true }
      state.nextFrame = time.frame &+ Int64(time.frames)
    }
    return happened
  }

  /// Records from frame `first` of the cycle to its end.
  ///
  /// - Returns: True if the event thread has events to read.
  @_noLocks private borrowing func fillSpaces(
    from first: Int, _ time: CycleTime, _ state: inout RecorderState
  ) -> Bool {
    var at = first
    var happened = false
    while at < time.frames {
      if state.current == nil {
        // Pop a space only if the ring is certain to have room for its `filled` event.
        guard events.room() >= 2, let space = spaces.pop() else {
          if !state.isDry, tell(RecordEvent(.ranOut, frame: time.frame &+ Int64(at))) {
            state.isDry = true
            happened = true
          }
          lostFrames.add(UInt64(time.frames &- at), ordering: .relaxed)
          state.position &+= Int64(time.frames &- at)
          return happened
        }
        state.isDry = false
        state.hasWaitedInVain = false
        state.current = space
        state.filled = 0
        state.filledFrame = time.frame &+ Int64(at)
        state.filledPosition = state.position
      }
      guard let space = state.current, let memory = unsafe space.memory else { return happened }
      let count = min(time.frames &- at, Int(space.frames) &- state.filled)
      unsafe space.layout.store(
        from: planes, at: at, frames: count, to: memory + state.filled &* space.step,
        planeFrames: Int(space.planeFrames))
      at &+= count
      if filled(count, &state) { happened = true }
    }
    return happened
  }

  /// Fills `missed` frames with silence as far as the current space reaches, so that it stays
  /// aligned with device time. Frames beyond the space are dropped.
  @_noLocks private borrowing func miss(
    _ missed: Int64, before frame: Int64, _ state: inout RecorderState
  ) {
    var count = 0
    if let space = state.current, let memory = unsafe space.memory {
      count = Int(min(missed, Int64(Int(space.frames) &- state.filled)))
      unsafe space.layout.storeSilence(
        frames: count, to: memory + state.filled &* space.step,
        planeFrames: Int(space.planeFrames))
      _ = filled(count, &state)
    }
    _ = tell(RecordEvent(.missed, frames: missed, frame: frame, silence: Int64(count)))
    state.position &+= missed &- Int64(count)
  }

  /// Adds `count` frames to the current space, and hands the space back if it is full.
  ///
  /// - Returns: True if it was full.
  @_noLocks private borrowing func filled(_ count: Int, _ state: inout RecorderState) -> Bool {
    state.filled &+= count
    state.position &+= Int64(count)
    guard let space = state.current, state.filled == Int(space.frames) else { return false }
    _ = events.push(filled(space, state))
    state.current = nil
    return true
  }

  @_noLocks private borrowing func filled(_ space: Space, _ state: RecorderState) -> RecordEvent {
    RecordEvent(
      .filled, token: space.token, frames: Int64(state.filled), frame: state.filledFrame,
      position: state.filledPosition)
  }

  /// Pushes an event that may be dropped, but only if one more slot stays free for an event that
  /// may not.
  @_noLocks private borrowing func tell(_ event: RecordEvent) -> Bool {
    events.room() >= 2 && events.push(event)
  }
}

extension Space {
  /// Bytes from one frame to the next, in one plane.
  fileprivate var step: Int {
    @_noLocks get {
      let width = Int(layout.bytesPerSample)
      return planeFrames == 0 ? width &* Int(layout.channels) : width
    }
  }
}
