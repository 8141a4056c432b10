import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

private func frames(_ first: Int, _ count: Int) -> [Float] { ramp(count, from: Float(first)) }

/// 34: the server of a recording goes away and returns. Host time follows the counter, so the counter's
/// new value determines how long the server was gone.
@Suite(.tags(.slow), .serialized) struct RecordingReturnTests {
  private func waitForLoss(_ rig: InputRig) {
    waitUntil { rig.queue.state.read { $0.isLost } && rig.server.clients.last!.isClosed }
    rig.settle()
  }

  private func goAway(_ rig: InputRig) {
    rig.server.goAway()
    waitForLoss(rig)
  }

  private func comeBack(_ rig: InputRig, counter: UInt32, sampleRate: Double? = nil) {
    rig.server.comeBack(sampleRate: sampleRate, counter: counter)
    waitUntil { rig.queue.state.read { !$0.isLost } }
    rig.settle()
  }

  @Test("34: what was recorded comes at once; the run goes on by itself behind a hole")
  func goesOn() throws {
    let rig = try InputRig(.float(2))
    let ids = try [100, 50, 30].map { try rig.enqueue($0) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    goAway(rig)
    expectEqual(rig.calls, [.running(true), .done(ids[0], frames: 64, at: 0)])
    expectTrue(rig.queue.isRunning && rig.queue.currentFrame == 64)
    expectEqual(rig.queue.statistics.lastedFrames, 64)
    #expect(throws: QueueError.invalidated) { try rig.queue.start() }
    // The buffer waits for the next server.
    try rig.queue.enqueue(ids[0])
    #expect(throws: QueueError.enqueuedTwice) { try rig.queue.enqueue(ids[0]) }
    comeBack(rig, counter: 1000)
    expectTrue(rig.queue.isRunning)
    expectEqual(
      rig.server.clients[1].connections,
      [
        "in_1": ["system:capture_1"], "in_2": ["system:capture_2"],
      ])
    rig.cycle(2)
    expectEqual(
      rig.calls,
      [
        .running(true), .done(ids[0], frames: 64, at: 0), .done(ids[1], frames: 50, at: 1000),
        .done(ids[2], frames: 30, at: 1050),
      ])
    expectTrue(rig.queue.statistics.lostFrames == 936 && rig.queue.statistics.underruns == 0)
    expectEqual(rig.queue.discontinuities, Discontinuities(restarts: 1))
    expectEqual(rig.queue.currentFrame, 1128)
    try rig.queue.stop(atOnce: true)
    let left = stride(from: 0, to: rig.samples.count, by: 2).map { rig.samples[$0] }
    expectEqual(left, frames(0, 64) + frames(1000, 128))
    expectEqual(rig.queue.statistics.lastedFrames, 1128)
  }

  @Test("34: at another rate it is converted from then on", arguments: [24000.0, 44100, 96000])
  func anotherRate(rate: Double) throws {
    let rig = try InputRig(.float(1))
    rig.server.hears = { _, _ in 0.25 }
    for _ in 0..<6 { try rig.enqueue(4800) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(75)
    goAway(rig)
    // A second after the first frame.
    comeBack(rig, counter: UInt32(rate), sampleRate: rate)
    expectEqual(rig.queue.format.sampleRate, 48000)
    rig.cycle(Int(rate) / 100, frames: 50)
    try rig.queue.stop(atOnce: true)
    let recordings = rig.recordings.filter { $0.frames > 0 }
    expectEqual(recordings.map(\.startFrame).prefix(3), [0, 48000, 52800])
    let frameCount: Int = recordings.map(\.frames).reduce(0, +)
    expectEqual(frameCount, 28_800)
    expectTrue(rig.samples.dropFirst(5800).dropLast(1000).allSatisfy { abs($0 - 0.25) < 1e-4 })
    // Back at the original rate, nothing is resampled.
    try rig.enqueue(64)
    try rig.queue.start()
    goAway(rig)
    rig.server.hears = { frame, _ in Float(frame) }
    comeBack(rig, counter: 0, sampleRate: 48000)
    rig.cycle(2)
    expectEqual(rig.samples.suffix(64), frames(0, 64)[...])
  }

  @Test("34: packets go on in one stream, with the hole between two of them")
  func packets() throws {
    let rig = try InputRig(
      .packets(PacketFormat(codec: .alac, sampleRate: 48000, channels: 1, bitsPerSample: 16)))
    rig.server.hears = { frame, _ in Float(frame % 30_000) / 32768 }
    let ids = try (0..<3).map { _ in try rig.enqueue(bytes: 1 << 20) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(50, frames: 100)
    goAway(rig)
    expectEqual(rig.calls, [.running(true), .done(ids[0], frames: 4096, at: 0)])
    comeBack(rig, counter: 20_000)
    rig.cycle(50, frames: 100)
    try rig.queue.stop(atOnce: true)
    // The packet interrupted by the loss ends in silence, up to frame 8192.
    let recordings = rig.recordings.filter { $0.frames > 0 }
    expectEqual(recordings.map(\.startFrame), [0, 4096, 20_000])
    expectEqual(recordings.map(\.frames), [4096, 4096, 5000])
    let format = PacketFormat(codec: .alac, sampleRate: 48000, channels: 1)
    let decoded = try CodedSound.decode(rig.packets, format, rig.queue.cookie)[0]
    expectEqual(
      decoded, (frames(0, 5000) + silence(3192) + frames(20_000, 5000)).map { $0 / 32768 })
  }

  @Test("34: while the server is gone a stop gives all that is left")
  func stopsWhileItIsGone() throws {
    let rig = try InputRig(
      .packets(PacketFormat(codec: .alac, sampleRate: 48000, channels: 1, bitsPerSample: 16)))
    let ids = try (0..<3).map { _ in try rig.enqueue(bytes: 1 << 20) }
    try rig.queue.start(at: .frame(0))
    rig.cycle(50, frames: 100)
    goAway(rig)
    try rig.queue.stop(atOnce: true)
    waitUntil { rig.calls.last == .running(false) }
    expectEqual(
      rig.calls,
      [
        .running(true), .done(ids[0], frames: 4096, at: 0), .done(ids[1], frames: 904, at: 4096),
        .done(ids[2], frames: 0, at: 5000), .running(false),
      ])
    expectTrue(!rig.queue.isRunning)
    // It does not resume, but can be started again.
    comeBack(rig, counter: 100)
    rig.cycle(5)
    expectTrue(!rig.queue.isRunning && rig.calls.count == 5)
    try rig.queue.enqueue(ids[0])
    try rig.queue.start()
    rig.cycle(2)
    expectEqual(rig.calls.last, .running(true))
    try rig.queue.dispose(atOnce: false)
    expectTrue(rig.calls.contains(.done(ids[0], frames: 128, at: 0)))
  }

  @Test("34: a pause stays one, and a start that has not come stays asked for")
  func pauses() throws {
    let rig = try InputRig()
    let ids = try [100, 100].map { try rig.enqueue($0) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    try rig.queue.pause()
    goAway(rig)
    comeBack(rig, counter: 500)
    expectTrue(rig.queue.isRunning)
    rig.cycle(2)
    expectEqual(rig.queue.currentFrame, 64)
    try rig.queue.start()
    rig.cycle(2)
    expectTrue(rig.calls.contains(.done(ids[1], frames: 100, at: 64)))
    try rig.queue.stop(atOnce: true)
    let third = try rig.enqueue(10)
    let now = Int(rig.server.counter)
    try rig.queue.start(at: .frame(Int64(now + 100)))
    goAway(rig)
    comeBack(rig, counter: UInt32(now))
    rig.cycle(2)
    waitUntil { rig.calls.last == .underrun }
    expectTrue(rig.calls.contains(.done(third, frames: 10, at: 0)))
    expectEqual(rig.samples.suffix(10), frames(now + 100, 10)[...])
  }

  @Test("34: a pause while the server is gone lasts until a start")
  func pausedWhileGone() throws {
    let rig = try InputRig()
    let ids = try [100, 100].map { try rig.enqueue($0) }
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    goAway(rig)
    try rig.queue.flush()
    try rig.queue.pause()
    comeBack(rig, counter: 500)
    rig.cycle(2)
    expectTrue(rig.queue.isRunning && rig.queue.currentFrame == 64)
    try rig.queue.start()
    rig.cycle(2)
    expectTrue(rig.calls.contains(.done(ids[1], frames: 100, at: 64)))
    // Reset gives the buffers back and goes on recording.
    let third = try rig.enqueue(100)
    goAway(rig)
    try rig.queue.reset()
    expectTrue(rig.recordings.contains { $0.buffer == third })
    expectTrue(rig.queue.isRunning)
  }

  @Test("34: many restarts, and a server that never comes back")
  func manyRestarts() throws {
    let rig = try InputRig()
    rig.onBuffer { queue, recording in try? queue.enqueue(recording.buffer) }
    for _ in 0..<3 { try rig.enqueue(40) }
    try rig.queue.start(at: .frame(0))
    var expected: [Float] = []
    for i in 0..<5 {
      rig.cycle(3)
      expected += frames(1000 * i, 192)
      goAway(rig)
      comeBack(rig, counter: UInt32(1000 * (i + 1)))
    }
    rig.cycle()
    expectEqual(rig.queue.currentFrame, 5064)
    expectEqual(rig.queue.statistics.lostFrames, 5 * 808)
    goAway(rig)
    expected += frames(5000, 64)
    expectEqual(rig.samples, expected)
    expectEqual(rig.queue.statistics.underruns, 0)
    try rig.queue.dispose(atOnce: false)
  }
}
