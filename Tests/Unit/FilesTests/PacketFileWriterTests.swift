import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Packets of a file by ffmpeg, copied to a file by Cuejack.
struct PacketCopy: Sendable, CustomStringConvertible {
  let source: PacketRecipe
  let name: String
  let container: Container
  /// Creates a copy of the recipe named `source`.
  init(_ source: String, _ name: String, _ container: Container) {
    self.source = PacketRecipe.all.first { $0.name == source }!
    self.name = name
    self.container = container
  }

  var description: String { "\(source.name) to \(name)" }

  static let all: [PacketCopy] = [
    PacketCopy("a.m4a", "out.m4a", .m4a), PacketCopy("six.m4a", "out.m4a", .m4a),
    PacketCopy("lossless.m4a", "out.m4a", .m4a), PacketCopy("deep.m4a", "out.mp4", .mp4),
    PacketCopy("a.m4b", "out.m4b", .m4b), PacketCopy("a.3gp", "out.3gp", .threeGP),
    PacketCopy("flac.mp4", "out.mp4", .mp4), PacketCopy("opus.mp4", "out.mp4", .mp4),
    PacketCopy("a.opus", "out.mp4", .mp4), PacketCopy("ac3.mp4", "out.m4a", .m4a),
    PacketCopy("e.ac3", "out.mp4", .mp4), PacketCopy("a.mp3", "out.mp4", .mp4),
    PacketCopy("a.aac", "out.m4a", .m4a), PacketCopy("nb.amr", "out.3gp", .threeGP),
    PacketCopy("a.m4a", "out.aac", .adts), PacketCopy("a.mp3", "out.mp3", .mp3),
    PacketCopy("low.mp3", "out.mp3", .mp3), PacketCopy("vbr.mp3", "out.mp3", .mp3),
    PacketCopy("a.mp2", "out.mp2", .mp2), PacketCopy("a.ac3", "out.ac3", .ac3),
    PacketCopy("e.ac3", "out.eac3", .ac3), PacketCopy("a.flac", "out.flac", .flac),
    PacketCopy("flac.ogg", "out.flac", .flac), PacketCopy("deep.flac", "out.flac", .flac),
    PacketCopy("a.opus", "out.opus", .ogg), PacketCopy("mono.opus", "out.ogg", .ogg),
    PacketCopy("opus.mp4", "out.opus", .ogg), PacketCopy("a.ogg", "out.ogg", .ogg),
    PacketCopy("a.flac", "out.oga", .ogg), PacketCopy("nb.amr", "out.amr", .amr),
    PacketCopy("wb.amr", "out.amr", .amr), PacketCopy("a.m4a", "out.caf", .caf),
    PacketCopy("lossless.m4a", "out.caf", .caf), PacketCopy("a.flac", "out.caf", .caf),
    PacketCopy("a.opus", "out.caf", .caf), PacketCopy("a.mp3", "out.caf", .caf),
    PacketCopy("a.ac3", "out.caf", .caf), PacketCopy("e.ac3", "out.caf", .caf),
    PacketCopy("nb.amr", "out.caf", .caf), PacketCopy("ima4.aifc", "out.caf", .caf),
    PacketCopy("ulaw.wav", "out.caf", .caf), PacketCopy("alaw.au", "out.caf", .caf),
    PacketCopy("gsm.wav", "out.caf", .caf), PacketCopy("ima.wav", "out.caf", .caf),
    PacketCopy("ulaw.caf", "out.wav", .wave), PacketCopy("alaw.au", "out.wav", .wave),
    PacketCopy("ima.wav", "out.wav", .wave), PacketCopy("gsm.wav", "out.wav", .wave),
    PacketCopy("a.mp3", "out.wav", .wave), PacketCopy("ulaw.wav", "out.aifc", .aifc),
    PacketCopy("alaw.caf", "out.aifc", .aifc), PacketCopy("ima4.caf", "out.aifc", .aifc),
    PacketCopy("ulaw.aifc", "out.au", .next), PacketCopy("alaw.wav", "out.au", .next),
  ]
}

/// Writes all packets of `file` to a store, with a checkpoint after each `checkpointEvery` packets.
func copy(
  _ file: PacketFileReader, to store: any ByteStore, _ container: Container,
  checkpointEvery: Int = .max, marked: (Int64) -> Void = { _ in }
) throws {
  let writer = try PacketFileWriter(store, container: container, format: file.format)
  writer.cookie = file.cookie
  writer.packetTable = try file.packetTable
  writer.tags = file.tags
  writer.channelRoles = file.channelRoles
  writer.bitRate = try file.bitRate
  let packets = try file.allPackets(atOnce: 1000)
  let atOnce = packets.count / 12 + 1
  for start in stride(from: 0, to: packets.count, by: atOnce) {
    var bytes: [UInt8] = []
    var extents: [PacketExtent] = []
    for packet in packets[start..<min(packets.count, start + atOnce)] {
      extents.append(
        PacketExtent(offset: bytes.count, bytes: packet.bytes.count, frames: packet.frames))
      bytes += packet.bytes
    }
    try bytes.withUnsafeBytes { try writer.append($0, extents) }
    if (start / atOnce + 1) % checkpointEvery == 0 {
      try writer.checkpoint()
      marked(writer.packetCount)
    }
  }
  try writer.close()
  expectEqual(writer.packetCount, Int64(packets.count))
}

@Suite(.tags(.program)) struct PacketFileWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: PacketCopy.all.indices)
  func copiesHoldTheSamePackets(index: Int) throws {
    let copied = PacketCopy.all[index]
    let checkpointEvery = index % 3 == 0 ? Int.max : 2
    let source = try PacketFileReader(FileStore(path: copied.source.make()))
    let packets = try source.allPackets(atOnce: 1000)
    let path = folder.file(copied.name)
    try copy(
      source, to: FileStore(creating: path, isReplacing: true), copied.container,
      checkpointEvery: checkpointEvery)

    let file = try PacketFileReader(FileStore(path: path))
    expectEqual(file.container, copied.container)
    expectEqual(file.format, source.format)
    try expectEqual(file.allPackets(atOnce: 1000).map(\.bytes), packets.map(\.bytes))
    switch copied.container {
    case .adts, .mp2, .ac3, .amr, .next, .aifc: break
    case .wave where file.format.codec == .mp3: break
    default:
      let expected = try source.validFrames
      try expectEqual(file.validFrames, expected)
      try expectEqual(file.packetTable?.primingFrames ?? 0, source.packetTable?.primingFrames ?? 0)
    }
    if copied.container != .amr, !source.tags.isEmpty, copied.container != .mp2,
      copied.container != .ac3,
      copied.container != .threeGP
    {
      expectEqual(file.tags["title"], source.tags["title"])
    }

    // ffmpeg does not support E-AC-3 in CAF files.
    if copied.container == .caf, file.format.codec == .eac3 { return }
    let probe = try tool(
      "ffprobe",
      [
        "-v", "warning", "-select_streams", "a:0", "-show_streams", "-show_packets",
        "-show_data_hash", "adler32", "-of", "json", path,
      ])
    expectEqual(complaints(probe.errors), [])
    let probed = try JSONDecoder().decode(Probed.self, from: probe.output)
    let stream = try require(probed.streams.first)
    expectEqual(Double(stream.sample_rate), file.format.sampleRate)
    expectEqual(stream.channels, file.format.channels)
    if file.format.bytesPerPacket == 0 {
      if copied.container == .adts {
        expectEqual(probed.packets.map { Int($0.size)! - 7 }, packets.map(\.bytes.count))
      } else {
        expectEqual(probed.packets.map(\.data_hash), packets.map { adler32($0.bytes) })
      }
    }
    if ![.amrNarrow, .amrWide].contains(file.format.codec) {
      let decoded = try tool("ffmpeg", ["-v", "warning", "-i", path, "-f", "null", "-"])
      expectEqual(complaints(decoded.errors), [])
    }
  }

  /// Returns the messages of ffmpeg and ffprobe, except those that they also print about their own
  /// files.
  private func complaints(_ text: String) -> [String] {
    text.split(separator: "\n").map(String.init).filter { line in
      ![
        "Estimating duration from bitrate", "Guessed Channel Layout", "Multiple frames in a packet",
      ].contains { line.contains($0) }
    }
  }
  @Test(
    arguments: [
      PacketCopy("a.m4a", "out.m4a", .m4a), PacketCopy("a.m4a", "out.caf", .caf),
      PacketCopy("lossless.m4a", "out.caf", .caf), PacketCopy("ima4.caf", "out.caf", .caf),
      PacketCopy("a.m4a", "out.aac", .adts), PacketCopy("a.mp3", "out.mp3", .mp3),
      PacketCopy("a.flac", "out.flac", .flac), PacketCopy("a.opus", "out.ogg", .ogg),
      PacketCopy("a.ogg", "out.ogg", .ogg), PacketCopy("a.opus", "out.mp4", .mp4),
      PacketCopy("a.ac3", "out.ac3", .ac3), PacketCopy("nb.amr", "out.amr", .amr),
      PacketCopy("ulaw.wav", "out.wav", .wave), PacketCopy("ima4.caf", "out.aifc", .aifc),
      PacketCopy("ulaw.au", "out.au", .next),
    ])
  func aKillAtAnyMomentLeavesWhatWasSafe(copied: PacketCopy) throws {
    let source = try PacketFileReader(FileStore(path: copied.source.make()))
    let packets = try source.allPackets(atOnce: 1000)
    let sound = packets.flatMap(\.bytes)
    let store = ReplayedStore()
    try copy(source, to: store, copied.container, checkpointEvery: 2) { store.mark($0) }
    var kills = 0
    var isProbed = false
    try store.replay { bytes, marked in
      guard marked > 0 else { return }
      let file = try PacketFileReader(ReplayedStore(bytes), container: copied.container)
      expectTrue(try file.packetCount >= marked, "kill \(kills)")
      let sure = sound.prefix(packets[..<Int(marked)].reduce(0) { $0 + $1.bytes.count })
      expectTrue(try file.sound().starts(with: sure), "kill \(kills)")
      if [.m4a, .mp4, .caf].contains(copied.container) {
        let priming = try source.packetTable?.primingFrames
        try expectEqual(file.packetTable?.primingFrames ?? 0, priming ?? 0, "kill \(kills)")
      }
      kills += 1
      if !isProbed, marked > packets.count / 2 {
        // ffmpeg reads it as well.
        isProbed = true
        let path = try folder.write(Data(bytes), to: copied.name)
        let probed = try Probed(path)
        if file.format.bytesPerPacket == 0 { expectTrue(probed.packets.count >= marked) }
      }
    }
    expectTrue(kills > 3 && isProbed)
  }

  /// Returns the number of frames that ffmpeg decodes.
  private func decodedFrames(_ path: String, channels: Int) throws -> Int {
    let decoded = try tool("ffmpeg", ["-v", "error", "-i", path, "-f", "s16le", "-"])
    return decoded.output.count / 2 / channels
  }

  @Test(arguments: [
    PacketCopy("lossless.m4a", "out.m4a", .m4a), PacketCopy("a.mp3", "out.mp3", .mp3),
    PacketCopy("low.mp3", "out.mp3", .mp3), PacketCopy("a.flac", "out.flac", .flac),
    PacketCopy("a.opus", "out.opus", .ogg), PacketCopy("opus.mp4", "out.opus", .ogg),
    PacketCopy("a.ogg", "out.ogg", .ogg), PacketCopy("a.flac", "out.oga", .ogg),
    PacketCopy("lossless.m4a", "out.caf", .caf), PacketCopy("a.flac", "out.caf", .caf),
  ])
  func ffmpegHearsTheSoundAndNothingElse(copied: PacketCopy) throws {
    let source = try PacketFileReader(FileStore(path: copied.source.make()))
    let path = folder.file(copied.name)
    try copy(source, to: FileStore(creating: path, isReplacing: true), copied.container)
    try expectEqual(
      decodedFrames(path, channels: source.format.channels), copied.source.frames)
  }

  @Test func theLengthOfMPEG4IsExactToTheFrame() throws {
    let source = try PacketFileReader(
      FileStore(path: PacketRecipe.all[0].make()))
    let path = folder.file("out.m4a")
    try copy(source, to: FileStore(creating: path, isReplacing: true), .m4a)
    let probe = try tool(
      "ffprobe",
      ["-v", "error", "-show_entries", "stream=duration_ts,time_base", "-of", "csv=p=0", path])
    expectEqual(probe.text, "1/44100,57330\n")
    // An ordinary file without fragments.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    expectTrue(bytes.range(of: Data("mdat".utf8))!.lowerBound < 64)
    expectTrue(try !MPEG4File(FileStore(path: path)).isFragmented)
  }

  @Test(arguments: [
    ("a.flac", "out.flac", Container.flac), ("ulaw.wav", "out.caf", .caf),
    ("alaw.wav", "out.caf", .caf), ("ulaw.wav", "out.aifc", .aifc), ("ulaw.caf", "out.wav", .wave),
    ("alaw.wav", "out.au", .next), ("a.ogg", "out.ogg", .ogg), ("lossless.m4a", "out.caf", .caf),
    ("ima4.caf", "out.aifc", .aifc), ("ima.wav", "out.wav", .wave),
  ])
  func soxAndLibsndfileReadThemToo(source: String, name: String, container: Container) throws {
    let recipe = PacketRecipe.all.first { $0.name == source }!
    let file = try PacketFileReader(FileStore(path: recipe.make()))
    let path = folder.file(name)
    try copy(file, to: FileStore(creating: path, isReplacing: true), container)
    let info = try tool("sndfile-info", [path])
    // Both count the frames of complete blocks, wherever the sound ends.
    let frames = file.format.codec == .msIMA ? try file.frameCount : try file.validFrames
    expectTrue(info.text.contains("Frames      : \(frames)\n"), "\(info.text)")
    // sox does not support these.
    if container == .aifc || file.format.codec == .alac { return }
    let sox = try tool("sox", [path, "-t", "raw", "-e", "signed", "-b", "16", "-"])
    expectEqual(sox.errors, "")
    expectEqual(sox.output.count, Int(frames) * 2 * file.format.channels)
  }

  @Test func theTableOfALongFileMovesAndEveryMomentIsSafe() throws {
    let format = PacketFormat(
      codec: .aac, sampleRate: 44_100, channels: 2, framesPerPacket: 1024)
    let store = ReplayedStore()
    let writer = try PacketFileWriter(store, container: .caf, format: format)
    writer.cookie = try require(
      AudioSpecificConfig.lowComplexity(sampleRate: 44_100, channels: 2))
    writer.packetTable = PacketTable(validFrames: 0, primingFrames: 1024, remainderFrames: 0)
    func packet(_ number: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 500 + number * 37 % 900)
    }
    let count = 1_500
    for number in 0..<count {
      let bytes = packet(number)
      try bytes.withUnsafeBytes {
        try writer.append($0, [PacketExtent(offset: 0, bytes: bytes.count)])
      }
      if number % 100 == 99 {
        try writer.checkpoint()
        store.mark(Int64(number + 1))
      }
    }
    let sound = Int64(count * 1024 - 1024 - 300)
    writer.packetTable = PacketTable(
      validFrames: sound, primingFrames: 1024, remainderFrames: 300)
    writer.tags = ["title": "Long"]
    try writer.close()

    var moments = 0
    try store.replay { bytes, marked in
      guard marked > 0 else { return }
      let file = try PacketFileReader(ReplayedStore(bytes))
      expectTrue(try file.packetCount >= marked)
      var memory = [UInt8](repeating: 0, count: 2_000)
      var extents: [PacketExtent] = []
      for number in [0, Int(marked) / 2, Int(marked) - 1] {
        let read = try memory.withUnsafeMutableBytes {
          try file.readPackets(from: Int64(number), count: 1, into: $0, extents: &extents)
        }
        expectEqual(read, 1)
        expectEqual(Array(memory[..<extents[0].bytes]), packet(number))
      }
      moments += 1
    }
    expectTrue(moments > 60)
    let file = try PacketFileReader(ReplayedStore(store.bytes))
    try expectEqual(file.packetCount, Int64(count))
    try expectEqual(
      file.packetTable, PacketTable(validFrames: sound, primingFrames: 1024, remainderFrames: 300))
    expectEqual(file.tags, ["title": "Long"])
    // No reserved space remains.
    let bytes = (0..<count).reduce(0) { $0 + packet($1).count }
    expectTrue(store.bytes.count < bytes + 2 * count + 400)
  }

  /// Packets of constant size that must remain packets.
  @Test(arguments: [
    ("a.ac3", Container.ac3, 0, 0), ("a.ac3", .m4a, 0, 0), ("a.ac3", .caf, 0, 1),
    ("a.aac", .adts, 900, 0),
    ("a.aac", .m4a, 900, 0), ("mono.opus", .caf, 200, 1), ("mono.opus", .mp4, 200, 0),
    ("ima.wav", .caf, 0, 1), ("ima.wav", .wave, 0, 0),
  ])
  func packetsOfOneSizeStayPackets(
    name: String, container: Container, bytes size: Int, varies: Int
  ) throws {
    let recipe = PacketRecipe.all.first { $0.name == name }!
    let source = try PacketFileReader(FileStore(path: recipe.make()))
    // The packets are not decoded, so they can be cut or padded.
    let packets = try source.allPackets(atOnce: 1000).map { packet in
      let bytes = size > 0 ? size : packet.bytes.count
      return Array((packet.bytes + [UInt8](repeating: 0, count: bytes)).prefix(bytes))
    }.filter { $0.count == (size > 0 ? size : (try? source.maximumPacketBytes)) }
    var format = source.format
    format.bytesPerPacket = packets[0].count
    let frames = format.framesPerPacket
    if varies == 1 { format.framesPerPacket = 0 }
    let path = folder.file("a." + container.extensions[0])
    let writer = try PacketFileWriter(
      FileStore(creating: path, isReplacing: true), container: container, format: format)
    writer.cookie = source.cookie
    let bytes = packets.flatMap { $0 }
    let extents = packets.indices.map {
      PacketExtent(
        offset: $0 * packets[0].count, bytes: packets[0].count,
        frames: $0 == packets.count - 1 ? frames / 2 : frames)
    }
    try bytes.withUnsafeBytes { try writer.append($0, extents) }
    expectEqual(writer.packetCount, Int64(packets.count))
    let written = writer.frameCount
    try writer.close()
    let file = try PacketFileReader(FileStore(path: path), container: container)
    try expectEqual(file.allPackets(atOnce: 1000).map(\.bytes), packets)
    try expectEqual(file.frameCount, written)
  }

  @Test func whatAKindCannotHoldIsRefused() throws {
    let opus = PacketFormat(codec: .opus, sampleRate: 48_000, channels: 2, framesPerPacket: 960)
    for container in Container.allCases {
      let takes = PacketFileWriter.canWrite(opus, in: container)
      expectEqual(takes, [.caf, .mp4, .ogg].contains(container))
      if !takes {
        #expect(throws: SoundFileError.self) {
          try PacketFileWriter(ReplayedStore(), container: container, format: opus)
        }
      }
    }
  }

  @Test(arguments: [Container.m4a, .caf, .adts])
  func aFileWithoutPacketsIsOne(container: Container) throws {
    let store = ReplayedStore()
    let format = PacketFormat(codec: .aac, sampleRate: 44_100, channels: 2, framesPerPacket: 1024)
    let writer = try PacketFileWriter(store, container: container, format: format)
    writer.cookie = try require(
      AudioSpecificConfig.lowComplexity(sampleRate: 44_100, channels: 2))
    try writer.close()
    if container == .adts { return }
    let file = try PacketFileReader(ReplayedStore(store.bytes))
    try expectEqual(file.packetCount, 0)
    expectEqual(file.format.codec, .aac)
  }
}
