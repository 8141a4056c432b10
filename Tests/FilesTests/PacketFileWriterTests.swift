import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Packets of a file that ffmpeg made, put into a file of ours.
struct PacketCopy: Sendable, CustomStringConvertible {
  let source: PacketRecipe
  let name: String
  let container: Container
  /// What ffmpeg's reader leaves out of a container: priming, remainder or both.
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

/// Writes all packets of `file` to a store, with a checkpoint after so many.
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
  #expect(writer.packetCount == Int64(packets.count))
}

@Suite struct PacketFileWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: PacketCopy.all, [Int.max, 2])
  func copiesHoldTheSamePackets(copied: PacketCopy, checkpointEvery: Int) throws {
    let source = try PacketFileReader(FileStore(path: copied.source.make(in: folder)))
    let packets = try source.allPackets(atOnce: 1000)
    let path = folder.file(copied.name)
    try copy(
      source, to: FileStore(creating: path, isReplacing: true), copied.container,
      checkpointEvery: checkpointEvery)

    let file = try PacketFileReader(FileStore(path: path))
    #expect(file.container == copied.container)
    #expect(file.format == source.format)
    #expect(try file.allPackets(atOnce: 1000).map(\.bytes) == packets.map(\.bytes))
    switch copied.container {
    case .adts, .mp2, .ac3, .amr, .next, .aifc: break
    case .wave where file.format.codec == .mp3: break
    default:
      let expected = try source.validFrames
      #expect(try file.validFrames == expected)
      #expect(try file.packetTable?.primingFrames ?? 0 == source.packetTable?.primingFrames ?? 0)
    }
    if copied.container != .amr, !source.tags.isEmpty, copied.container != .mp2,
      copied.container != .ac3,
      copied.container != .threeGP
    {
      #expect(file.tags["title"] == source.tags["title"])
    }

    // The others' eyes.
    let probe = try tool(
      "ffprobe",
      [
        "-v", "warning", "-select_streams", "a:0", "-show_streams", "-show_packets",
        "-show_data_hash", "adler32", "-of", "json", path,
      ])
    #expect(probe.errors == "")
    let probed = try JSONDecoder().decode(Probed.self, from: probe.output)
    let stream = try #require(probed.streams.first)
    #expect(Double(stream.sample_rate) == file.format.sampleRate)
    #expect(stream.channels == file.format.channels)
    if file.format.bytesPerPacket == 0 {
      if copied.container == .adts {
        #expect(probed.packets.map { Int($0.size)! - 7 } == packets.map(\.bytes.count))
      } else {
        #expect(probed.packets.map(\.data_hash) == packets.map { adler32($0.bytes) })
      }
    }
    if ![.amrNarrow, .amrWide].contains(file.format.codec) {
      let decoded = try tool("ffmpeg", ["-v", "warning", "-i", path, "-f", "null", "-"])
      let complaints = decoded.errors.split(separator: "\n").filter {
        !$0.hasPrefix("Guessed Channel Layout")
      }
      #expect(complaints == [])
    }
    print("XX", copied, stream.duration ?? "", try file.duration)
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
    let source = try PacketFileReader(FileStore(path: copied.source.make(in: folder)))
    let packets = try source.allPackets(atOnce: 1000)
    let store = ReplayedStore()
    try copy(source, to: store, copied.container, checkpointEvery: 2) { store.mark($0) }
    var kills = 0
    var lastMark: Int64 = 0
    try store.replay { bytes, marked in
      guard marked > 0 else { return }
      let file = try PacketFileReader(ReplayedStore(bytes), container: copied.container)
      #expect(try file.packetCount >= marked, "kill \(kills)")
      let kept = try file.allPackets(atOnce: 1000).map(\.bytes)
      let whole = min(kept.count, Int(marked))
      #expect(kept[..<whole].elementsEqual(packets[..<whole].map(\.bytes)), "kill \(kills)")
      kills += 1
      if marked != lastMark, marked > packets.count / 2 {
        // ffmpeg reads it as well.
        lastMark = marked
        let path = try folder.write(Data(bytes), to: copied.name)
        let probed = try Probed(path)
        if file.format.bytesPerPacket == 0 { #expect(probed.packets.count >= marked) }
      }
    }
    #expect(kills > 3)
  }
}
