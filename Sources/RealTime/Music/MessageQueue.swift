package import CRealTime
import Synchronization

/// A slot of a `MessageQueue`: a MIDI message, or a part of a long one.
package struct QueuedMessage: ~Copyable {
  /// Frame of the next render, and bytes of the whole message. In a message's first slot.
  fileprivate var offset = 0
  fileprivate var count = 0
  /// The number of the slot that may be written here next, or, once that was written, the number plus 1.
  fileprivate let turn: Atomic<UInt>

  package init(_ slot: Int) { turn = Atomic(UInt(slot)) }
}

/// MIDI messages that wait for a unit's next render. Any thread adds, real time included; the thread that renders
/// takes them. Owns no memory.
///
/// It is the bounded queue of D. Vyukov, as `ChangeQueue` is. A long message takes several slots.
@safe
package struct MessageQueue: ~Copyable {
  package static var capacity: Int { @_noLocks get { 1024 } }
  /// Bytes of a slot.
  package static var slotBytes: Int { @_noLocks get { 16 } }
  /// Bytes of the longest message.
  package static var mostBytes: Int { @_noLocks get { 8192 } }
  private let slots: UnsafeMutablePointer<QueuedMessage>
  private let bytes: UnsafeMutablePointer<UInt8>
  private let added = Atomic<UInt>(0)
  private let taken = Atomic<UInt>(0)

  /// - Parameter bytes: Memory of `capacity` times `slotBytes`.
  package init(_ slots: UnsafeMutablePointer<QueuedMessage>, _ bytes: UnsafeMutablePointer<UInt8>) {
    unsafe self.slots = slots
    unsafe self.bytes = bytes
  }

  @_noLocks private static func index(_ number: UInt) -> Int {
    Int(number & UInt(capacity &- 1))
  }

  @_noLocks private static func slotCount(_ count: Int) -> UInt {
    UInt((count &+ slotBytes &- 1) / slotBytes)
  }

  /// True if all messages were taken.
  package var isEmpty: Bool {
    taken.load(ordering: .acquiring) == added.load(ordering: .acquiring)
  }

  /// Adds a message.
  ///
  /// - Returns: False if the queue has no room for it.
  @_noLocks package borrowing func add(_ message: UnsafePointer<UInt8>, count: Int, offset: Int)
    -> Bool
  {
    guard count > 0, count <= Self.mostBytes else { return false }
    let slotCount = Self.slotCount(count)
    var number = added.load(ordering: .relaxed)
    while true {
      // Slots become free in order: the last one is free after all others.
      let last = number &+ slotCount &- 1
      let turn = unsafe slots[Self.index(last)].turn.load(ordering: .acquiring)
      if turn == last {
        let (isMine, now) = added.compareExchange(
          expected: number, desired: number &+ slotCount, ordering: .relaxed)
        if isMine { break }
        number = now
      } else if Int(bitPattern: turn &- last) < 0 {
        return false
      } else {
        number = added.load(ordering: .relaxed)
      }
    }
    unsafe move(message, count: count, at: number)
    let first = unsafe slots + Self.index(number)
    unsafe first.pointee.offset = offset
    unsafe first.pointee.count = count
    unsafe first.pointee.turn.store(number &+ 1, ordering: .releasing)
    return true
  }

  /// Copies a message into the slots from `number` on.
  @_noLocks private borrowing func move(
    _ message: UnsafePointer<UInt8>, count: Int, at number: UInt
  ) {
    let first = Self.index(number) &* Self.slotBytes
    let whole = min(count, Self.capacity &* Self.slotBytes &- first)
    unsafe UnsafeMutableRawPointer(bytes + first).copyMemory(from: message, byteCount: whole)
    if whole < count {
      unsafe UnsafeMutableRawPointer(bytes).copyMemory(
        from: message + whole, byteCount: count &- whole)
    }
  }

  /// Takes the next message.
  ///
  /// - Parameter message: Memory of `mostBytes`, for its bytes.
  /// - Returns: Its frame and its number of bytes; nil if none waits.
  @_noLocks borrowing func take(
    _ message: UnsafeMutablePointer<UInt8>
  ) -> (offset: Int, count: Int)? {
    let number = taken.load(ordering: .relaxed)
    let slot = unsafe slots + Self.index(number)
    guard unsafe slot.pointee.turn.load(ordering: .acquiring) == number &+ 1 else { return nil }
    let (offset, count) = unsafe (slot.pointee.offset, slot.pointee.count)
    let first = Self.index(number) &* Self.slotBytes
    let whole = min(count, Self.capacity &* Self.slotBytes &- first)
    unsafe UnsafeMutableRawPointer(message).copyMemory(from: bytes + first, byteCount: whole)
    if whole < count {
      unsafe UnsafeMutableRawPointer(message + whole).copyMemory(
        from: bytes, byteCount: count &- whole)
    }
    let slotCount = Self.slotCount(count)
    for part in 0..<slotCount {
      let index = Self.index(number &+ part)
      unsafe slots[index].turn.store(
        number &+ part &+ UInt(Self.capacity), ordering: .releasing)
    }
    taken.store(number &+ slotCount, ordering: .releasing)
    return (offset, count)
  }
}

/// The event inputs of a plugin's nodes, and the messages for them that wait. Owns no memory.
@safe
package struct NodeMessages: BitwiseCopyable {
  private let queue: UnsafeMutablePointer<MessageQueue>
  private let types: cue_event_types
  /// Atom sequences of `capacity` bytes: messages for later frames, and those of the present render.
  private let waiting: UnsafeMutableRawPointer
  private let due: UnsafeMutableRawPointer
  private let capacity: UInt32
  /// Memory for one message.
  private let message: UnsafeMutablePointer<UInt8>
  /// A sequence for each event input: `due` for the one that hears MIDI, an empty one for others.
  let inputs: UnsafePointer<UnsafeRawPointer>

  package init(
    _ queue: UnsafeMutablePointer<MessageQueue>, types: cue_event_types,
    waiting: UnsafeMutableRawPointer, due: UnsafeMutableRawPointer, capacity: Int,
    message: UnsafeMutablePointer<UInt8>, inputs: UnsafePointer<UnsafeRawPointer>
  ) {
    unsafe self.queue = queue
    self.types = types
    unsafe self.waiting = waiting
    unsafe self.due = due
    self.capacity = UInt32(capacity)
    unsafe self.message = message
    unsafe self.inputs = inputs
    unsafe cue_rt_clear_events(waiting, types.sequence)
    unsafe cue_rt_clear_events(due, types.sequence)
  }

  /// Finds the messages of a render. Those that the sequences have no room for are lost.
  @_noLocks func prepare(frames: Int) {
    while let (offset, count) = unsafe queue.pointee.take(message) {
      _ = unsafe cue_rt_insert_event(
        waiting, capacity, Int64(max(0, offset)), types.midi, UInt32(count), message)
    }
    unsafe cue_rt_move_due_events(waiting, due, capacity, types.sequence, Int64(frames))
  }
}
