import Synchronization

/// A ring of trivial values between one producer and one consumer, in memory it is given.
///
/// A value is published once, whole, by one release store. A full ring refuses the value: an
/// ordinary answer, handled at the call.
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

  /// Producer only.
  fileprivate func push(_ element: Element) -> Bool {
    let t = tail.load(ordering: .relaxed)
    if t &- head.load(ordering: .acquiring) > mask { return false }
    unsafe slots[Int(truncatingIfNeeded: t & mask)] = element
    tail.store(t &+ 1, ordering: .releasing)
    return true
  }

  /// Consumer only.
  fileprivate func pop() -> Element? {
    let h = head.load(ordering: .relaxed)
    if h == tail.load(ordering: .acquiring) { return nil }
    let element = unsafe slots[Int(truncatingIfNeeded: h & mask)]
    head.store(h &+ 1, ordering: .releasing)
    return element
  }

  /// Consumer only: the element that `pop` returns after `index` others; nil if there are not so many.
  fileprivate func peek(_ index: Int) -> Element? {
    let at = head.load(ordering: .relaxed) &+ UInt64(truncatingIfNeeded: index)
    if at >= tail.load(ordering: .acquiring) { return nil }
    return unsafe slots[Int(truncatingIfNeeded: at & mask)]
  }

  /// Producer only: how many more it takes.
  fileprivate func room() -> Int {
    let used = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)
    return Int(truncatingIfNeeded: mask &+ 1 &- used)
  }
}

/// What is ready to be played, on its way to the cycle.
package struct EntryRing: ~Copyable {
  private let ring: Ring<Entry>
  package init(slots: UnsafeMutableBufferPointer<Entry>) { unsafe ring = Ring(slots: slots) }
  /// Producer only.
  @_noLocks package func push(_ entry: Entry) -> Bool { ring.push(entry) }
  /// Consumer only.
  @_noLocks package func pop() -> Entry? { ring.pop() }
  /// Consumer only: the entry that `pop` returns after `index` others; nil if there are not so many.
  @_noLocks func peek(_ index: Int) -> Entry? { ring.peek(index) }
}

/// What happened in a cycle, on its way to the host.
package struct EventRing: ~Copyable {
  private let ring: Ring<Event>
  package init(slots: UnsafeMutableBufferPointer<Event>) { unsafe ring = Ring(slots: slots) }
  /// Producer only.
  @_noLocks package func push(_ event: Event) -> Bool { ring.push(event) }
  /// Consumer only.
  @_noLocks package func pop() -> Event? { ring.pop() }
  /// Producer only: how many more it takes.
  @_noLocks package func room() -> Int { ring.room() }
}

/// Changes of parameters, on their way to the cycle.
package struct ParameterRing: ~Copyable {
  private let ring: Ring<ParameterChanges>
  package init(slots: UnsafeMutableBufferPointer<ParameterChanges>) {
    unsafe ring = Ring(slots: slots)
  }
  /// Producer only.
  @_noLocks package func push(_ changes: ParameterChanges) -> Bool { ring.push(changes) }
  /// Consumer only.
  @_noLocks package func pop() -> ParameterChanges? { ring.pop() }
}

/// What is to be filled, on its way to the cycle.
package struct SpaceRing: ~Copyable {
  private let ring: Ring<Space>
  package init(slots: UnsafeMutableBufferPointer<Space>) { unsafe ring = Ring(slots: slots) }
  /// Producer only.
  @_noLocks package func push(_ space: Space) -> Bool { ring.push(space) }
  /// Consumer only.
  @_noLocks package func pop() -> Space? { ring.pop() }
}

/// What happened in a cycle that records, on its way to the host.
package struct RecordEventRing: ~Copyable {
  private let ring: Ring<RecordEvent>
  package init(slots: UnsafeMutableBufferPointer<RecordEvent>) { unsafe ring = Ring(slots: slots) }
  /// Producer only.
  @_noLocks package func push(_ event: RecordEvent) -> Bool { ring.push(event) }
  /// Consumer only.
  @_noLocks package func pop() -> RecordEvent? { ring.pop() }
  /// Producer only: how many more it takes.
  @_noLocks package func room() -> Int { ring.room() }
}

/// Numbers of JACK's ports, on their way from one of its threads to ours.
package struct PortNumberRing: ~Copyable {
  private let ring: Ring<UInt32>
  package init(slots: UnsafeMutableBufferPointer<UInt32>) { unsafe ring = Ring(slots: slots) }
  /// Producer only.
  package func push(_ number: UInt32) -> Bool { ring.push(number) }
  /// Consumer only.
  package func pop() -> UInt32? { ring.pop() }
}
