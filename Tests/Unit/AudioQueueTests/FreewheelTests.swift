import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// A live queue on a server in freewheel mode, whose cycles run faster than an app refills buffers.
@Suite(.tags(.server), .serialized, .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct FreewheelTests {
  @Test func cyclesWaitForTheAppsCallbacks() throws {
    let jack = try JackDaemon(period: 1024)
    defer { jack.stop() }
    let memory = Mutexed<[UInt32: QueueBuffer]>([:])
    let next = Mutexed<Float>(1)
    @Sendable func refill(_ queue: OutputQueue, _ id: UInt32) {
      guard let buffer = memory.value[id] else { return }
      let first = next.value
      next.value = first + 512
      let samples = (0..<512).map { first + Float($0) }
      samples.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      // A slow app.
      usleep(300)
      try? queue.enqueue(id, bytes: 512 * 4)
    }
    let queue = try OutputQueue(
      .float(1), options: OutputQueue.Options(clientName: "player", connections: .none),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { queue, id in refill(queue, id) }, changed: { _, _ in }))
    defer { try? queue.dispose(afterPlaying: false) }
    for _ in 0..<3 {
      let buffer = try queue.allocateBuffer(capacity: 512 * 4)
      memory.value[buffer.id] = buffer
      refill(queue, buffer.id)
    }
    _ = try queue.prime(frames: 0)
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 20 * jack.rate)
    try capture.connect("player:out_1", toInput: 1)
    capture.arm()
    try capture.setFreewheel(true)
    try queue.start()
    waitUntil(seconds: 60) { queue.statistics.lastedFrames > 200 * 1024 }
    try queue.stop()
    try capture.setFreewheel(false)
    capture.disarm()
    expectEqual(queue.statistics.starvedFrames, 0)
    let heard = capture.samples(channel: 0)
    let first = heard.firstIndex { $0 != 0 } ?? 0
    let sound = Array(heard[first...].prefix(150 * 1024))
    expectEqual(sound, sound.indices.map { Float($0 + 1) })
  }
}
