package import CRealTime
import Synchronization
import Timeline

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

/// When a cycle began, and how long it is.
struct CycleTime: BitwiseCopyable {
  let frames: Int
  /// Device frame of its first frame.
  let frame: Int64
  /// Device frames just before, of cycles that did not come: after an xrun the frame counter has gone
  /// on by itself.
  let missed: Int
  /// CLOCK_MONOTONIC at its first frame and at the next cycle's.
  let microseconds: UInt64
  let nextMicroseconds: UInt64

  @_noLocks init(
    frames: Int, frame: Int64, missed: Int, microseconds: UInt64, nextMicroseconds: UInt64
  ) {
    self.frames = frames
    self.frame = frame
    self.missed = missed
    self.microseconds = microseconds
    self.nextMicroseconds = nextMicroseconds
  }
}

/// Everything that one JACK client does in a cycle.
///
/// It owns no memory and never moves. The host swaps the roster whole and gives the old one's
/// memory back when `areOver(_:)` says that no cycle can still see it.
@safe
package struct Engine: ~Copyable {
  private let roster: Atomic<UnsafeMutableRawPointer?>
  private let begun = Atomic<UInt64>(0)
  private let ended = Atomic<UInt64>(0)
  private let frame: Atomic<Int64>
  /// First device frame of the cycle that should come next; `Int64.max` before the first one.
  private let nextFrame = Atomic<Int64>(.max)
  /// Frames of the latest cycle; 0 before the first one.
  private let period = Atomic<Int>(0)
  private let signal: UnsafeMutablePointer<cue_signal>
  /// The bits of the client whose frame counter counts; 0 if the cycle is driven by hand.
  private let client: Atomic<UInt>

  /// An engine whose device time goes on from `anchor`.
  package init(
    roster: UnsafeMutablePointer<Roster>, signal: UnsafeMutablePointer<cue_signal>,
    client: OpaquePointer?, anchor: Int64
  ) {
    unsafe self.roster = Atomic(UnsafeMutableRawPointer(roster))
    unsafe self.signal = signal
    self.client = Atomic(UInt(bitPattern: client))
    frame = Atomic(anchor)
  }

  // MARK: Host

  /// First device frame of the latest cycle. Any thread.
  package var latestFrame: Int64 { frame.load(ordering: .acquiring) }

  /// First device frame of the cycle after the latest; nil before the first one. Any thread.
  package var upcomingFrame: Int64? {
    let frame = nextFrame.load(ordering: .acquiring)
    return frame == .max ? nil : frame
  }

  /// Has cycles that begin from now on play `roster`. One host thread at a time.
  package func swap(_ roster: UnsafeMutablePointer<Roster>) {
    unsafe self.roster.store(UnsafeMutableRawPointer(roster), ordering: .sequentiallyConsistent)
  }

  /// The cycles that have begun: what `areOver` asks for.
  package var cyclesBegun: UInt64 { begun.load(ordering: .sequentiallyConsistent) }

  /// True once all of the first `count` cycles are over. What was changed before `count` was read
  /// is then known to every cycle, and what was removed is no longer seen by any.
  package func areOver(_ count: UInt64) -> Bool {
    ended.load(ordering: .sequentiallyConsistent) >= count
  }

  /// Has the cycles of `client` follow, in device time that goes on from `anchor`; what passed in
  /// between was not missed. None may be under way: one that has begun and not ended never will.
  package func rebase(client: OpaquePointer?, anchor: Int64) {
    self.client.store(UInt(bitPattern: client), ordering: .relaxed)
    frame.store(anchor, ordering: .releasing)
    nextFrame.store(.max, ordering: .releasing)
    period.store(0, ordering: .relaxed)
    ended.store(cyclesBegun, ordering: .sequentiallyConsistent)
  }

  // MARK: The cycle

  /// One cycle of `frames` frames.
  @_noLocks package borrowing func cycle(_ frames: UInt32, _ begin: cue_cycle_time) {
    let number = begun.add(1, ordering: .sequentiallyConsistent).newValue
    let first = DeviceTime.widen(begin.counter, near: frame.load(ordering: .relaxed))
    frame.store(first, ordering: .releasing)
    // When the period changes, JACK counts the cycle before as if it had been of the new length.
    let period = self.period.exchange(Int(frames), ordering: .relaxed)
    let recounted = period == 0 ? 0 : Int(frames) &- period
    let missed = max(0, first &- nextFrame.load(ordering: .relaxed) &- Int64(recounted))
    nextFrame.store(first &+ Int64(frames), ordering: .releasing)
    let time = CycleTime(
      frames: Int(frames), frame: first, missed: Int(missed), microseconds: begin.microseconds,
      nextMicroseconds: begin.next_microseconds)
    var happened = false
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
          frames: time.frames, at: time.frame, transport: transport)
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

  /// One JACK cycle.
  @_noLocks borrowing func cycle(_ frames: UInt32) {
    cue_rt_enter()
    cue_rt_flush_denormals()
    if let client = unsafe OpaquePointer(bitPattern: client.load(ordering: .relaxed)) {
      unsafe cycle(frames, cue_rt_cycle_time(client))
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
