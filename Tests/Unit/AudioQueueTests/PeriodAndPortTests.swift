import CRealTime
import Foundation
import RealTime
import Server
import TestSupport
import Testing
import Timeline

@testable import AudioQueue

/// Changes of a server during a run: another period, fewer ports, a common frame after a return.
@Suite struct PeriodAndPortTests {
  /// When the period changes, jackd counts the previous cycle as if it had had the new length.
  @Test(
    "21: a recording over a change of the period loses no frame and adds none",
    arguments: [
      (1024, 64), (64, 1024), (256, 256),
    ])
  func recordingOverAPeriodChange(before: Int, after: Int) throws {
    let rig = try InputRig()
    // The input counts the frames that were processed, independent of the server's counter.
    let heard = Mutexed<(next: UInt32, offset: UInt32)>((0, 0))
    rig.server.hears = { frame, _ in Float(frame &+ heard.value.offset) }
    let buffers = try (0..<3).map { _ in try rig.enqueue(2000) }
    _ = buffers
    try rig.queue.start(at: .frame(0))
    for _ in 0..<3 { rig.cycle(1, frames: before) }
    let shift = UInt32(truncatingIfNeeded: after - before)
    rig.server.counter &+= shift
    heard.value.offset = 0 &- shift
    for _ in 0..<40 where rig.samples.count < 2000 { rig.cycle(1, frames: after) }
    let samples = Array(rig.samples.prefix(2000))
    expectEqual(samples, (0..<2000).map { Float($0) })
    expectEqual(rig.queue.statistics.missedFrames, 0)
    expectEqual(rig.queue.discontinuities.interruptions, 0)
  }

  @Test(
    "14: a run resumes on the agreed frame, as far on as the others, and keeps in step if it is late"
  )
  func resuming() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(2000))
    try rig.queue.start()
    rig.cycle(2)
    let voice = rig.queue.memory.voice
    // Frame 140 lies in the third cycle. The queue skips ten frames of the run before it.
    voice.pointee.resume(
      at: StartPoint(.frame(140)), or: StartPoint(.hostTime(0)), skipping: 10)
    rig.cycle(1)
    expectEqual(Array(rig.output[128...]), silence(12) + ramp(52, from: 139))
    expectEqual(rig.queue.statistics.unheardFrames, 10)
    // A cycle that is 36 frames late skips them.
    voice.pointee.resume(
      at: StartPoint(.frame(156)), or: StartPoint(.hostTime(0)), skipping: 0)
    rig.cycle(1)
    expectEqual(Array(rig.output[192...]), ramp(64, from: 227))
    expectEqual(rig.queue.statistics.unheardFrames, 46)
    // A start time in the future is not moved forward.
    try rig.queue.stop()
    try rig.enqueue(ramp(100))
    try rig.queue.start(at: .hostTime(10_000_000))
    voice.pointee.resume(
      at: StartPoint(.frame(0)), or: StartPoint(.hostTime(8_000_000)), skipping: 0)
    rig.cycle(4)
    expectEqual(rig.queue.statistics.beganAt, 480)
  }

  @Test("34: a server with too few ports for all takes back those that it can")
  func tooFewPorts() throws {
    let server = HandDrivenServer()
    let rigs = [try Rig(.float(2), server: server), try Rig(), try Rig(.float(2))]
    _ = try rigs[0].queue.prime(frames: 0)
    for rig in rigs.dropFirst() { try rig.queue.setDeviceUID(rigs[0].queue.deviceUID) }
    for rig in rigs {
      try rig.enqueue(ramp(2000))
      try rig.queue.start(at: .frame(10))
    }
    server.cycle(frames: 100)
    server.goAway()
    waitUntil { rigs.allSatisfy { $0.queue.isLost } && server.clients[0].isClosed }
    server.portLimit = 4
    server.comeBack()
    waitUntil { !rigs[0].queue.isLost && !rigs[1].queue.isLost }
    expectTrue(rigs[2].queue.isLost)
    #expect(throws: QueueError.invalidated) { try rigs[2].queue.start() }
    let attempts = server.attempts
    server.cycle(frames: 100)
    expectEqual(
      server.clients[1].outputs.filter { !$0.isRemoved }.map(\.name),
      [
        "out_1", "out_2", "2_out_1",
      ])
    expectEqual(server.clients[1].samples[2], ramp(100, from: 91))
    // The device stops retrying, and queues that could not return can be disposed of.
    try rigs[2].queue.dispose(afterPlaying: false)
    server.cycle(frames: 100)
    expectEqual(server.attempts, attempts)
    for rig in rigs.dropLast() { try rig.queue.dispose(afterPlaying: false) }
    waitUntil { server.clients[1].isClosed }
  }

  @Test("34: a server without any port is asked less and less often")
  func noPorts() throws {
    let rig = try Rig(.float(2))
    try rig.enqueue(ramp(100))
    try rig.queue.start()
    rig.cycle()
    rig.server.goAway()
    waitUntil { rig.queue.isLost && rig.server.clients[0].isClosed }
    rig.server.portLimit = 0
    rig.server.comeBack()
    waitUntil { rig.server.clients.count >= 3 }
    // The next attempts are seconds apart.
    let opened = rig.server.clients.count
    rig.server.portLimit = .max
    waitUntil { !rig.queue.isLost }
    expectTrue(rig.server.clients.count <= opened + 2)
    expectTrue(rig.server.clients.dropLast().allSatisfy { $0.isClosed })
  }
}
