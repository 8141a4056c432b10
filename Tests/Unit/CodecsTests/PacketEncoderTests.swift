import Codecs
import FileSupport
import Foundation
import Testing

@Suite struct PacketEncoderTests {
  static let encodable = Codec.allCases.filter(\.hasEncoder)

  private func format(_ codec: Codec, bits: Int = 0) -> PacketFormat {
    let rates = codec.encodedSampleRates
    let rate = rates.isEmpty || rates.contains(48000) ? 48000 : rates[0]
    return PacketFormat(
      codec: codec, sampleRate: rate, channels: min(2, codec.encodedChannels), bitsPerSample: bits)
  }

  @Test(arguments: encodable) func blocksMakeNoDifference(_ codec: Codec) throws {
    let format = format(codec)
    let source = music(
      frames: 7001, channels: format.channels, bits: 16, rate: format.sampleRate)
    let encoder = try PacketEncoder(format)
    let whole = try encode(source, with: encoder, block: 7001)
    for block in [1, 777] {
      try encoder.reset()
      expectNil(encoder.takePacket())
      let pieces = try encode(source, with: encoder, block: block)
      expectTrue(pieces.packets == whole.packets && pieces.cookie == whole.cookie)
      expectEqual(pieces.table, whole.table)
    }
    expectEqual(
      whole.packets.map(\.frames).reduce(0, +),
      whole.table.primingFrames + 7001 + whole.table.remainderFrames)
    // The properties reported before encoding stay true.
    if format.bytesPerPacket == 0 && whole.format.bytesPerPacket == 0 {
      let longest = whole.packets.map(\.bytes.count).max() ?? 0
      let told = try PacketEncoder(format).maximumPacketBytes
      expectTrue(longest <= told && whole.maximumPacketBytes == told)
    } else {
      expectTrue(whole.packets.allSatisfy { $0.bytes.count % whole.format.bytesPerPacket == 0 })
    }
  }

  /// Full-scale noise is the hardest to encode.
  @Test(arguments: encodable) func noPacketIsLongerThanTold(_ codec: Codec) throws {
    let format = format(codec, bits: codec.isLossless ? 24 : 0)
    var random = SystemRandomNumberGenerator()
    let noise = (0..<format.channels).map { _ in
      (0..<10_000).map { _ in Float.random(in: -1...1, using: &random) }
    }
    let highest = codec.encodedBitRates(sampleRate: format.sampleRate, channels: format.channels)
    let encoder = try PacketEncoder(format, PacketEncoder.Options(bitRate: highest.last))
    let told = encoder.maximumPacketBytes
    let stream = try encode(noise, with: encoder)
    guard stream.format.bytesPerPacket == 0 else { return }
    expectTrue(!stream.packets.isEmpty && stream.packets.allSatisfy { $0.bytes.count <= told })
  }

  @Test(arguments: encodable) func shortStreamsAreExact(_ codec: Codec) throws {
    let format = format(codec)
    for frames in [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 4608] {
      let source = music(
        frames: frames, channels: format.channels, bits: 16, rate: format.sampleRate)
      let encoder = try PacketEncoder(format)
      let stream = try encode(source, with: encoder)
      expectTrue(frames > 0 || stream.packets.isEmpty)
      let raw = try decode(
        stream.packets.map(\.bytes), with: PacketDecoder(stream.format, cookie: stream.cookie))
      expectEqual(
        raw[0].count,
        (frames == 0 ? 0 : stream.table.primingFrames + frames + stream.table.remainderFrames),
        "\(frames) frames")
      #expect(throws: CodecError.self) {
        try withPlanes(source.map { $0 + [0] }) { try encoder.encode($0, frames: 1) }
      }
    }
  }

  /// The nearest integer, ties to even, clipped at the ends of the range.
  @Test(arguments: [16, 24]) func floatsBecomeTheNearestInteger(bits: Int) throws {
    let scale = Float(1 << (bits - 1))
    let cases: [(Float, Float)] = [
      (0, 0), (1, scale - 1), (-1, -scale), (2, scale - 1), (-2, -scale), (.nan, 0),
      (.infinity, scale - 1), (-.infinity, -scale), (0.5 / scale, 0), (1.5 / scale, 2),
      (2.5 / scale, 2), (-0.5 / scale, 0), (-1.5 / scale, -2), (0.75 / scale, 1),
      ((scale - 1) / scale, scale - 1), ((1 - scale) / scale, 1 - scale), (3 / scale, 3),
    ]
    for codec in [Codec.alac, .flac] {
      let stream = try encode(
        [cases.map(\.0)],
        with: PacketEncoder(
          PacketFormat(codec: codec, sampleRate: 44100, channels: 1, bitsPerSample: bits)))
      let output = try decode(
        stream.packets.map(\.bytes), with: PacketDecoder(stream.format, cookie: stream.cookie))
      expectEqual(output[0].map { $0 * scale }, cases.map(\.1))
    }
  }

  @Test(arguments: encodable) func whatIsNoNumberDoesNoHarm(_ codec: Codec) throws {
    let format = format(codec)
    let source = (0..<format.channels).map { _ in
      (0..<5000).map { [Float.nan, .infinity, -.infinity, 1e30, -3e38, 0.5][$0 % 6] }
    }
    let stream = try encode(source, with: PacketEncoder(format))
    let output = try decode(
      stream.packets.map(\.bytes), with: PacketDecoder(stream.format, cookie: stream.cookie))
    expectTrue(!output[0].isEmpty && output[0].allSatisfy { $0.isFinite })
  }

  @Test func formatsThatCannotBeAreRefused() {
    for format in [
      PacketFormat(codec: .aac, sampleRate: 44101, channels: 2),
      PacketFormat(codec: .aac, sampleRate: 44100, channels: 0),
      PacketFormat(codec: .aac, sampleRate: 44100, channels: 9),
      PacketFormat(codec: .alac, sampleRate: .nan, channels: 2),
      PacketFormat(codec: .alac, sampleRate: 0, channels: 2),
      PacketFormat(codec: .alac, sampleRate: 44100, channels: 2, bitsPerSample: 32),
      PacketFormat(codec: .flac, sampleRate: 44100, channels: 2, bitsPerSample: 32),
      PacketFormat(codec: .opus, sampleRate: 44100, channels: 2),
      PacketFormat(codec: .opus, sampleRate: 48000, channels: 5),
      PacketFormat(codec: .opus, sampleRate: 48000, channels: 2, framesPerPacket: 777),
      PacketFormat(codec: .mp3, sampleRate: 96000, channels: 2),
      PacketFormat(codec: .mp3, sampleRate: 44100, channels: 3),
      PacketFormat(codec: .gsm, sampleRate: 44100, channels: 1),
      PacketFormat(codec: .msIMA, sampleRate: 44100, channels: 2, bytesPerPacket: 777),
      PacketFormat(codec: .flac, sampleRate: 44100, channels: 2, framesPerPacket: .max),
    ] {
      #expect(throws: CodecError.self, "\(format)") { try PacketEncoder(format) }
    }
    #expect(throws: CodecError.self) {
      try PacketEncoder(format(.aac), PacketEncoder.Options(bitRate: 0))
    }
    #expect(throws: CodecError(.badFormat("Opus is encoded at 48000 Hz, not at 44100.0"))) {
      try PacketEncoder(PacketFormat(codec: .opus, sampleRate: 44100, channels: 2))
    }
  }

  @Test func theNearestBitRateIsTaken() throws {
    func rate(_ codec: Codec, _ asked: Int?) throws -> Int {
      try PacketEncoder(format(codec), PacketEncoder.Options(bitRate: asked)).bitRate
    }
    try expectEqual(rate(.mp3, 130_000), 128_000)
    try expectEqual(rate(.mp3, 1_000_000), 320_000)
    try expectEqual(rate(.mp3, nil), 128_000)
    try expectEqual(rate(.aac, nil), 128_000)
    try expectEqual(rate(.mp2, 1), 32000)
    try expectEqual(rate(.ac3, 200_000), 192_000)
    try expectEqual(rate(.aac, 100_001), 100_001)
    try expectEqual(rate(.aac, 10_000_000), 576_000)
    try expectEqual(rate(.alac, 5), 0)
    try expectEqual(rate(.ulaw, nil), 0)
  }

  @Test func sizesAreThoseThatAreAskedFor() throws {
    var format = format(.opus)
    for frames in [120, 240, 480, 960, 1920, 2880] {
      format.framesPerPacket = frames
      try expectEqual(PacketEncoder(format).format.framesPerPacket, frames)
    }
    format = self.format(.flac)
    format.framesPerPacket = 1152
    try expectEqual(PacketEncoder(format).format.framesPerPacket, 1152)
    format = self.format(.msIMA)
    format.bytesPerPacket = 512
    let encoder = try PacketEncoder(format)
    expectTrue(encoder.format.bytesPerPacket == 512 && encoder.format.framesPerPacket == 505)
    try expectEqual(PacketEncoder(self.format(.alac)).format.bitsPerSample, 16)
    try expectEqual(PacketEncoder(self.format(.alac, bits: 20)).format.bitsPerSample, 24)
    try expectEqual(PacketEncoder(self.format(.gsm)).format.bytesPerPacket, 65)
    format = self.format(.gsm)
    format.bytesPerPacket = 33
    try expectEqual(PacketEncoder(format).format.framesPerPacket, 160)
    try expectEqual(PacketEncoder(format).format.bytesPerPacket, 33)
  }

  @Test func moreWorkMakesLess() throws {
    let source = music(frames: 20_000, channels: 2, bits: 16, rate: 48000)
    func bytes(_ quality: Int) throws -> Int {
      try encode(
        source,
        with: PacketEncoder(format(.flac, bits: 16), PacketEncoder.Options(quality: quality))
      ).packets.map(\.bytes.count).reduce(0, +)
    }
    expectTrue(try bytes(127) < bytes(0))
    for codec in Self.encodable {
      for quality in [-5, 0, 64, 127, 1000] {
        _ = try PacketEncoder(format(codec), PacketEncoder.Options(quality: quality))
      }
    }
  }

  @Test func theCookieOfFLACKnowsTheEnd() throws {
    let source = music(frames: 20_000, channels: 2, bits: 16)
    let encoder = try PacketEncoder(
      PacketFormat(codec: .flac, sampleRate: 44100, channels: 2, bitsPerSample: 16))
    let before = try MagicCookie.extradata(.flac, cookie: encoder.cookie)
    let stream = try encode(source, with: encoder)
    let after = try MagicCookie.extradata(.flac, cookie: stream.cookie)
    expectTrue(before.suffix(16).allSatisfy { $0 == 0 } && !after.suffix(16).allSatisfy { $0 == 0 })
    // The frame count is in the last 36 bits before the checksum.
    let frames = after[14..<18].reduce(into: 0) { count, byte in count = count << 8 | Int(byte) }
    expectEqual(frames, 20_000)
  }
}
