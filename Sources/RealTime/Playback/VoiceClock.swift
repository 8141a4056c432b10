import Synchronization

/// Position of a run, published by each cycle and read by any thread.
///
/// A sequence lock: the process thread never waits. A reader that overlaps a write retries.
package struct VoiceClock: ~Copyable {
  /// One consistent reading.
  package struct Reading: Sendable {
    /// First device frame of the latest cycle at which the run was going.
    package var frame: Int64
    /// Frames from `frame` on for which the run was going in that cycle; 0 while it is stopped or
    /// paused.
    package var ranFrames: Int64
    /// Run position at `frame`, in device frames since the run began.
    package var position: Int64

    /// Returns the run position, in device frames, at device frame `now`.
    package func position(at now: Int64) -> Int64 { position + min(max(now - frame, 0), ranFrames) }
  }
  private let sequence = Atomic<UInt64>(0)
  private let frame = Atomic<Int64>(0)
  private let ranFrames = Atomic<Int64>(0)
  private let position = Atomic<Int64>(0)

  /// Publishes a reading. Process thread, or the control thread while it holds the voice.
  @_noLocks borrowing func publish(frame: Int64, ranFrames: Int64, position: Int64) {
    let next = sequence.load(ordering: .relaxed) &+ 1
    sequence.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    self.frame.store(frame, ordering: .relaxed)
    self.ranFrames.store(ranFrames, ordering: .relaxed)
    self.position.store(position, ordering: .relaxed)
    sequence.store(next &+ 1, ordering: .releasing)
  }

  /// Returns the latest reading. Any thread.
  package borrowing func read() -> Reading {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let reading = Reading(
        frame: frame.load(ordering: .relaxed),
        ranFrames: ranFrames.load(ordering: .relaxed),
        position: position.load(ordering: .relaxed))
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0 && sequence.load(ordering: .relaxed) == before { return reading }
    }
  }
}
