package import CRealTime
package import Synchronization
package import Timeline

/// The level of one channel, written by the cycle while metering is on.
package struct MeterCell: ~Copyable {
  private let peak = Atomic<UInt32>(0)
  private let rms = Atomic<UInt32>(0)
  package init() {}

  /// The cycle: `peak` is held until it is taken, `rms` is the latest.
  @_noLocks borrowing func put(peak: Float, rms: Float) {
    // Positive floats are ordered as their bit patterns.
    if peak.bitPattern > self.peak.load(ordering: .relaxed) {
      self.peak.store(peak.bitPattern, ordering: .relaxed)
    }
    self.rms.store(rms.bitPattern, ordering: .relaxed)
  }

  /// Any thread: the highest sample since the last call and the latest RMS, 1 is full scale.
  package borrowing func take() -> (peak: Float, rms: Float) {
    (
      Float(bitPattern: peak.exchange(0, ordering: .relaxed)),
      Float(bitPattern: rms.load(ordering: .relaxed))
    )
  }
}

/// What a voice is doing. The cycle's own, or the host's while it holds the voice.
@safe
struct VoiceState: BitwiseCopyable {
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
  /// Device frames since the run began.
  var position: Int64 = 0
  var current: Entry?
  /// Frames of `current` that have left.
  var offset = 0
  /// First device frame of the latest cycle that was played.
  var cycleFrame = Int64.min
}

/// One queue in the cycle: takes entries from a ring and writes them to its ports.
///
/// The host works on a voice in two ways: through the rings and the atomics at any time, and
/// through the functions marked "holding the voice" after `hold()` and once no cycle is under way
/// (`Engine.areOver`). A held voice is silent; nothing that is played needs it held.
@safe
package struct Voice: ~Copyable {
  /// To the cycle.
  package let entries: EntryRing
  /// From the cycle.
  package let events: EventRing
  package let clock = VoiceClock()
  /// Frames of silence that were played because nothing was there.
  package let starvedFrames = Atomic<UInt64>(0)
  /// How often that began.
  package let starvations = Atomic<UInt64>(0)

  private let held = Atomic<Bool>(false)
  private let gain = Atomic<UInt32>(Float(1).bitPattern)
  private let metering = Atomic<Bool>(false)
  /// The `StartPoint` of a run that begins when the present one has ended; `Int64.max` is never.
  private let nextStart = Atomic<Int64>(.max)

  private let channels: Int
  private let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterCell>
  private let state: UnsafeMutablePointer<VoiceState>
  private let starving = Atomic<Bool>(false)

  /// A voice in memory that it is given and does not own; each array has `channels` elements.
  package init(
    entries: consuming EntryRing, events: consuming EventRing, channels: Int,
    ports: UnsafeMutablePointer<cue_port>,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    meters: UnsafeMutablePointer<MeterCell>, state: UnsafeMutableRawPointer
  ) {
    self.entries = entries
    self.events = events
    self.channels = channels
    unsafe self.ports = ports
    unsafe self.planes = planes
    unsafe self.meters = meters
    unsafe self.state = state.initializeMemory(as: VoiceState.self, to: VoiceState())
  }

  /// Bytes that `init` wants for `state`.
  package static var stateBytes: Int { MemoryLayout<VoiceState>.size }

  // MARK: Host, any thread

  /// The factor on every sample, from the next cycle on.
  package func setGain(_ gain: Float) { self.gain.store(gain.bitPattern, ordering: .relaxed) }
  package func setMetering(_ on: Bool) { metering.store(on, ordering: .relaxed) }
  package func takeLevel(ofChannel channel: Int) -> (peak: Float, rms: Float) {
    unsafe meters[channel].take()
  }

  /// Has a run begin at `start` when the present one has ended.
  package func startAfterEnd(at start: StartPoint) {
    nextStart.store(start.word, ordering: .releasing)
  }

  /// Keeps cycles that begin from now on out of the voice.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  /// Lets cycles in again.
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  // MARK: Host, holding the voice

  /// Begins a run at `start`, or goes on with a paused one.
  package func start(at start: StartPoint) {
    unsafe state.pointee.start = start
    switch unsafe state.pointee.phase {
    case .stopped:
      // It takes the place of one that was to follow the run that is over.
      nextStart.store(.max, ordering: .relaxed)
      unsafe state.pointee.phase = .armed
    case .armed: break
    case .paused, .resuming: unsafe state.pointee.phase = .resuming
    case .running: break
    }
  }

  /// Keeps the run where it stands; one that has not begun waits for another start.
  package func pause() {
    switch unsafe state.pointee.phase {
    case .running, .resuming: unsafe state.pointee.phase = .paused
    case .armed: unsafe state.pointee.phase = .stopped
    case .stopped: nextStart.store(.max, ordering: .relaxed)
    case .paused: break
    }
    stand()
  }

  /// Ends the run and forgets every entry; no event comes for them.
  package func stop() {
    unsafe state.pointee.phase = .stopped
    unsafe state.pointee.position = 0
    nextStart.store(.max, ordering: .relaxed)
    forgetEntries()
    stand()
  }

  /// Forgets every entry; no event comes for them. The run goes on.
  package func forgetEntries() {
    unsafe state.pointee.current = nil
    unsafe state.pointee.offset = 0
    while entries.pop() != nil {}
  }

  private func stand() {
    let reading = clock.read()
    clock.publish(
      cycleFrame: reading.cycleFrame, ranFrames: 0, position: unsafe state.pointee.position)
  }

  // MARK: The cycle

  /// Plays one cycle.
  ///
  /// A run goes on as if the missed frames had been heard, so that it keeps in step with all others.
  /// A client that was late may also be called twice for one cycle: its ports hold that already.
  ///
  /// - Returns: True if there are events to be read.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    let frames = time.frames
    for channel in 0..<channels {
      guard let plane = unsafe cue_rt_port_buffer(ports[channel], UInt32(frames)) else {
        return false
      }
      unsafe planes[channel] = plane
    }
    if held.load(ordering: .sequentiallyConsistent) {
      silence(from: 0, to: frames)
      return false
    }
    var state = unsafe self.state.pointee
    if state.cycleFrame == time.frame { return false }
    state.cycleFrame = time.frame
    let happened = play(time, &state)
    unsafe self.state.pointee = state
    return happened
  }

  /// Frames below 0 are played to nobody.
  @_noLocks private borrowing func play(_ time: CycleTime, _ state: inout VoiceState) -> Bool {
    let frames = time.frames
    let cycleFrame = time.frame
    let first = 0 &- time.missed
    var at = first
    var happened = false
    var position = state.position
    var ran: Int64 = 0
    cycle: while at < frames {
      switch state.phase {
      case .stopped:
        let start = nextStart.load(ordering: .acquiring)
        if start != .max {
          nextStart.store(.max, ordering: .relaxed)
          state.start = StartPoint(word: start)
          state.phase = .armed
          continue cycle
        }
        silence(from: at, to: frames)
        at = frames
      case .paused:
        silence(from: at, to: frames)
        at = frames
      case .armed, .resuming:
        let start = state.start.frame(
          inCycleAt: cycleFrame, frames: frames, from: time.microseconds,
          to: time.nextMicroseconds)
        let wait = start &- (cycleFrame &+ Int64(at))
        if wait < 0 && at < 0 {
          // It was late before the missed cycles: nothing of it is to be skipped.
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
        state.phase = .running
      case .running:
        let played = playEntries(from: at, to: frames, at: cycleFrame, &state, &happened)
        ran &+= Int64(played)
        at &+= played
      }
    }
    clock.publish(cycleFrame: cycleFrame &+ Int64(first), ranFrames: ran, position: position)
    state.position = position &+ ran
    if case .stopped = state.phase { state.position = 0 }
    if metering.load(ordering: .relaxed) { measure(frames) }
    return happened
  }

  /// Plays until the cycle or the run ends.
  ///
  /// - Returns: The frames written.
  @_noLocks private borrowing func playEntries(
    from first: Int, to frames: Int, at cycleFrame: Int64, _ state: inout VoiceState,
    _ happened: inout Bool
  ) -> Int {
    let gain = Float(bitPattern: self.gain.load(ordering: .relaxed))
    var at = first
    while at < frames {
      if state.current == nil {
        // An entry is taken only if both events that it may lead to have room.
        if events.room() >= 2, let entry = entries.pop() {
          starving.store(false, ordering: .relaxed)
          if case .end = entry.kind {
            _ = events.push(Event(.runEnded, frame: cycleFrame &+ Int64(at)))
            happened = true
            state.phase = .stopped
            return at &- first
          }
          state.current = entry
          state.offset = 0
        } else {
          silence(from: at, to: frames)
          if !starving.load(ordering: .relaxed) {
            starving.store(true, ordering: .relaxed)
            starvations.add(1, ordering: .relaxed)
          }
          starvedFrames.add(UInt64(frames &- at), ordering: .relaxed)
          return frames &- first
        }
      }
      guard let entry = state.current, let source = unsafe entry.source else { return 0 }
      let end = at < 0 ? 0 : frames
      let count = min(end &- at, Int(entry.frames) &- state.offset)
      if at >= 0 {
        let width = Int(entry.layout.bytesPerSample)
        let step = entry.planeFrames == 0 ? width &* Int(entry.layout.channels) : width
        unsafe entry.layout.copy(
          source + state.offset &* step, planeFrames: Int(entry.planeFrames), frames: count,
          gain: gain, to: planes, at: at)
      }
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

  @_noLocks private borrowing func silence(from first: Int, to end: Int) {
    let first = max(first, 0)
    guard first < end else { return }
    for channel in 0..<channels {
      unsafe (planes[channel] + first).initialize(repeating: 0, count: end &- first)
    }
  }

  @_noLocks private borrowing func measure(_ frames: Int) {
    for channel in 0..<channels {
      let plane = unsafe planes[channel]
      var peak: Float = 0
      var power: Float = 0
      for i in 0..<frames {
        let sample = unsafe plane[i]
        peak = max(peak, abs(sample))
        power += sample * sample
      }
      unsafe meters[channel].put(peak: peak, rms: cue_rt_sqrt(power / Float(frames)))
    }
  }
}
