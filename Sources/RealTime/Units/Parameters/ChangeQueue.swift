import Synchronization

/// Changes that wait for a unit's next render. Any thread adds, real time included; the thread that renders
/// takes them. Owns no memory.
///
/// Each slot counts how often it was used (the bounded queue of D. Vyukov), so no thread waits for another.
@safe
package struct ChangeQueue: ~Copyable {
  package static var capacity: Int { @_noLocks get { 256 } }
  private let slots: UnsafeMutablePointer<QueuedChange>
  private let added = Atomic<UInt>(0)
  private let taken = Atomic<UInt>(0)

  package init(_ slots: UnsafeMutablePointer<QueuedChange>) { unsafe self.slots = slots }

  @_noLocks private borrowing func slot(_ number: UInt) -> UnsafeMutablePointer<QueuedChange> {
    unsafe slots + Int(number & UInt(Self.capacity &- 1))
  }

  /// - Returns: False if the queue is full.
  @_noLocks package borrowing func add(_ change: ScheduledChange) -> Bool {
    var number = added.load(ordering: .relaxed)
    while true {
      let slot = unsafe slot(number)
      let turn = unsafe slot.pointee.turn.load(ordering: .acquiring)
      if turn == number {
        let (isMine, now) = added.compareExchange(
          expected: number, desired: number &+ 1, ordering: .relaxed)
        if isMine {
          unsafe slot.pointee.change = change
          unsafe slot.pointee.turn.store(number &+ 1, ordering: .releasing)
          return true
        }
        number = now
      } else if Int(bitPattern: turn &- number) < 0 {
        return false
      } else {
        number = added.load(ordering: .relaxed)
      }
    }
  }

  /// Moves the waiting changes to `changes`, in the order of their first frames.
  ///
  /// - Returns: Their number.
  @inline(__always)
  @_noLocks borrowing func take(_ changes: UnsafeMutablePointer<ScheduledChange>) -> Int {
    let number = taken.load(ordering: .relaxed)
    let turn = unsafe slot(number).pointee.turn.load(ordering: .acquiring)
    return turn == number &+ 1 ? unsafe takeAll(changes) : 0
  }

  @inline(never)
  @_noLocks private borrowing func takeAll(_ changes: UnsafeMutablePointer<ScheduledChange>) -> Int
  {
    var count = 0
    var number = taken.load(ordering: .relaxed)
    while count < Self.capacity {
      let slot = unsafe slot(number)
      guard unsafe slot.pointee.turn.load(ordering: .acquiring) == number &+ 1,
        let change = unsafe slot.pointee.change
      else { break }
      unsafe slot.pointee.turn.store(number &+ UInt(Self.capacity), ordering: .releasing)
      number &+= 1
      var i = count
      while unsafe i > 0 && changes[i &- 1].start > change.start {
        unsafe changes[i] = changes[i &- 1]
        i &-= 1
      }
      unsafe changes[i] = change
      count &+= 1
    }
    taken.store(number, ordering: .relaxed)
    return count
  }
}

/// A slot of a `ChangeQueue`.
package struct QueuedChange: ~Copyable {
  fileprivate var change: ScheduledChange?
  /// The number of the change that may be written here next, or, once it is there, that plus 1.
  fileprivate let turn: Atomic<UInt>

  package init(_ slot: Int) {
    change = nil
    turn = Atomic(UInt(slot))
  }
}
