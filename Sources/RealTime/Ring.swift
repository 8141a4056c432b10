import Synchronization

/// A ring of trivial values for one producer and one consumer, in memory that the caller owns.
///
/// One release store publishes each value as a whole. A full ring refuses a value, and the caller
/// handles that.
@safe
struct Ring<Element: BitwiseCopyable>: ~Copyable {
  private let head = Atomic<UInt64>(0)
  private let tail = Atomic<UInt64>(0)
  private let slots: UnsafeMutableBufferPointer<Element>
  private let mask: UInt64

  init(slots: UnsafeMutableBufferPointer<Element>) {
    precondition(
      slots.count > 0 && slots.count & (slots.count - 1) == 0, "a ring's size is a power of two")
    unsafe self.slots = unsafe slots
    mask = UInt64(slots.count - 1)
  }

  /// Appends an element; false if the ring is full. Producer only.
  fileprivate func push(_ element: Element) -> Bool {
    let t = tail.load(ordering: .relaxed)
    if t &- head.load(ordering: .acquiring) > mask { return false }
    unsafe slots[Int(truncatingIfNeeded: t & mask)] = element
    tail.store(t &+ 1, ordering: .releasing)
    return true
  }

  /// Removes and returns the oldest element; nil if the ring is empty. Consumer only.
  fileprivate func pop() -> Element? {
    let h = head.load(ordering: .relaxed)
    if h == tail.load(ordering: .acquiring) { return nil }
    let element = unsafe slots[Int(truncatingIfNeeded: h & mask)]
    head.store(h &+ 1, ordering: .releasing)
    return element
  }

  /// Returns the element that `pop` returns after `index` others; nil if there are fewer. Consumer
  /// only.
  fileprivate func peek(_ index: Int) -> Element? {
    let at = head.load(ordering: .relaxed) &+ UInt64(truncatingIfNeeded: index)
    if at >= tail.load(ordering: .acquiring) { return nil }
    return unsafe slots[Int(truncatingIfNeeded: at & mask)]
  }

  /// Returns the number of free slots. Producer only.
  fileprivate func room() -> Int {
    let used = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)
    return Int(truncatingIfNeeded: mask &+ 1 &- used)
  }
}

/// Ring of entries to play. The process thread is the consumer.
package struct EntryRing: ~Copyable {
  private let ring: Ring<Entry>
  package init(slots: UnsafeMutableBufferPointer<Entry>) { unsafe ring = Ring(slots: slots) }
  /// Appends an entry; false if the ring is full. Producer only.
  @_noLocks package func push(_ entry: Entry) -> Bool { ring.push(entry) }
  /// Removes and returns the oldest entry; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> Entry? { ring.pop() }
  /// Returns the entry that `pop` returns after `index` others; nil if there are fewer. Consumer
  /// only.
  @_noLocks func peek(_ index: Int) -> Entry? { ring.peek(index) }
}

/// Ring of a voice's events. The process thread is the producer.
package struct EventRing: ~Copyable {
  private let ring: Ring<Event>
  package init(slots: UnsafeMutableBufferPointer<Event>) { unsafe ring = Ring(slots: slots) }
  /// Appends an event; false if the ring is full. Producer only.
  @_noLocks package func push(_ event: Event) -> Bool { ring.push(event) }
  /// Removes and returns the oldest event; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> Event? { ring.pop() }
  /// Returns the number of free slots. Producer only.
  @_noLocks package func room() -> Int { ring.room() }
}

/// Ring of parameter changes. The process thread is the consumer.
package struct ParameterRing: ~Copyable {
  private let ring: Ring<ParameterChanges>
  package init(slots: UnsafeMutableBufferPointer<ParameterChanges>) {
    unsafe ring = Ring(slots: slots)
  }
  /// Appends changes; false if the ring is full. Producer only.
  @_noLocks package func push(_ changes: ParameterChanges) -> Bool { ring.push(changes) }
  /// Removes and returns the oldest changes; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> ParameterChanges? { ring.pop() }
}

/// Ring of spaces to record into. The process thread is the consumer.
package struct SpaceRing: ~Copyable {
  private let ring: Ring<Space>
  package init(slots: UnsafeMutableBufferPointer<Space>) { unsafe ring = Ring(slots: slots) }
  /// Appends a space; false if the ring is full. Producer only.
  @_noLocks package func push(_ space: Space) -> Bool { ring.push(space) }
  /// Removes and returns the oldest space; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> Space? { ring.pop() }
}

/// Ring of a recorder's events. The process thread is the producer.
package struct RecordEventRing: ~Copyable {
  private let ring: Ring<RecordEvent>
  package init(slots: UnsafeMutableBufferPointer<RecordEvent>) { unsafe ring = Ring(slots: slots) }
  /// Appends an event; false if the ring is full. Producer only.
  @_noLocks package func push(_ event: RecordEvent) -> Bool { ring.push(event) }
  /// Removes and returns the oldest event; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> RecordEvent? { ring.pop() }
  /// Returns the number of free slots. Producer only.
  @_noLocks package func room() -> Int { ring.room() }
}

/// Ring of requests to a player of slices. The thread that renders is the consumer.
package struct PlayerRequestRing: ~Copyable {
  private let ring: Ring<PlayerRequest>
  package init(slots: UnsafeMutableBufferPointer<PlayerRequest>) {
    unsafe ring = Ring(slots: slots)
  }
  /// Appends a request; false if the ring is full. Producer only.
  @_noLocks package func push(_ request: PlayerRequest) -> Bool { ring.push(request) }
  /// Removes and returns the oldest request; nil if the ring is empty. Consumer only.
  @_noLocks func pop() -> PlayerRequest? { ring.pop() }
}

/// Ring of a player's events. The thread that renders is the producer.
package struct PlayerEventRing: ~Copyable {
  private let ring: Ring<PlayerEvent>
  package init(slots: UnsafeMutableBufferPointer<PlayerEvent>) { unsafe ring = Ring(slots: slots) }
  /// Appends an event; false if the ring is full. Producer only.
  @_noLocks func push(_ event: PlayerEvent) -> Bool { ring.push(event) }
  /// Removes and returns the oldest event; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> PlayerEvent? { ring.pop() }
}

/// Ring of JACK port numbers, from one of JACK's threads to the event thread.
package struct PortNumberRing: ~Copyable {
  private let ring: Ring<UInt32>
  package init(slots: UnsafeMutableBufferPointer<UInt32>) { unsafe ring = Ring(slots: slots) }
  /// Appends a number; false if the ring is full. Producer only.
  package func push(_ number: UInt32) -> Bool { ring.push(number) }
  /// Removes and returns the oldest number; nil if the ring is empty. Consumer only.
  package func pop() -> UInt32? { ring.pop() }
}
