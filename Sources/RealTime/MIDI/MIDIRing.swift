import Synchronization

/// A received MIDI message, without its bytes.
package struct MIDIReceipt: BitwiseCopyable, Sendable {
  /// Device frame that it came in.
  package let frame: Int64
  /// Host time of that frame, in nanoseconds.
  package let hostTime: UInt64
  /// Number of the input.
  package let input: UInt32
  package let count: UInt32
}

/// Ring of received MIDI messages. The process thread is the producer, one other thread the consumer.
@safe
package struct MIDIRing: ~Copyable {
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  private let head = Atomic<UInt64>(0)
  private let tail = Atomic<UInt64>(0)
  private let lost = Atomic<UInt64>(0)
  private let hasWaitedInVain = Atomic<Bool>(false)

  /// - Parameter memory: A power of two bytes, which the caller owns.
  package init(memory: UnsafeMutableRawBufferPointer) {
    capacity = memory.count
    precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a ring's size is a power of two")
    unsafe base = memory.baseAddress.unsafelyUnwrapped
  }

  /// Bytes before those of a message: three words, none of which lies across the end of the memory.
  private static var headerBytes: Int { 24 }

  /// Bytes that a message takes in the ring.
  private static func bytes(_ count: Int) -> Int { headerBytes &+ ((count &+ 7) & ~7) }

  /// Number of messages that found the ring full. Any thread.
  package var lostCount: UInt64 { lost.load(ordering: .relaxed) }

  /// True if there is no message. Any thread.
  package var isEmpty: Bool { head.load(ordering: .acquiring) == tail.load(ordering: .acquiring) }

  private func room() -> Int {
    capacity
      &- Int(
        truncatingIfNeeded: tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring))
  }

  /// True if less than half of the ring is free, and the consumer has read since `noteVainWait`. Process thread.
  var lacksRoom: Bool {
    @_noLocks get { room() < capacity / 2 && !hasWaitedInVain.load(ordering: .acquiring) }
  }

  /// Notes that nobody reads: no cycle waits until somebody does. Process thread.
  @_noLocks func noteVainWait() { hasWaitedInVain.store(true, ordering: .releasing) }

  /// Appends a message; counts it as lost if there is no room. Process thread.
  @_noLocks func push(_ receipt: MIDIReceipt, _ bytes: UnsafePointer<UInt8>) {
    let count = Int(receipt.count)
    if Self.bytes(count) > room() {
      lost.add(1, ordering: .relaxed)
      return
    }
    let at = tail.load(ordering: .relaxed)
    store(UInt64(bitPattern: receipt.frame), at)
    store(receipt.hostTime, at &+ 8)
    store(UInt64(receipt.input) << 32 | UInt64(receipt.count), at &+ 16)
    unsafe write(UnsafeRawPointer(bytes), count, at &+ UInt64(Self.headerBytes))
    tail.store(at &+ UInt64(Self.bytes(count)), ordering: .releasing)
  }

  /// Returns the oldest message; nil if there is none. The consumer.
  package func first() -> MIDIReceipt? {
    let at = head.load(ordering: .relaxed)
    if at == tail.load(ordering: .acquiring) { return nil }
    let last = word(at &+ 16)
    return MIDIReceipt(
      frame: Int64(bitPattern: word(at)), hostTime: word(at &+ 8),
      input: UInt32(truncatingIfNeeded: last >> 32), count: UInt32(truncatingIfNeeded: last))
  }

  /// Removes the oldest message, which there must be, and copies its bytes. The consumer.
  package func removeFirst(into bytes: UnsafeMutableRawBufferPointer) {
    let at = head.load(ordering: .relaxed)
    unsafe read(bytes, at &+ UInt64(Self.headerBytes))
    head.store(at &+ UInt64(Self.bytes(bytes.count)), ordering: .releasing)
    hasWaitedInVain.store(false, ordering: .releasing)
  }

  /// The index of a byte, and the bytes from there to the end of the memory.
  private func place(_ at: UInt64) -> (index: Int, left: Int) {
    let index = Int(truncatingIfNeeded: at & UInt64(capacity &- 1))
    return (index, capacity &- index)
  }

  private func store(_ word: UInt64, _ at: UInt64) {
    unsafe base.storeBytes(of: word, toByteOffset: place(at).index, as: UInt64.self)
  }

  private func word(_ at: UInt64) -> UInt64 {
    unsafe base.load(fromByteOffset: place(at).index, as: UInt64.self)
  }

  private func write(_ bytes: UnsafeRawPointer, _ count: Int, _ at: UInt64) {
    let (index, left) = place(at)
    unsafe (base + index).copyMemory(from: bytes, byteCount: min(count, left))
    if count > left { unsafe base.copyMemory(from: bytes + left, byteCount: count &- left) }
  }

  private func read(_ bytes: UnsafeMutableRawBufferPointer, _ at: UInt64) {
    guard let start = bytes.baseAddress else { return }
    let (index, left) = place(at)
    unsafe start.copyMemory(from: base + index, byteCount: min(bytes.count, left))
    if bytes.count > left {
      unsafe (start + left).copyMemory(from: base, byteCount: bytes.count &- left)
    }
  }
}
