import Foundation
import TestSupport
import Testing

@testable import RealTime

@Suite struct RingTests {
  private func withRing(_ capacity: Int, _ body: (borrowing EntryRing) throws -> Void) rethrows {
    let slots = UnsafeMutableBufferPointer<Entry>.allocate(capacity: capacity)
    defer { slots.deallocate() }
    try body(EntryRing(slots: slots))
  }

  private func entry(_ token: UInt32) -> Entry {
    Entry(
      UnsafeRawPointer(bitPattern: 1)!, frames: 1, layout: .float32(channels: 1), token: token)
  }

  @Test(arguments: [1, 2, 8, 64])
  func aRingTakesItsCapacityAndNoMore(capacity: Int) {
    withRing(capacity) { ring in
      // Several rounds, from every position.
      for round in 0..<(3 * capacity + 1) {
        for i in 0..<capacity {
          let isTaken = ring.push(entry(UInt32(i)))
          expectTrue(isTaken)
        }
        let isOneMoreTaken = ring.push(entry(99))
        expectTrue(!isOneMoreTaken)
        for i in 0..<capacity {
          let token = ring.pop()?.token
          expectEqual(token, UInt32(i), "round \(round)")
        }
        let isEmpty = ring.pop() == nil
        expectTrue(isEmpty)
        // Advance by one, so that the next round starts elsewhere.
        _ = ring.push(entry(0))
        _ = ring.pop()
      }
    }
  }

  @Test("more slots take what the first ones cannot, from every position")
  func moreSlots() {
    for before in 0..<9 {
      let (slots, more) = (
        UnsafeMutableBufferPointer<Entry>.allocate(capacity: 4),
        UnsafeMutableBufferPointer<Entry>.allocate(capacity: 16)
      )
      // Functions of the test cannot capture a ring itself.
      let box = UnsafeMutablePointer<EntryRing>.allocate(capacity: 1)
      box.initialize(to: EntryRing(slots: slots))
      defer {
        box.deinitialize(count: 1)
        box.deallocate()
        more.deallocate()
        slots.deallocate()
      }
      for _ in 0..<before {
        _ = box.pointee.push(entry(99))
        _ = box.pointee.pop()
      }
      var (pushed, popped): (UInt32, UInt32) = (0, 0)
      func push(_ count: Int) {
        for _ in 0..<count {
          let isTaken = box.pointee.push(entry(pushed))
          expectTrue(isTaken, "\(pushed) after \(before)")
          pushed += 1
        }
      }
      func pop(_ count: Int) {
        for _ in 0..<count {
          let next = box.pointee.peek(0)?.token
          expectEqual(next, popped)
          let token = box.pointee.pop()?.token
          expectEqual(token, popped, "after \(before)")
          popped += 1
        }
      }
      push(3)
      box.pointee.extend(by: more)
      // The fourth still has a slot of the first ones, the fifth has not.
      push(13)
      let last = box.pointee.peek(15)?.token
      expectEqual(last, 15)
      let isOneMoreTaken = box.pointee.push(entry(99))
      expectTrue(!isOneMoreTaken)
      pop(2)
      push(2)
      pop(16)
      for _ in 0..<40 {
        push(16)
        pop(16)
        push(1)
        pop(1)
      }
      let isEmpty = box.pointee.pop() == nil
      expectTrue(isEmpty)
    }
  }

  @Test("a ring has the room of its added slots before it moves to them")
  func roomOfMoreSlots() {
    let (slots, more) = (
      UnsafeMutableBufferPointer<Event>.allocate(capacity: 4),
      UnsafeMutableBufferPointer<Event>.allocate(capacity: 8)
    )
    defer {
      slots.deallocate()
      more.deallocate()
    }
    let ring = EventRing(slots: slots)
    let rooms = [ring.room()]
    expectEqual(rooms, [4])
    _ = ring.push(.none)
    ring.extend(by: more)
    let room = ring.room()
    expectEqual(room, 7)
    var isEmpty = ring.isEmpty
    expectTrue(!isEmpty)
    _ = ring.pop()
    isEmpty = ring.isEmpty
    expectTrue(isEmpty)
  }

  @Test(arguments: [false, true])
  func twoThreadsSeeEveryValueInOrder(extends: Bool) async {
    final class Box: @unchecked Sendable {
      let slots = UnsafeMutableBufferPointer<Entry>.allocate(capacity: 16)
      let more = UnsafeMutableBufferPointer<Entry>.allocate(capacity: 64)
      let ring: UnsafeMutablePointer<EntryRing>
      init() {
        ring = .allocate(capacity: 1)
        ring.initialize(to: EntryRing(slots: slots))
      }
      private var isExtended = false
      func extendOnce() {
        if !isExtended { ring.pointee.extend(by: more) }
        isExtended = true
      }
      deinit {
        ring.deinitialize(count: 1)
        ring.deallocate()
        slots.deallocate()
        more.deallocate()
      }
    }
    let box = Box()
    let count: UInt32 = 200_000
    let producer = Thread {
      for token in 0..<count {
        while !box.ring.pointee.push(
          Entry(
            UnsafeRawPointer(bitPattern: UInt(token) + 1)!, frames: Int(token),
            layout: .float32(channels: 1), token: token))
        { sched_yield() }
      }
    }
    producer.start()
    var next: UInt32 = 0
    while next < count {
      if extends, next == count / 2 { box.extendOnce() }
      if let entry = box.ring.pointee.pop() {
        guard entry.token == next else {
          Issue.record("\(entry.token) came instead of \(next)")
          return
        }
        next += 1
      } else {
        sched_yield()
      }
    }
    let isEmpty = box.ring.pointee.pop() == nil
    expectTrue(isEmpty)
  }
}
