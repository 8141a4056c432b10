package import CRealTime
package import Synchronization
package import Timeline

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
  /// Frames of entries that have been played.
  package let playedFrames = Atomic<UInt64>(0)
  /// Frames of silence played because no entry was queued.
  package let starvedFrames = Atomic<UInt64>(0)
  /// Number of times that a run began such a silence.
  package let starvations = Atomic<UInt64>(0)
  /// Number of times that the client missed cycles during a run.
  package let interruptions = Atomic<UInt64>(0)
  /// Frames of runs that passed unheard because the client missed cycles or the server went away, and
  /// of cycles in which the driver's counter restarted.
  package let unheardFrames = Atomic<UInt64>(0)

  let held = Atomic<Bool>(false)
  package let changes: ParameterRing
  /// Number of changes popped from the ring; the next three are the parameters after the latest
  /// cycle.
  let changesTaken = Atomic<UInt64>(0)
  let gainNow = Atomic<UInt32>(Float(1).bitPattern)
  let rampSecondsNow = Atomic<UInt32>(0)
  let panNow = Atomic<UInt32>(0)
  /// The device's sample rate in Hz, as the bits of a Double.
  let sampleRate = Atomic<UInt64>(Double(48_000).bitPattern)
  /// Gain of the output and of the device, as the bits of a Float.
  let outputGain = Atomic<UInt32>(Float(1).bitPattern)
  let deviceGain = Atomic<UInt32>(Float(1).bitPattern)
  package let secondPort = SecondPort()
  let metering = Atomic<Bool>(false)
  /// Address of the `SampleTap` that gets the frames of runs; nil for none.
  private let tap: Atomic<UnsafeMutableRawPointer?>
  let rendersOffline = Atomic<Bool>(false)
  /// Frames that cycles rendered offline and that `takeRendered()` has not returned yet.
  let rendered = Atomic<Int>(0)
  /// The `StartPoint` of a run that begins when the current run has ended; `Int64.max` for none.
  let nextStart = Atomic<Int64>(.max)

  let channels: Int
  let ports: UnsafeMutablePointer<cue_port>
  let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let meters: UnsafeMutablePointer<MeterSlot>
  let state: UnsafeMutablePointer<VoiceState>
  let starving = Atomic<Bool>(false)
  /// Number of ports that the current cycle writes. A second port that opens during a cycle waits
  /// for the next.
  let outputs: Atomic<Int>

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
    unsafe tap = Atomic(nil)
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

  /// Sets a gain beside the voice's volume, which meters and taps include. It changes within one cycle, in a
  /// straight line.
  package func setOutputGain(_ gain: Float) {
    outputGain.store(gain.bitPattern, ordering: .relaxed)
  }

  /// Sets the gain of the device, with which the voice's samples are multiplied last, behind meters and
  /// taps. It changes within one cycle, in a straight line.
  package func setDeviceGain(_ gain: Float) {
    deviceGain.store(gain.bitPattern, ordering: .relaxed)
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
  /// Returns the number of a channel's samples at full scale so far.
  package func clippedSamples(ofChannel channel: Int) -> UInt64 {
    unsafe meters[channel].clippedSamples
  }
  /// Lets later cycles copy the frames of runs into a ring, which must outlive the voice.
  package func setTap(_ tap: UnsafeMutablePointer<SampleTap>) {
    unsafe self.tap.store(UnsafeMutableRawPointer(tap), ordering: .releasing)
  }
  /// Copies frames of a run that are in the ports. Process thread.
  @_noLocks borrowing func tapFrames(from first: Int, to end: Int) {
    guard let tap = unsafe tap.load(ordering: .acquiring) else { return }
    let isSpread = channels == 1 && outputs.load(ordering: .relaxed) > 1
    unsafe tap.assumingMemoryBound(to: SampleTap.self).pointee.write(
      planes, from: max(first, 0), to: end, isSpread: isSpread)
  }

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
    secondPort.close()
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
    unsafe state.pointee.position = Int64(held: Double(state.pointee.position) * ratio + 0.5)
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
}
