import FileSupport
import Foundation
import Testing

/// `cuejack info` on a file of every type, compared with `ffprobe`.
@Suite(.tags(.program)) struct InfoAgainstFFprobeTests {
  /// A file, its encoding for `cuejack convert`, and `ffprobe`'s name of that.
  struct Kind: Sendable, CustomStringConvertible {
    let name: String
    let coding: String
    let codec: String
    var description: String { "\(name) \(coding)" }

    init(_ words: Substring) {
      let words = words.split(separator: " ").map(String.init)
      (name, coding, codec) = (words[0], words[1], words.count > 2 ? words[2] : words[1])
    }

    static let all = """
      a.wav s16 pcm_s16le/a.aiff s24 pcm_s24be/f.aifc f32 pcm_f32be/a.caf s24 pcm_s24le/a.w64 s32 pcm_s32le
      a.rf64 s16 pcm_s16le/a.au s16 pcm_s16be/u8.wav u8 pcm_u8/s8.aiff s8 pcm_s8/f64.wav f64 pcm_f64le
      a.m4a aac/alac.m4a alac/ac3.m4a ac3/a.mp4 aac/alac.mp4 alac/eac3.mp4 eac3/flac.mp4 flac/opus.mp4 opus
      mp3.mp4 mp3/a.m4b aac/a.3gp aac/a.3g2 aac/a.aac aac/a.mp3 mp3/a.mp2 mp2/a.ac3 ac3/e.ac3 eac3/a.flac flac
      a.opus opus/a.ogg vorbis/flac.ogg flac/aac.caf aac/alac.caf alac/flac.caf flac/opus.caf opus/mp3.caf mp3
      mp2.caf mp2/ac3.caf ac3/ima4.caf ima4 adpcm_ima_qt/msima.caf msima adpcm_ima_wav/ulaw.caf ulaw pcm_mulaw
      alaw.caf alaw pcm_alaw/gsm.caf gsm gsm_ms/ulaw.wav ulaw pcm_mulaw/alaw.wav alaw pcm_alaw
      msima.wav msima adpcm_ima_wav/gsm.wav gsm gsm_ms/mp3.wav mp3/ulaw.aifc ulaw pcm_mulaw
      alaw.aifc alaw pcm_alaw/ima4.aifc ima4 adpcm_ima_qt/ulaw.au ulaw pcm_mulaw/alaw.au alaw pcm_alaw
      """.split { $0 == "/" || $0 == "\n" }.map(Kind.init)
  }

  /// The names in `info` for those of `ffprobe`.
  private static let names = [
    "aac": "AAC", "alac": "Apple Lossless, 16-bit", "flac": "FLAC, 16-bit", "opus": "Opus",
    "vorbis": "Vorbis", "mp3": "MPEG Layer 3", "mp2": "MPEG Layer 2", "ac3": "AC-3",
    "eac3": "Enhanced AC-3", "adpcm_ima_qt": "IMA 4:1", "adpcm_ima_wav": "DVI/Intel IMA",
    "pcm_mulaw": "µ-law 2:1", "pcm_alaw": "A-law 2:1", "gsm_ms": "Microsoft GSM 6.10",
    "pcm_s16le": "16-bit signed integer, little-endian",
    "pcm_s24le": "24-bit signed integer, little-endian",
    "pcm_s32le": "32-bit signed integer, little-endian",
    "pcm_s16be": "16-bit signed integer, big-endian",
    "pcm_s24be": "24-bit signed integer, big-endian", "pcm_f32be": "32-bit float, big-endian",
    "pcm_u8": "8-bit unsigned integer", "pcm_s8": "8-bit signed integer",
    "pcm_f64le": "64-bit float, little-endian",
  ]

  private static let source = Result {
    let folder = try TemporaryFolder()
    let noise = "anoisesrc=d=1.3:r=48000:a=0.3:seed=1,aformat=channel_layouts=stereo"
    try tool("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", noise, folder.file("a.wav")])
    return try Data(contentsOf: URL(fileURLWithPath: folder.file("a.wav")))
  }

  private struct Shown: Decodable {
    let format: String
    let sampleRate: Double
    let channels: Int
    let layout: [String]?
    let frames: Int
    let duration: Double
    let packets: Int
    let bytesPerPacket: Int?
    let framesPerPacket: Int?
    let primingFrames: Int?
    let remainderFrames: Int?
    let size: Int
  }

  private struct Probed: Decodable {
    struct Stream: Decodable {
      let codec_name: String
      let sample_rate: String
      let channels: Int
      let channel_layout: String?
      let duration: String?
      let nb_read_packets: String
    }
    struct Format: Decodable {
      let duration: String
      let size: String
    }
    let streams: [Stream]
    let format: Format
  }

  @Test(arguments: Kind.all) func infoSaysWhatFfprobeSays(kind: Kind) throws {
    let folder = try TemporaryFolder()
    let cuejack = try buildFolder() + "/cuejack"
    let source = try folder.write(Self.source.get(), to: "source.wav")
    let path = folder.file(kind.name)
    try tool(cuejack, ["convert", source, path, "--format", kind.coding])
    let info = try tool(cuejack, ["info", "--json", path])
    expectTrue(info.errors.isEmpty)
    let shown = try require(JSONDecoder().decode([Shown].self, from: info.output).first)
    let probe = try tool(
      "ffprobe",
      ["-v", "error", "-count_packets", "-show_streams", "-show_format", "-of", "json", path])
    expectTrue(probe.errors.isEmpty)
    let probed = try JSONDecoder().decode(Probed.self, from: probe.output)
    let stream = try require(probed.streams.first)

    expectEqual(stream.codec_name, kind.codec)
    expectEqual(shown.format, Self.names[kind.codec])
    expectEqual(shown.sampleRate, Double(stream.sample_rate))
    expectEqual(shown.channels, stream.channels)
    // CAF files of one or two channels have no layout.
    if let layout = stream.channel_layout, !kind.name.hasSuffix(".caf") {
      let roles = try require(shown.layout)
      expectEqual(layout, ["left, right": "stereo", "mono": "mono"][roles.joined(separator: ", ")])
    }
    expectEqual("\(shown.size)", probed.format.size)
    expectEqual(shown.duration, Double(shown.frames) / shown.sampleRate)
    // For packets of constant size, ffprobe counts its own pieces, except in CAF files.
    if shown.bytesPerPacket == nil { expectEqual("\(shown.packets)", stream.nb_read_packets) }

    let found = try require(Double(stream.duration ?? probed.format.duration)) * shown.sampleRate
    var frames = shown.frames
    var slack = 0.5
    switch kind.name {
    // ffprobe includes priming and remainder.
    case let name where name.hasSuffix(".caf") || name == "a.mp3":
      frames += (shown.primingFrames ?? 0) + (shown.remainderFrames ?? 0)
    case "a.opus": frames += shown.primingFrames ?? 0
    // ffprobe estimates from the first packets' sizes.
    case "a.aac": slack = 1024
    // The length in a WAVE file ignores priming.
    case "mp3.wav": slack = 2 * 1152
    default: break
    }
    expectTrue(abs(Double(frames) - found) <= slack, "\(frames) frames, \(found) by ffprobe")
  }
}
