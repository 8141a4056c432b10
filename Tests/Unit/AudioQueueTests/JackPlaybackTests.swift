import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Playback on a running jackd: a capture client must receive exactly the enqueued samples.
@Suite(.tags(.server), .serialized, .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct JackPlaybackTests {
  private static let rate = 48000

  private func queue(
    _ format: PCMFormat, on jack: JackDaemon, name: String,
    _ connections: OutputQueue.Options.Connections = .none
  ) throws -> OutputQueue {
    try OutputQueue(
      format, options: OutputQueue.Options(clientName: name, connections: connections),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
  }

  /// Every format arrives bit for bit from the requested frame on, with no frame lost or repeated: a minute of
  /// 16-bit samples, a quarter of one of the others.
  @Test(arguments: PCMFormat.all(channels: 2))
  func everyFormatArrivesBitForBit(format: PCMFormat) throws {
    // jackd lets clients go that do not answer for long.
    let lost = try unlessBusy(patience: 0.5) { () -> String? in
      do { try play(format) } catch let error as QueueError { return "\(error)" }
      return nil
    }
    expectNil(lost, "\(lost ?? "")")
  }

  private func play(_ format: PCMFormat) throws {
    let jack = try JackDaemon(rate: Self.rate, period: 1024)
    defer { jack.stop() }
    let frames = (format.bitsPerSample == 16 ? 60 : 15) * Self.rate
    let queue = try queue(format, on: jack, name: "player")
    defer { try? queue.dispose(afterPlaying: false) }
    let (bytes, expected) = format.noise(frames: 100_003, seed: 11)

    // Repeat the same hundred thousand frames in buffers of many sizes.
    var enqueued = 0
    var size = 1
    while enqueued < frames {
      let from = enqueued % 100_003
      let count = min(size, 100_003 - from, frames - enqueued)
      let buffer = try queue.allocateBuffer(capacity: count * format.bytesPerFrame)
      bytes.withUnsafeBytes {
        buffer.data.copyMemory(
          from: UnsafeRawBufferPointer(
            rebasing: $0[(from * format.bytesPerFrame)...].prefix(buffer.data.count)))
      }
      try queue.enqueue(buffer.id, bytes: buffer.data.count)
      enqueued += count
      size = size % 40_000 + 3_331
    }
    try queue.stopAfterPlaying()
    _ = try queue.prime(frames: 0)

    let capture = try CaptureClient(on: jack, channels: 2, capacity: frames + 2 * Self.rate)
    for channel in 1...2 { try capture.connect("player:out_\(channel)", toInput: channel) }
    capture.arm()
    try require(capture.wait(untilFrames: 1024))
    let start = try require(queue.deviceTime).frame + Int64(Self.rate / 2) + 77
    try queue.start(at: .frame(start))
    try capture.setFreewheel(true)
    try require(capture.wait(untilFrames: frames + Self.rate, deadline: 60))
    try capture.setFreewheel(false)
    capture.disarm()

    expectEqual(capture.discontinuities, 0)
    let offset = Int(UInt32(truncatingIfNeeded: start) &- capture.firstFrame)
    for channel in 0..<2 {
      let samples = capture.samples(channel: channel)
      expectTrue(samples[..<offset].allSatisfy { $0 == 0 })
      expectTrue(samples[(offset + frames)...].allSatisfy { $0 == 0 })
      let wrong = differences(samples[offset..<offset + frames], repeating: expected[channel])
      expectEqual(wrong, 0, "\(wrong) of \(frames) samples are wrong")
    }
    expectEqual(queue.statistics.beganAt, start)
    expectEqual(queue.statistics.lastedFrames, Int64(frames))
    expectEqual(queue.statistics.starvations, 0)
  }

  /// A queue that is told at once to start on the first frame that is heard is heard from its own first frame on.
  @Test(arguments: [64, 1024]) func theFirstHeardFrameIsHeard(period: Int) throws {
    let jack = try JackDaemon(rate: Self.rate, period: period)
    defer { jack.stop() }
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 20 * Self.rate)
    let format = PCMFormat(sampleRate: 48000, channels: 1, kind: .float, bitsPerSample: 32)
    let (bytes, expected) = format.noise(frames: 2 * period, seed: 3)
    for run in 0..<10 {
      capture.arm()
      try require(capture.wait(untilFrames: 1))
      let queue = try queue(format, on: jack, name: "player\(run)", .ports(["capture:in_1"]))
      defer { try? queue.dispose(afterPlaying: false) }
      let buffer = try queue.allocateBuffer(capacity: bytes.count)
      bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      try queue.enqueue(buffer.id, bytes: bytes.count)
      try queue.stopAfterPlaying()
      _ = try queue.prime(frames: 0)
      // Opening the device connects the queue.
      _ = try queue.deviceSampleRate()
      let before = capture.capturedFrames
      let first = try require(queue.firstHeardFrame)
      let recorded = capture.capturedFrames
      let lead = Int32(
        bitPattern: UInt32(truncatingIfNeeded: first) &- capture.firstFrame &- UInt32(recorded))
      try queue.start(at: .frame(first))
      // A thread that the system left out starts its queue late.
      try require(waits { queue.statistics.beganAt != nil })
      let began = try require(queue.statistics.beganAt)
      expectTrue(began >= first)
      let offset = Int(UInt32(truncatingIfNeeded: began) &- capture.firstFrame)
      try require(capture.wait(untilFrames: offset + 3 * period))
      // After a late cycle of a busy machine, the frames that were recorded are not those of the clock.
      if capture.discontinuities > 0 { continue }
      expectTrue(
        Int(lead) > before - recorded && lead <= 5 * period, "\(lead) \(before) \(recorded)")
      let heard = capture.samples(channel: 0)[offset..<offset + 2 * period]
      expectEqual(Array(heard), expected[0])
    }
  }

  /// An app refills buffers in its callback in real time, and nothing is lost or late.
  @Test func refillingInTheCallbackLosesNothing() throws {
    let jack = try JackDaemon(rate: Self.rate, period: 4096)
    defer { jack.stop() }
    let format = PCMFormat(
      sampleRate: 48000, channels: 1, kind: .signedInteger, bitsPerSample: 24, bytesPerSample: 4)
    let frames = 3 * Self.rate
    let (bytes, expected) = format.noise(frames: frames, seed: 5)
    let position = Mutexed(0)
    let memory = Mutexed<[UInt32: QueueBuffer]>([:])
    @Sendable func refill(_ queue: OutputQueue, _ id: UInt32) {
      guard let buffer = memory.value[id] else { return }
      let at = position.value
      let count = min(buffer.data.count, bytes.count - at)
      position.value += count
      guard count > 0 else {
        try? queue.stopAfterPlaying()
        return
      }
      bytes.withUnsafeBytes {
        buffer.data.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[at..<(at + count)]))
      }
      try? queue.enqueue(id, bytes: count)
    }
    let queue = try OutputQueue(
      format, options: OutputQueue.Options(clientName: "player", connections: .none),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: refill, changed: { _, _ in }))
    defer { try? queue.dispose(afterPlaying: false) }
    for _ in 0..<3 {
      let buffer = try queue.allocateBuffer(capacity: 25_001 * 4)
      memory.value[buffer.id] = buffer
      refill(queue, buffer.id)
    }
    _ = try queue.prime(frames: 0)
    let capture = try CaptureClient(on: jack, channels: 1, capacity: frames + 4 * Self.rate)
    try capture.connect("player:out_1", toInput: 1)
    capture.arm()
    try require(capture.wait(untilFrames: 4096))
    // A busy machine may need a second for the start, and for a callback.
    let start = try require(queue.deviceTime).frame + 100_345
    try queue.start(at: .frame(start))
    try require(capture.wait(untilFrames: frames + 3 * Self.rate, deadline: 60))
    capture.disarm()
    let offset = Int(UInt32(truncatingIfNeeded: start) &- capture.firstFrame)
    expectEqual(Array(capture.samples(channel: 0)[offset..<(offset + frames)]), expected[0])
    expectEqual(queue.statistics.starvedFrames, 0)
  }

  /// Two clients with the same start time start on the same frame.
  @Test func queuesStartOnOneFrame() throws {
    let jack = try JackDaemon(rate: Self.rate, period: 1024)
    defer { jack.stop() }
    let format = PCMFormat.float(1)
    let samples = (0..<Self.rate).map { Float($0 + 1) }
    let queues = try (0..<8).map { try queue(format, on: jack, name: "player-\($0)") }
    defer { for queue in queues { try? queue.dispose(afterPlaying: false) } }
    for queue in queues {
      let buffer = try queue.allocateBuffer(capacity: samples.count * 4)
      samples.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      try queue.enqueue(buffer.id, bytes: samples.count * 4)
      _ = try queue.prime(frames: 0)
    }
    let capture = try CaptureClient(on: jack, channels: 8, capacity: 4 * Self.rate)
    for i in 0..<8 { try capture.connect("player-\(i):out_1", toInput: i + 1) }
    capture.arm()
    try require(capture.wait(untilFrames: 1024))
    let start = try require(queues[0].deviceTime).frame + Int64(Self.rate)
    for queue in queues { try queue.start(at: .frame(start)) }
    // In real time, a busy machine would have late cycles.
    try capture.setFreewheel(true)
    try require(capture.wait(untilFrames: 3 * Self.rate))
    try capture.setFreewheel(false)
    capture.disarm()
    expectEqual(capture.discontinuities, 0)
    let offset = Int(UInt32(truncatingIfNeeded: start) &- capture.firstFrame)
    for channel in 0..<8 {
      let found = capture.samples(channel: channel)
      expectEqual(found.firstIndex { $0 != 0 }, offset, "channel \(channel)")
      expectEqual(Array(found[offset..<(offset + Self.rate)]), samples)
    }
  }
}
