import Codecs
import FileSupport
import Foundation
import Testing

@Suite(.tags(.program)) struct PacketDecoderTests {
  private func encoded(_ codec: Codec, rate: Double = 48000, frames: Int = 9000) throws -> Encoded {
    let channels = min(2, codec.encodedChannels)
    let rate =
      codec.encodedSampleRates.contains(rate) ? rate : codec.encodedSampleRates.last ?? rate
    let stream = try encode(
      music(frames: frames, channels: channels, bits: 16, rate: rate),
      with: PacketEncoder(PacketFormat(codec: codec, sampleRate: rate, channels: channels)))
    try require(!stream.packets.isEmpty)
    return stream
  }

  static let encodable = Codec.allCases.filter(\.hasEncoder)

  @Test func everyCodecHasItsDecoder() {
    for codec in Codec.allCases { expectTrue(codec.hasDecoder, "\(codec)") }
    let missing: Set<Codec> = [.aacHE, .aacHEv2, .mp1, .amrNarrow, .amrWide]
    for codec in Codec.allCases where !missing.contains(codec) {
      expectTrue(codec.hasEncoder, "\(codec)")
    }
    expectTrue(!Codec.aacHE.hasEncoder)
    #expect(throws: CodecError(.noEncoder(.aacHE))) {
      try PacketEncoder(PacketFormat(codec: .aacHE, sampleRate: 44100, channels: 2))
    }
    expectEqual(
      CodecError(.noEncoder(.mp1)).reason, "libavcodec has no encoder of MPEG Layer 1 here")
  }

  /// Each packet yields its frames at once, except for those that a decoder withholds from the first.
  @Test(arguments: encodable) func everyPacketGivesItsFrames(_ codec: Codec) throws {
    let stream = try encoded(codec)
    let decoder = try PacketDecoder(stream.format, cookie: stream.cookie)
    for packet in stream.packets {
      let before = decoder.available
      try packet.bytes.withUnsafeBytes { try decoder.decode($0) }
      expectEqual(decoder.available - before, packet.frames)
    }
    let before = decoder.available
    try decoder.decode(nil)
    try decoder.decode(nil)
    expectEqual(decoder.available, before)
    expectEqual(decoder.format.sampleRate, stream.format.sampleRate)
    expectEqual(decoder.format.framesPerPacket, stream.format.framesPerPacket)
  }

  /// Garbage and damaged packets throw or give sound. Afterwards the decoder works as before.
  @Test(arguments: Codec.allCases) func rubbishDoesNoHarm(_ codec: Codec) throws {
    let stream = codec.hasEncoder ? try encoded(codec) : nil
    let decoder = try PacketDecoder(
      stream?.format
        ?? PacketFormat(
          codec: codec, sampleRate: 44100, channels: 1, framesPerPacket: 0,
          bytesPerPacket: codec.bytesPerPacket(channels: 1)), cookie: stream?.cookie ?? [])
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<3000).map { _ in UInt8.random(in: 0...255, using: &random) }
    for length in [1, 2, 3, 7, 31, 64, 100, 417, 1500, 3000] {
      bytes.prefix(length).withUnsafeBytes { try? decoder.decode($0) }
      _ = takeAll(decoder)
    }
    #expect(throws: CodecError.self) {
      try [UInt8]().withUnsafeBytes { try decoder.decode($0) }
    }
    guard let stream else { return }
    let expected = try decode(
      stream.packets.map(\.bytes), with: PacketDecoder(stream.format, cookie: stream.cookie))
    for _ in 0..<5 {
      for packet in stream.packets {
        var changed = packet.bytes
        for _ in 0..<3 {
          changed[.random(in: 0..<changed.count, using: &random)] = .random(
            in: 0...255, using: &random)
        }
        changed.prefix(.random(in: 1...changed.count, using: &random))
          .withUnsafeBytes { try? decoder.decode($0) }
      }
      _ = takeAll(decoder)
    }
    decoder.reset()
    expectEqual(decoder.available, 0)
    let output = try decode(stream.packets.map(\.bytes), with: decoder)
    expectTrue(output == expected && !expected[0].isEmpty)
  }

  /// The first packet decides on no rate that the format has already.
  @Test func aDamagedFirstHeaderDoesNotSetTheRate() throws {
    let stream = try encoded(.mp3)
    let packets = stream.packets.map(\.bytes)
    let expected = try decode(packets, with: PacketDecoder(stream.format, cookie: stream.cookie))
    let decoder = try PacketDecoder(stream.format, cookie: stream.cookie)
    // 44,100 Hz becomes 48,000 Hz.
    var damaged = packets[0]
    damaged[2] ^= 0x04
    damaged.withUnsafeBytes { try? decoder.decode($0) }
    expectTrue(decoder.available > 0 && decoder.format.sampleRate == stream.format.sampleRate)
    decoder.reset()
    try expectEqual(decode(packets, with: decoder), expected)
  }

  /// A damaged header that says "free format" counts for the packets up to the next beginning only.
  @Test func aNewBeginningEndsAFreeFormat() throws {
    let stream = try encoded(.mp3)
    let decoder = try PacketDecoder(stream.format, cookie: stream.cookie)
    let packets = stream.packets.map(\.bytes)
    let expected = try decode(packets, with: decoder)
    var damaged = packets[1]
    damaged[2] &= 0x0F
    damaged.withUnsafeBytes { try? decoder.decode($0) }
    decoder.reset()
    try expectEqual(decode(packets, with: decoder), expected)
    damaged.withUnsafeBytes { try? decoder.decode($0) }
    // The end of a stream, too.
    try? decoder.decode(nil)
    _ = takeAll(decoder)
    try expectEqual(decode(packets, with: decoder), expected)
  }

  @Test func aBadPacketIsToldOf() throws {
    let stream = try encoded(.alac)
    let decoder = try PacketDecoder(stream.format, cookie: stream.cookie)
    #expect(throws: CodecError.self) {
      try stream.packets[0].bytes.prefix(20).withUnsafeBytes { try decoder.decode($0) }
    }
    try expectEqual(
      decode(stream.packets.map(\.bytes), with: decoder),
      music(frames: 9000, channels: 2, bits: 16, rate: 48000))
  }

  @Test func aResetIsANewBeginning() throws {
    for codec in Self.encodable {
      let stream = try encoded(codec)
      let decoder = try PacketDecoder(stream.format, cookie: stream.cookie)
      let packets = stream.packets.map(\.bytes)
      let first = try decode(packets, with: decoder)
      decoder.reset()
      let second = try decode(packets, with: decoder)
      expectTrue(first == second && !first[0].isEmpty, "\(codec)")
      // The end of a stream resets it, too.
      try expectEqual(decode(packets, with: decoder), first, "\(codec)")
    }
  }

  @Test func aacNeedsNoCookie() throws {
    let stream = try encoded(.aac)
    let packets = stream.packets.map(\.bytes)
    let expected = try decode(packets, with: PacketDecoder(stream.format, cookie: stream.cookie))
    try expectEqual(decode(packets, with: PacketDecoder(stream.format, cookie: [])), expected)
    // With an ADTS header on each packet not even a format is needed: MPEG-4, low complexity, 48 kHz,
    // stereo.
    let headed = packets.map { packet -> [UInt8] in
      let length = packet.count + 7
      return [
        0xFF, 0xF1, 0x4C, 0x80 | UInt8(length >> 11), UInt8(length >> 3 & 0xFF),
        UInt8(length & 7) << 5 | 0x1F, 0xFC,
      ] + packet
    }
    let decoder = try PacketDecoder(
      PacketFormat(codec: .aac, sampleRate: 0, channels: 0), cookie: [])
    expectEqual(decoder.available, 0)
    try expectEqual(decode(headed, with: decoder), expected)
    expectEqual(decoder.format, stream.format)
    // Two packets at a time.
    let pairs = stride(from: 0, to: headed.count - 1, by: 2).map { headed[$0] + headed[$0 + 1] }
    let output = try decode(pairs, with: PacketDecoder(stream.format, cookie: []))
    expectEqual(output[0].count, 2 * pairs.count * 1024)
    expectEqual(output[0], Array(expected[0].prefix(output[0].count)))
  }

  /// No HE-AAC encoder is available, so AAC-LC packets with its cookie are decoded at twice the sample
  /// rate.
  @Test func heAACHasTwiceTheRate() throws {
    let source = music(frames: 9000, channels: 2, bits: 16, rate: 22050)
    let stream = try encode(
      source, with: PacketEncoder(PacketFormat(codec: .aac, sampleRate: 22050, channels: 2)))
    let cookie = MagicCookie.appleCookie(.aacHE, extradata: [0x2B, 0x92, 0x08, 0x00])
    let decoder = try PacketDecoder(
      PacketFormat(codec: .aac, sampleRate: 22050, channels: 2), cookie: cookie)
    let expected = PacketFormat(
      codec: .aacHE, sampleRate: 44100, channels: 2, framesPerPacket: 2048)
    expectEqual(decoder.format, expected)
    let output = try decode(stream.packets.map(\.bytes), with: decoder)
    expectEqual(output[0].count, 2048 * stream.packets.count)
    expectEqual(decoder.format, expected)
  }

  @Test func whatFollowsOneAnotherGoesInTogether() throws {
    for codec in [Codec.ima4, .ulaw, .gsm, .msIMA] {
      let stream = try encoded(codec)
      let packets = stream.packets.map(\.bytes)
      let one = try decode(packets, with: PacketDecoder(stream.format, cookie: []))
      let all = try decode([packets.flatMap { $0 }], with: PacketDecoder(stream.format, cookie: []))
      expectTrue(one == all && !one[0].isEmpty, "\(codec)")
    }
  }

  @Test(arguments: [Codec.amrNarrow, .amrWide, .mp1])
  func codecsWithoutAnEncoderDecodeAsFFmpegDoes(_ codec: Codec) throws {
    // Any bits decode to some sound.
    var state: UInt64 = 88_172_645_463_325_252
    func next() -> UInt8 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state >> 24)
    }
    let shape: (head: String, first: [UInt8], bytes: Int, name: String, rate: Double, channels: Int)
    switch codec {
    case .amrNarrow: shape = ("#!AMR\n", [0x3C], 32, "a.amr", 8000, 1)
    case .amrWide: shape = ("#!AMR-WB\n", [0x44], 61, "a.amr", 16000, 1)
    default: shape = ("", [0xFF, 0xFF, 0xC0, 0x00], 416, "a.mp1", 44100, 2)
    }
    let packets = (0..<20).map { _ in
      var packet = shape.first + (shape.first.count..<shape.bytes).map { _ in next() & 0x7E }
      // Three bits per sample, for which there is room.
      if codec == .mp1 { packet.replaceSubrange(4..<36, with: repeatElement(0x22, count: 32)) }
      return packet
    }
    let folder = try TemporaryFolder()
    let path = try folder.write(
      Data(Array(shape.head.utf8) + packets.flatMap { $0 }), to: shape.name)
    let expected = try ffmpegDecoded(
      path, channels: shape.channels,
      (codec == .mp1 ? ["-f", "mp3", "-c:a", "mp1float"] : []) + ["-flags2", "+skip_manual"])
    let decoder = try PacketDecoder(
      PacketFormat(codec: codec, sampleRate: shape.rate, channels: shape.channels), cookie: [])
    let output = try decode(packets, with: decoder)
    expectEqual(output[0].count, 20 * codec.framesPerPacket(sampleRate: shape.rate, channels: 1))
    expectEqual(output, expected)
  }

  @Test func formatsThatCannotBeAreRefused() {
    for format in [
      PacketFormat(codec: .mp3, sampleRate: .nan, channels: 2),
      PacketFormat(codec: .mp3, sampleRate: -1, channels: 2),
      PacketFormat(codec: .mp3, sampleRate: 44100, channels: -1),
      PacketFormat(codec: .mp3, sampleRate: 44100, channels: 65),
      PacketFormat(codec: .msIMA, sampleRate: 44100, channels: 2, bytesPerPacket: -1),
      PacketFormat(codec: .msIMA, sampleRate: 44100, channels: 2, bytesPerPacket: .max),
    ] {
      #expect(throws: CodecError.self) { try PacketDecoder(format, cookie: []) }
    }
  }

  /// A mono stream fills both of two channels. A stereo stream leaves the third channel silent.
  @Test func channelsThatWereNotExpectedFit() throws {
    let stream = try encode(
      music(frames: 3000, channels: 1, bits: 16, rate: 48000),
      with: PacketEncoder(PacketFormat(codec: .mp3, sampleRate: 48000, channels: 1)))
    let packets = stream.packets.map(\.bytes)
    let mono = try decode(packets, with: PacketDecoder(stream.format, cookie: []))
    var format = stream.format
    format.channels = 2
    let decoder = try PacketDecoder(format, cookie: [])
    let two = try decode(packets, with: decoder)
    expectTrue(decoder.format.channels == 2 && two[0] == mono[0] && two[1] == mono[0])
    format.channels = 3
    let pair = try encoded(.mp3)
    let three = try decode(pair.packets.map(\.bytes), with: PacketDecoder(format, cookie: []))
    expectTrue(three.count == 3 && three[2].allSatisfy { $0 == 0 } && three[1].contains { $0 != 0 })
  }
}
