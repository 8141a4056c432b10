import TestSupport
import Testing
import Timeline

@testable import AudioQueue
@testable import Server

/// Messages that are in flight when the queue is reset or stopped.
@Suite(.serialized) struct InFlightTests {
  /// Events that cycles sent before a reset or a stop do not count for buffers that are enqueued
  /// afterwards.
  @Test(arguments: [true, false]) func eventsBeforeAReset(stops: Bool) throws {
    let rig = try Rig()
    let old = try (0..<3).map { _ in try rig.enqueue(ramp(24)) }
    try rig.queue.start(at: .frame(0))
    let device = try require(rig.queue.state.read { $0.device })
    // The event thread cannot read events meanwhile.
    let new = try device.attachments.withLock { _ in
      // Two buffers have been played, which nobody knows yet, and the third has begun.
      rig.server.cycle(frames: 64)
      if stops { try rig.queue.stop() } else { try rig.queue.reset() }
      let new = try (0..<3).map { try rig.enqueue(ramp(100, from: Float(500 + 100 * $0))) }
      if stops { try rig.queue.start(at: .frame(64)) }
      return new
    }
    rig.cycle()
    expectEqual(rig.doneBuffers, old)
    rig.cycle()
    expectEqual(rig.doneBuffers, old + new.prefix(1))
    rig.cycle(3)
    expectEqual(rig.doneBuffers, old + new)
    let heard = ramp(24) + ramp(24) + ramp(16) + ramp(300, from: 500)
    expectEqual(Array(rig.output.prefix(364)), heard)
  }
}
