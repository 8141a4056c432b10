import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// Playback of packets. Numbers refer to the lines of semantics.md.
@Suite(.serialized) struct PacketPlaybackTests {
  static let codecs: [Codec] = [.aac, .alac, .flac, .mp3, .opus, .ima4, .ulaw, .alaw].filter {
    $0.hasDecoder && $0.hasEncoder
  }

  private func rig(_ sound: CodedSound, offline: Bool = true, rate: Double? = nil) throws -> Rig {
    let rig = try Rig(.packets(sound.format), server: HandDrivenServer(sampleRate: rate ?? 48000))
    if offline {
      try rig.queue.setOfflineFormat(
        .float(sound.format.channels, rate: rate ?? sound.format.sampleRate))
    }
    try rig.queue.setCookie(sound.cookie)
    return rig
  }

  /// Enqueues packets in one buffer.
  @discardableResult
  private func enqueue(
    _ sound: CodedSound, _ range: Range<Int>, in rig: Rig, described: Bool = true,
    _ schedule: OutputQueue.Schedule = OutputQueue.Schedule()
  ) throws -> (id: UInt32, begin: Int64) {
    let (bytes, extents) = sound.bytes(range)
    let buffer = try rig.queue.allocateBuffer(capacity: bytes.count)
    bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
    let begin = try rig.queue.enqueue(
      buffer.id, bytes: bytes.count, packets: described ? extents : [], schedule)
    return (buffer.id, begin)
  }

  /// Enqueues all packets, `count` per buffer, trimmed to the valid frames.
  @discardableResult
  private func enqueueAll(_ sound: CodedSound, by count: Int, in rig: Rig, described: Bool = true)
    throws -> [UInt32]
  {
    try stride(from: 0, to: sound.packets.count, by: count).map { first in
      let range = first..<min(first + count, sound.packets.count)
      let schedule = OutputQueue.Schedule(
        trimmedAtStart: first == 0 ? sound.table.primingFrames : 0,
        trimmedAtEnd: range.upperBound == sound.packets.count ? sound.table.remainderFrames : 0)
      return try enqueue(sound, range, in: rig, described: described, schedule).id
    }
  }

  private func render(_ rig: Rig, by frames: Int = 1000) throws -> [[Float]] {
    let channels = rig.queue.format.channels
    var all: [[Float]] = Array(repeating: [], count: channels)
    var buffer = [Float](repeating: 0, count: frames * channels)
    while true {
      let count = try buffer.withUnsafeMutableBytes {
        try rig.queue.render(frames: frames, into: $0)
      }
      if count == 0 { return all }
      for i in 0..<(count * channels) { all[i % channels].append(buffer[i]) }
    }
  }

  @Test("15: after a Flush before the start the decoder begins anew")
  func flushBeforeAStart() throws {
    let sound = try CodedSound(.aac, frames: 8192)
    func played(_ ranges: [Range<Int>], flushing: Bool) throws -> [[Float]] {
      let rig = try rig(sound)
      for range in ranges {
        try enqueue(sound, range, in: rig)
        if flushing { try rig.queue.flush() }
      }
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
      return try render(rig)
    }
    let first = try played([0..<4], flushing: false)
    let second = try played([5..<8], flushing: false)
    let both = try played([0..<4, 5..<8], flushing: true)
    for channel in 0..<2 { expectEqual(both[channel], first[channel] + second[channel]) }
    expectTrue(try played([0..<4, 5..<8], flushing: false) != both)
  }

  @Test("18: what is heard is what the decoder gives, after the trims", arguments: codecs, [1, 7])
  func everyCodec(codec: Codec, packets: Int) throws {
    let sound = try CodedSound(codec, frames: 20_000)
    let rig = try rig(sound)
    let ids = try enqueueAll(sound, by: packets, in: rig)
    try rig.queue.start()
    try rig.queue.stopAfterPlaying()
    let heard = try render(rig)
    expectEqual(
      sound.decoded[0].count, 20_000 + sound.table.primingFrames + sound.table.remainderFrames)
    expectEqual(heard.map(\.count), [20_000, 20_000])
    expectEqual(heard, sound.sound)
    expectTrue(rig.doneBuffers == ids && !rig.hasNested)
    expectNil(rig.queue.converterFailure)
  }

  /// The remainder in the packet table of a file counts so, too.
  @Test(
    "18: the end of a lossless sound is trimmed from the end of a full packet",
    arguments: [Codec.alac, .flac], [0, 100, 5000])
  func shortLastPacket(codec: Codec, trimmed: Int) throws {
    let sound = try CodedSound(codec, frames: 20_000)
    let missing = sound.packets.count * sound.format.framesPerPacket - 20_000
    try require(missing > 0)
    let rig = try rig(sound)
    try enqueue(
      sound, 0..<sound.packets.count, in: rig,
      OutputQueue.Schedule(trimmedAtEnd: missing + trimmed))
    try rig.queue.start()
    try rig.queue.stopAfterPlaying()
    let heard = try render(rig)
    expectEqual(heard.map(\.count), [20_000 - trimmed, 20_000 - trimmed])
    expectEqual(heard, sound.decoded.map { Array($0.prefix(20_000 - trimmed)) })
  }

  @Test("1: live it is the same, buffer after buffer", arguments: codecs)
  func live(codec: Codec) throws {
    let sound = try CodedSound(codec, frames: 6000)
    let rig = try rig(sound, offline: false)
    let ids = try enqueueAll(sound, by: 2, in: rig)
    try rig.queue.stopAfterPlaying()
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(64))
    rig.cycle(120)
    let heard = try require(rig.server.clients.last).samples
    for channel in 0..<2 {
      expectEqual(Array(heard[channel].prefix(6064)), silence(64) + sound.sound[channel])
    }
    expectTrue(rig.doneBuffers == ids && !rig.hasNested)
    expectEqual(rig.calls.last, .running(false))
    expectEqual(rig.queue.statistics.lastedFrames, 6000)
  }

  @Test("17: packets of one size need no descriptions", arguments: [Codec.ima4, .ulaw, .alaw])
  func packetsOfOneSize(codec: Codec) throws {
    let sound = try CodedSound(codec, frames: 5000)
    let rig = try rig(sound)
    try enqueueAll(sound, by: 20, in: rig, described: false)
    try rig.queue.start()
    try expectEqual(render(rig), sound.sound)
  }

  @Test("18: starts, trims, volume and taps give what they give for PCM")
  func asPCM() throws {
    let sound = try CodedSound(.aac, frames: 10_000)
    let schedules = [
      OutputQueue.Schedule(trimmedAtStart: 1024, changes: ParameterChanges(volume: 0.3)),
      OutputQueue.Schedule(
        trimmedAtEnd: 1500, changes: ParameterChanges(volume: 1, rampSeconds: 0.01), start: 7000),
      OutputQueue.Schedule(trimmedAtStart: 1100, trimmedAtEnd: 7, start: 7100),
      OutputQueue.Schedule(changes: ParameterChanges(pan: -0.7)),
    ]
    let coded = try rig(sound)
    let plain = try Rig(.float(2))
    try plain.queue.setOfflineFormat(.float(2))
    var begins: [[Int64]] = [[], []]
    for (i, schedule) in schedules.enumerated() {
      begins[0].append(try enqueue(sound, (2 * i)..<(2 * i + 2), in: coded, schedule).begin)
      let frames = (2048 * i)..<(2048 * i + 2048)
      let samples = frames.flatMap { [sound.decoded[0][$0], sound.decoded[1][$0]] }
      begins[1].append(
        try plain.queue.enqueue(plain.buffer(samples), bytes: samples.count * 4, schedule))
    }
    expectEqual(begins[0], begins[1])
    for rig in [coded, plain] {
      try rig.queue.stopAfterPlaying()
      try rig.queue.start()
    }
    let heard = try render(coded)
    expectEqual(heard[0].count, 7548 + 941 + 2048)
    expectEqual(heard, (try render(plain)))
  }

  @Test("a bad packet is silence of its length, is told of, and the next one is played")
  func badPackets() throws {
    let sound = try CodedSound(.alac, frames: 5 * 4096)
    let rig = try rig(sound)
    var (bytes, extents) = sound.bytes(0..<5)
    for i in 0..<extents[2].bytes { bytes[extents[2].offset + i] = 0xFF }
    // The fourth packet is empty.
    extents[3].bytes = 0
    let buffer = try rig.queue.allocateBuffer(capacity: bytes.count)
    bytes.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
    try rig.queue.enqueue(buffer.id, bytes: bytes.count, packets: extents)
    try rig.queue.start()
    let heard = try render(rig)
    for channel in 0..<2 {
      var expected = Array(sound.decoded[channel].prefix(8192))
      expected += silence(8192)
      expected += sound.decoded[channel].suffix(4096)
      expectEqual(heard[channel], expected)
    }
    rig.settle()
    expectTrue(rig.changes.contains(.converterError))
    guard case .decoding = rig.queue.converterFailure else {
      return expectTrue(Bool(false), "\(String(describing: rig.queue.converterFailure))")
    }
    expectEqual(rig.doneBuffers, [buffer.id])
  }

  @Test("17: what cannot be enqueued")
  func whatCannotBeEnqueued() throws {
    let sound = try CodedSound(.aac, frames: 3000, channels: 1)
    let rig = try rig(sound)
    let buffer = try rig.queue.allocateBuffer(capacity: 1000)
    func enqueue(_ bytes: Int, _ extents: [PacketExtent], trimmed: Int = 0) throws {
      _ = try rig.queue.enqueue(
        buffer.id, bytes: bytes, packets: extents,
        OutputQueue.Schedule(trimmedAtStart: trimmed))
    }
    #expect(throws: QueueError.packetsNotDescribed) { try enqueue(100, []) }
    #expect(throws: QueueError.bufferEmpty) { try enqueue(0, [PacketExtent(offset: 0, bytes: 0)]) }
    #expect(throws: QueueError.bufferOverfull) {
      try enqueue(1001, [PacketExtent(offset: 0, bytes: 10)])
    }
    for (offset, bytes) in [(0, 101), (100, 1), (-1, 5), (1 << 62, 1 << 62), (.max, .max), (0, -1)]
    {
      #expect(throws: QueueError.packetOutsideBuffer) {
        try enqueue(100, [PacketExtent(offset: offset, bytes: bytes)])
      }
    }
    #expect(throws: QueueError.trimmedTooMuch) {
      try enqueue(100, [PacketExtent(offset: 0, bytes: 100)], trimmed: 1025)
    }
    try enqueue(100, [PacketExtent(offset: 0, bytes: 100)], trimmed: 1024)
    #expect(throws: QueueError.enqueuedTwice) {
      try enqueue(100, [PacketExtent(offset: 0, bytes: 100)])
    }
    let laws = try Rig(
      .packets(
        PacketFormat(
          codec: .ulaw, sampleRate: 8000, channels: 2, framesPerPacket: 1, bytesPerPacket: 2)))
    let odd = try laws.queue.allocateBuffer(capacity: 1)
    #expect(throws: QueueError.bufferEmpty) { try laws.queue.enqueue(odd.id, bytes: 1) }
  }

  /// Invalid packet descriptions of an app allocate no memory.
  @Test func packetsOfManyFrames() throws {
    let rig = try Rig(.packets(PacketFormat(codec: .flac, sampleRate: 48000, channels: 8)))
    try rig.queue.setOfflineFormat(.float(8))
    let buffer = try rig.queue.allocateBuffer(capacity: 100)
    try rig.queue.enqueue(
      buffer.id, bytes: 100,
      packets: Array(repeating: PacketExtent(offset: 0, bytes: 100, frames: 1 << 32), count: 3))
    try rig.queue.start()
    try expectEqual(render(rig, by: 50_000)[0].count, 3 << 16)
  }

  @Test("formats that cannot be played")
  func whatCannotBePlayed() throws {
    let silent = PacketFormat(codec: .aac, sampleRate: 48000, channels: 0)
    #expect(throws: QueueError.unsupportedFormat) { _ = try Rig(.packets(silent)) }
    let timeless = PacketFormat(codec: .aac, sampleRate: 0, channels: 2)
    #expect(throws: QueueError.unsupportedFormat) { _ = try Rig(.packets(timeless)) }
  }

  @Test("31: the cookie may come after the buffers; one that is none is refused")
  func cookies() throws {
    let sound = try CodedSound(.alac, frames: 8192)
    let rig = try Rig(.packets(sound.format))
    try rig.queue.setOfflineFormat(.float(2))
    try enqueueAll(sound, by: 1, in: rig)
    expectEqual(rig.queue.cookie, [])
    #expect(throws: QueueError.invalidPropertyValue) { try rig.queue.setCookie([1, 2, 3]) }
    // The cookie of another channel count.
    let mono = try CodedSound(.alac, frames: 100, channels: 1)
    #expect(throws: QueueError.invalidPropertyValue) { try rig.queue.setCookie(mono.cookie) }
    expectTrue(rig.queue.cookie == [] && rig.changes == [])
    try rig.queue.setCookie(sound.cookie)
    expectEqual(rig.queue.cookie, sound.cookie)
    try rig.queue.start()
    try expectEqual(render(rig), sound.sound)
    rig.settle()
    expectTrue(rig.changes.contains(.magicCookie))
  }

  @Test("without the cookie that it needs a queue plays silence, and says so")
  func noCookie() throws {
    let sound = try CodedSound(.alac, frames: 8192)
    let rig = try Rig(.packets(sound.format))
    try rig.queue.setOfflineFormat(.float(2))
    let ids = try enqueueAll(sound, by: 1, in: rig)
    try rig.queue.start()
    let heard = try render(rig)
    expectEqual(heard, [silence(8192), silence(8192)])
    expectEqual(rig.doneBuffers, ids)
    guard case .decoding = rig.queue.converterFailure else {
      return expectTrue(Bool(false), "\(String(describing: rig.queue.converterFailure))")
    }
  }

  @Test("31: AAC takes the AudioSpecificConfig, the ESDS, and no cookie at all")
  func cookiesOfAAC() throws {
    let sound = try CodedSound(.aac, frames: 5000)
    let bare = try MagicCookie.audioSpecificConfig(sound.cookie)
    expectTrue(bare.count < sound.cookie.count)
    for cookie in [sound.cookie, bare, []] {
      let rig = try Rig(.packets(sound.format))
      try rig.queue.setOfflineFormat(.float(2))
      try rig.queue.setCookie(cookie)
      try enqueueAll(sound, by: 3, in: rig)
      try rig.queue.start()
      try expectEqual(render(rig), sound.sound)
    }
  }

  @Test("6, 9: Reset and Flush have the next packet follow none")
  func resets() throws {
    let sound = try CodedSound(.opus, frames: 20 * 960)
    let rig = try rig(sound, offline: false)
    try enqueue(sound, 0..<4, in: rig)
    try rig.queue.start(at: .frame(0))
    rig.cycle(4, frames: 256)
    try rig.queue.reset()
    // Each call waits until everything is converted, because another packet follows the flush.
    try enqueue(sound, 8..<12, in: rig)
    try rig.queue.flush()
    _ = try rig.queue.prime(frames: 0)
    try enqueue(sound, 2..<4, in: rig)
    _ = try rig.queue.prime(frames: 0)
    rig.cycle(40, frames: 256)
    let alone = try [8..<12, 2..<4].map { range in
      try CodedSound.decode(sound.packets[range].map(\.bytes), sound.format, sound.cookie)
    }
    let heard = try require(rig.server.clients.last).samples
    for channel in 0..<2 {
      expectEqual(
        Array(heard[channel][1024...].prefix(6 * 960)), alone[0][channel] + alone[1][channel])
    }
  }

  @Test("34: a server that goes and comes back takes and repeats no frame")
  func returns() throws {
    let sound = try CodedSound(.aac, frames: 12_000)
    let rig = try rig(sound, offline: false)
    try enqueueAll(sound, by: 3, in: rig)
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    rig.cycle(10, frames: 256)
    rig.server.goAway()
    waitUntil { rig.queue.isLost && rig.server.clients.last!.isClosed }
    rig.server.comeBack()
    waitUntil { !rig.queue.isLost }
    rig.cycle(40, frames: 256)
    for channel in 0..<2 {
      let heard = rig.server.clients.flatMap { $0.samples[channel] }
      expectEqual(Array(heard.prefix(12_000)), sound.sound[channel])
    }
  }

  @Test("another rate of the device: as many frames, at its rate")
  func anotherRate() throws {
    let sound = try CodedSound(.aac, frames: 12_000)
    let rig = try rig(sound, offline: false)
    try enqueueAll(sound, by: 3, in: rig)
    try rig.queue.stopAfterPlaying()
    _ = try rig.queue.prime(frames: 0)
    try rig.queue.start(at: .frame(0))
    rig.cycle(10, frames: 256)
    let device = try require(rig.queue.runningDevice)
    rig.server.changeRate(to: 24000)
    waitUntil { device.rateChanges == 1 && !rig.queue.isLost }
    waitUntil { rig.queue.isRunning }
    // Hand-driven cycles do not wait for the converter.
    _ = try rig.queue.prime(frames: 0)
    rig.cycle(60, frames: 128)
    waitUntil { rig.queue.hasEnded }
    expectEqual(rig.queue.statistics.lastedFrames, 6000)
    let offline = try self.rig(sound, rate: 44100)
    try enqueueAll(sound, by: 5, in: offline)
    try offline.queue.start()
    try offline.queue.stopAfterPlaying()
    try expectEqual(render(offline)[0].count, 11025)
  }

  /// Some streams state only in their cookie or packets that they have twice the sample rate.
  @Test func aStreamOfAnotherRateThanItsFormat() throws {
    var sound = try CodedSound(.aac, frames: 12_000)
    sound.format.sampleRate = 24000
    let rig = try rig(sound)
    try enqueue(sound, 0..<sound.packets.count, in: rig)
    try rig.queue.start()
    try rig.queue.stopAfterPlaying()
    let heard = try render(rig)
    expectEqual(heard[0].count, sound.decoded[0].count / 2)
    expectNil(rig.queue.converterFailure)
    expectTrue(heard[0].contains { abs($0) > 0.3 })
  }

  #if RubberBand
    @Test("20: rate and pitch")
    func rateAndPitch() throws {
      let sound = try CodedSound(.aac, frames: 48_000)
      let rig = try rig(sound)
      try rig.queue.setTimePitchEnabled(true)
      try rig.queue.change(TimePitchChanges(rate: 2))
      try enqueueAll(sound, by: 5, in: rig)
      try rig.queue.start()
      try rig.queue.stopAfterPlaying()
      try expectEqual(render(rig)[0].count, 24_000)
    }
  #endif
}
