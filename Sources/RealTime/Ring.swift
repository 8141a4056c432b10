import Synchronization

/// A ring of trivial values for one producer and one consumer, in memory that the caller owns.
///
/// One release store publishes each value as a whole. A full ring refuses a value, and the caller
/// handles that.
///
/// A ring may be given more slots once, while both sides use it. The producer moves to them when it next
/// finds the ring full. The consumer follows when it has read all values before.
@safe
struct Ring<Element: BitwiseCopyable>: ~Copyable {
  private let head = Atomic<UInt64>(0)
  private let tail = Atomic<UInt64>(0)
  private let slots: UnsafeMutableBufferPointer<Element>
  private let mask: UInt64
  /// Number of the first value in `moreSlots`. Only the producer changes it, before it publishes that
  /// value.
  private let firstInMore = Atomic<UInt64>(.max)
  private let moreSlots: Atomic<UnsafeMutablePointer<Element>?>
  /// Written before `moreSlots`.
  private let moreMask = Atomic<UInt64>(0)

  init(slots: UnsafeMutableBufferPointer<Element>) {
    precondition(Self.isSize(slots.count), "a ring's size is a power of two")
    unsafe self.slots = unsafe slots
    mask = UInt64(slots.count - 1)
    unsafe moreSlots = Atomic(nil)
  }

  private static func isSize(_ count: Int) -> Bool { count > 0 && count & (count - 1) == 0 }

  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  fileprivate func extend(by more: UnsafeMutableBufferPointer<Element>) {
    precondition(
      unsafe Self.isSize(more.count) && more.count > slots.count, "there must be more slots")
    moreMask.store(UInt64(more.count - 1), ordering: .relaxed)
    unsafe moreSlots.store(more.baseAddress, ordering: .releasing)
  }

  /// The slot of value number `index`, which the caller has seen published or is about to publish.
  private func slot(_ index: UInt64) -> UnsafeMutablePointer<Element> {
    if index >= firstInMore.load(ordering: .relaxed),
      let more = unsafe moreSlots.load(ordering: .acquiring)
    {
      return unsafe more + Int(truncatingIfNeeded: index & moreMask.load(ordering: .relaxed))
    }
    return unsafe slots.baseAddress.unsafelyUnwrapped + Int(truncatingIfNeeded: index & mask)
  }

  /// Makes room in a ring whose first slots do not suffice: moves on to the added ones. Producer only.
  ///
  /// - Parameter used: Number of values in the ring.
  /// - Returns: False if the ring is full.
  private func moveOn(_ t: UInt64, used: UInt64) -> Bool {
    if unsafe moreSlots.load(ordering: .acquiring) == nil { return false }
    if used > moreMask.load(ordering: .relaxed) { return false }
    if firstInMore.load(ordering: .relaxed) == .max {
      firstInMore.store(t, ordering: .relaxed)
    }
    return true
  }

  /// Appends an element; false if the ring is full. Producer only.
  fileprivate func push(_ element: Element) -> Bool {
    let t = tail.load(ordering: .relaxed)
    let used = t &- head.load(ordering: .acquiring)
    if used > mask && !moveOn(t, used: used) { return false }
    unsafe slot(t).pointee = element
    tail.store(t &+ 1, ordering: .releasing)
    return true
  }

  /// Removes and returns the oldest element; nil if the ring is empty. Consumer only.
  fileprivate func pop() -> Element? {
    let h = head.load(ordering: .relaxed)
    if h == tail.load(ordering: .acquiring) { return nil }
    let element = unsafe slot(h).pointee
    head.store(h &+ 1, ordering: .releasing)
    return element
  }

  /// Returns the element that `pop` returns after `index` others; nil if there are fewer. Consumer
  /// only.
  fileprivate func peek(_ index: Int) -> Element? {
    let at = head.load(ordering: .relaxed) &+ UInt64(truncatingIfNeeded: index)
    if at >= tail.load(ordering: .acquiring) { return nil }
    return unsafe slot(at).pointee
  }

  /// Returns the number of free slots. Producer only.
  fileprivate func room() -> Int {
    let used = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)
    let isExtended = unsafe moreSlots.load(ordering: .acquiring) != nil
    let last = isExtended ? moreMask.load(ordering: .relaxed) : mask
    return Int(truncatingIfNeeded: last &+ 1 &- used)
  }

  /// True if every element has been popped. Any thread.
  fileprivate var isEmpty: Bool {
    head.load(ordering: .acquiring) == tail.load(ordering: .acquiring)
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
  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  package func extend(by more: UnsafeMutableBufferPointer<Entry>) { unsafe ring.extend(by: more) }
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
  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  package func extend(by more: UnsafeMutableBufferPointer<Event>) { unsafe ring.extend(by: more) }
  /// True if every event has been popped. Any thread.
  package var isEmpty: Bool { ring.isEmpty }
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
  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  package func extend(by more: UnsafeMutableBufferPointer<ParameterChanges>) {
    unsafe ring.extend(by: more)
  }
}

/// Ring of spaces to record into. The process thread is the consumer.
package struct SpaceRing: ~Copyable {
  private let ring: Ring<Space>
  package init(slots: UnsafeMutableBufferPointer<Space>) { unsafe ring = Ring(slots: slots) }
  /// Appends a space; false if the ring is full. Producer only.
  @_noLocks package func push(_ space: Space) -> Bool { ring.push(space) }
  /// Removes and returns the oldest space; nil if the ring is empty. Consumer only.
  @_noLocks package func pop() -> Space? { ring.pop() }
  /// Returns the space that `pop` returns after `index` others; nil if there are fewer. Consumer
  /// only.
  @_noLocks func peek(_ index: Int) -> Space? { ring.peek(index) }
  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  package func extend(by more: UnsafeMutableBufferPointer<Space>) { unsafe ring.extend(by: more) }
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
  /// Gives the ring more slots. They and the first ones must outlive the ring. Call at most once; any
  /// thread.
  package func extend(by more: UnsafeMutableBufferPointer<RecordEvent>) {
    unsafe ring.extend(by: more)
  }
  /// True if every event has been popped. Any thread.
  package var isEmpty: Bool { ring.isEmpty }
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

/// Ring of the pieces in a `TapRing`. The thread that renders is the producer.
package struct TapRecordRing: ~Copyable {
  private let ring: Ring<TapRecord>
  package init(slots: UnsafeMutableBufferPointer<TapRecord>) { unsafe ring = Ring(slots: slots) }
  /// Appends a record; false if the ring is full. Producer only.
  @_noLocks func push(_ record: TapRecord) -> Bool { ring.push(record) }
  /// Removes and returns the oldest record; nil if the ring is empty. Consumer only.
  package func pop() -> TapRecord? { ring.pop() }
  /// Returns the number of free slots. Producer only.
  @_noLocks func room() -> Int { ring.room() }
}
