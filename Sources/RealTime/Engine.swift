package import CRealTime
import Synchronization
package import Timeline

/// The voices that a cycle plays, in order, the graph that it runs after them, and the recorders that it
/// fills. Never changed once a cycle can see it.
@safe
package struct Roster: BitwiseCopyable {
  let voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
  let count: Int
  let recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>?
  let recorderCount: Int
  let graph: UnsafeMutablePointer<GraphCycle>?
  /// A roster of `count` voices, of recorders and of a graph in memory that it does not own.
  package init(
    voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>, count: Int,
    recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>? = nil, recorderCount: Int = 0,
    graph: UnsafeMutablePointer<GraphCycle>? = nil
  ) {
    unsafe self.voices = voices
    self.count = count
    unsafe self.recorders = recorders
    self.recorderCount = recorderCount
    unsafe self.graph = graph
  }
}

/// Start time and length of one process cycle.
struct CycleTime: BitwiseCopyable {
  let frames: Int
  /// Device frame of its first frame.
  let frame: Int64
  /// Frames skipped immediately before this cycle: the server ran cycles without this client.
  let missed: Int
  /// Frames by which device time was renumbered immediately before, without any frame passing.
  let shift: Int64
  /// Nothing is to be played or recorded: the ports get silence.
  let isMute: Bool
  /// CLOCK_MONOTONIC in microseconds at its first frame and at the next cycle's.
  let microseconds: UInt64
  let nextMicroseconds: UInt64

  @_noLocks init(
    frames: Int, frame: Int64, missed: Int, shift: Int64, isMute: Bool, microseconds: UInt64,
    nextMicroseconds: UInt64
  ) {
    self.frames = frames
    self.frame = frame
    self.missed = missed
    self.shift = shift
    self.isMute = isMute
    self.microseconds = microseconds
    self.nextMicroseconds = nextMicroseconds
  }
}

/// The offset from a driver's frame counter to device time, shared by all clients of this process.
///
/// PipeWire's counter belongs to the driver that runs a client: each sound card, each null sink and the
/// dummy driver counts for itself, and a client moves from one to another. The first client that meets a
/// new counter chooses the offset that continues device time; the others adopt it, so that one device frame
/// names the same moment in every client of the process.
@safe
package struct TimeBase: ~Copyable {
  private let offset = Atomic<UInt32>(0)
  package init() {}

  /// Returns the device frame of `counter` by the shared offset.
  @_noLocks fileprivate borrowing func frame(of counter: UInt32, near expected: Int64) -> Int64 {
    DeviceTime.widen(counter &+ offset.load(ordering: .acquiring), near: expected)
  }

  /// Returns the device frame of `counter`, which counts anew. Device time would be at `expected`: where the
  /// shared offset is further than `tolerance` frames from that, it is replaced.
  @_noLocks fileprivate borrowing func rebase(
    _ counter: UInt32, to expected: Int64, tolerance: Int64
  ) -> Int64 {
    var present = offset.load(ordering: .acquiring)
    while true {
      let shared = DeviceTime.widen(counter &+ present, near: expected)
      if abs(shared &- expected) <= tolerance { return shared }
      let fresh = UInt32(truncatingIfNeeded: expected) &- counter
      let (exchanged, original) = offset.compareExchange(
        expected: present, desired: fresh, ordering: .acquiringAndReleasing)
      if exchanged { return expected }
      present = original
    }
  }
}

/// Everything that one JACK client does in a cycle.
///
/// Owns no memory and has a fixed address. The control thread replaces the whole process list and frees
/// the old one once `areOver(_:)` reports that no cycle can still read it.
@safe
package struct Engine: ~Copyable {
  private let roster: Atomic<UnsafeMutableRawPointer?>
  private let begun = Atomic<UInt64>(0)
  private let ended = Atomic<UInt64>(0)
  private let clock: CycleClock
  /// First device frame of the cycle that should come next; `Int64.max` before the first one.
  private let nextFrame = Atomic<Int64>(.max)
  /// Frames of the latest cycle; 0 before the first one.
  private let period = Atomic<Int>(0)
  /// The frame counter of the latest cycle.
  private let counter = Atomic<UInt32>(0)
  /// How often the counter of the driver began anew.
  private let jumps = Atomic<UInt64>(0)
  /// Cycles that followed one another without a gap since the last jump or gap.
  private let steadyCycles = Atomic<UInt64>(0)
  /// Frames per second that the process list is prepared for; 0 if every rate is right.
  private let sampleRate = Atomic<UInt32>(0)
  /// The server runs cycles at another rate than `sampleRate`.
  private let hasOtherRate = Atomic<Bool>(false)
  /// Cycles play and record nothing while the host changes what they would play.
  private let isMuted = Atomic<Bool>(false)
  private let freewheels = Atomic<Bool>(false)
  /// Set while `lacksEntries` reads the process list between cycles.
  private let isLooking = Atomic<Bool>(false)
  private let signal: UnsafeMutablePointer<cue_signal>
  /// The bits of the client whose frame counter counts; 0 if the cycle is driven by hand.
  private let client: Atomic<UInt>
  /// The offset of a driver's counter; nil if the counter is device time itself, as on jackd.
  private let timeBase: UnsafeMutablePointer<TimeBase>?

  /// Creates an engine whose first cycle continues device time at `anchor`, an instant of both clocks.
  package init(
    roster: UnsafeMutablePointer<Roster>, signal: UnsafeMutablePointer<cue_signal>,
    client: OpaquePointer?, timeBase: UnsafeMutablePointer<TimeBase>? = nil, anchor: TimeAnchor
  ) {
    unsafe self.roster = Atomic(UnsafeMutableRawPointer(roster))
    unsafe self.signal = signal
    self.client = Atomic(UInt(bitPattern: client))
    unsafe self.timeBase = timeBase
    clock = CycleClock(anchor.times)
  }

  // MARK: Host

  /// The latest cycle's times; the anchor before the first one. Any thread.
  package var times: CycleTimes { clock.read() }

  /// First device frame of the cycle after the latest; nil before the first one. Any thread.
  package var upcomingFrame: Int64? {
    let frame = nextFrame.load(ordering: .acquiring)
    return frame == .max ? nil : frame
  }

  /// How often the driver's counter began anew. Any thread.
  package var counterJumps: UInt64 { jumps.load(ordering: .acquiring) }

  /// Cycles that followed one another without a gap or a jump. Any thread.
  package var cyclesInARow: UInt64 { steadyCycles.load(ordering: .acquiring) }

  /// True if the server runs cycles at another rate than the one set. They are silent. Any thread.
  package var runsAtOtherRate: Bool { hasOtherRate.load(ordering: .acquiring) }

  /// Sets the rate, in Hz, that the process list is prepared for. Cycles at another rate are silent.
  package func setSampleRate(_ rate: Double) {
    sampleRate.store(UInt32(rate.rounded()), ordering: .relaxed)
    hasOtherRate.store(false, ordering: .releasing)
  }

  /// Keeps cycles that begin from now on out of voices, recorders and nodes, whose ports get silence; or lets
  /// them in again.
  package func setMuted(_ on: Bool) { isMuted.store(on, ordering: .sequentiallyConsistent) }

  /// Tells whether cycles come as fast as they can, so that they may wait for a callback of the app.
  package func setFreewheeling(_ on: Bool) { freewheels.store(on, ordering: .relaxed) }

  /// Returns true if the server freewheels and a run would be dry in a cycle of `frames` frames. Call it in the
  /// process thread, before the cycle.
  ///
  /// - Parameter givingUp: The answer is false from now on, until the app enqueues another buffer.
  @_noLocks package borrowing func lacksEntries(for frames: UInt32, givingUp: Bool) -> Bool {
    guard freewheels.load(ordering: .relaxed), !isMuted.load(ordering: .relaxed) else {
      return false
    }
    isLooking.store(true, ordering: .sequentiallyConsistent)
    var isLacking = false
    if let roster = unsafe self.roster.load(ordering: .sequentiallyConsistent) {
      let roster = unsafe roster.assumingMemoryBound(to: Roster.self).pointee
      for i in 0..<roster.count where unsafe roster.voices[i].pointee.lacksEntries(for: Int(frames))
      {
        if givingUp { unsafe roster.voices[i].pointee.noteVainWait() }
        isLacking = true
      }
    }
    isLooking.store(false, ordering: .sequentiallyConsistent)
    return isLacking && !givingUp
  }

  /// Replaces the process list, effective with the next cycle. Call from one control thread at a time.
  package func swap(_ roster: UnsafeMutablePointer<Roster>) {
    unsafe self.roster.store(UnsafeMutableRawPointer(roster), ordering: .sequentiallyConsistent)
  }

  /// The cycles that have begun: what `areOver` asks for.
  package var cyclesBegun: UInt64 { begun.load(ordering: .sequentiallyConsistent) }

  /// True once all of the first `count` cycles are over. What was changed before `count` was read
  /// is then known to every cycle, and what was removed is no longer seen by any.
  package func areOver(_ count: UInt64) -> Bool {
    ended.load(ordering: .sequentiallyConsistent) >= count
      && !isLooking.load(ordering: .sequentiallyConsistent)
  }

  /// Switches to another client. Device time continues at `anchor`, and the frames in between do not count
  /// as missed. Precondition: no cycle is running; a cycle of the old client that started but never
  /// returned counts as finished.
  package func rebase(client: OpaquePointer?, anchor: TimeAnchor) {
    self.client.store(UInt(bitPattern: client), ordering: .relaxed)
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

  /// Runs one cycle of `frames` frames.
  ///
  /// - Parameter atOtherRate: The process list is not prepared for the server's rate: the cycle is silent.
  @_noLocks package borrowing func cycle(
    _ frames: UInt32, _ begin: cue_cycle_time, atOtherRate: Bool = false
  ) {
    let number = begun.add(1, ordering: .sequentiallyConsistent).newValue
    let isMute = isMuted.load(ordering: .sequentiallyConsistent) || atOtherRate
    let time = advance(Int(frames), begin, isMute: isMute)
    var happened = atOtherRate
    if let roster = unsafe self.roster.load(ordering: .sequentiallyConsistent) {
      let roster = unsafe roster.assumingMemoryBound(to: Roster.self).pointee
      // Some of them may write to a graph's sources, which hold no more.
      let isTooLong = unsafe roster.graph != nil && time.frames > GraphCycle.longestCycle
      for i in 0..<(isTooLong ? 0 : roster.count) {
        if unsafe roster.voices[i].pointee.cycle(time) { happened = true }
      }
      if let graph = unsafe roster.graph {
        // Who drives cycles by hand has no transport.
        let transport = unsafe OpaquePointer(bitPattern: client.load(ordering: .relaxed)).map {
          unsafe cue_rt_transport($0)
        }
        if unsafe graph.pointee.cycle(
          frames: time.frames, at: time.frame, transport: transport, isMute: isMute)
        {
          happened = true
        }
      }
      if let recorders = unsafe roster.recorders {
        for i in 0..<roster.recorderCount {
          if unsafe recorders[i].pointee.cycle(time) { happened = true }
        }
      }
    }
    // Whoever reads this acquires what the cycle did; nothing that follows need wait for it.
    ended.store(number, ordering: .releasing)
    if happened { unsafe cue_rt_signal_post(signal) }
  }

  /// Moves device time on to the cycle that begins at `begin`.
  @_noLocks private borrowing func advance(
    _ frames: Int, _ begin: cue_cycle_time, isMute: Bool
  ) -> CycleTime {
    let before = clock.latest
    let next = nextFrame.load(ordering: .relaxed)
    let period = self.period.exchange(frames, ordering: .relaxed)
    let first: Int64
    var missed: Int64 = 0
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
        steadyCycles.add(1, ordering: .releasing)
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
        steadyCycles.add(1, ordering: .releasing)
      } else {
        note(isJump: false)
      }
    }
    let isRepeated = next != .max && first == before.frame
    let shift = next == .max || isRepeated ? 0 : first &- next &- missed
    nextFrame.store(first &+ Int64(frames), ordering: .releasing)
    clock.publish(
      CycleTimes(
        frame: first, nextFrame: first &+ Int64(frames), microseconds: begin.microseconds,
        nextMicroseconds: begin.next_microseconds))
    return CycleTime(
      frames: frames, frame: first, missed: Int(missed), shift: shift, isMute: isMute,
      microseconds: begin.microseconds, nextMicroseconds: begin.next_microseconds)
  }

  /// Frames that the monotonic clock counts from the predicted end of `before` to `begin`.
  @_noLocks private borrowing func elapsed(since before: CycleTimes, to begin: cue_cycle_time)
    -> Int64
  {
    if begin.microseconds == 0 || before.nextMicroseconds == 0 { return 0 }
    let microseconds = Int64(bitPattern: begin.microseconds &- before.nextMicroseconds)
    return microseconds &* Int64(sampleRate.load(ordering: .relaxed)) / 1_000_000
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
        // PipeWire's time of wake-up wavers; its prediction of the next one does not.
        let length = (UInt64(frames) &* 1_000_000 &+ UInt64(rate) / 2) / UInt64(rate)
        time.microseconds = time.next_microseconds &- length
      }
      cycle(frames, time, atOtherRate: isOther)
    }
    cue_rt_leave()
  }
}

/// JACK's process callback; `argument` is an `Engine`. Runs in JACK's thread.
@_noLocks package func process(_ frames: UInt32, _ argument: UnsafeMutableRawPointer?) -> CInt {
  guard let argument = unsafe argument else { return 0 }
  unsafe argument.assumingMemoryBound(to: Engine.self).pointee.cycle(frames)
  return 0
}
