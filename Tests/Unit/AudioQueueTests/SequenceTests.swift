import Dispatch
import Foundation
import RealTime
import System
import TestSupport
import Testing
import Timeline

@testable import AudioQueue
@testable import Server

/// Unusual orders of calls. Each test reproduces an order that once failed.
@Suite(.serialized) struct SequenceTests {
  @Test("7: of Stops and Starts in a row while a run ends, the last one counts")
  func stopsAndStartsInARow() throws {
    for starts in [true, false] {
      let rig = try Rig()
      try rig.enqueue(ramp(100))
      try rig.queue.start(at: .frame(0))
      rig.cycle()
      for _ in 0..<3 {
        try rig.queue.stopAfterPlaying()
        try rig.queue.start()
      }
      if !starts { try rig.queue.stopAfterPlaying() }
      rig.cycle(10)
      expectEqual(rig.queue.isRunning, starts)
      expectEqual(rig.output, ramp(100) + silence(604))
      // Nothing is left for the next run.
      try rig.queue.stop()
      try rig.enqueue(ramp(10))
      try rig.queue.start()
      rig.cycle(3)
      expectTrue(rig.queue.isRunning)
    }
  }

  @Test("6: no run follows a Stop(true), whatever the queue had not heard of by then")
  func stopBeforeTheEventsAreRead() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(10))
    for _ in 0..<2 {
      try rig.queue.start()
      try rig.queue.stopAfterPlaying()
    }
    try rig.queue.start()
    let device = try require(rig.queue.state.read { $0.device })
    // The event thread cannot read events meanwhile.
    try device.attachments.withLock { _ in
      rig.server.cycle(frames: 64)
      try rig.queue.stop()
    }
    rig.settle()
    rig.cycle(3)
    expectTrue(!rig.queue.isRunning)
    expectTrue(rig.queue.hasEnded)
  }

  @Test("7: Stop(false) and Start before the first cycle leave the queue running")
  func stopAndStartBeforeTheFirstCycle() throws {
    let rig = try Rig()
    try rig.queue.start()
    try rig.enqueue(ramp(10))
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    try rig.enqueue(ramp(10, from: 11))
    rig.cycle(4)
    expectTrue(rig.queue.isRunning)
    expectEqual(rig.output, ramp(20) + silence(236))
  }

  @Test("6: Reset between two ends keeps both")
  func resetKeepsEveryEnd() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(1000))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    try rig.enqueue(ramp(1000))
    try rig.queue.stopAfterPlaying()
    try rig.queue.reset()
    rig.cycle(6)
    expectTrue(!rig.queue.isRunning)
    expectEqual(rig.output, ramp(64) + silence(384))
  }

  @Test("10: Pause between two runs holds the second one back")
  func pauseBetweenRuns() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(64))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stopAfterPlaying()
    try rig.queue.start(at: .frame(1000))
    try rig.enqueue(ramp(64, from: 65))
    rig.cycle()
    try rig.queue.pause()
    rig.cycle(20)
    expectEqual(rig.output, ramp(64) + silence(64 * 21))
    try rig.queue.start()
    rig.cycle()
    expectEqual(Array(rig.output.suffix(64)), ramp(64, from: 65))
  }

  @Test("8: Dispose(false) plays the run that is to follow too")
  func disposeDrainsTheNextRun() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(100))
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.stopAfterPlaying()
    try rig.queue.start()
    try rig.enqueue(ramp(100, from: 101))
    try rig.queue.dispose(afterPlaying: true)
    for _ in 0..<4 {
      rig.server.cycle(frames: 64)
      rig.queue.deliverEvents()
      // Time in which a premature disposal would happen.
      usleep(20_000)
    }
    waitUntil { rig.server.clients[0].isClosed }
    expectEqual(Array(rig.output.prefix(200)), ramp(200))
  }

  @Test("8: a queue that is let go of without disposal takes its memory out of the cycle")
  func lettingGoOfAQueue() throws {
    let server = HandDrivenServer()
    var queue: OutputQueue? = try OutputQueue(
      .float(1), options: OutputQueue.Options(clientName: "loose"), server: server,
      callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
    let buffer = try require(queue).allocateBuffer(capacity: 4096)
    try queue?.enqueue(buffer.id, bytes: 4096)
    try queue?.start()
    server.cycle(frames: 64)
    queue = nil
    waitUntil { server.clients[0].isClosed }
    server.cycle(frames: 64)
  }

  @Test("15: Flush before the first Prime or Start counts", arguments: [24000.0, 44100])
  func flushBeforeAStart(rate: Double) throws {
    func played(flushing: Bool, openFirst: Bool) throws -> [Float] {
      let rig = try Rig(.float(1, rate: rate))
      if openFirst { _ = try rig.queue.prime(frames: 0) }
      try rig.enqueue(ramp(301))
      if flushing { try rig.queue.flush() }
      try rig.enqueue(ramp(301, from: 1000))
      try rig.queue.stopAfterPlaying()
      _ = try rig.queue.prime(frames: 0)
      try rig.queue.start(at: .frame(0))
      rig.cycle(30)
      expectTrue(!rig.queue.isRunning && rig.doneBuffers == [1, 2])
      return rig.output
    }
    let flushed = try played(flushing: true, openFirst: true)
    try expectEqual(played(flushing: true, openFirst: false), flushed)
    expectTrue(try played(flushing: false, openFirst: false) != flushed)
  }

  @Test("15: a Flush that no converter needs leaves nothing behind")
  func flushBeforeAStartOfFrames() throws {
    let rig = try Rig()
    try rig.enqueue(ramp(10))
    try rig.queue.flush()
    try rig.queue.flush()
    try rig.enqueue(ramp(10, from: 11))
    try rig.queue.flush()
    try expectEqual(rig.queue.prime(frames: 0), 20)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    expectEqual(rig.output, ramp(20) + silence(44))
    expectTrue(rig.queue.state.read { $0.waiting.isEmpty && $0.inRing.isEmpty })
  }

  @Test("9: Flush after Stop(false) puts nothing behind the end")
  func flushAfterStop() throws {
    let rig = try Rig(.float(1, rate: 44100))
    // More than the converter's staging buffers hold, so the end has to wait.
    try rig.enqueue(ramp(40_000))
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.stopAfterPlaying()
    try rig.queue.flush()
    try rig.queue.stopAfterPlaying()
    expectEqual(rig.queue.state.read { $0.part.ends }, 1)
  }

  @Test("5, 7: Stop(false) before Start ends a run whose frames the converter still holds")
  func stopWithFramesInTheConverter() throws {
    let rig = try Rig(.float(1, rate: 44100))
    // Too few frames for the converter to output any before it knows the end.
    try rig.enqueue(ramp(10))
    _ = try rig.queue.prime(frames: 0)
    rig.settle()
    try require(rig.queue.state.read { $0.waiting.isEmpty && $0.inRing.isEmpty })
    try rig.queue.stopAfterPlaying()
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    rig.cycle(4)
    expectTrue(!rig.queue.isRunning)
    expectEqual(rig.queue.statistics.lastedFrames, 11)
  }

  @Test("6: Stop(true) returns with the queue when a disposal begins meanwhile")
  func stopWhileADisposalBegins() throws {
    let rig = try Rig()
    rig.onBuffer { queue, _ in
      usleep(100_000)
      try? queue.dispose(afterPlaying: false)
    }
    for _ in 0..<3 { try rig.enqueue([1]) }
    try rig.queue.start()
    rig.server.cycle(frames: 2)
    let began = Date()
    try rig.queue.stop()
    expectTrue(Date().timeIntervalSince(began) < 0.9)
  }

  @Test("6: on a concurrent dispatch queue too, no callback comes after Stop(true)")
  func stopOnAConcurrentQueue() throws {
    let app = DispatchQueue(label: "app", attributes: .concurrent)
    let rig = try Rig(executor: .queue(app))
    let isInside = Mutexed(false)
    rig.onBuffer { _, _ in
      isInside.value = true
      usleep(100_000)
    }
    for _ in 0..<3 { try rig.enqueue([1]) }
    try rig.queue.start()
    rig.server.cycle(frames: 1)
    rig.queue.deliverEvents()
    waitUntil { isInside.value }
    try app.sync { try rig.queue.stop() }
    expectEqual(rig.doneBuffers.count, 3)
    rig.settle()
    expectEqual(rig.doneBuffers.count, 3)
  }

  @Test("14: a host time hours ago starts at once, though JACK's counter has wrapped since")
  func startHoursAgo() throws {
    // 20 hours at 48 kHz.
    let rig = try Rig(server: HandDrivenServer(counter: 72_000 * 48_000))
    try rig.enqueue(ramp(10))
    try rig.queue.start(at: .hostTime(0))
    rig.cycle()
    expectEqual(rig.output, ramp(10) + silence(54))
  }

  // MARK: Devices

  @Test("30: a device that closed with its last queue takes no other")
  func seatOnAClosedDevice() throws {
    let first = try Rig()
    _ = try first.queue.prime(frames: 0)
    let second = try Rig(server: HandDrivenServer())
    try second.queue.setDeviceUID(first.queue.deviceUID)
    try first.queue.dispose(afterPlaying: false)
    #expect(throws: QueueError.cannotStart(.closed(client: "rig"))) { try second.queue.start() }
  }

  @Test("34: a device whose server has gone takes no queue")
  func seatOnALostDevice() throws {
    let first = try Rig()
    _ = try first.queue.prime(frames: 0)
    let second = try Rig(server: HandDrivenServer())
    try second.queue.setDeviceUID(first.queue.deviceUID)
    first.server.goAway()
    waitUntil { first.queue.isLost }
    #expect(throws: QueueError.cannotStart(.lost(server: "by-hand"))) { try second.queue.start() }
    #expect(throws: QueueError.invalidated) { try first.queue.start() }
  }

  @Test func aClientWithoutPortsCloses() throws {
    let server = HandDrivenServer()
    server.portLimit = 1
    let rig = try Rig(.float(2), server: server)
    #expect(throws: QueueError.cannotStart(.cannotAddPort(name: "out_2", client: "rig"))) {
      try rig.queue.start()
    }
    expectTrue(server.clients[0].isClosed)
  }

  @Test("30: changing the device while the converter works loses no buffer")
  func changeOfDeviceWhileConverting() throws {
    let other = try Rig()
    _ = try other.queue.prime(frames: 0)
    let uid = other.queue.deviceUID
    for _ in 0..<50 {
      let rig = try Rig(.float(1, rate: 44100))
      let ids = try (0..<4).map { _ in try rig.enqueue(silence(3000)) }
      _ = try rig.queue.prime(frames: 1)
      try rig.queue.setDeviceUID(uid)
      try rig.queue.start()
      try rig.queue.stop()
      expectEqual(rig.doneBuffers.sorted(), ids)
    }
  }

  // MARK: Memory

  @Test(.disabled(if: isSanitized, "a sanitizer locks nothing"))
  func freeingABufferKeepsItsNeighboursLocked() throws {
    let rig = try Rig()
    let buffers = try (0..<64).map { _ in try rig.queue.allocateBuffer(capacity: 4) }
    let kept = UInt(bitPattern: try require(buffers.last?.data.baseAddress))
    let canLock = try isLocked(kept)
    try require(canLock, "this system lets nothing be locked")
    for buffer in buffers.dropLast() { try rig.queue.freeBuffer(buffer.id) }
    let isStillLocked = try isLocked(kept)
    expectTrue(isStillLocked)
  }

  /// Tells if the page at `address` is locked into memory, by the flags of its mapping.
  private func isLocked(_ address: UInt) throws -> Bool {
    var isInside = false
    let maps = try require(text(ofSystemFile: "/proc/self/smaps"))
    for line in maps.split(separator: "\n") {
      let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap {
        UInt($0, radix: 16)
      }
      if bounds.count == 2 { isInside = bounds[0] <= address && address < bounds[1] }
      if isInside, line.hasPrefix("VmFlags:") { return line.split(separator: " ").contains("lo") }
    }
    Issue.record("nothing is mapped at the address")
    return false
  }
}
