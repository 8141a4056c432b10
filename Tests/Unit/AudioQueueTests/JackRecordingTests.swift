import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Recording from a running jackd: each frame must contain the samples that an emitter played at it.
@Suite(.tags(.server), .serialized, .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct JackRecordingTests {
  private static let rate = 48000

  /// Collects a queue's recorded bytes and enqueues each buffer again.
  private final class Take: @unchecked Sendable {
    private let lock = NSLock()
    private var memory: [UInt32: QueueBuffer] = [:]
    private var _bytes: [UInt8] = []
    private var _frames: Int64 = 0
    private var _holes = 0
    var bytes: [UInt8] { lock.withLock { _bytes } }
    var frames: Int { lock.withLock { Int(_frames) } }
    var holes: Int { lock.withLock { _holes } }

    func add(_ queue: InputQueue, _ recording: Recording) {
      lock.withLock {
        guard let data = memory[recording.buffer]?.data else { return }
        _bytes += data.prefix(recording.frames * queue.format.bytesPerFrame)
        if recording.startFrame != _frames { _holes += 1 }
        _frames += Int64(recording.frames)
      }
      try? queue.enqueue(recording.buffer)
    }

    func enqueue(_ sizes: [Int], in queue: InputQueue) throws {
      for frames in sizes {
        let buffer = try queue.allocateBuffer(capacity: frames * queue.format.bytesPerFrame)
        lock.withLock {
          memory[buffer.id] = buffer
          _bytes.reserveCapacity(64 * Self.reserve * queue.format.bytesPerFrame)
        }
        try queue.enqueue(buffer.id)
      }
    }
    private static let reserve = 48000
  }

  private func queue(
    _ format: PCMFormat, on jack: JackDaemon, name: String, from sources: [String], _ take: Take
  ) throws -> InputQueue {
    try InputQueue(
      format, options: InputQueue.Options(clientName: name, connections: .ports(sources)),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      InputQueue.Handlers(
        bufferDone: { queue, recording in take.add(queue, recording) }, changed: { _, _ in }))
  }

  /// Every format is recorded bit for bit from the requested frame on: a minute of 16-bit samples, a quarter of
  /// one of the others.
  ///
  /// The emitter's samples are far above full scale, so a queue plays noise instead.
  @Test(arguments: PCMFormat.all(channels: 2))
  func everyFormatIsRecordedBitForBit(format: PCMFormat) throws {
    let jack = try JackDaemon(rate: Self.rate, period: 1024)
    defer { jack.stop() }
    let frames = (format.bitsPerSample == 16 ? 60 : 15) * Self.rate
    let (bytes, _) = format.noise(frames: 100_003, seed: 11)
    let player = try OutputQueue(
      format, options: OutputQueue.Options(clientName: "player", connections: .none),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
    defer { try? player.dispose(afterPlaying: false) }
    for _ in 0..<(frames / 100_003 + 1) {
      let buffer = try player.allocateBuffer(capacity: bytes.count)
      bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
      try player.enqueue(buffer.id, bytes: bytes.count)
    }
    _ = try player.prime(frames: 0)
    let take = Take()
    let recorder = try queue(
      format, on: jack, name: "recorder", from: ["player:out_1", "player:out_2"], take)
    defer { try? recorder.dispose(atOnce: true) }
    // In freewheel mode a second takes milliseconds, so enqueue buffers for many seconds.
    try take.enqueue([1, 100_000, 77_777] + Array(repeating: 150_000, count: 24), in: recorder)
    try expectEqual(recorder.deviceSampleRate(), Double(Self.rate))
    let wheel = try CaptureClient(on: jack, channels: 1, capacity: 1)
    let start = try recorder.nearestStart(to: .atOnce).frame + Int64(Self.rate / 2) + 77
    try player.start(at: .frame(start))
    try recorder.start(at: .frame(start))
    try wheel.setFreewheel(true)
    waitUntil(seconds: 60) { recorder.statistics.lastedFrames >= frames }
    try wheel.setFreewheel(false)
    try recorder.stop(atOnce: true)

    expectEqual(recorder.statistics.beganAt, start)
    expectTrue(recorder.statistics.underruns == 0 && recorder.statistics.missedFrames == 0)
    expectTrue(take.holes == 0 && take.frames >= frames)
    let found = take.bytes
    let width = format.bytesPerFrame
    var wrong = 0
    if format.kind == .float || format.bitsPerSample <= 24 {
      wrong = differences(found[0..<(frames * width)], repeating: bytes)
    } else {
      // Compare the decoded floats.
      let layout = try require(format.layout)
      func decoded(_ bytes: ArraySlice<UInt8>) -> [[Float]] {
        let count = bytes.count / width
        let planes = (0..<2).map { _ in UnsafeMutablePointer<Float>.allocate(capacity: count) }
        defer { planes.forEach { $0.deallocate() } }
        var pointers = planes
        bytes.withUnsafeBytes {
          layout.copy(
            $0.baseAddress!, planeFrames: 0, frames: count, gain: ChannelGain(1), to: &pointers,
            at: 0)
        }
        return planes.map { Array(UnsafeBufferPointer(start: $0, count: count)) }
      }
      let played = decoded(bytes[...])
      let heard = decoded(found[0..<(frames * width)])
      for channel in 0..<2 { wrong += differences(heard[channel][...], repeating: played[channel]) }
    }
    expectEqual(wrong, 0, "\(wrong) are wrong")
  }

  /// Two queues start on the same frame and record every frame number of an emitter.
  @Test func queuesStartOnOneFrame() throws {
    let jack = try JackDaemon(rate: Self.rate, period: 256)
    defer { jack.stop() }
    let emitter = try Emitter(on: jack, channels: 2)
    let takes = [Take(), Take()]
    let sources = ["emitter:out_1", "emitter:out_2"]
    let queues = try (0..<2).map {
      try queue(
        .float($0 + 1), on: jack, name: "recorder-\($0)",
        from: Array(sources.prefix($0 + 1)), takes[$0])
    }
    defer { for queue in queues { try? queue.dispose(atOnce: true) } }
    for (queue, take) in zip(queues, takes) {
      try take.enqueue([1000] + Array(repeating: 48_000, count: 20), in: queue)
      _ = try queue.deviceSampleRate()
    }
    let wheel = try CaptureClient(on: jack, channels: 1, capacity: 1)
    let start = try queues[0].nearestStart(to: .atOnce).frame + Int64(Self.rate) + 5
    for queue in queues { try queue.start(at: .frame(start)) }
    try wheel.setFreewheel(true)
    waitUntil(seconds: 60) { queues.allSatisfy { $0.statistics.lastedFrames >= 5 * Self.rate } }
    // Stop before real time resumes, since a busy machine would have late cycles.
    for queue in queues { try queue.stop(atOnce: true) }
    try wheel.setFreewheel(false)
    for (queue, take) in zip(queues, takes) {
      expectEqual(queue.statistics.beganAt, start)
      expectTrue(take.holes == 0 && take.frames >= 5 * Self.rate)
      let channels = queue.format.channels
      let samples = take.bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
      var wrong = 0
      for (i, sample) in samples.enumerated() {
        let frame = UInt32(truncatingIfNeeded: start + Int64(i / channels))
        if sample != Emitter.sample(at: frame, channel: i % channels) { wrong += 1 }
      }
      expectEqual(wrong, 0)
    }
    withExtendedLifetime(emitter) {}
  }

  /// In real time, with buffers refilled in the callback, every frame is recorded. The host times match
  /// the frames.
  @Test func byTheClockNothingIsLost() throws {
    let jack = try JackDaemon(rate: Self.rate, period: 4096)
    defer { jack.stop() }
    let emitter = try Emitter(on: jack, channels: 1)
    let take = Take()
    let queue = try queue(.float(1), on: jack, name: "recorder", from: ["emitter:out_1"], take)
    defer { try? queue.dispose(atOnce: true) }
    try take.enqueue([9600, 9600, 9600, 9600], in: queue)
    try queue.start()
    waitUntil { take.frames >= 2 * Self.rate }
    try queue.stop(atOnce: true)
    let start = try require(queue.statistics.beganAt)
    let samples = take.bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    let expected = samples.indices.map {
      Emitter.sample(at: UInt32(truncatingIfNeeded: start + Int64($0)), channel: 0)
    }
    expectTrue(samples == expected && take.holes == 0)
    withExtendedLifetime(emitter) {}
  }

  /// The sound card's capture ports are connected automatically.
  @Test func theCardIsConnected() throws {
    let jack = try JackDaemon(rate: Self.rate, period: 1024, capturePorts: 2)
    defer { jack.stop() }
    let queue = try InputQueue(
      .float(2, rate: 0), options: InputQueue.Options(clientName: "recorder"),
      server: JackServer(named: jack.name), callingBackOn: .ownThread,
      InputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
    defer { try? queue.dispose(atOnce: true) }
    expectEqual(queue.format.sampleRate, Double(Self.rate))
    expectEqual(queue.statistics.connections, [["system:capture_1"], ["system:capture_2"]])
    let graph = try CaptureClient(on: jack, channels: 1, capacity: 1)
    expectEqual(graph.connections(of: "recorder:in_2"), ["system:capture_2"])
  }
}
