import Foundation
import TestSupport
import Testing

/// Playlists and folders, also those that are wrong.
@Suite(.tags(.program), .serialized) struct PlaylistTests {
  private func write(_ text: String, _ name: String, in folder: URL) throws -> String {
    try write(Data(text.utf8), name, in: folder)
  }

  private func write(_ data: Data, _ name: String, in folder: URL) throws -> String {
    let file = folder.appendingPathComponent(name)
    try data.write(to: file)
    return file.path
  }

  @Test func everyKindOfPlaylistIsPlayed() throws {
    try withTemporaryFolder { folder in
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("sub"), withIntermediateDirectories: true)
      let names = ["a.wav", "sub/b ö.wav", "c.wav"]
      let files = try names.enumerated().map {
        try WaveFile($1, in: folder, frames: 1000 + $0, seed: UInt64($0 + 1))
      }
      let expected = joined(files.map(\.samples))
      let lists = [
        try write("#EXTM3U\n#EXTINF:1,A\na.wav\n\n  sub/b ö.wav\t\nc.wav", "1.m3u8", in: folder),
        try write("\u{FEFF}a.wav\r\nsub\\b ö.wav\r\n\(files[2].path)\r\n", "2.m3u", in: folder),
        try write(
          "a.wav\nfile://\(folder.path)/sub/b%20%C3%B6.wav\nc.wav\n", "3.M3U", in: folder),
        try write(
          "[playlist]\nFile2=sub/b ö.wav\nTitle2=x\nfile10=c.wav\nFile1 = a.wav\nNumberOfEntries=3\n",
          "4.pls", in: folder),
        // Latin-1, and UTF-16 with a byte order mark.
        try write("a.wav\nsub/c.m3u\nc.wav\n", "5.m3u", in: folder),
        try write(
          Data([0xFF, 0xFE]) + "a.wav\r\nsub/b ö.wav\r\nc.wav".data(using: .utf16LittleEndian)!,
          "6.m3u", in: folder),
      ]
      // A list in a list; its names are relative to its own folder.
      _ = try write("b ö.wav", "sub/c.m3u", in: folder)
      for list in lists {
        expectNil(difference(try rendered([list], in: folder), expected), "\(list)")
      }
      let latin = folder.appendingPathComponent("é.wav").path
      try FileManager.default.copyItem(atPath: files[0].path, toPath: latin)
      let list = try write(Data([0xE9]) + Data(".wav\n".utf8), "7.m3u", in: folder)
      expectNil(difference(try rendered([list], in: folder), files[0].samples))
      // A list and a file play together, and an option of the list is for all its files.
      let both = try rendered([lists[0] + "@gain=0.5,at=+100f", files[0].path], in: folder)
      expectEqual(both[0].count, 100 + expected[0].count)
      expectEqual(both[0].suffix(1000), expected[0].suffix(1000).map { $0 * 0.5 }[...])
    }
  }

  @Test func aCueSheetDividesAFileWithoutGaps() throws {
    try withTemporaryFolder { folder in
      let disc = try WaveFile("disc 1.wav", in: folder, rate: 44_100, frames: 150_000)
      let other = try WaveFile("other.wav", in: folder, rate: 44_100, frames: 5000, seed: 2)
      let sheet = try write(
        """
        PERFORMER "Somebody"
        FILE "disc 1.wav" WAVE
          TRACK 01 AUDIO
            TITLE "One"
            INDEX 01 00:00:00
          TRACK 02 AUDIO
            INDEX 00 00:01:00
            INDEX 01 00:01:15
          TRACK 03 AUDIO
            INDEX 01 00:02:37
        FILE other.wav WAVE
          TRACK 04 AUDIO
            INDEX 01 00:00:01
        """, "disc.cue", in: folder)
      let found = try rendered([sheet], in: folder)
      let expected = (0..<2).map { disc.samples[$0] + other.samples[$0][588...] }
      expectNil(difference(found, expected))
    }
  }

  @Test func aFolderIsPlayedInNaturalOrder() throws {
    try withTemporaryFolder { folder in
      let album = folder.appendingPathComponent("album")
      try FileManager.default.createDirectory(
        at: album.appendingPathComponent("CD 10"), withIntermediateDirectories: true)
      let names = ["CD 10/1.wav", "track 2.wav", "Track 9.WAV", "track 10.wav"]
      let files = try names.enumerated().map {
        try WaveFile($1, in: album, frames: 500, seed: UInt64($0 + 1))
      }
      _ = try write("no sound", "cover.jpg", in: album)
      _ = try write("no sound", ".hidden.wav", in: album)
      // Links to folders could lead in a circle.
      try FileManager.default.createSymbolicLink(
        atPath: album.path + "/again", withDestinationPath: album.path)
      let expected = joined(files.map(\.samples))
      for path in [album.path, album.path + "/"] {
        expectNil(difference(try rendered([path], in: folder), expected))
      }
    }
  }

  /// Where the fault is, and what.
  @Test func whatIsWrongIsNamedWithItsLine() throws {
    try withTemporaryFolder { folder in
      _ = try WaveFile("a.wav", in: folder, frames: 480)
      func expectFailure(
        _ name: String, _ text: String, _ words: [String],
        _ location: SourceLocation = #_sourceLocation
      ) throws {
        let list = try write(text, name, in: folder)
        let result = try play([list], environment: withoutServer)
        expectTrue(result.status == 1 && result.output == "", "\(result)", sourceLocation: location)
        let lines = result.errors.split(separator: "\n")
        expectTrue(
          lines.count == 1 && lines[0].hasPrefix("cuejack: \(list)")
            && words.allSatisfy { lines[0].contains($0) }, "\(result)", sourceLocation: location)
      }
      try expectFailure("a.m3u", "a.wav\nmissing.wav\n", [":2: ", "missing.wav", "no such file"])
      try expectFailure("a.m3u", "# nothing\n\n", ["names no sound files"])
      try expectFailure("a.m3u", "http://radio/stream", [":1: ", "network"])
      try expectFailure("a.m3u", "a.wav\nfile://", [":2: "])
      try expectFailure("a.m3u", "a\0b.wav", [":1: ", "not valid"])
      try expectFailure("a.pls", "File1=x.wav", [":1: ", "x.wav"])
      try expectFailure("a.cue", "TRACK 01 AUDIO", [":1: ", "TRACK"])
      try expectFailure(
        "a.cue", "FILE a.wav WAVE\nTRACK 01 AUDIO\nINDEX 01 00:61:00", [":3: ", "INDEX"])
      try expectFailure(
        "a.cue", "FILE a.wav WAVE\nTRACK 01 AUDIO\nINDEX 01 00:09:00", [":3: ", "no sound there"])
      try expectFailure(
        "a.cue",
        "FILE a.wav WAVE\nTRACK 1 AUDIO\nINDEX 1 0:0:9\nTRACK 2 AUDIO\nINDEX 1 0:0:8",
        [":5: ", "before"])
      try expectFailure("a.cue", "FILE a.bin BINARY", [":1: ", "raw images"])
      // A list that names itself.
      let own = try write("own.m3u\nown.m3u\n", "own.m3u", in: folder)
      let result = try play([own], environment: withoutServer)
      expectTrue(result.status == 1 && result.errors.contains("within each other"), "\(result)")
      let empty = folder.appendingPathComponent("empty").path
      try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
      let nothing = try play([empty], environment: withoutServer)
      expectTrue(nothing.status == 1 && nothing.errors.contains("no sound files"), "\(nothing)")
      try expectFailure("b.m3u", "/dev/zero", [":1: ", "not a sound file"])
    }
  }

  /// Any bytes: an error, never a crash.
  @Test(arguments: ["m3u", "pls", "cue"]) func anyBytesAreNoCrash(end: String) throws {
    try withTemporaryFolder { folder in
      var state: UInt64 = 7
      for round in 0..<12 {
        var bytes: [UInt8] = []
        for _ in 0..<(1 << round) {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          let words = [
            "FILE ", "TRACK ", "INDEX ", "\"", "\n", "file", "=", ":", "1", " AUDIO", "/",
          ]
          let pick = Int(state >> 40) % (words.count + 4)
          bytes +=
            pick < words.count ? Array(words[pick].utf8) : [UInt8(truncatingIfNeeded: state >> 33)]
        }
        let list = try write(Data(bytes), "\(round).\(end)", in: folder)
        let result = try play([list], environment: withoutServer)
        expectTrue(
          result.status == 1 && result.errors.hasPrefix("cuejack: "), "\(round): \(result)")
      }
    }
  }
}
