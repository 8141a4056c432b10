package import CRealTime
package import Synchronization
package import Timeline

/// What a recorder is doing. The cycle's own, or the host's while it holds the recorder.
@safe
struct RecorderState: BitwiseCopyable {
  enum Phase: UInt8, BitwiseCopyable {
    /// No run.
    case stopped
    /// A run that begins at `start`.
    case armed
    case running
    case paused
    /// A paused run that goes on at `start`.
    case resuming
  }
  var phase = Phase.stopped
  var start = StartPoint(word: 0)
  /// A run that resumes later than `start` counts what it is late as lost, to keep in step with others.
  var keepsStep = false
  /// Device frames that the run has lasted, pauses left out.
  var position: Int64 = 0
  /// The device frame that comes next in a run that is running.
  var nextFrame: Int64 = 0
  var current: Space?
  /// Frames of `current` that are filled.
  var filled = 0
  /// Device frame and position of the first of them.
  var filledFrame: Int64 = 0
  var filledPosition: Int64 = 0
  /// There was no space for the frame before.
  var isDry = false
}

/// One queue in the cycle that records: takes spaces from a ring and fills them from its ports.
///
/// The host works on it as on a `Voice`: through the rings and the atomics at any time, and
/// through the functions marked "holding the recorder" after `hold()` and once no cycle is under way
/// (`Engine.areOver`). While it is held nothing is recorded.
@safe
package struct Recorder: ~Copyable {
  /// To the cycle.
  package let spaces: SpaceRing
  /// From the cycle.
  package let events: RecordEventRing
  package let clock = VoiceClock()
  /// Frames that were lost because there was no space.
  package let lostFrames = Atomic<UInt64>(0)

  private let held = Atomic<Bool>(false)
  private let metering = Atomic<Bool>(false)
  private let channels: Int
  private let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterCell>
  private let state: UnsafeMutablePointer<RecorderState>

  /// A recorder in memory that it is given and does not own; each array has `channels` elements.
  package init(
    spaces: consuming SpaceRing, events: consuming RecordEventRing, channels: Int,
    ports: UnsafeMutablePointer<cue_port>,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    meters: UnsafeMutablePointer<MeterCell>, state: UnsafeMutableRawPointer
  ) {
    self.spaces = spaces
    self.events = events
    self.channels = channels
    unsafe self.ports = ports
    unsafe self.planes = planes
    unsafe self.meters = meters
    unsafe self.state = state.initializeMemory(as: RecorderState.self, to: RecorderState())
  }

  /// Bytes that `init` wants for `state`.
  package static var stateBytes: Int { MemoryLayout<RecorderState>.size }

  // MARK: Host, any thread

  /// Has the cycles measure every channel's level, or no longer.
  package func setMetering(_ on: Bool) {
    if on { quieten() }
    metering.store(on, ordering: .relaxed)
  }
  /// The level of a channel in the latest cycle; silence while the recorder stands still.
  package func level(ofChannel channel: Int) -> Level { unsafe meters[channel].latest }
  /// The highest sample of a channel since the last call.
  package func takePeak(ofChannel channel: Int) -> Float { unsafe meters[channel].takePeak() }

  private func quieten() {
    for channel in 0..<channels { unsafe meters[channel].put(Level(peak: 0, rms: 0)) }
  }

  /// Keeps cycles that begin from now on out of the recorder.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  /// Lets cycles in again.
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  // MARK: Host, holding the recorder

  /// Begins a run at `start`, or goes on with a paused one.
  package func start(at start: StartPoint) {
    unsafe state.pointee.start = start
    switch unsafe state.pointee.phase {
    case .stopped, .armed: unsafe state.pointee.phase = .armed
    case .paused, .resuming: unsafe state.pointee.phase = .resuming
    case .running: break
    }
  }

  /// Resumes a paused run on the frame of `start`. A cycle that comes too late for it counts the frames that
  /// passed as lost.
  package func resume(at start: StartPoint) {
    self.start(at: start)
    unsafe state.pointee.keepsStep = true
  }

  /// Keeps the run where it stands; one that has not begun waits for another start.
  package func pause() {
    switch unsafe state.pointee.phase {
    case .running, .resuming: unsafe state.pointee.phase = .paused
    case .armed: unsafe state.pointee.phase = .stopped
    case .stopped, .paused: break
    }
    stand()
  }

  /// Ends the run and forgets every space; no event comes for them.
  ///
  /// - Returns: What the space in hand holds, if that is anything.
  package func stop() -> RecordEvent? {
    let last = forgetSpaces()
    unsafe state.pointee = RecorderState()
    stand()
    return last
  }

  /// Forgets every space; no event comes for them. The run goes on.
  ///
  /// - Returns: What the space in hand holds, if that is anything.
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

  /// The device's time has ended: the run is paused, and a start that is to come is the one that
  /// `translate` makes of it.
  ///
  /// - Returns: What the space in hand holds, if that is anything; no event comes for it.
  package func leaveDeviceTime(_ translate: (StartPoint) -> StartPoint) -> RecordEvent? {
    switch unsafe state.pointee.phase {
    case .armed, .resuming: unsafe state.pointee.start = translate(state.pointee.start)
    case .running: unsafe state.pointee.phase = .paused
    case .stopped, .paused: break
    }
    stand()
    return takeCurrent()
  }

  /// Device frames are `ratio` times as many as before.
  package func scalePosition(by ratio: Double) {
    unsafe state.pointee.position = Int64(Double(state.pointee.position) * ratio + 0.5)
    stand()
  }

  /// So many frames of the run are lost.
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

  // MARK: The cycle

  /// Records one cycle.
  ///
  /// - Returns: True if there are events to be read.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    for channel in 0..<channels {
      guard let plane = unsafe cue_rt_port_buffer(ports[channel], UInt32(time.frames)) else {
        return false
      }
      unsafe planes[channel] = plane
    }
    if time.isMute || held.load(ordering: .sequentiallyConsistent) { return false }
    var state = unsafe self.state.pointee
    let happened = record(time, &state)
    unsafe self.state.pointee = state
    if case .running = state.phase, metering.load(ordering: .relaxed) {
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
      // Renumbered frames did not pass, and what passed while the recorder was held is missing too.
      let missed = time.frame &- time.shift &- state.nextFrame
      // A late client may be called for a cycle that it has seen.
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
  /// - Returns: True if there are events to be read.
  @_noLocks private borrowing func fillSpaces(
    from first: Int, _ time: CycleTime, _ state: inout RecorderState
  ) -> Bool {
    var at = first
    var happened = false
    while at < time.frames {
      if state.current == nil {
        // A space is taken only if the event that it leads to is certain to have room.
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

  /// Takes `missed` frames for silence as far as the space in hand goes, so that it keeps in step with
  /// time; those beyond it are lost.
  @_noLocks private borrowing func miss(
    _ missed: Int64, before frame: Int64, _ state: inout RecorderState
  ) {
    _ = tell(RecordEvent(.missed, frames: missed, frame: frame))
    var count = 0
    if let space = state.current, let memory = unsafe space.memory {
      count = Int(min(missed, Int64(Int(space.frames) &- state.filled)))
      unsafe space.layout.storeSilence(
        frames: count, to: memory + state.filled &* space.step,
        planeFrames: Int(space.planeFrames))
      _ = filled(count, &state)
    }
    state.position &+= missed &- Int64(count)
  }

  /// Notes that the space in hand has `count` frames more, and lets go of it if it is full.
  ///
  /// - Returns: True if it was.
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

  /// Pushes an event that can be done without, unless that takes the room of one that cannot.
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
