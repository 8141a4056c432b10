import Synchronization
import Timeline

/// Times of a client's latest cycle, published by each cycle and read by any thread.
///
/// A sequence lock, as in `VoiceClock`: the process thread never waits. A reader that overlaps a
/// write retries.
struct CycleClock: ~Copyable {
  private let sequence = Atomic<UInt64>(0)
  private let frame = Atomic<Int64>(0)
  private let nextFrame = Atomic<Int64>(0)
  private let microseconds = Atomic<UInt64>(0)
  private let nextMicroseconds = Atomic<UInt64>(0)

  init(_ times: CycleTimes) { publish(times) }

  /// Publishes the times. Process thread, or the control thread while no cycle is running.
  @_noLocks borrowing func publish(_ times: CycleTimes) {
    let next = sequence.load(ordering: .relaxed) &+ 1
    sequence.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    frame.store(times.frame, ordering: .relaxed)
    nextFrame.store(times.nextFrame, ordering: .relaxed)
    microseconds.store(times.microseconds, ordering: .relaxed)
    nextMicroseconds.store(times.nextMicroseconds, ordering: .relaxed)
    sequence.store(next &+ 1, ordering: .releasing)
  }

  /// Returns the latest times. Any thread.
  borrowing func read() -> CycleTimes {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let times = latest
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0 && sequence.load(ordering: .relaxed) == before { return times }
    }
  }

  /// Times that the latest cycle published. Only for the thread that publishes, which needs no
  /// lock.
  var latest: CycleTimes {
    @_noLocks borrowing get {
      CycleTimes(
        frame: frame.load(ordering: .relaxed), nextFrame: nextFrame.load(ordering: .relaxed),
        microseconds: microseconds.load(ordering: .relaxed),
        nextMicroseconds: nextMicroseconds.load(ordering: .relaxed))
    }
  }
}
