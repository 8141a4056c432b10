package import CRealTime
package import Synchronization
package import Timeline

/// State of a voice. Only the process thread uses it, or the control thread while it holds the
/// voice.
@safe
struct VoiceState: BitwiseCopyable {
  enum Phase: UInt8, BitwiseCopyable {
    /// No run.
    case stopped
    /// A run that begins at `start`.
    case armed
    case running
    case paused
    /// A paused run that continues at `start`.
    case resuming
  }
  var phase = Phase.stopped
  var start = StartPoint(word: 0)
  /// Frames of the run to skip, unheard, when it resumes.
  var skip = 0
  /// Set if a run that resumes after `start` also skips the frames in between, to stay aligned with
  /// other queues.
  var keepsStep = false
  /// Device frames since the run began.
  var position: Int64 = 0
  var current: Entry?
  /// Set once `current` has begun: its start time is reached and its parameter changes apply.
  var hasBegun = false
  /// Frames of `current` already played.
  var offset = 0
  var parameters = VoiceParameters()
  /// Set if a mono voice plays through two ports, each with its side of the balance.
  var isSpread = false
  /// Set if a cycle in freewheel waited for entries and none came.
  var hasWaitedInVain = false
  /// First device frame of the latest cycle played.
  var cycleFrame = Int64.min

  var isArmed: Bool { @_noLocks get { if case .armed = phase { true } else { false } } }
}

/// A playing queue's part of the cycle: pops entries from a ring and writes them to its ports.
///
/// The rings and the atomics may be used at any time. The functions marked "holding the voice"
/// require `hold()` first, and then that no cycle is running (`Engine.areOver`). A held voice is
/// silent; playing never requires holding it.
@safe
package struct Voice: ~Copyable {
  /// Entries for the process thread to play.
  package let entries: EntryRing
  /// Events from the process thread.
  package let events: EventRing
  package let clock = VoiceClock()
  /// Frames of silence played because no entry was queued.
  package let starvedFrames = Atomic<UInt64>(0)
  /// Number of times that a run began such a silence.
  package let starvations = Atomic<UInt64>(0)
  /// Number of times that the client missed cycles during a run.
  package let interruptions = Atomic<UInt64>(0)
  /// Frames of runs that passed unheard because the client missed cycles or the server went away, and
  /// of cycles in which the driver's counter restarted.
  package let unheardFrames = Atomic<UInt64>(0)

  private let held = Atomic<Bool>(false)
  private let changes: ParameterRing
  /// Number of changes popped from the ring; the next three are the parameters after the latest
  /// cycle.
  private let changesTaken = Atomic<UInt64>(0)
  private let gainNow = Atomic<UInt32>(Float(1).bitPattern)
  private let rampSecondsNow = Atomic<UInt32>(0)
  private let panNow = Atomic<UInt32>(0)
  /// The device's sample rate in Hz, as the bits of a Double.
  private let sampleRate = Atomic<UInt64>(Double(48_000).bitPattern)
  /// State of a mono voice's second port: `noSecondPort`, `silentSecondPort`, or the connections
  /// from which on it plays (see `useSecondPort(fromConnections:)`).
  private let secondPort = Atomic<Int>(Self.noSecondPort)
  private let metering = Atomic<Bool>(false)
  private let rendersOffline = Atomic<Bool>(false)
  /// Frames that cycles rendered offline and that `takeRendered()` has not returned yet.
  private let rendered = Atomic<Int>(0)
  /// The `StartPoint` of a run that begins when the current run has ended; `Int64.max` for none.
  private let nextStart = Atomic<Int64>(.max)

  private let channels: Int
  private static var noSecondPort: Int { -2 }
  private static var silentSecondPort: Int { -1 }
  private let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterSlot>
  private let state: UnsafeMutablePointer<VoiceState>
  private let starving = Atomic<Bool>(false)
  /// Number of ports that the current cycle writes. A second port that opens during a cycle waits
  /// for the next.
  private let outputs: Atomic<Int>

  /// Creates a voice in memory that the caller owns. Each array has `channels` elements; `ports`
  /// and `planes` have at least two.
  package init(
    entries: consuming EntryRing, events: consuming EventRing, changes: consuming ParameterRing,
    channels: Int, ports: UnsafeMutablePointer<cue_port>,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    meters: UnsafeMutablePointer<MeterSlot>, state: UnsafeMutableRawPointer
  ) {
    self.entries = entries
    self.events = events
    self.changes = changes
    self.channels = channels
    outputs = Atomic(channels)
    unsafe self.ports = ports
    unsafe self.planes = planes
    unsafe self.meters = meters
    unsafe self.state = state.initializeMemory(as: VoiceState.self, to: VoiceState())
  }

  /// Bytes that `init` needs for `state`.
  package static var stateBytes: Int { MemoryLayout<VoiceState>.size }

  // MARK: Any thread

  /// Sets the device's sample rate in Hz, by which ramps are timed.
  package func setSampleRate(_ rate: Double) {
    sampleRate.store(rate.bitPattern, ordering: .relaxed)
  }

  /// Queues parameter changes for the first frame of the next cycle. Call from one thread at a
  /// time.
  ///
  /// - Returns: False if the ring is full. Retry after the next cycle or after `applyChanges()`.
  package func change(_ changes: ParameterChanges) -> Bool { self.changes.push(changes) }

  /// The parameters after the latest cycle, and the number of `change(_:)` calls that they include.
  package var parametersInForce: (taken: UInt64, values: ParameterChanges) {
    let taken = changesTaken.load(ordering: .acquiring)
    var values = ParameterChanges()
    values.volume = Float(bitPattern: gainNow.load(ordering: .relaxed))
    values.rampSeconds = Float(bitPattern: rampSecondsNow.load(ordering: .relaxed))
    values.pan = Float(bitPattern: panNow.load(ordering: .relaxed))
    return (taken, values)
  }

  /// True if a mono voice has a second port.
  package var hasSecondPort: Bool {
    @_noLocks get { secondPort.load(ordering: .acquiring) != Self.noSecondPort }
  }

  /// Opens the second port of a mono voice, which is already in `ports`. Cycles write silence to
  /// it.
  package func openSecondPort() { secondPort.store(Self.silentSecondPort, ordering: .releasing) }

  /// Starts the second port with its side of the balance. This happens in the first cycle in which
  /// the first port has at most `connections` connections.
  package func useSecondPort(fromConnections connections: Int) {
    secondPort.store(connections, ordering: .releasing)
  }

  /// Returns the frames that offline cycles have written since the last call. Call on the thread
  /// that runs the cycles.
  package func takeRendered() -> Int { rendered.exchange(0, ordering: .relaxed) }

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

  /// Schedules a run at `start`, to begin once the current run has ended.
  package func startAfterEnd(at start: StartPoint) {
    nextStart.store(start.word, ordering: .releasing)
  }

  /// Excludes the voice from cycles that begin from now on.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  /// Ends `hold()`: later cycles play again.
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  // MARK: Control thread, holding the voice

  /// Switches offline rendering on or off. An offline cycle ends where entries run out or no run is
  /// going, instead of adding silence. A cycle of 0 frames then begins a run that is due at once.
  package func setOffline(_ on: Bool) {
    rendersOffline.store(on, ordering: .relaxed)
    rendered.store(0, ordering: .relaxed)
  }

  /// Closes the second port.
  package func closeSecondPort() {
    secondPort.store(Self.noSecondPort, ordering: .releasing)
    unsafe state.pointee.isSpread = false
  }

  /// Applies all queued parameter changes.
  package func applyChanges() { unsafe takeChanges(&state.pointee) }

  /// Starts a run at `start`, or resumes a paused one there.
  package func start(at start: StartPoint) {
    unsafe state.pointee.start = start
    switch unsafe state.pointee.phase {
    case .stopped:
      // Replaces a start that was scheduled to follow the run that is over.
      nextStart.store(.max, ordering: .relaxed)
      unsafe state.pointee.phase = .armed
    case .armed: break
    case .paused, .resuming: unsafe state.pointee.phase = .resuming
    case .running: break
    }
  }

  /// Continues a run that is going at `start`, after skipping `skip` of its frames. A pending start
  /// moves to `hostTime`, the same moment, if it was earlier.
  ///
  /// If the first cycle comes after `start`, the run also skips the frames in between. Queues that
  /// resume together stay aligned.
  package func resume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int) {
    switch unsafe state.pointee.phase {
    case .running:
      unsafe state.pointee.start = start
      unsafe state.pointee.skip = skip
      unsafe state.pointee.keepsStep = true
      unsafe state.pointee.phase = .resuming
    case .armed, .resuming:
      unsafe state.pointee.start = state.pointee.start.notBefore(hostTime)
    case .stopped, .paused: break
    }
  }

  /// Pauses the run. A run that has not begun waits for another start.
  package func pause() {
    switch unsafe state.pointee.phase {
    case .running, .resuming: unsafe state.pointee.phase = .paused
    case .armed: unsafe state.pointee.phase = .stopped
    case .stopped: nextStart.store(.max, ordering: .relaxed)
    case .paused: break
    }
    stand()
  }

  /// Stops the run and discards every entry, without an event for any.
  package func stop() {
    unsafe state.pointee.phase = .stopped
    unsafe state.pointee.position = 0
    unsafe state.pointee.skip = 0
    unsafe state.pointee.keepsStep = false
    nextStart.store(.max, ordering: .relaxed)
    forgetEntries()
    stand()
  }

  /// Discards every entry, without an event for any. The run continues.
  package func forgetEntries() {
    unsafe state.pointee.current = nil
    unsafe state.pointee.hasBegun = false
    unsafe state.pointee.offset = 0
    while entries.pop() != nil {}
  }

  /// Discards every entry, as `forgetEntries` does.
  ///
  /// - Returns: The frames of the first entry that were already played.
  package func takeEntriesBack() -> Int {
    let frames = unsafe state.pointee.current == nil ? 0 : state.pointee.offset
    forgetEntries()
    return frames
  }

  /// Freezes the run position because device time ends here. `translate` converts pending starts to
  /// the new device time.
  package func leaveDeviceTime(_ translate: (StartPoint) -> StartPoint) {
    let next = nextStart.load(ordering: .acquiring)
    if next != .max {
      nextStart.store(translate(StartPoint(word: next)).word, ordering: .releasing)
    }
    switch unsafe state.pointee.phase {
    case .armed, .resuming: unsafe state.pointee.start = translate(state.pointee.start)
    case .stopped, .running, .paused: break
    }
    unsafe state.pointee.cycleFrame = .min
    stand()
  }

  /// Scales the run position by `ratio`, after the device's sample rate changed by that factor.
  package func scalePosition(by ratio: Double) {
    unsafe state.pointee.position = Int64(Double(state.pointee.position) * ratio + 0.5)
    stand()
  }

  /// Advances the run position by `frames` device frames, in which nothing plays.
  package func skip(_ frames: Int64) {
    unsafe state.pointee.position &+= frames
    stand()
  }

  private func stand() {
    quieten()
    let reading = clock.read()
    clock.publish(
      frame: reading.frame, ranFrames: 0, position: unsafe state.pointee.position)
  }

  // MARK: Process thread

  /// Returns true if entries run out within the next `frames` frames and no wait for them was in
  /// vain. Process thread, before the cycle.
  @_noLocks borrowing func lacksEntries(for frames: Int) -> Bool {
    let state = unsafe self.state.pointee
    guard case .running = state.phase, !state.hasWaitedInVain,
      !held.load(ordering: .sequentiallyConsistent), !rendersOffline.load(ordering: .relaxed)
    else { return false }
    var ready = 0
    if let current = state.current { ready = Int(current.frames) &- state.offset }
    var index = 0
    while ready < frames {
      guard let entry = entries.peek(index) else { return true }
      // The end of the run, or silence before an entry's start time: no underrun.
      if case .end = entry.kind { return false }
      if entry.start > .min { return false }
      ready &+= Int(entry.frames)
      index &+= 1
    }
    return false
  }

  /// Notes that a wait for entries was in vain: `lacksEntries` stays false until an entry comes.
  @_noLocks borrowing func noteVainWait() { unsafe state.pointee.hasWaitedInVain = true }

  /// Plays one cycle.
  ///
  /// A run skips the frames that the client missed, so that it stays aligned with all others. JACK
  /// may call a late client twice for one cycle: the ports hold that cycle already.
  ///
  /// - Returns: True if the event thread has events to read.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    let frames = time.frames
    let outputs = channels == 1 && hasSecondPort ? 2 : channels
    self.outputs.store(outputs, ordering: .relaxed)
    for output in 0..<outputs {
      guard let plane = unsafe cue_rt_port_buffer(ports[output], UInt32(frames)) else {
        return false
      }
      unsafe planes[output] = plane
    }
    if time.isMute || held.load(ordering: .sequentiallyConsistent) {
      silence(from: 0, to: frames)
      return false
    }
    var state = unsafe self.state.pointee
    if rendersOffline.load(ordering: .relaxed) {
      // An offline cycle that found no entries comes again.
    } else if state.cycleFrame == time.frame {
      return false
    } else if time.frames > 0 {
      state.cycleFrame = time.frame
    }
    takeChanges(&state)
    if outputs > channels && !state.isSpread {
      let connections = secondPort.load(ordering: .relaxed)
      state.isSpread = unsafe connections >= 0 && cue_rt_port_connections(ports[0]) <= connections
    }
    let happened = play(time, &state)
    unsafe self.state.pointee = state
    return happened
  }

  @_noLocks private borrowing func takeChanges(_ state: inout VoiceState) {
    var taken: UInt64 = 0
    while let changes = changes.pop() {
      apply(changes, &state)
      taken &+= 1
    }
    if taken == 0 { return }
    publish(state.parameters)
    changesTaken.add(taken, ordering: .releasing)
  }

  @_noLocks private borrowing func apply(_ changes: ParameterChanges, _ state: inout VoiceState) {
    let rate = Double(bitPattern: sampleRate.load(ordering: .relaxed))
    state.parameters.apply(changes, sampleRate: rate)
  }

  @_noLocks private borrowing func publish(_ parameters: VoiceParameters) {
    gainNow.store(parameters.gain.bitPattern, ordering: .relaxed)
    rampSecondsNow.store(parameters.rampSeconds.bitPattern, ordering: .relaxed)
    panNow.store(parameters.pan.bitPattern, ordering: .relaxed)
  }

  /// Plays the missed frames, at offsets below 0, unheard, and then those of the cycle.
  @_noLocks private borrowing func play(_ time: CycleTime, _ state: inout VoiceState) -> Bool {
    let frames = time.frames
    let cycleFrame = time.frame
    let isOffline = rendersOffline.load(ordering: .relaxed)
    // Offline nothing is missed: each cycle continues where the voice ended the one before.
    let first = isOffline ? 0 : 0 &- time.missed
    var at = first
    var happened = false
    var position = state.position
    var ran: Int64 = 0
    // Device frame at which `position` was reached: the cycle's first, or that of a run within it.
    var begin = cycleFrame &+ Int64(first)
    cycle: while at < frames || (frames == 0 && isOffline && state.isArmed) {
      switch state.phase {
      case .stopped:
        let start = nextStart.load(ordering: .acquiring)
        if start != .max {
          nextStart.store(.max, ordering: .relaxed)
          state.start = StartPoint(word: start)
          state.phase = .armed
          continue cycle
        }
        if isOffline { break cycle }
        silence(from: at, to: frames)
        at = frames
      case .paused:
        if isOffline { break cycle }
        silence(from: at, to: frames)
        at = frames
      case .armed, .resuming:
        let start = state.start.frame(
          inCycleAt: cycleFrame, frames: frames, from: time.microseconds,
          to: time.nextMicroseconds)
        let wait = start &- (cycleFrame &+ Int64(at))
        if state.keepsStep, start > .min / 4, wait < 0 {
          state.skip &+= Int(0 &- wait)
        }
        if wait < 0 && at < 0 {
          // The run was late before the missed cycles: skip none of its frames.
          at = 0
          continue cycle
        }
        if wait >= Int64(frames &- at) {
          silence(from: at, to: frames)
          at = frames
          continue cycle
        }
        if wait > 0 {
          silence(from: at, to: at &+ Int(wait))
          at &+= Int(wait)
        }
        if case .armed = state.phase {
          guard events.push(Event(.runBegan, frame: cycleFrame &+ Int64(at))) else {
            silence(from: at, to: frames)
            at = frames
            continue cycle
          }
          happened = true
          state.position = 0
          position = 0
          ran = 0
          starving.store(false, ordering: .relaxed)
        }
        begin = cycleFrame &+ Int64(at)
        state.phase = .running
        if state.skip > 0 {
          let skipped = playEntries(
            from: 0 &- state.skip, to: 0, at: begin, runFrame: position, &state, &happened)
          position &+= Int64(skipped)
          unheardFrames.add(UInt64(skipped), ordering: .relaxed)
        }
        state.skip = 0
        state.keepsStep = false
      case .running:
        if at < 0 {
          interruptions.add(1, ordering: .relaxed)
          unheardFrames.add(UInt64(0 &- at), ordering: .relaxed)
        }
        let played = playEntries(
          from: at, to: frames, at: cycleFrame, runFrame: position &+ ran, &state, &happened)
        ran &+= Int64(played)
        if time.isJump, at &+ played > max(0, at) {
          unheardFrames.add(UInt64(at &+ played &- max(0, at)), ordering: .relaxed)
        }
        at &+= played
        if isOffline, at < frames, case .running = state.phase { break cycle }
      }
    }
    if isOffline { rendered.add(at, ordering: .relaxed) }
    clock.publish(frame: begin, ranFrames: ran, position: position)
    state.position = position &+ ran
    if case .stopped = state.phase { state.position = 0 }
    publish(state.parameters)
    if at > 0, metering.load(ordering: .relaxed) { measure(at) }
    return happened
  }

  /// Plays until the cycle or the run ends; offline, also until no entry is queued.
  ///
  /// - Parameter runFrame: Run position at `first`, in device frames.
  /// - Returns: The frames played.
  @_noLocks private borrowing func playEntries(
    from first: Int, to frames: Int, at cycleFrame: Int64, runFrame: Int64,
    _ state: inout VoiceState, _ happened: inout Bool
  ) -> Int {
    var at = first
    while at < frames {
      if state.current == nil {
        // Pop an entry only if the ring has room for both events that it may cause.
        if events.room() >= 2, let entry = entries.pop() {
          starving.store(false, ordering: .relaxed)
          state.hasWaitedInVain = false
          if case .end = entry.kind {
            _ = events.push(
              Event(
                .runEnded, frame: cycleFrame &+ Int64(at),
                position: runFrame &+ Int64(at &- first)))
            happened = true
            state.phase = .stopped
            return at &- first
          }
          state.current = entry
          state.hasBegun = false
          state.offset = 0
        } else if rendersOffline.load(ordering: .relaxed) {
          return at &- first
        } else {
          rest(from: at, to: frames, &state)
          if !starving.load(ordering: .relaxed) {
            starving.store(true, ordering: .relaxed)
            starvations.add(1, ordering: .relaxed)
          }
          starvedFrames.add(UInt64(frames &- at), ordering: .relaxed)
          return frames &- first
        }
      }
      guard let entry = state.current, let source = unsafe entry.source else { return 0 }
      if !state.hasBegun {
        let now = runFrame &+ Int64(at &- first)
        if entry.start > now {
          let end = at &+ Int(min(entry.start &- now, Int64(frames &- at)))
          rest(from: at, to: end, &state)
          at = end
          continue
        }
        apply(entry.changes, &state)
        state.hasBegun = true
      }
      let end = at < 0 ? 0 : frames
      let count = min(end &- at, Int(entry.frames) &- state.offset)
      if at >= 0 {
        let width = Int(entry.layout.bytesPerSample)
        let step = entry.planeFrames == 0 ? width &* Int(entry.layout.channels) : width
        unsafe write(entry, source + state.offset &* step, frames: count, at: at, state)
      }
      state.parameters.advance(count)
      at &+= count
      state.offset &+= count
      if state.offset == Int(entry.frames) {
        state.current = nil
        _ = events.push(Event(.played, token: entry.token, frame: cycleFrame &+ Int64(at)))
        happened = true
      }
    }
    return at &- first
  }

  /// Writes frames of an entry to the ports, with gain and balance.
  @_noLocks private borrowing func write(
    _ entry: Entry, _ source: UnsafeRawPointer, frames: Int, at offset: Int, _ state: VoiceState
  ) {
    let balance = state.parameters.balance
    let level = state.parameters.isRamping ? 1 : state.parameters.gain
    let planeFrames = Int(entry.planeFrames)
    var outputs = channels
    switch channels {
    case 1:
      if state.isSpread {
        unsafe entry.layout.copy(
          source, planeFrames: planeFrames, frames: frames,
          gain: ChannelGain(level * balance.second), to: planes + 1, at: offset)
        outputs = 2
      } else if self.outputs.load(ordering: .relaxed) > 1 {
        unsafe (planes[1] + offset).initialize(repeating: 0, count: frames)
      }
      unsafe entry.layout.copy(
        source, planeFrames: planeFrames, frames: frames,
        gain: ChannelGain(state.isSpread ? level * balance.all : level), to: planes, at: offset)
    case 2:
      unsafe entry.layout.copy(
        source, planeFrames: planeFrames, frames: frames,
        gain: ChannelGain(left: level * balance.all, right: level * balance.second), to: planes,
        at: offset)
    default:
      unsafe entry.layout.copy(
        source, planeFrames: planeFrames, frames: frames, gain: ChannelGain(level), to: planes,
        at: offset)
    }
    if state.parameters.isRamping {
      for output in 0..<outputs {
        unsafe state.parameters.ramp(planes[output] + offset, frames: frames)
      }
    }
  }

  /// Writes silence within a run; ramps continue.
  @_noLocks private borrowing func rest(from first: Int, to end: Int, _ state: inout VoiceState) {
    silence(from: first, to: end)
    state.parameters.advance(end &- first)
  }

  @_noLocks private borrowing func silence(from first: Int, to end: Int) {
    let first = max(first, 0)
    guard first < end else { return }
    for output in 0..<outputs.load(ordering: .relaxed) {
      unsafe (planes[output] + first).initialize(repeating: 0, count: end &- first)
    }
  }

  @_noLocks private borrowing func measure(_ frames: Int) {
    for channel in 0..<channels {
      unsafe meters[channel].measure(planes[channel], frames: frames)
    }
  }
}
