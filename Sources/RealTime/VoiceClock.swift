import Synchronization

/// Where a voice stands, published by each cycle and read by any thread.
///
/// A sequence lock: the cycle never waits; a reader that meets a cycle in the middle tries again.
package struct VoiceClock: ~Copyable {
  /// One reading.
  package struct Reading: Sendable {
    /// First device frame of the cycle that wrote this.
    package var cycleFrame: Int64
    /// Frames of that cycle in which the voice ran: 0 while it stands still.
    package var ranFrames: Int64
    /// Device frames that the run had lasted when the cycle began.
    package var position: Int64
  }
  private let sequence = Atomic<UInt64>(0)
  private let cycleFrame = Atomic<Int64>(0)
  private let ranFrames = Atomic<Int64>(0)
  private let position = Atomic<Int64>(0)

  /// The cycle, or a host that holds the voice.
  @_noLocks borrowing func publish(cycleFrame: Int64, ranFrames: Int64, position: Int64) {
    let next = sequence.load(ordering: .relaxed) &+ 1
    sequence.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    self.cycleFrame.store(cycleFrame, ordering: .relaxed)
    self.ranFrames.store(ranFrames, ordering: .relaxed)
    self.position.store(position, ordering: .relaxed)
    sequence.store(next &+ 1, ordering: .releasing)
  }

  /// Any thread.
  package borrowing func read() -> Reading {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let reading = Reading(
        cycleFrame: cycleFrame.load(ordering: .relaxed),
        ranFrames: ranFrames.load(ordering: .relaxed),
        position: position.load(ordering: .relaxed))
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0 && sequence.load(ordering: .relaxed) == before { return reading }
    }
  }
}
