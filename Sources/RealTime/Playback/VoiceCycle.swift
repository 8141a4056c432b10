import CRealTime
import Synchronization
import Timeline

/// The process thread's half of a voice: it plays the entries of one cycle.
extension Voice {
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

  /// Fetches the voice's state, its first port and that port's buffer address into the cache.
  @_noLocks borrowing func prefetchState() {
    unsafe cue_rt_prefetch(state, MemoryLayout<VoiceState>.size)
    unsafe cue_rt_prefetch(ports, MemoryLayout<cue_port>.size)
    unsafe cue_rt_prefetch(planes, MemoryLayout<UnsafeMutablePointer<Float>>.size)
  }

  /// Fetches the first samples that the voice will play in this cycle into the cache, and the begin of its port's
  /// buffer, which JACK mostly leaves where it was in the cycle before.
  @_noLocks borrowing func prefetchSound() {
    // While the voice is held, the control thread changes its state.
    if held.load(ordering: .sequentiallyConsistent) { return }
    unsafe cue_rt_prefetch(planes[0], 256)
    guard let entry = unsafe state.pointee.current, let source = unsafe entry.source else { return }
    let width = Int(entry.layout.bytesPerSample)
    let step = entry.planeFrames == 0 ? width &* Int(entry.layout.channels) : width
    unsafe cue_rt_prefetch(source + state.pointee.offset &* step, 256)
  }

  /// Plays one cycle.
  ///
  /// A run skips the frames that the client missed, so that it stays aligned with all others. JACK
  /// may call a late client twice for one cycle: the ports hold that cycle already.
  ///
  /// - Returns: True if the event thread has events to read.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    let frames = time.frames
    let outputs = channels == 1 && secondPort.isOpen ? 2 : channels
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
    return unsafe cycle(time, outputs, &state.pointee)
  }

  /// Plays one cycle into the planes. Changes the state in place: copies of it would take longer than
  /// the conversion of a short cycle.
  @_noLocks private borrowing func cycle(
    _ time: CycleTime, _ outputs: Int, _ state: inout VoiceState
  ) -> Bool {
    if rendersOffline.load(ordering: .relaxed) {
      // An offline cycle that found no entries comes again.
    } else if state.cycleFrame == time.frame {
      return false
    } else if time.frames > 0 {
      state.cycleFrame = time.frame
    }
    takeChanges(&state)
    if outputs > channels && !state.isSpread {
      if let connections = secondPort.connectionsLeft {
        state.isSpread = unsafe cue_rt_port_connections(ports[0]) <= connections
      }
    }
    let happened = play(time, &state)
    let gain = CycleGain(deviceGain.load(ordering: .relaxed), time.frames, &state.deviceGain)
    scale(gain, from: 0, to: time.frames)
    return happened
  }

  /// A gain that changes over a cycle in a straight line.
  private struct CycleGain {
    let before: Float
    let after: Float
    let frames: Int

    /// - Parameters:
    ///   - bits: The gain at the end of the cycle.
    ///   - frames: Frames of the cycle.
    ///   - present: The gain at its beginning; not a number if there was no cycle before. It becomes that at the
    ///     end.
    @_noLocks init(_ bits: UInt32, _ frames: Int, _ present: inout Float) {
      after = Float(bitPattern: bits)
      before = present.isNaN ? after : present
      self.frames = frames
      present = after
    }

    /// Returns the gain behind `count` frames of the cycle.
    @_noLocks func after(_ count: Int) -> Float {
      count == frames ? after : before + (after - before) * (Float(count) / Float(frames))
    }
  }

  /// Applies a gain to a part of the ports' frames. A gain of 1 leaves them as they are, and offline there is
  /// none.
  @_noLocks private borrowing func scale(_ gain: CycleGain, from first: Int, to end: Int) {
    if gain.before == 1 && gain.after == 1 || first >= end
      || rendersOffline.load(ordering: .relaxed)
    {
      return
    }
    for output in 0..<outputs.load(ordering: .relaxed) {
      unsafe RealTime.scale(
        planes[output] + first, end &- first, from: gain.after(first), to: gain.after(end))
    }
  }

  @_noLocks borrowing func takeChanges(_ state: inout VoiceState) {
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

  /// How far a cycle has come.
  private struct Progress {
    /// The next frame of the cycle; below 0 while missed frames are played, unheard.
    var at: Int
    /// Device frame at which the run had reached `position`: the cycle's first, or that of a run within it.
    var begin: Int64
    var position: Int64
    /// Frames that the run has gone on from `position`.
    var ran: Int64 = 0
    let gain: CycleGain
    /// True if the event thread has events to read.
    var happened = false
  }

  /// Plays the missed frames, at offsets below 0, unheard, and then those of the cycle.
  @_noLocks private borrowing func play(_ time: CycleTime, _ state: inout VoiceState) -> Bool {
    let isOffline = rendersOffline.load(ordering: .relaxed)
    // Offline nothing is missed: each cycle continues where the voice ended the one before.
    let first = isOffline ? 0 : 0 &- time.missed
    var progress = Progress(
      at: first, begin: time.frame &+ Int64(first), position: state.position,
      gain: CycleGain(outputGain.load(ordering: .relaxed), time.frames, &state.outputGain))
    var goesOn = true
    while goesOn,
      progress.at < time.frames || (time.frames == 0 && isOffline && state.isArmed)
    {
      switch state.phase {
      case .stopped where takeStart(&state): break
      case .stopped, .paused:
        // Offline a cycle ends where the sound does.
        goesOn = !isOffline
        if goesOn { stay(to: time.frames, &progress) }
      case .armed, .resuming: begin(time, &progress, &state)
      case .running:
        run(time, &progress, &state)
        if isOffline, case .running = state.phase { goesOn = false }
      }
    }
    if isOffline { rendered.add(progress.at, ordering: .relaxed) }
    publish(progress, &state)
    return progress.happened
  }

  /// Takes the start that the control thread has set, if any.
  @_noLocks private borrowing func takeStart(_ state: inout VoiceState) -> Bool {
    let start = nextStart.load(ordering: .acquiring)
    if start == .max { return false }
    nextStart.store(.max, ordering: .relaxed)
    state.start = StartPoint(word: start)
    state.phase = .armed
    return true
  }

  /// Writes silence up to a frame of the cycle.
  @_noLocks private borrowing func stay(to end: Int, _ progress: inout Progress) {
    silence(from: progress.at, to: end)
    progress.at = end
  }

  /// Stays silent up to the start of the run, or up to where it goes on, and begins it if that lies in the cycle.
  @inline(__always) @_noLocks private borrowing func begin(
    _ time: CycleTime, _ progress: inout Progress, _ state: inout VoiceState
  ) {
    let start = state.start.frame(
      inCycleAt: time.frame, frames: time.frames, from: time.microseconds,
      to: time.nextMicroseconds)
    let wait = start &- (time.frame &+ Int64(progress.at))
    if state.keepsStep, start > .min / 4, wait < 0 {
      state.skip &+= Int(0 &- wait)
    }
    if wait < 0 && progress.at < 0 {
      // The run was late before the missed cycles: skip none of its frames.
      progress.at = 0
      return
    }
    if wait >= Int64(time.frames &- progress.at) { return stay(to: time.frames, &progress) }
    if wait > 0 { stay(to: progress.at &+ Int(wait), &progress) }
    let begin = time.frame &+ Int64(progress.at)
    if case .armed = state.phase {
      guard events.push(Event(.runBegan, frame: begin)) else {
        return stay(to: time.frames, &progress)
      }
      progress.happened = true
      state.position = 0
      progress.position = 0
      progress.ran = 0
      starving.store(false, ordering: .relaxed)
    }
    progress.begin = begin
    state.phase = .running
    if state.skip > 0 {
      let skipped = playEntries(
        from: 0 &- state.skip, to: 0, at: begin, runFrame: progress.position, &state,
        &progress.happened)
      progress.position &+= Int64(skipped)
      unheardFrames.add(UInt64(skipped), ordering: .relaxed)
    }
    state.skip = 0
    state.keepsStep = false
  }

  /// Plays entries up to the end of the cycle or of the run, and counts the frames that are not heard.
  @inline(__always) @_noLocks private borrowing func run(
    _ time: CycleTime, _ progress: inout Progress, _ state: inout VoiceState
  ) {
    let at = progress.at
    let starved = starvedFrames.load(ordering: .relaxed)
    let played = playEntries(
      from: at, to: time.frames, at: time.frame, runFrame: progress.position &+ progress.ran,
      &state, &progress.happened)
    progress.ran &+= Int64(played)
    progress.at = at &+ played
    scale(progress.gain, from: max(0, at), to: progress.at)
    tapFrames(from: at, to: progress.at)
    if at < 0 {
      interruptions.add(1, ordering: .relaxed)
      unheardFrames.add(UInt64(min(0 &- at, played)), ordering: .relaxed)
    }
    let heard = progress.at &- max(0, at)
    if time.isJump, heard > 0 {
      // Silence that no entry filled counts as such.
      let silent = starvedFrames.load(ordering: .relaxed) &- starved
      unheardFrames.add(UInt64(heard) &- silent, ordering: .relaxed)
    }
  }

  /// Tells other threads where the cycle has ended.
  @inline(__always) @_noLocks private borrowing func publish(
    _ progress: Progress, _ state: inout VoiceState
  ) {
    clock.publish(frame: progress.begin, ranFrames: progress.ran, position: progress.position)
    playedFrames.store(state.playedFrames, ordering: .relaxed)
    state.position = progress.position &+ progress.ran
    if case .stopped = state.phase { state.position = 0 }
    publish(state.parameters)
    if progress.at > 0, metering.load(ordering: .relaxed) { measure(progress.at) }
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
          // Frames before the cycle's first are unheard, whether an entry holds them or not.
          starvedFrames.add(UInt64(max(0, frames &- max(0, at))), ordering: .relaxed)
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
      state.playedFrames &+= UInt64(count)
      if entry.tellsProgress { happened = true }
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
        gain: ChannelGain(state.isSpread ? level * balance.others : level), to: planes, at: offset)
    case 2:
      unsafe entry.layout.copy(
        source, planeFrames: planeFrames, frames: frames,
        gain: ChannelGain(left: level * balance.others, right: level * balance.second), to: planes,
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
    if channels == 1, outputs.load(ordering: .relaxed) > 1 {
      return unsafe meters[0].measure(planes[0], planes[1], frames: frames)
    }
    for channel in 0..<channels {
      unsafe meters[channel].measure(planes[channel], frames: frames)
    }
  }
}
