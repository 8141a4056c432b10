import Synchronization

/// Where a voice stands, published by each cycle and read by any thread.
///
/// A sequence lock: the cycle never waits; a reader that meets a cycle in the middle tries again.
package struct VoiceClock: ~Copyable {
  /// One reading.
  package struct Reading: Sendable {
    /// Device frame at which the voice began to run in the cycle that wrote this.
    package var frame: Int64
    /// Frames from there in which it ran: 0 while it stands still.
    package var ranFrames: Int64
    /// Device frames that the run had lasted by `frame`.
    package var position: Int64

    /// Device frames that the run has lasted at device frame `now`.
    package func position(at now: Int64) -> Int64 { position + min(max(now - frame, 0), ranFrames) }
  }
  private let sequence = Atomic<UInt64>(0)
  private let frame = Atomic<Int64>(0)
  private let ranFrames = Atomic<Int64>(0)
  private let position = Atomic<Int64>(0)

  /// The cycle, or a host that holds the voice.
  @_noLocks borrowing func publish(frame: Int64, ranFrames: Int64, position: Int64) {
    let next = sequence.load(ordering: .relaxed) &+ 1
    sequence.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    self.frame.store(frame, ordering: .relaxed)
    self.ranFrames.store(ranFrames, ordering: .relaxed)
    self.position.store(position, ordering: .relaxed)
    sequence.store(next &+ 1, ordering: .releasing)
  }

  /// Any thread.
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
