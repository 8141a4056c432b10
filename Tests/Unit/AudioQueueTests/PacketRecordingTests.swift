import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Recording of packets. Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct PacketRecordingTests {
  static let codecs: [Codec] = [.aac, .alac, .flac, .mp3, .opus, .ima4, .ulaw, .alaw].filter {
    $0.hasDecoder && $0.hasEncoder
  }

  /// The input signal, in 16 bits.
  private static let heard = CodedSound.sound(frames: 100_000, channels: 2)

  private func rig(_ codec: Codec, rate: Double = 48000, deviceRate: Double = 48000) throws
    -> InputRig
  {
    let rig = try InputRig(
      .packets(PacketFormat(codec: codec, sampleRate: rate, channels: 2, bitsPerSample: 16)),
      server: HandDrivenServer(sampleRate: deviceRate))
    rig.server.hears = { frame, input in Self.heard[input - 1][Int(frame) % 100_000] }
    return rig
  }

  private func format(_ rig: InputRig) throws -> PacketFormat {
    guard case .packets(let format) = rig.queue.streamFormat else {
      throw SupportError("it does not record packets")
    }
    return format
  }

  /// Enqueues buffers and enqueues each again when it returns.
  private func refill(_ rig: InputRig, _ count: Int, bytes: Int) throws {
    rig.onBuffer { queue, recording in try? queue.enqueue(recording.buffer) }
    for _ in 0..<count { try rig.enqueue(bytes: max(bytes, rig.queue.maximumPacketBytes)) }
  }

  /// Returns the decoded samples of the recorded packets.
  private func decoded(_ rig: InputRig) throws -> [[Float]] {
    try CodedSound.decode(rig.packets, format(rig), rig.queue.cookie)
  }

  private func signalToNoise(_ sound: ArraySlice<Float>, _ other: ArraySlice<Float>) -> Double {
    var (signal, noise) = (0.0, 0.0)
    for (a, b) in zip(sound, other) {
      signal += Double(a * a)
      noise += Double((a - b) * (a - b))
    }
    return noise == 0 ? .infinity : 10 * log10(signal / noise)
  }

  @Test(
    "21: every codec: full buffers, at a stop the last packets; what they decode to is what was heard",
    arguments: codecs, [10_000, 100_000])
  func everyCodec(codec: Codec, bytes: Int) throws {
    let rig = try rig(codec)
    try refill(rig, 3, bytes: bytes)
    try rig.queue.start(at: .frame(100))
    rig.cycle(200, frames: 256)
    try rig.queue.stop(atOnce: true)
    let frames = 200 * 256 - 100
    expectTrue(!rig.hasNested && rig.queue.statistics.underruns == 0)
    let table = try require(rig.queue.packetTable)
    expectTrue(table.validFrames == frames)
    // The times advance by the frames of the packets.
    var next: Int64 = 0
    for recording in rig.recordings where recording.frames > 0 {
      expectEqual(recording.startFrame, next)
      next += Int64(recording.frames)
    }
    expectEqual(next, Int64(table.primingFrames + frames + table.remainderFrames))
    expectTrue(rig.recordings.allSatisfy { $0.bytes <= max(bytes, rig.queue.maximumPacketBytes) })
    let format = try format(rig)
    expectEqual(rig.recordings.allSatisfy { $0.packets.isEmpty }, (format.bytesPerPacket > 0))
    let decoded = try decoded(rig)
    expectEqual(Int64(decoded[0].count), next)
    for channel in 0..<2 {
      let sound = decoded[channel].dropFirst(table.primingFrames).prefix(frames)
      let expected = Self.heard[channel][100..<(100 + frames)]
      if codec.isLossless {
        expectTrue(sound.elementsEqual(expected))
      } else {
        expectTrue(signalToNoise(expected, sound) > 15)
      }
    }
  }

  @Test("21: a buffer comes when the next packet may not fit, or when it holds as many as it may")
  func buffersAreFull() throws {
    let rig = try rig(.aac)
    let most = rig.queue.maximumPacketBytes
    let small = try rig.enqueue(bytes: most)
    let few = try rig.enqueue(bytes: 100 * most, packets: 3)
    let large = try rig.enqueue(bytes: 4 * most)
    try rig.queue.start(at: .frame(0))
    rig.cycle(400, frames: 256)
    let done = rig.recordings
    expectEqual(done.map(\.buffer), [small, few, large])
    // The limit ensures that buffers return in time even with small packets.
    expectEqual(done.map(\.packets.count), [1, 3, 4])
    for recording in done {
      var offset = 0
      for packet in recording.packets {
        expectTrue(packet.offset == offset && packet.bytes > 0 && packet.frames == 0)
        offset += packet.bytes
      }
      expectTrue(offset == recording.bytes && recording.frames == 1024 * recording.packets.count)
    }
    let tooSmall = try rig.queue.allocateBuffer(capacity: most - 1)
    #expect(throws: QueueError.bufferTooSmall) { try rig.queue.enqueue(tooSmall.id) }
  }

  @Test("21: Stop(false) fills the buffers with packets; the next run begins anew")
  func stopsWhenFull() throws {
    let rig = try rig(.alac)
    for run in 0..<2 {
      for _ in 0..<2 { try rig.enqueue(bytes: 2 * rig.queue.maximumPacketBytes) }
      try rig.queue.start(at: .frame(Int64(run) * 40_960))
      rig.cycle(4, frames: 256)
      try rig.queue.stop(atOnce: false)
      rig.cycle(156, frames: 256)
      waitUntil { !rig.queue.isRunning }
      rig.settle()
      let done = rig.recordings.suffix(2)
      expectTrue(done.map(\.startFrame) == [0, 8192] && done.map(\.frames) == [8192, 8192])
    }
    expectEqual(rig.queue.statistics.underruns, 0)
  }

  @Test("7, 21: a run that ends at once may give what it has soon; the next run begins anew")
  func stopsSoon() throws {
    let rig = try rig(.alac)
    for _ in 0..<4 { try rig.enqueue(bytes: 2 * rig.queue.maximumPacketBytes) }
    for run in 0..<2 {
      try rig.queue.start(at: .frame(Int64(run) * 10_240))
      rig.cycle(40, frames: 256)
      try rig.queue.stopAndDeliverSoon()
      rig.settle()
      let run = rig.recordings.suffix(4)
      expectEqual(run.first?.startFrame, 0)
      expectEqual(run.map(\.frames).reduce(0, +), 10_240)
      for recording in run { try rig.queue.enqueue(recording.buffer) }
    }
    let decoded = try decoded(rig)
    expectEqual(decoded, Self.heard.map { Array($0[..<20_480]) })
    expectEqual(rig.queue.packetTable?.validFrames, 10_240)
  }

  @Test("10: a pause keeps the packet that has begun")
  func pauses() throws {
    let rig = try rig(.flac)
    try refill(rig, 2, bytes: 30_000)
    try rig.queue.start(at: .frame(0))
    rig.cycle(10, frames: 100)
    try rig.queue.pause()
    rig.cycle(10, frames: 100)
    try rig.queue.start()
    rig.cycle(40, frames: 100)
    try rig.queue.flush()
    try rig.queue.stop(atOnce: true)
    let decoded = try decoded(rig)
    for channel in 0..<2 {
      expectEqual(
        decoded[channel], Array(Self.heard[channel][..<1000] + Self.heard[channel][2000..<6000]))
    }
  }

  @Test("6: Reset gives all that was recorded and goes on")
  func resets() throws {
    let rig = try rig(.alac)
    let first = try rig.enqueue(bytes: 100_000)
    try rig.queue.start(at: .frame(0))
    rig.cycle(10, frames: 500)
    try rig.queue.reset()
    expectEqual(rig.recordings.map(\.frames), [5000])
    try rig.queue.enqueue(first)
    rig.cycle(6, frames: 500)
    try rig.queue.stop(atOnce: true)
    expectEqual(rig.recordings.map(\.startFrame), [0, 5000])
    try expectEqual(decoded(rig), Self.heard.map { Array($0[..<8000]) })
  }

  @Test("22: a gap is told once; a packet ends in silence there, and the next one's time shows it")
  func underruns() throws {
    let rig = try rig(.alac)
    let stagingBuffers = RecordConverter.stagingBufferCount * RecordConverter.stagingFrames
    try rig.queue.start(at: .frame(0))
    rig.cycle(stagingBuffers / 512 + 40, frames: 512)
    expectEqual(rig.calls, [.running(true), .underrun])
    let first = try rig.enqueue(bytes: 1 << 20)
    rig.settle()
    rig.cycle(40, frames: 512)
    try rig.queue.stop(atOnce: true)
    // Packets before and after the gap go into separate buffers; here the app enqueued one.
    _ = first
    let recordings = rig.recordings.filter { $0.frames > 0 }
    expectEqual(recordings.map(\.startFrame), [0])
    expectEqual(recordings.map(\.frames), [stagingBuffers])
    expectEqual(rig.queue.statistics.underruns, 2)
  }

  @Test("22: with a second buffer the time behind the hole shows it")
  func timesShowTheHole() throws {
    let rig = try rig(.alac)
    let stagingBuffers = RecordConverter.stagingBufferCount * RecordConverter.stagingFrames
    try rig.queue.start(at: .frame(50))
    // The last 50 frames of the staging buffers are missing, and with them the end of the packet.
    rig.cycle(stagingBuffers / 512 + 40, frames: 512)
    for _ in 0..<2 { try rig.enqueue(bytes: 1 << 20) }
    rig.settle()
    rig.cycle(40, frames: 512)
    try rig.queue.stop(atOnce: true)
    let recordings = rig.recordings.filter { $0.frames > 0 }
    let lost = Int(rig.queue.statistics.lostFrames)
    expectEqual(recordings.map(\.startFrame), [0, Int64(stagingBuffers + lost)])
    expectEqual(recordings.map(\.frames).first, stagingBuffers)
    let decoded = try decoded(rig)
    for channel in 0..<2 {
      let heard = Self.heard[channel]
      let resumed = 50 + stagingBuffers + lost
      let rest = decoded[channel].count - stagingBuffers
      expectEqual(
        decoded[channel],
        Array(heard[50..<(50 + stagingBuffers)] + heard[resumed..<(resumed + rest)]))
    }
  }

  @Test("23: a rate of 0 is the device's; what can be read before, during and after")
  func properties() throws {
    let rig = try rig(.aac, rate: 0, deviceRate: 44100)
    let format = try format(rig)
    expectEqual(
      format, PacketFormat(codec: .aac, sampleRate: 44100, channels: 2, framesPerPacket: 1024))
    for round in 0..<3 {
      expectEqual(rig.queue.format, .float(2, rate: 44100))
      expectTrue(!rig.queue.cookie.isEmpty)
      expectEqual(rig.queue.maximumPacketBytes, 1536)
      #expect(throws: QueueError.readOnly) { try rig.queue.setCookie([1]) }
      if round == 0 {
        try rig.queue.setBitRate(64000)
        expectEqual(rig.queue.bitRate, 64000)
        try rig.enqueue(bytes: 2000)
        try rig.queue.start()
        rig.cycle(10)
        #expect(throws: QueueError.invalidRunState) { try rig.queue.setBitRate(96000) }
      } else if round == 1 {
        try rig.queue.stop(atOnce: true)
      }
    }
    let plain = try InputRig(.float(1))
    #expect(throws: QueueError.invalidProperty) { try plain.queue.setBitRate(64000) }
    expectTrue(plain.queue.bitRate == nil && plain.queue.packetTable == nil)
    try plain.queue.setCookie([1])
    expectEqual(plain.queue.cookie, [1])
  }

  @Test("bits per second make the packets larger")
  func bitRates() throws {
    let sizes = try [48000, 192_000].map { bitRate in
      let rig = try rig(.aac)
      try rig.queue.setBitRate(bitRate)
      try refill(rig, 2, bytes: 50_000)
      try rig.queue.start(at: .frame(0))
      rig.cycle(180, frames: 512)
      try rig.queue.stop(atOnce: true)
      return rig.bytes.count
    }
    expectTrue(Double(sizes[1]) > 2.5 * Double(sizes[0]))
  }

  @Test("another rate of the device: as many frames as there are at the queue's")
  func anotherRate() throws {
    let rig = try rig(.alac, rate: 24000)
    try refill(rig, 3, bytes: 100_000)
    try rig.queue.start(at: .frame(0))
    rig.cycle(100, frames: 480)
    try rig.queue.stop(atOnce: true)
    try expectEqual(decoded(rig)[0].count, 24_000)
    expectEqual(rig.queue.packetTable?.validFrames, 24_000)
  }

  @Test("23: a codec that cannot take the device's rate leaves no client behind")
  func aRateThatTheCodecCannotTake() throws {
    let server = HandDrivenServer(sampleRate: 44100)
    #expect(throws: QueueError.unsupportedFormat) {
      _ = try InputRig(
        .packets(PacketFormat(codec: .opus, sampleRate: 0, channels: 2)), server: server)
    }
    expectEqual(server.clients.map(\.isClosed), [true])
  }

  @Test("formats that cannot be recorded")
  func whatCannotBeRecorded() throws {
    #expect(throws: QueueError.unsupportedFormat) {
      _ = try InputRig(.packets(PacketFormat(codec: .aac, sampleRate: 48000, channels: 0)))
    }
    #expect(throws: QueueError.unsupportedFormat) {
      _ = try InputRig(.packets(PacketFormat(codec: .opus, sampleRate: 44100, channels: 2)))
    }
    #expect(throws: QueueError.codecNotFound) {
      _ = try InputRig(.packets(PacketFormat(codec: .aacHE, sampleRate: 48000, channels: 2)))
    }
  }
}
