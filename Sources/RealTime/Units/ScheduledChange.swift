import Synchronization

/// A change of a parameter at a frame of a render.
@safe
package struct ScheduledChange: BitwiseCopyable, @unchecked Sendable {
  package let slot: UnsafeMutablePointer<UnitParameterSlot>
  /// First frame of the change, counted from the render's first. That of a ramp may lie before it.
  package let start: Int
  /// Frames of a ramp; 0 for a change at once.
  package let frames: Int
  package let from: Float
  package let to: Float

  @_noLocks package init(
    _ slot: UnsafeMutablePointer<UnitParameterSlot>, start: Int, frames: Int, from: Float, to: Float
  ) {
    unsafe self.slot = slot
    self.start = start
    self.frames = frames
    self.from = from
    self.to = to
  }

  /// Returns the value at a frame that is not before the first one.
  @_noLocks func value(at frame: Int) -> Float {
    let done = frame &- start
    if done >= frames { return to }
    return from + (to - from) * Float(done) / Float(frames)
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
  @_noLocks borrowing func take(_ changes: UnsafeMutablePointer<ScheduledChange>) -> Int {
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

extension UnitSetup {
  /// The number of scheduled changes of this render.
  var changeCount: Int { @_noLocks get { unsafe cache.pointee.changeCount } }

  /// Returns true if scheduled changes concern parameters.
  ///
  /// - Parameters:
  ///   - slots: The first of the parameters, and `count` their number.
  ///   - frame: Only changes that have begun by then count.
  @_noLocks func hasChanges(
    of slots: UnsafeMutablePointer<UnitParameterSlot>, count: Int, by frame: Int = .max
  ) -> Bool {
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start <= frame, unsafe change.slot >= slots && change.slot < slots + count {
        return true
      }
    }
    return false
  }

  /// Returns the first frame after `frame` at which a scheduled change begins or ends, `frames` at most.
  @_noLocks func nextChange(after frame: Int, frames: Int) -> Int {
    var next = frames
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start > frame {
        next = min(next, change.start)
      } else if change.start &+ change.frames > frame {
        next = min(next, change.start &+ change.frames)
      }
    }
    return next
  }

  /// Gives parameters the values that the scheduled changes up to a frame ask for.
  ///
  /// - Parameters:
  ///   - isEnd: True if those that begin with the frame do not count.
  ///   - slots: The first of the parameters, and `count` their number; nil for all.
  @_noLocks func applyChanges(
    at frame: Int, isEnd: Bool, to slots: UnsafeMutablePointer<UnitParameterSlot>? = nil,
    count: Int = 0
  ) {
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start > frame || change.start == frame && isEnd { continue }
      if let slots = unsafe slots, unsafe change.slot < slots || change.slot >= slots + count {
        continue
      }
      unsafe change.slot.pointee.set(change.value(at: frame))
    }
  }
}
