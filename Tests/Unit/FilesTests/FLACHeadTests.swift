import FileSupport
import Foundation
import Testing

@testable import Files

/// The heads of FLAC files, compared with what libavformat reads from them.
@Suite struct FLACHeadTests {
  private static let sound = Result { () throws -> [[UInt8]] in
    let folder = try TemporaryFolder()
    return try (1...8).map { channels in
      let path = folder.file("\(channels).flac")
      try tool(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "sine=d=0.2:r=44100", "-ac", "\(channels)", path])
      return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
  }

  /// A block of Vorbis comments.
  private func comments(_ lines: [String], vendor: String = "maker") -> [UInt8] {
    func counted(_ text: String) -> [UInt8] {
      [UInt8](text.utf8.count, count: 4, bigEndian: false) + text.utf8
    }
    return counted(vendor) + [UInt8](lines.count, count: 4, bigEndian: false)
      + lines.flatMap(counted)
  }

  /// A file of some channels with these blocks behind STREAMINFO.
  private func file(
    channels: Int = 2, tag: [UInt8] = [], _ blocks: [(type: UInt8, bytes: [UInt8])]
  ) throws -> ReplayedStore {
    let bytes = try Self.sound.get()[channels - 1]
    let start = try require(FLACHead(ReplayedStore(bytes), at: 0)).soundOffset
    var head = tag + bytes[0..<42]
    head[tag.count + 4] = blocks.isEmpty ? 0x80 : 0
    for (index, block) in blocks.enumerated() {
      head += [block.type | (index == blocks.count - 1 ? 0x80 : 0)]
      head += [UInt8](block.bytes.count, count: 3, bigEndian: true) + block.bytes
    }
    return ReplayedStore(head + bytes[Int(start)...])
  }

  @Test func commentsAreThoseOfLibavformat() throws {
    let lines = [
      "TITLE=Ä title", "artist=one", "ARTIST=two", "AlbumArtist=All", "TRACKNUMBER=3/4",
      "DISCNUMBER=1", "DESCRIPTION=words", "BPM=120", "EMPTY=", "no mark", "=no name", "DATE=1999",
    ]
    let store = try file([
      (1, [0, 0, 0]), (4, comments(lines)), (2, Array("APPLdata".utf8)), (1, [0]),
    ])
    let head = try require(FLACHead(store, at: 0))
    let demuxer = try Demuxer(store, name: "flac")
    expectEqual(head.metadata, demuxer.metadata)
    expectEqual(head.metadata["artist"], "one;two")
    expectEqual(head.info.block, demuxer.extradata)
    let reader = try PacketFileReader(store)
    expectEqual(reader.tags["artist"], "one;two")
    expectEqual(reader.otherTags.keys.sorted(), ["album_artist", "disc"])
    try expectEqual(reader.validFrames, 8820)
    expectNil(reader.warning)
  }

  @Test(arguments: 1...8) func rolesAreThoseOfLibavformat(channels: Int) throws {
    let plain = try file(channels: channels, [])
    try expectEqual(
      FLACHead(plain, at: 0)?.channelRoles, Demuxer(plain, name: "flac").channelRoles)
    // As many speakers from the left of the centre on.
    let mask = String((1 << channels - 1) << 6, radix: 16)
    for text in ["0x\(mask)", "0x1", "words"] {
      let masked = try file(
        channels: channels, [(4, comments(["WAVEFORMATEXTENSIBLE_CHANNEL_MASK=\(text)"]))])
      try expectEqual(
        FLACHead(masked, at: 0)?.channelRoles, Demuxer(masked, name: "flac").channelRoles)
    }
  }

  /// Numbers that reach beyond a block or the file, and blocks without an end.
  @Test func damagedHeadsLoseNoSound() throws {
    let whole = comments(["TITLE=a", "ARTIST=b"])
    for count in 0..<whole.count {
      let head = try require(FLACHead(file([(4, Array(whole[..<count]))]), at: 0))
      expectTrue(head.metadata.count <= 1)
    }
    var wild = whole
    for place in [0, 9, 13] {
      wild.replaceSubrange(place..<place + 4, with: [255, 255, 255, 255])
      let store = try file([(4, wild)])
      try expectEqual(PacketFileReader(store).validFrames, 8820)
    }
    var bytes = try Self.sound.get()[1]
    // The next block seems to reach beyond the file.
    bytes.replaceSubrange(43..<46, with: [255, 255, 255])
    let reader = try PacketFileReader(ReplayedStore(bytes))
    try expectEqual(reader.validFrames, 8820)
  }

  @Test func aTagBeforeTheStreamIsRead() throws {
    let frame: [UInt8] = Array("TCOM".utf8) + [0, 0, 0, 5, 0, 0, 0] + Array("name".utf8)
    let tag: [UInt8] = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, UInt8(frame.count)] + frame
    let reader = try PacketFileReader(
      file(tag: tag, [(4, comments(["TITLE=a", "COMPOSER=other"]))]))
    expectEqual(reader.tags, ["title": "a", "composer": "other"])
    let other = try PacketFileReader(file(tag: tag, []))
    expectEqual(other.tags, ["composer": "name"])
  }
}
