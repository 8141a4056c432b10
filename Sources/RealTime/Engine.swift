package import CRealTime
import Synchronization
package import Timeline

/// The process callback's work for one JACK client.
///
/// Owns no memory and has a fixed address. The control thread replaces the whole process list and
/// frees the old one once `areOver(_:)` reports that no cycle can still read it.
@safe
package struct Engine: ~Copyable {
  private let processList: Atomic<UnsafeMutableRawPointer?>
  private let begun = Atomic<UInt64>(0)
  private let ended = Atomic<UInt64>(0)
  private let clock: CycleClock
  /// First device frame of the cycle that should come next; `Int64.max` before the first one.
  private let nextFrame = Atomic<Int64>(.max)
  /// Frames of the latest cycle; 0 before the first one.
  private let period = Atomic<Int>(0)
  /// The frame counter of the latest cycle.
  private let counter = Atomic<UInt32>(0)
  /// Number of times that the driver's counter restarted.
  private let jumps = Atomic<UInt64>(0)
  /// Number of cycles in a row since the last gap or jump.
  private let steadyCycles = Atomic<UInt64>(0)
  /// Sample rate in Hz that the process list is prepared for; 0 if every rate is accepted.
  private let sampleRate = Atomic<UInt32>(0)
  /// Set once the server runs cycles at another rate than `sampleRate`.
  private let hasOtherRate = Atomic<Bool>(false)
  /// Set while the control thread changes the process list: cycles play and record nothing.
  private let isMuted = Atomic<Bool>(false)
  private let freewheels = Atomic<Bool>(false)
  /// Set while `lacksBuffers` reads the process list between cycles.
  private let isLooking = Atomic<Bool>(false)
  private let signal: UnsafeMutablePointer<cue_signal>
  /// Address of the JACK client whose frame counter is read; 0 if the caller drives the cycles.
  private let client: Atomic<UInt>
  private let transportClock = TransportClock()
  /// Set if cycles read the transport even if they run no graph.
  private let watchesTransport = Atomic<Bool>(false)
  /// Address of the transport state of cycles that the caller drives; 0 if they have none.
  private let callersTransport = Atomic<UInt>(0)
  /// Offset from a driver's counter to device time; nil if the counter is device time itself, as on
  /// jackd.
  private let timeBase: UnsafeMutablePointer<TimeBase>?

  /// Creates an engine whose first cycle continues device time at `anchor`, an instant of both
  /// clocks.
  package init(
    processList: UnsafeMutablePointer<ProcessList>, signal: UnsafeMutablePointer<cue_signal>,
    client: OpaquePointer?, timeBase: UnsafeMutablePointer<TimeBase>? = nil, anchor: TimeAnchor
  ) {
    unsafe self.processList = Atomic(UnsafeMutableRawPointer(processList))
    unsafe self.signal = signal
    self.client = Atomic(UInt(bitPattern: client))
    unsafe self.timeBase = timeBase
    clock = CycleClock(anchor.times)
  }

  // MARK: Control side

  /// The latest cycle's times; the anchor before the first one. Any thread.
  package var times: CycleTimes { clock.read() }

  /// Transport state of the latest cycle that ran a graph, or of the latest one after
  /// `watchTransport()`; nil if there was none. Any thread.
  package var transport: TransportReading? { transportClock.read() }

  /// Lets cycles read the transport even if they run no graph. Any thread.
  package func watchTransport() { watchesTransport.store(true, ordering: .relaxed) }

  /// Sets the transport state of the cycles that the caller drives, which it may change between
  /// cycles; nil for none. The caller owns the memory.
  package func setTransport(_ transport: UnsafeMutablePointer<cue_transport>?) {
    callersTransport.store(UInt(bitPattern: transport), ordering: .releasing)
  }

  /// First device frame of the cycle after the latest; nil before the first one. Any thread.
  package var upcomingFrame: Int64? {
    let frame = nextFrame.load(ordering: .acquiring)
    return frame == .max ? nil : frame
  }

  /// Number of times that the driver's counter restarted. Any thread.
  package var counterJumps: UInt64 { jumps.load(ordering: .acquiring) }

  /// Number of cycles in a row without a gap or a jump. Any thread.
  package var cyclesInARow: UInt64 { steadyCycles.load(ordering: .acquiring) }

  /// True if the server runs cycles at another rate than the one set. Such cycles are silent. Any
  /// thread.
  package var runsAtOtherRate: Bool { hasOtherRate.load(ordering: .acquiring) }

  /// Sets the rate, in Hz, that the process list is prepared for. Cycles at another rate are
  /// silent.
  package func setSampleRate(_ rate: Double) {
    sampleRate.store(UInt32(held: rate.rounded()), ordering: .relaxed)
    hasOtherRate.store(false, ordering: .releasing)
  }

  /// Mutes or unmutes cycles that begin from now on. A muted cycle runs no voice, recorder or node,
  /// and writes silence to their ports.
  package func setMuted(_ on: Bool) { isMuted.store(on, ordering: .sequentiallyConsistent) }

  /// Sets whether the server freewheels, so that cycles may wait for the app's callbacks.
  package func setFreewheeling(_ on: Bool) { freewheels.store(on, ordering: .relaxed) }

  /// Returns true if the server freewheels and a voice would run out of entries, a recorder out of
  /// spaces, or MIDI inputs out of room, in a cycle of `frames` frames. Call it on the process thread, before the cycle.
  ///
  /// - Parameter givingUp: If true, the answer is false from now on, until the app enqueues another
  ///   buffer.
  @_noLocks package borrowing func lacksBuffers(for frames: UInt32, givingUp: Bool) -> Bool {
    guard freewheels.load(ordering: .relaxed), !isMuted.load(ordering: .relaxed) else {
      return false
    }
    isLooking.store(true, ordering: .sequentiallyConsistent)
    var isLacking = false
    if let processList = unsafe self.processList.load(ordering: .sequentiallyConsistent) {
      let processList = unsafe processList.assumingMemoryBound(to: ProcessList.self).pointee
      for i in 0..<processList.count
      where unsafe processList.voices[i].pointee.lacksEntries(for: Int(frames)) {
        if givingUp { unsafe processList.voices[i].pointee.noteVainWait() }
        isLacking = true
      }
      if let recorders = unsafe processList.recorders {
        for i in 0..<processList.recorderCount
        where unsafe recorders[i].pointee.lacksSpaces(for: Int(frames)) {
          if givingUp { unsafe recorders[i].pointee.noteVainWait() }
          isLacking = true
        }
      }
      if processList.midi.lacksRoom(givingUp: givingUp) { isLacking = true }
    }
    isLooking.store(false, ordering: .sequentiallyConsistent)
    return isLacking && !givingUp
  }

  /// Replaces the process list, effective with the next cycle. Call from one control thread at a
  /// time.
  package func swap(_ processList: UnsafeMutablePointer<ProcessList>) {
    unsafe self.processList.store(
      UnsafeMutableRawPointer(processList), ordering: .sequentiallyConsistent)
  }

  /// Number of cycles that have begun, for `areOver`.
  package var cyclesBegun: UInt64 { begun.load(ordering: .sequentiallyConsistent) }

  /// Returns true once the first `count` cycles are over. Every later cycle sees all changes made
  /// before `count` was read, and none reads what they removed.
  package func areOver(_ count: UInt64) -> Bool {
    ended.load(ordering: .sequentiallyConsistent) >= count
      && !isLooking.load(ordering: .sequentiallyConsistent)
  }

  /// Switches to another client. Device time continues at `anchor`, and the frames in between do
  /// not count as missed. Precondition: no cycle is running; a cycle of the old client that started
  /// but never returned counts as finished.
  package func rebase(client: OpaquePointer?, anchor: TimeAnchor) {
    self.client.store(UInt(bitPattern: client), ordering: .relaxed)
    transportClock.clear()
    continueTime(at: anchor)
    ended.store(cyclesBegun, ordering: .sequentiallyConsistent)
    isLooking.store(false, ordering: .sequentiallyConsistent)
  }

  /// Continues device time at `anchor` with the next cycle. Precondition: no cycle is running.
  package func continueTime(at anchor: TimeAnchor) {
    clock.publish(anchor.times)
    nextFrame.store(.max, ordering: .releasing)
    period.store(0, ordering: .relaxed)
    steadyCycles.store(0, ordering: .relaxed)
  }

  // MARK: The cycle

  /// Number of voices whose state the caches are expected to keep from one cycle to the next.
  private static let mostCachedVoices = 64

  /// Runs one cycle of `frames` frames.
  ///
  /// - Parameter atOtherRate: True if the process list is not prepared for the server's rate: the
  ///   cycle is silent.
  @_noLocks package borrowing func cycle(
    _ frames: UInt32, _ begin: cue_cycle_time, atOtherRate: Bool = false
  ) {
    let number = begun.add(1, ordering: .sequentiallyConsistent).newValue
    let isMute = isMuted.load(ordering: .sequentiallyConsistent) || atOtherRate
    let time = advance(Int(frames), begin, isMute: isMute)
    var happened = atOtherRate
    if let processList = unsafe self.processList.load(ordering: .sequentiallyConsistent) {
      let processList = unsafe processList.assumingMemoryBound(to: ProcessList.self).pointee
      // A voice may write to a graph's source, which has memory for no more frames.
      let isTooLong = unsafe processList.graph != nil && time.frames > GraphCycle.longestCycle
      let count = isTooLong ? 0 : processList.count
      // The processor's caches keep a small number of voices from one cycle to the next, but not a large one: then
      // the memory of the next voices is fetched while this one plays.
      let isCold = count > Self.mostCachedVoices
      for i in 0..<count {
        if isCold {
          // Each of these reads what the one above it has fetched.
          if i &+ 6 < count {
            unsafe cue_rt_prefetch(processList.voices[i &+ 6], MemoryLayout<Voice>.size)
          }
          if i &+ 4 < count { unsafe processList.voices[i &+ 4].pointee.prefetchState() }
          if i &+ 2 < count { unsafe processList.voices[i &+ 2].pointee.prefetchSound() }
        }
        if unsafe processList.voices[i].pointee.cycle(time) { happened = true }
      }
      var transport: cue_transport?
      if unsafe processList.graph != nil || watchesTransport.load(ordering: .relaxed) {
        transport = transportOfCycle()
        if let transport, transportClock.publish(transport, at: time.frame) { happened = true }
      }
      if let graph = unsafe processList.graph {
        unsafe graph.pointee.setFreewheeling(freewheels.load(ordering: .relaxed))
        if unsafe graph.pointee.cycle(
          frames: time.frames, at: time.frame, transport: transport,
          microseconds: time.microseconds, nextMicroseconds: time.nextMicroseconds, isMute: isMute)
        {
          happened = true
        }
      }
      if let recorders = unsafe processList.recorders {
        for i in 0..<processList.recorderCount {
          if unsafe recorders[i].pointee.cycle(time) { happened = true }
        }
      }
      if processList.midi.cycle(time) { happened = true }
    }
    // A thread that reads this acquires all writes of the cycle. Nothing after it needs to wait for
    // the store.
    ended.store(number, ordering: .releasing)
    if happened { unsafe cue_rt_signal_post(signal) }
  }

  /// Returns the transport state at the cycle's first frame: JACK's, or the caller's.
  @_noLocks private borrowing func transportOfCycle() -> cue_transport? {
    if let client = unsafe OpaquePointer(bitPattern: client.load(ordering: .relaxed)) {
      return unsafe cue_rt_transport(client)
    }
    let address = callersTransport.load(ordering: .acquiring)
    return unsafe UnsafePointer<cue_transport>(bitPattern: address)?.pointee
  }

  /// Advances device time to the cycle that begins at `begin`.
  @_noLocks private borrowing func advance(
    _ frames: Int, _ begin: cue_cycle_time, isMute: Bool
  ) -> CycleTime {
    let before = clock.latest
    let next = nextFrame.load(ordering: .relaxed)
    // Only cycles write these counters: loads and stores, where a read-modify-write operation would
    // lock the cache line.
    let period = self.period.load(ordering: .relaxed)
    self.period.store(frames, ordering: .relaxed)
    let first: Int64
    var missed: Int64 = 0
    var isJump = false
    if let timeBase = unsafe timeBase {
      let step = Int64(Int32(bitPattern: begin.counter &- counter.load(ordering: .relaxed)))
      if next == .max {
        let expected = before.nextFrame &+ elapsed(since: before, to: begin)
        first = unsafe timeBase.pointee.rebase(
          begin.counter, to: expected, tolerance: 2 &* Int64(frames))
        note(isJump: false)
      } else if step == 0 {
        // PipeWire 0.3.65 repeats the old driver's time in a cycle while it moves a client.
        first = before.frame
        steadyCycles.store(0, ordering: .releasing)
      } else if step == Int64(period) {
        first = next
        countSteadyCycle()
      } else {
        let passed = max(0, elapsed(since: before, to: begin))
        let skipped = step &- Int64(period)
        let tolerance = Int64(max(frames, period))
        if skipped > 0, abs(skipped &- passed) <= tolerance {
          first = unsafe timeBase.pointee.frame(of: begin.counter, near: next &+ skipped)
          note(isJump: false)
        } else {
          first = unsafe timeBase.pointee.rebase(
            begin.counter, to: next &+ passed, tolerance: tolerance)
          isJump = true
          note(isJump: true)
        }
        missed = max(0, first &- next)
      }
      counter.store(begin.counter, ordering: .relaxed)
    } else {
      first = DeviceTime.widen(begin.counter, near: before.frame)
      // When the period changes, jackd counts the cycle before as if it had been of the new length.
      let recounted = period == 0 ? 0 : Int64(frames &- period)
      missed = next == .max ? 0 : max(0, first &- next &- recounted)
      if missed == 0 {
        countSteadyCycle()
      } else {
        note(isJump: false)
      }
    }
    let isRepeated = next != .max && first == before.frame
    let shift = next == .max || isRepeated ? 0 : first &- next &- missed
    nextFrame.store(first &+ Int64(frames), ordering: .releasing)
    let times = times(of: begin, at: first, frames: frames, after: before)
    clock.publish(times)
    return CycleTime(
      frames: frames, frame: first, missed: Int(missed), shift: shift, isJump: isJump,
      isMute: isMute, microseconds: times.microseconds, nextMicroseconds: times.nextMicroseconds)
  }

  /// Returns the times of the cycle that begins at device frame `frame`.
  ///
  /// A server may fail to tell them, or tell a length of 0, as after an xrun. Then the cycle follows
  /// the one before at the nominal rate.
  @_noLocks private borrowing func times(
    of begin: cue_cycle_time, at frame: Int64, frames: Int, after before: CycleTimes
  ) -> CycleTimes {
    var times = CycleTimes(
      frame: frame, nextFrame: frame &+ Int64(frames), microseconds: begin.microseconds,
      nextMicroseconds: begin.next_microseconds)
    let rate = Int64(sampleRate.load(ordering: .relaxed))
    if times.nextMicroseconds > times.microseconds || rate == 0 { return times }
    if times.microseconds == 0 {
      // Cycles that no server drives, as in offline rendering, have no times.
      if before.nextMicroseconds == 0 { return times }
      let skipped = (frame &- before.nextFrame) &* 1_000_000 / rate
      times.microseconds = UInt64(max(1, Int64(before.nextMicroseconds) &+ skipped))
    }
    let length = (UInt64(frames) &* 1_000_000 &+ UInt64(rate) / 2) / UInt64(rate)
    times.nextMicroseconds = times.microseconds &+ length
    return times
  }

  /// Returns the frames that the monotonic clock counts from the predicted end of `before` to `begin`.
  @_noLocks private borrowing func elapsed(since before: CycleTimes, to begin: cue_cycle_time)
    -> Int64
  {
    if begin.microseconds == 0 || before.nextMicroseconds == 0 { return 0 }
    let microseconds = Int64(bitPattern: begin.microseconds &- before.nextMicroseconds)
    return microseconds &* Int64(sampleRate.load(ordering: .relaxed)) / 1_000_000
  }

  @_noLocks private borrowing func countSteadyCycle() {
    let count = steadyCycles.load(ordering: .relaxed)
    steadyCycles.store(count &+ 1, ordering: .releasing)
  }

  @_noLocks private borrowing func note(isJump: Bool) {
    if isJump { jumps.add(1, ordering: .releasing) }
    steadyCycles.store(0, ordering: .releasing)
  }

  /// Runs one JACK cycle.
  @_noLocks borrowing func cycle(_ frames: UInt32) {
    cue_rt_enter()
    cue_rt_flush_denormals()
    if let client = unsafe OpaquePointer(bitPattern: client.load(ordering: .relaxed)) {
      var time = unsafe cue_rt_cycle_time(client)
      let rate = unsafe cue_rt_sample_rate(client)
      let expectedRate = sampleRate.load(ordering: .relaxed)
      let isOther = expectedRate != 0 && rate != 0 && rate != expectedRate
      if isOther { hasOtherRate.store(true, ordering: .releasing) }
      if unsafe timeBase != nil, rate > 0, time.next_microseconds > 0 {
        // PipeWire's wake-up time jitters; its prediction of the next one does not.
        let length = (UInt64(frames) &* 1_000_000 &+ UInt64(rate) / 2) / UInt64(rate)
        time.microseconds = time.next_microseconds &- length
      }
      cycle(frames, time, atOtherRate: isOther)
    }
    cue_rt_leave()
  }
}

/// JACK's process callback. `argument` is an `Engine`. Process thread.
@_noLocks package func process(_ frames: UInt32, _ argument: UnsafeMutableRawPointer?) -> CInt {
  guard let argument = unsafe argument else { return 0 }
  unsafe argument.assumingMemoryBound(to: Engine.self).pointee.cycle(frames)
  return 0
}
