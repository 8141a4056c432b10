import AudioToolbox
import Foundation
import TestSupport
import Testing

/// Recording by the Swift layer on a running jackd, and playback of packets.
@Suite(
  .tags(.server), .serialized, .timeLimit(.minutes(2)),
  .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct RecordingQueueTests {
  /// Two channels of 16-bit samples that are never 0.
  private static let sound: [Int16] = (0..<60_000).map { index -> Int16 in
    let factor: Int = index % 2 == 0 ? 9 : -7
    return Int16((index % 997 + 1) * factor)
  }

  private static func queues(
    _ format: AudioStreamBasicDescription, in studio: Studio, bufferSeconds: Double = 0.1
  ) throws -> (PlaybackQueue, RecordingQueue) {
    let player = try PlaybackQueue(.pcm(Int16.self, channels: 2), bufferFrames: 40_000)
    try player.setValue(studio.device, of: .device)
    let recorder = try RecordingQueue(format, bufferSeconds: bufferSeconds)
    try recorder.setValue(studio.device, of: .device)
    _ = try player.value(of: .deviceSampleRate)
    _ = try recorder.value(of: .deviceSampleRate)
    try studio.feed(player, recorder)
    return (player, recorder)
  }

  /// Records the sound and the silence around it.
  private static func record(
    _ player: PlaybackQueue, _ recorder: RecordingQueue, in studio: Studio
  ) async throws -> [RecordingQueue.Recording] {
    let stream = try recorder.start()
    async let all = stream.reduce(into: []) { $0.append($1) }
    try player.start()
    try await player.write(sound)
    try await player.stopAfterPlaying()
    expectTrue(recorder.isRunning)
    // The last frames may not have arrived yet.
    studio.wait(cycles: 4)
    try recorder.stop()
    expectTrue(!recorder.isRunning)
    return await all
  }

  @Test func linearPCM() async throws {
    let studio = try Studio()
    let (player, recorder) = try Self.queues(.pcm(Int16.self, channels: 2), in: studio)
    for _ in 0..<2 {
      let recordings = try await Self.record(player, recorder, in: studio)
      var next: Int64 = 0
      for recording in recordings {
        expectTrue(recording.frame == next && recording.packets.isEmpty)
        expectEqual(recording.bytes.count, 4 * recording.packetCount)
        next += Int64(recording.packetCount)
      }
      let samples = recordings.flatMap { $0.samples(as: Int16.self) }
      let first = try require(samples.firstIndex { $0 != 0 })
      expectEqual(samples[first...].prefix(60_000), Self.sound[...])
    }
    expectTrue(recorder.magicCookie == [] && recorder.maximumPacketSize == 4)
  }

  @Test func packetsThereAndBack() async throws {
    let studio = try Studio()
    let (player, recorder) = try Self.queues(
      .packets(kAudioFormatAppleLossless, sampleRate: 48000), in: studio)
    expectTrue(recorder.format.mFramesPerPacket == 4096 && recorder.maximumPacketSize > 4096)
    #expect(throws: AudioQueueError(kAudioQueueErr_InvalidRunState)) { try recorder.resume() }
    let recordings = try await Self.record(player, recorder, in: studio)
    var bytes: [UInt8] = []
    var packets: [AudioStreamPacketDescription] = []
    for recording in recordings {
      expectEqual(recording.packetCount, recording.packets.count)
      for var packet in recording.packets {
        packet.mStartOffset += Int64(bytes.count)
        packets.append(packet)
      }
      bytes += recording.bytes
    }
    let copy = try PlaybackQueue(
      packets: recorder.format, magicCookie: recorder.magicCookie,
      bufferSize: 2 * recorder.maximumPacketSize)
    try copy.setValue(studio.device, of: .device)
    studio.card.arm()
    try copy.start()
    try await copy.write(packets: bytes, packets)
    try await copy.stopAfterPlaying()
    try require(studio.card.wait(untilFrames: studio.card.capturedFrames + studio.jack.period))
    studio.card.disarm()
    let left = studio.card.samples(channel: 0)
    let first = try require(left.firstIndex { $0 != 0 })
    let expected = stride(from: 0, to: 60_000, by: 2).map { Float(Self.sound[$0]) / 32768 }
    expectEqual(Array(left[first...].prefix(30_000)), expected)
    // Invalid packets.
    let wrong = AudioStreamPacketDescription(
      mStartOffset: Int64(bytes.count), mVariableFramesInPacket: 0, mDataByteSize: 1)
    await #expect(throws: AudioQueueError(kAudio_ParamError)) {
      try await copy.write(packets: bytes, [wrong])
    }
    await #expect(throws: AudioQueueError(kAudio_ParamError)) {
      try await copy.write(packets: bytes)
    }
  }

  @Test func whoStopsToListenEndsTheRun() async throws {
    let studio = try Studio()
    let recorder = try RecordingQueue(.pcm(channels: 1), bufferSeconds: 0.05)
    try recorder.setValue(studio.device, of: .device)
    var last: Int64 = 0
    do {
      for await recording in try recorder.start() where recording.frame > 0 {
        last = recording.frame
        break
      }
    }
    expectTrue(last > 0)
    let deadline = Date(timeIntervalSinceNow: 30)
    while recorder.isRunning, Date() < deadline { try await Task.sleep(for: .milliseconds(10)) }
    expectTrue(!recorder.isRunning)
    // The next run starts at 0 and ends when the queue is released.
    var other: RecordingQueue? = try RecordingQueue(.pcm(channels: 1), bufferSeconds: 0.05)
    try other?.setValue(studio.device, of: .device)
    var frames: [Int64] = []
    for await recording in try other!.start() {
      frames.append(recording.frame)
      if frames.count == 3 { other = nil }
    }
    expectEqual(frames.prefix(3), [0, 2400, 4800])
  }

  @Test func whatCannotBeMade() throws {
    #expect(throws: AudioQueueError(kAudioQueueErr_CodecNotFound)) {
      _ = try RecordingQueue(.packets(kAudioFormatMPEG4AAC_HE, sampleRate: 48000))
    }
    #expect(throws: AudioQueueError(kAudio_ParamError)) {
      _ = try RecordingQueue(.pcm(), buffers: 0)
    }
    #expect(throws: AudioQueueError(kAudio_ParamError)) {
      _ = try RecordingQueue(.pcm(), bufferSeconds: .nan)
    }
    #expect(throws: AudioQueueError(kAudioQueueErr_InvalidPropertyValue)) {
      _ = try PlaybackQueue(
        packets: .packets(kAudioFormatAppleLossless, sampleRate: 48000), magicCookie: [1, 2])
    }
    #expect(throws: AudioQueueError(kAudioFormatUnsupportedDataFormatError)) {
      _ = try PlaybackQueue(packets: .packets(kAudioFormatMPEG4AAC))
    }
  }
}
