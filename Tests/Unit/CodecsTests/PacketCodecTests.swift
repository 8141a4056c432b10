import Codecs
import FileSupport
import Foundation
import Testing

@Suite struct PacketCodecTests {
  /// A codec and its input format.
  struct Case: CustomTestStringConvertible {
    var codec: Codec
    var channels = 2
    var rate = 44100.0
    var bits = 0
    var testDescription: String { "\(codec) \(channels) \(Int(rate)) \(bits)" }
  }

  static let cases: [Case] = [
    Case(codec: .aac), Case(codec: .aac, channels: 1, rate: 8000),
    Case(codec: .aac, channels: 6, rate: 48000), Case(codec: .alac, bits: 16),
    Case(codec: .alac, channels: 1, rate: 96000, bits: 24), Case(codec: .alac, bits: 20),
    Case(codec: .flac, bits: 16), Case(codec: .flac, channels: 5, rate: 48000, bits: 24),
    Case(codec: .opus, rate: 48000), Case(codec: .opus, channels: 6, rate: 48000),
    Case(codec: .vorbis), Case(codec: .vorbis, channels: 6, rate: 48000), Case(codec: .mp3),
    Case(codec: .mp3, channels: 1, rate: 22050), Case(codec: .mp2), Case(codec: .ima4),
    Case(codec: .msIMA), Case(codec: .ulaw), Case(codec: .alaw, channels: 5),
    Case(codec: .gsm, channels: 1, rate: 8000), Case(codec: .ac3, rate: 48000),
    Case(codec: .ac3, channels: 6, rate: 48000), Case(codec: .eac3, channels: 6, rate: 48000),
  ]

  @Test(arguments: cases) func whatGoesInComesOut(_ test: Case) throws {
    let frames = 12_011
    let source = music(
      frames: frames, channels: test.channels, bits: max(16, test.bits), rate: test.rate)
    let encoder = try PacketEncoder(
      PacketFormat(
        codec: test.codec, sampleRate: test.rate, channels: test.channels,
        bitsPerSample: test.bits))
    let encoded = try encode(source, with: encoder)
    let decoder = try PacketDecoder(encoded.format, cookie: encoded.cookie)
    let raw = try decode(encoded.packets.map(\.bytes), with: decoder)
    let total = encoded.packets.map(\.frames).reduce(0, +)
    expectTrue(raw.count == test.channels && raw[0].count == total)
    let output = trimmed(raw, encoded.table)
    expectTrue(output.allSatisfy { $0.count == frames })
    for channel in 0..<test.channels {
      let ratio = signalToNoise(source[channel], output[channel])
      // The fourth of six channels is the LFE.
      let isLow = test.channels == 6 && channel == 3
      expectTrue(isLow || lag(source[channel], output[channel]) == 0)
      expectTrue(
        ratio > (test.codec.isLossless ? 1000 : isLow ? 5 : 15),
        "channel \(channel): \(ratio) dB")
    }
  }

  /// Each channel has its own tone, which must come out of the same channel.
  @Test(arguments: [Codec.aac, .alac, .flac, .opus, .vorbis, .ac3, .eac3])
  func everyChannelKeepsItsPlace(_ codec: Codec) throws {
    for channels in 1...codec.encodedChannels where codec.encodes(channels: channels) {
      let source = (0..<channels).map { channel -> [Float] in
        // Low enough for every channel.
        let step: Double = 2 * .pi * 20 * Double(channel + 1) / 48000
        return (0..<6000).map { frame -> Float in 0.5 * Float(sin(step * Double(frame))) }
      }
      let encoder = try PacketEncoder(
        PacketFormat(codec: codec, sampleRate: 48000, channels: channels),
        PacketEncoder.Options(bitRate: 96000 * channels))
      let encoded = try encode(source, with: encoder)
      let decoder = try PacketDecoder(encoded.format, cookie: encoded.cookie)
      let output = trimmed(try decode(encoded.packets.map(\.bytes), with: decoder), encoded.table)
      try require(output.map(\.count) == source.map(\.count), "\(channels) channels")
      for channel in 0..<channels {
        let ratio = signalToNoise(source[channel], output[channel])
        expectTrue(ratio > 10, "channel \(channel) of \(channels): \(ratio) dB")
      }
    }
  }
}
