import Foundation
import RealTime
import Testing

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
          #expect(isTaken)
        }
        let isOneMoreTaken = ring.push(entry(99))
        #expect(!isOneMoreTaken)
        for i in 0..<capacity {
          let token = ring.pop()?.token
          #expect(token == UInt32(i), "round \(round)")
        }
        let isEmpty = ring.pop() == nil
        #expect(isEmpty)
        // Advance by one, so that the next round starts elsewhere.
        _ = ring.push(entry(0))
        _ = ring.pop()
      }
    }
  }

  @Test func twoThreadsSeeEveryValueInOrder() async {
    final class Box: @unchecked Sendable {
      let slots = UnsafeMutableBufferPointer<Entry>.allocate(capacity: 16)
      let ring: UnsafeMutablePointer<EntryRing>
      init() {
        ring = .allocate(capacity: 1)
        ring.initialize(to: EntryRing(slots: slots))
      }
      deinit {
        ring.deinitialize(count: 1)
        ring.deallocate()
        slots.deallocate()
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
    #expect(isEmpty)
  }
}
