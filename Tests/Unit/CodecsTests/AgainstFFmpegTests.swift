import Codecs
import FileSupport
import Foundation
import Testing

@Suite(.tags(.program)) struct AgainstFFmpegTests {
  struct Case: CustomTestStringConvertible {
    var codec: Codec
    /// The file that ffmpeg creates; the extension selects the container.
    var file: String
    var encoder: String
    var channels = 2
    var rate = 44100
    var bits = 0
    var bitRate: Int?
    var testDescription: String { "\(encoder) \(channels) \(rate) \(bits) \(file)" }

    /// Creates the file with ffmpeg.
    func make(_ source: [[Float]], in folder: TemporaryFolder) throws -> String {
      let raw = try folder.write(interleaved(source), to: "source.raw")
      let path = folder.file(file)
      var arguments = ["-v", "error", "-f", "f32le", "-ar", "\(rate)", "-ac", "\(channels)"]
      arguments += ["-i", raw, "-c:a", encoder]
      if let bitRate { arguments += ["-b:a", "\(bitRate)"] }
      if bits > 0 { arguments += ["-sample_fmt", sampleFormat] }
      try tool("ffmpeg", arguments + [path])
      return path
    }

    private var sampleFormat: String {
      (bits > 16 ? "s32" : "s16") + (codec == .alac ? "p" : "")
    }
  }

  static let cases: [Case] = [
    Case(codec: .aac, file: "a.m4a", encoder: "aac", bitRate: 128_000),
    Case(codec: .aac, file: "a.aac", encoder: "aac", channels: 1, rate: 22050, bitRate: 40_000),
    Case(codec: .aac, file: "a.m4a", encoder: "aac", channels: 6, rate: 48000, bitRate: 384_000),
    Case(codec: .mp3, file: "a.mp3", encoder: "libmp3lame", bitRate: 160_000),
    Case(
      codec: .mp3, file: "a.mp3", encoder: "libmp3lame", channels: 1, rate: 16000, bitRate: 48_000),
    Case(codec: .mp2, file: "a.mp2", encoder: "mp2", rate: 48000, bitRate: 192_000),
    Case(codec: .opus, file: "a.ogg", encoder: "libopus", rate: 48000, bitRate: 128_000),
    Case(
      codec: .opus, file: "a.ogg", encoder: "libopus", channels: 6, rate: 48000, bitRate: 384_000),
    Case(codec: .vorbis, file: "a.ogg", encoder: "libvorbis", bitRate: 128_000),
    Case(codec: .ima4, file: "a.mov", encoder: "adpcm_ima_qt"),
    Case(codec: .msIMA, file: "a.wav", encoder: "adpcm_ima_wav"),
    Case(codec: .ulaw, file: "a.wav", encoder: "pcm_mulaw"),
    Case(codec: .alaw, file: "a.wav", encoder: "pcm_alaw"),
    Case(codec: .gsm, file: "a.wav", encoder: "libgsm_ms", channels: 1, rate: 8000),
    Case(codec: .ac3, file: "a.ac3", encoder: "ac3", channels: 6, rate: 48000, bitRate: 448_000),
    Case(codec: .eac3, file: "a.eac3", encoder: "eac3", rate: 48000, bitRate: 192_000),
    Case(codec: .alac, file: "a.m4a", encoder: "alac", bits: 16),
    Case(codec: .alac, file: "a.caf", encoder: "alac", channels: 6, rate: 96000, bits: 24),
    Case(codec: .flac, file: "a.flac", encoder: "flac", bits: 16),
    Case(codec: .flac, file: "a.flac", encoder: "flac", channels: 1, rate: 22_050, bits: 24),
  ]

  @Test(arguments: cases) func weDoAsItDoes(_ test: Case) throws {
    let source = music(
      frames: 12_011, channels: test.channels, bits: max(16, test.bits), rate: Double(test.rate))
    let folder = try TemporaryFolder()
    let path = try test.make(source, in: folder)
    let file = try Demuxed(path)
    expectTrue(file.format.codec == test.codec && file.packets.count > 2)
    // The decoder that Cuejack uses, with raw output.
    let decoder =
      switch test.codec {
      case .opus: ["-c:a", "libopus", "-request_sample_fmt", "flt"]
      case .mp2: ["-c:a", "mp2float"]
      default: [String]()
      }
    let theirs = try ffmpegDecoded(
      path, channels: test.channels, decoder + ["-flags2", "+skip_manual"])

    // Its files give the same samples as in ffmpeg itself.
    for cookie in [
      file.extradata, MagicCookie.appleCookie(test.codec, extradata: file.extradata),
    ] {
      let decoder = try PacketDecoder(file.format, cookie: cookie)
      let output = try decode(file.packets, with: decoder)
      expectEqual(output.count, test.channels)
      // Newer versions of libavcodec also output what precedes the first frame of Vorbis.
      let leadIn = test.codec == .vorbis ? max(0, theirs[0].count - output[0].count) : 0
      expectTrue([0, 128].contains(leadIn))
      expectEqual(output, theirs.map { Array($0.dropFirst(leadIn)) })
      expectEqual(decoder.format.sampleRate, Double(test.rate))
      expectEqual(decoder.format.bitsPerSample, test.bits)
    }

    // Cuejack's encoding is as close to the source.
    let encoder = try PacketEncoder(
      PacketFormat(
        codec: test.codec, sampleRate: Double(test.rate), channels: test.channels,
        bitsPerSample: test.bits), PacketEncoder.Options(bitRate: test.bitRate))
    if let bitRate = test.bitRate { expectEqual(encoder.bitRate, bitRate) }
    let encoded = try encode(source, with: encoder)
    let ours = trimmed(
      try decode(
        encoded.packets.map(\.bytes), with: PacketDecoder(encoded.format, cookie: encoded.cookie)),
      encoded.table)
    let late = lag(source[0], theirs[0])
    // A range surrounded by complete packets in both.
    let range = 3000..<9000
    for channel in 0..<test.channels {
      let wanted = Array(source[channel][range])
      let mine = signalToNoise(wanted, Array(ours[channel][range]))
      let other = signalToNoise(
        wanted, Array(theirs[channel].dropFirst(range.lowerBound + late).prefix(range.count)))
      expectTrue(mine >= other - 0.01, "channel \(channel): \(mine) dB, ffmpeg \(other) dB")
    }
  }
}
