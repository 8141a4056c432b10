import Codecs
import FileSupport
import Foundation
import RealTime
import Synchronization

@testable import Files

/// A packet file that ffmpeg or sox creates from a tone of 1.3 seconds.
struct PacketRecipe: Sendable, CustomStringConvertible {
  let name: String
  let container: Container
  let codec: Codec
  var rate = 44_100
  var channels = 2
  /// ffmpeg's options for the codec and the file.
  let arguments: [String]

  init(
    _ name: String, _ container: Container, _ codec: Codec, rate: Int = 44_100, channels: Int = 2,
    _ arguments: String
  ) {
    self.name = name
    self.container = container
    self.codec = codec
    self.rate = rate
    self.channels = channels
    self.arguments = arguments.split(separator: " ").map(String.init)
  }

  var description: String { "\(name) \(codec)" }

  /// Frames of the tone.
  var frames: Int { rate * 13 / 10 }

  static let tags = [
    "title": "A Tune", "artist": "Nobody", "album": "None", "year": "1999", "genre": "Jazz",
    "comments": "Hummed", "track number": "3",
  ]

  /// The created files by name. They are removed when the program exits.
  private static let made = Mutex<[String: String]>([:])
  private static let folder: TemporaryFolder? = {
    atexit { try? FileManager.default.removeItem(atPath: PacketRecipe.folder?.path ?? "") }
    return try? TemporaryFolder()
  }()

  /// Returns the path of the file and creates it if necessary.
  func make() throws -> String {
    if let path = Self.made.withLock({ $0[name] }) { return path }
    guard let folder = Self.folder else { throw CocoaError(.fileWriteUnknown) }
    let path = try make(in: folder)
    Self.made.withLock { $0[name] = path }
    return path
  }

  private func make(in folder: TemporaryFolder) throws -> String {
    let path = folder.file(name)
    if codec == .amrNarrow || codec == .amrWide {
      // No AMR encoder is available: headers with noise are valid packets.
      let (head, kind, size) =
        codec == .amrNarrow ? ("#!AMR\n", UInt8(0x3C), 31) : ("#!AMR-WB\n", UInt8(0x44), 60)
      var data = Data(head.utf8)
      for i in 0..<65 { data += [kind] + (0..<size).map { UInt8(truncatingIfNeeded: i * 7 + $0) } }
      return try folder.write(data, to: name)
    }
    let tone = "sine=f=440:d=1.3:r=\(rate),aformat=channel_layouts=\(channels)c"
      .replacingOccurrences(of: "=1c", with: "=mono").replacingOccurrences(
        of: "=2c", with: "=stereo"
      )
      .replacingOccurrences(of: "=6c", with: "=5.1")
    let metadata = [
      "title=A Tune", "artist=Nobody", "album=None", "date=1999", "genre=Jazz", "comment=Hummed",
      "track=3",
    ].flatMap { ["-metadata", $0] }
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", tone] + metadata + ["-strict", "-2", "-c:a"] + arguments
        + [path])
    return path
  }

  static let all: [PacketRecipe] = [
    PacketRecipe("a.m4a", .m4a, .aac, "aac"),
    PacketRecipe("six.m4a", .m4a, .aac, rate: 48_000, channels: 6, "aac"),
    PacketRecipe("lossless.m4a", .m4a, .alac, "alac"),
    PacketRecipe("deep.m4a", .m4a, .alac, "alac -sample_fmt s32p"),
    PacketRecipe("a.m4b", .m4a, .aac, channels: 1, "aac -f ipod"),
    PacketRecipe("a.mp4", .mp4, .aac, "aac"),
    PacketRecipe("pieces.mp4", .mp4, .aac, "aac -movflags empty_moov -frag_duration 300000"),
    PacketRecipe("flac.mp4", .mp4, .flac, "flac"),
    PacketRecipe("opus.mp4", .mp4, .opus, rate: 48_000, "libopus"),
    PacketRecipe("ac3.mp4", .mp4, .ac3, rate: 48_000, "ac3"),
    PacketRecipe("mp3.mp4", .mp4, .mp3, "libmp3lame"),
    PacketRecipe("a.3gp", .threeGP, .aac, channels: 1, "aac"),
    PacketRecipe("a.aac", .adts, .aac, "aac"),
    PacketRecipe("a.mp3", .mp3, .mp3, "libmp3lame"),
    PacketRecipe("vbr.mp3", .mp3, .mp3, "libmp3lame -q:a 4"),
    PacketRecipe("low.mp3", .mp3, .mp3, rate: 22_050, channels: 1, "libmp3lame"),
    PacketRecipe("a.mp2", .mp2, .mp2, "mp2"),
    PacketRecipe("a.ac3", .ac3, .ac3, rate: 48_000, channels: 6, "ac3"),
    PacketRecipe("e.ac3", .ac3, .eac3, rate: 48_000, "eac3 -f eac3"),
    PacketRecipe("a.flac", .flac, .flac, "flac"),
    PacketRecipe("deep.flac", .flac, .flac, rate: 96_000, "flac -sample_fmt s32"),
    PacketRecipe("a.opus", .ogg, .opus, rate: 48_000, "libopus"),
    PacketRecipe("mono.opus", .ogg, .opus, rate: 48_000, channels: 1, "libopus -frame_duration 60"),
    PacketRecipe("a.ogg", .ogg, .vorbis, "libvorbis"),
    PacketRecipe("flac.ogg", .ogg, .flac, "flac"),
    PacketRecipe("nb.amr", .amr, .amrNarrow, rate: 8_000, channels: 1, ""),
    PacketRecipe("wb.amr", .amr, .amrWide, rate: 16_000, channels: 1, ""),
    PacketRecipe("alac.caf", .caf, .alac, "alac"),
    PacketRecipe("flac.caf", .caf, .flac, "flac"),
    PacketRecipe("opus.caf", .caf, .opus, rate: 48_000, "libopus"),
    PacketRecipe("mp3.caf", .caf, .mp3, "libmp3lame"),
    PacketRecipe("ac3.caf", .caf, .ac3, rate: 48_000, "ac3"),
    PacketRecipe("ima4.caf", .caf, .ima4, "adpcm_ima_qt"),
    PacketRecipe("ulaw.caf", .caf, .ulaw, "pcm_mulaw"),
    PacketRecipe("alaw.caf", .caf, .alaw, "pcm_alaw"),
    PacketRecipe("ulaw.wav", .wave, .ulaw, "pcm_mulaw"),
    PacketRecipe("alaw.wav", .wave, .alaw, "pcm_alaw"),
    PacketRecipe("ima.wav", .wave, .msIMA, "adpcm_ima_wav"),
    PacketRecipe("gsm.wav", .wave, .gsm, rate: 8_000, channels: 1, "libgsm_ms"),
    PacketRecipe("mp3.wav", .wave, .mp3, "libmp3lame"),
    PacketRecipe("ulaw.aifc", .aifc, .ulaw, "pcm_mulaw -f aiff"),
    PacketRecipe("alaw.aifc", .aifc, .alaw, "pcm_alaw -f aiff"),
    PacketRecipe("ima4.aifc", .aifc, .ima4, "adpcm_ima_qt -f aiff"),
    PacketRecipe("ulaw.au", .next, .ulaw, "pcm_mulaw"),
    PacketRecipe("alaw.au", .next, .alaw, "pcm_alaw"),
  ]
}

/// ffprobe's information about a file's first stream.
struct Probed: Decodable {
  struct Stream: Decodable {
    let codec_name: String
    let sample_rate: String
    let channels: Int
    let nb_read_packets: String?
    let duration: String?
  }
  struct Packet: Decodable {
    let size: String
    let pts: Int64?
    let duration: Int64?
    let data_hash: String?
  }
  let streams: [Stream]
  let packets: [Packet]

  init(_ path: String) throws {
    let outcome = try tool(
      "ffprobe",
      [
        "-v", "error", "-select_streams", "a:0", "-count_packets", "-show_streams", "-show_packets",
        "-show_data_hash", "adler32", "-of", "json", path,
      ])
    self = try JSONDecoder().decode(Probed.self, from: outcome.output)
  }
}

/// Returns the checksum that ffprobe prints.
func adler32(_ bytes: some Sequence<UInt8>) -> String {
  var (a, b): (UInt32, UInt32) = (0, 0)
  a = 1
  for byte in bytes {
    a = (a + UInt32(byte)) % 65521
    b = (b + a) % 65521
  }
  let sum = String(b << 16 | a, radix: 16)
  return "adler32:" + String(repeating: "0", count: 8 - sum.count) + sum
}

extension PacketFileReader {
  /// Returns all packets, read in batches.
  func allPackets(atOnce: Int = 7) throws -> [(bytes: [UInt8], frames: Int)] {
    var packets: [(bytes: [UInt8], frames: Int)] = []
    var memory = [UInt8](repeating: 0, count: try maximumPacketBytes * atOnce)
    var extents: [PacketExtent] = []
    while true {
      let count = try memory.withUnsafeMutableBytes {
        try readPackets(
          from: Int64(packets.count), count: atOnce, into: $0, extents: &extents)
      }
      if count == 0 { return packets }
      packets += extents.map { (Array(memory[$0.offset..<$0.offset + $0.bytes]), $0.frames) }
    }
  }

  /// Returns the bytes of all packets.
  func sound() throws -> [UInt8] {
    var memory = [UInt8](repeating: 0, count: Int(try byteCount))
    var extents: [PacketExtent] = []
    let count = try memory.withUnsafeMutableBytes {
      try readPackets(from: 0, count: .max, into: $0, extents: &extents)
    }
    return Int64(count) == (try packetCount) ? memory : []
  }
}
