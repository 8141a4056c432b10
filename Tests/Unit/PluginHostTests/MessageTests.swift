import CPluginRunner
import CRealTime
import Foundation
import Graph
import PluginHost
import Synchronization
import TestSupport
import Testing

/// Messages to a plugin that wrap around the end of their ring.
@Suite(.serialized) struct MessageTests {
  private static func message(_ number: Int, bytes: Int) -> [UInt8] {
    [0xf0] + [UInt8](repeating: UInt8(number & 0x7f), count: bytes) + [0xf7]
  }

  /// At any position and with any parts. A full ring refuses the message and keeps its content.
  @Test func aRingTakesAMessageAtAnyPlace() {
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: 64)
    defer { memory.deallocate() }
    var ring = cue_ring(bytes: memory, size: 64, written: 0, read: 0)
    var number = 0
    for head in 1...40 {
      for body in 0...(64 - head) {
        let message = (0..<head + body).map { UInt8(truncatingIfNeeded: $0 &* 5 &+ number) }
        number += 1
        let isPut = message.withUnsafeBytes {
          cue_ring_put(&ring, $0.baseAddress!, UInt32(head), $0.baseAddress! + head, UInt32(body))
        }
        expectTrue(isPut && cue_ring_readable(&ring) == UInt64(message.count))
        expectTrue(!cue_ring_put(&ring, message, UInt32(64 - message.count + 1), nil, 0))
        var taken = [UInt8](repeating: 0, count: message.count)
        cue_ring_peek(&ring, &taken, UInt32(head))
        cue_ring_take(&ring, &taken, UInt32(message.count))
        expectTrue(taken == message && cue_ring_readable(&ring) == 0)
      }
    }
  }

  /// A cycle may run at any moment while a message is written, also while one wraps around.
  @Test func aLongMessageComesWholeOrNotAtAll() throws {
    try withTemporaryFolder { folder in
      let plugin = try Fixture.echo(in: folder)
      let run = HandRun(plugin)
      let count = 3000
      let isOver = Atomic<Bool>(false)
      let taken = Atomic<Int>(0)
      let writer = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        for number in 0..<count {
          let message = Self.message(number, bytes: 11_000 + number % 97)
          // A block of the plugin has room for five messages.
          while taken.load(ordering: .acquiring) < number - 2, !isOver.load(ordering: .relaxed) {}
          while (try? plugin.send(midi: message)) == nil, !isOver.load(ordering: .relaxed) {}
        }
        writer.signal()
      }
      let end = Date() + 120
      var heard = 0
      var isWhole = true
      while heard < count, isWhole, Date() < end {
        for event in run.run(frames: 64, blocks: [64]).events {
          isWhole = isWhole && event.bytes == Self.message(heard, bytes: 11_000 + heard % 97)
          heard += 1
          taken.store(heard, ordering: .releasing)
        }
      }
      isOver.store(true, ordering: .relaxed)
      writer.wait()
      expectTrue(isWhole && heard == count, "message \(heard) of \(count)")
      expectEqual(plugin.lostEvents, 0)
    }
  }
}
