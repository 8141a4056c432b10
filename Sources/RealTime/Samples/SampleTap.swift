import Synchronization

/// Ring of the frames that a voice wrote to its ports, for a thread that measures them.
///
/// The process thread is the producer; one thread that is not real time is the consumer. A full ring
/// drops frames and counts them.
@safe
package struct SampleTap: ~Copyable {
  /// Frames that the producer has written, and that the consumer has read.
  private let written = Atomic<UInt64>(0)
  private let taken = Atomic<UInt64>(0)
  private let dropped = Atomic<UInt64>(0)
  private let channels: Int
  /// Interleaved samples.
  private let samples: UnsafeMutableBufferPointer<Float>
  private let capacity: Int

  /// Creates an empty ring in memory that the caller owns.
  ///
  /// - Parameter samples: Room for a number of frames that is a power of two.
  package init(channels: Int, samples: UnsafeMutableBufferPointer<Float>) {
    capacity = samples.count / channels
    precondition(
      capacity > 0 && capacity & (capacity - 1) == 0, "a ring's size is a power of two")
    self.channels = channels
    unsafe self.samples = unsafe samples
  }

  /// Appends frames `first` to `end` of a cycle's planes. Process thread.
  ///
  /// - Parameter isSpread: True if a single channel plays through two ports: the louder sample of each
  ///   frame is taken.
  /// - Returns: False if the ring has no room for all of them.
  @_noLocks @discardableResult borrowing func write(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, from first: Int, to end: Int,
    isSpread: Bool
  ) -> Bool {
    let count = end &- first
    if count <= 0 { return true }
    let begin = written.load(ordering: .relaxed)
    let used = Int(truncatingIfNeeded: begin &- taken.load(ordering: .acquiring))
    guard count <= capacity &- used, let memory = unsafe samples.baseAddress else {
      dropped.add(UInt64(count), ordering: .relaxed)
      return false
    }
    let mask = capacity &- 1
    let position = Int(truncatingIfNeeded: begin) & mask
    for channel in 0..<channels {
      let plane = unsafe planes[channel] + first
      for i in 0..<count {
        unsafe memory[((position &+ i) & mask) &* channels &+ channel] = plane[i]
      }
    }
    if isSpread {
      let second = unsafe planes[1] + first
      for i in 0..<count {
        let index = (position &+ i) & mask
        if unsafe abs(second[i]) > abs(memory[index]) { unsafe memory[index] = second[i] }
      }
    }
    written.store(begin &+ UInt64(count), ordering: .releasing)
    return true
  }

  /// Removes the oldest frames and copies them to `buffer`, interleaved. Consumer only.
  ///
  /// - Returns: Number of frames.
  package borrowing func read(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    let begin = taken.load(ordering: .relaxed)
    let ready = Int(truncatingIfNeeded: written.load(ordering: .acquiring) &- begin)
    let count = min(ready, buffer.count / channels)
    guard count > 0, let memory = unsafe samples.baseAddress, let target = buffer.baseAddress
    else { return 0 }
    let position = Int(truncatingIfNeeded: begin) & (capacity - 1)
    let before = min(count, capacity - position)
    unsafe target.update(from: memory + position * channels, count: before * channels)
    unsafe (target + before * channels).update(from: memory, count: (count - before) * channels)
    taken.store(begin &+ UInt64(count), ordering: .releasing)
    return count
  }

  /// Frames that wait for the consumer. Any thread.
  package var waitingFrames: Int {
    let read = taken.load(ordering: .acquiring)
    return Int(truncatingIfNeeded: written.load(ordering: .acquiring) &- read)
  }

  /// Frames that found the ring full. Any thread.
  package var droppedFrames: UInt64 { dropped.load(ordering: .relaxed) }
}
