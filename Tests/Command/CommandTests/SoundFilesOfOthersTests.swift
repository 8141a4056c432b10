import Foundation
import TestSupport
import Testing

/// Texts, channels, chunks and samples of files as other programs write them, through `cuejack convert` and
/// `cuejack info`.
@Suite(.tags(.program), .serialized) struct SoundFilesOfOthersTests {
  /// Runs `ffmpeg`.
  private func ffmpeg(_ arguments: [String]) throws {
    let result = try run("ffmpeg", ["-v", "error", "-y", "-nostdin"] + arguments)
    try require(result.status == 0, "\(arguments): \(result.errors)")
  }

  private func chunk(_ id: String, _ bytes: [UInt8]) -> [UInt8] {
    let size = UInt32(bytes.count)
    return Array(id.utf8) + withUnsafeBytes(of: size.littleEndian) { Array($0) } + bytes
      + (bytes.count % 2 == 0 ? [] : [0])
  }

  /// Writes a WAVE file of 1,000 stereo frames of 16 bits.
  private func wave(_ name: String, in folder: URL, _ chunks: [UInt8]) throws -> String {
    let format = chunk(
      "fmt ", [1, 0, 2, 0, 0x44, 0xAC, 0, 0, 0x10, 0xB1, 2, 0, 4, 0, 16, 0])
    let body =
      Array("WAVE".utf8) + format + chunks + chunk("data", [UInt8](repeating: 7, count: 4000))
    let path = folder.path + "/" + name
    try Data(chunk("RIFF", body)).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func info(_ path: String) throws -> [String: Any] {
    let result = try cuejack("info", [path, "--json"])
    try require(result.status == 0, "\(result)")
    let all = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]]
    return try require(all?.first)
  }

  private func tags(_ path: String) throws -> [String: String] {
    try info(path)["tags"] as? [String: String] ?? [:]
  }

  private func layout(_ path: String) throws -> [String]? {
    try info(path)["layout"] as? [String]
  }

  /// Returns a tag as `ffprobe` reads it.
  private func probed(_ path: String, _ tag: String = "title") throws -> String {
    let result = try run(
      "ffprobe",
      ["-v", "error", "-show_entries", "format_tags=\(tag):stream_tags=\(tag)"]
        + ["-of", "default=nw=1:nk=1", path])
    return result.output.trimmingCharacters(in: .newlines)
  }

  // MARK: Texts

  @Test func textsInOldEncodingsAreReadAndWrittenAsUTF8() throws {
    try withTemporaryFolder { folder in
      let latin: [UInt8] =
        Array("Caf".utf8) + [0xE9] + Array(" M".utf8) + [0xFC] + Array("ller".utf8)
      let title = "Café Müller"
      func list(_ bytes: [UInt8]) -> [UInt8] {
        chunk("LIST", Array("INFO".utf8) + chunk("INAM", bytes + [0]) + chunk("IENG", bytes + [0]))
      }
      let old = try wave("old.wav", in: folder, list(latin))
      try expectEqual(tags(old)["title"], title)
      let new = try wave("new.wav", in: folder, list(Array("Café Мир".utf8)))
      try expectEqual(tags(new)["title"], "Café Мир")
      let quotes = try wave("quotes.wav", in: folder, list([0x93, 0x80, 0x94]))
      try expectEqual(tags(quotes)["title"], "“€”")
      for end in ["wav", "rf64", "flac", "m4a", "mp3", "ogg", "opus", "caf", "aiff"] {
        let out = folder.path + "/out.\(end)"
        try expectEqual(cuejack("convert", [old, out]).status, 0)
        try expectEqual(tags(out)["title"], title, "\(end)")
        if end != "caf" { try expectEqual(probed(out), title, "\(end)") }
      }
      // The engineer has no key in info dictionaries.
      try expectEqual(probed(folder.path + "/out.wav", "IENG"), title)
      // ID3v1 is ISO 8859-1, AIFF of the Macintosh is in its own encoding.
      let mp3 = folder.path + "/v1.mp3"
      try ffmpeg(["-i", old, "-map_metadata", "-1", "-id3v2_version", "0", mp3])
      var v1 = Array("TAG".utf8) + latin
      v1 += [UInt8](repeating: 0, count: 127 - v1.count) + [17]
      try (Data(contentsOf: URL(fileURLWithPath: mp3)) + v1).write(to: URL(fileURLWithPath: mp3))
      try expectEqual(tags(mp3)["title"], title)
      let aiff = folder.path + "/out.aiff"
      var bytes = try Data(contentsOf: URL(fileURLWithPath: aiff))
      let place = try require(bytes.range(of: Data(title.utf8)))
      let roman: [UInt8] =
        Array("Caf".utf8) + [0x8E] + Array(" M".utf8) + [0x9F] + Array("ller  ".utf8)
      bytes.replaceSubrange(place, with: roman)
      try bytes.write(to: URL(fileURLWithPath: aiff))
      try expectEqual(tags(aiff)["title"], title + "  ")
    }
  }

  @Test func chunksAreKeptAndTheRestIsNamedOnce() throws {
    try withTemporaryFolder { folder in
      var bext = [UInt8](repeating: 0, count: 602)
      bext.replaceSubrange(0..<4, with: Array("Note".utf8))
      bext[346] = 2
      bext.replaceSubrange(348..<352, with: [1, 2, 3, 4])
      // -23 LUFS; the other figures are not known.
      bext.replaceSubrange(
        412..<422, with: [0x04, 0xF7] + [0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F])
      // A sampler's chunk without loops, with the note 61.
      var sampler = [UInt8](repeating: 0, count: 36)
      sampler[12] = 61
      let others: [(String, [UInt8])] = [
        ("iXML", Array("<BWFXML/>".utf8)), ("inst", [60, 1, 2, 3, 4, 5, 6]), ("smpl", sampler),
        ("axml", Array("<a/>".utf8)),
      ]
      let input = try wave(
        "in.wav", in: folder,
        chunk("bext", bext) + others.flatMap { chunk($0.0, $0.1) }
          + chunk("LIST", Array("INFO".utf8) + chunk("ICRD", Array("2001".utf8) + [0])))
      let out = folder.path + "/out.wav"
      let kept = try cuejack("convert", [input, out, "--verbose"])
      expectTrue(kept.status == 0 && kept.errors == "", "\(kept)")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: out))
      for (id, content) in others {
        expectTrue(bytes.range(of: Data(chunk(id, content))) != nil, "\(id)")
      }
      let broadcast = try require(try info(out)["broadcast"] as? [String: Any])
      expectEqual((broadcast["loudness"] as? [String: Double]), ["integrated": -23])
      expectEqual((broadcast["materialID"] as? String)?.hasPrefix("01020304"), true)
      // A part has another loudness.
      try expectEqual(cuejack("convert", [input, out, "--start", "0.01", "--force"]).status, 0)
      let part = try require(try info(out)["broadcast"] as? [String: Any])
      expectTrue(part["loudness"] == nil && part["description"] as? String == "Note")
      let lost = try cuejack("convert", [input, folder.path + "/out.aiff", "--verbose"])
      expectEqual(
        lost.errors,
        "cuejack: \(input): not kept in the new file: tag “year”, chunk 'iXML', chunk 'inst', "
          + "chunk 'axml', chunk 'bext'\n")
      try expectEqual(cuejack("convert", [input, folder.path + "/quiet.aiff"]).errors, "")
    }
  }

  // MARK: Channels

  /// Makes a file with a tone of 300 Hz, 500 Hz … in each channel.
  private func tones(_ name: String, _ layout: String, _ count: Int, in folder: URL) throws
    -> String
  {
    let path = folder.path + "/" + name
    let tones = (0..<count).map { "0.3*sin(\(300 + 200 * $0)*2*PI*t)" }.joined(separator: "|")
    try ffmpeg(["-f", "lavfi", "-i", "aevalsrc=\(tones):c=\(layout):d=0.3:s=48000", path])
    return path
  }

  /// Returns the number of the loudest tone in each channel, as `ffmpeg` decodes the file.
  private func heard(_ path: String, _ count: Int) throws -> [Int] {
    try ffmpeg(["-i", path, "-f", "f32le", "-ar", "48000", "\(path).raw"])
    let samples = try Data(contentsOf: URL(fileURLWithPath: "\(path).raw")).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
    return (0..<count).map { channel in
      let part = (4800..<9600).map { Double(samples[$0 * count + channel]) }
      let power = (0..<count).map { tone -> Double in
        let step = 2 * Double.pi * Double(300 + 200 * tone) / 48000
        let (re, im) = part.indices.reduce((0.0, 0.0)) { sum, i in
          (sum.0 + part[i] * cos(step * Double(i)), sum.1 + part[i] * sin(step * Double(i)))
        }
        return re * re + im * im
      }
      return power.firstIndex(of: power.max() ?? 0) ?? 0
    }
  }

  @Test func opusKeepsTheOrderOfItsMappingFamily() throws {
    try withTemporaryFolder { folder in
      let six = try tones("six.wav", "6c", 6, in: folder)
      let (opus, out) = (folder.path + "/a.opus", folder.path + "/a.wav")
      try ffmpeg(["-i", six, "-c:a", "libopus", "-mapping_family", "255", opus])
      try expectEqual(cuejack("convert", [opus, out]).status, 0)
      try expectEqual(heard(out, 6), Array(0..<6))
      try expectNil(layout(opus))
      // Family 1 has Vorbis's order.
      let surround = try tones("surround.wav", "5.1", 6, in: folder)
      try ffmpeg(["-i", surround, "-c:a", "libopus", opus])
      try expectEqual(cuejack("convert", [opus, out, "--force"]).status, 0)
      try expectEqual(heard(out, 6), Array(0..<6))
      try expectEqual(layout(opus)?.first, "left")
    }
  }

  @Test func rolesStayOrALineSaysWhatBecomesOfThem() throws {
    try withTemporaryFolder { folder in
      let quad = try tones("quad.wav", "quad", 4, in: folder)
      let six = try tones("hexagonal.wav", "hexagonal", 6, in: folder)
      let side = try tones("side.wav", "5.1(side)", 6, in: folder)
      let quadRoles = ["left", "right", "left surround", "right surround"]
      let cases: [(String, Int, String, [String], [String]?, String)] = [
        (quad, 4, "a.m4a", [], quadRoles, ""),
        (quad, 4, "a.aac", [], quadRoles, ""),
        (
          quad, 4, "alac.m4a", ["--format", "alac"], quadRoles,
          "only the file's channel layout has the roles left, right, left surround, right surround: "
            + "players that do not read it find left, right, centre, centre surround"
        ),
        (
          quad, 4, "a.ac3", [], ["left", "right", "left side", "right side"],
          "AC-3 cannot keep the roles of all channels: left surround becomes left side, "
            + "right surround becomes right side"
        ),
        (
          quad, 4, "a.au", [], nil,
          "NeXT/Sun AU files cannot store the roles of the channels: "
            + quadRoles.joined(separator: ", ")
        ),
        (six, 6, "b.flac", [], try layout(six), ""),
        (
          six, 6, "b.ogg", [],
          ["left", "right", "centre", "low frequencies", "left surround", "right surround"],
          "Vorbis cannot keep the roles of all channels: centre surround becomes low frequencies"
        ),
        (side, 6, "c.m4a", [], try layout(side), ""),
        (side, 6, "c.flac", [], try layout(side), ""),
      ]
      for (input, count, name, options, roles, words) in cases {
        let out = folder.path + "/" + name
        let result = try cuejack("convert", [input, out] + options)
        expectEqual(result.status, 0)
        expectEqual(
          result.errors, (words == "" ? "" : "cuejack: \(out): \(words)\n"), "\(name)")
        try expectEqual(layout(out), roles, "\(name)")
        // An encoder takes high tones out of the channel for low frequencies.
        if name != "b.ogg", name != "c.m4a" {
          try expectEqual(heard(out, count), Array(0..<count), "\(name)")
        }
        // Back in a WAVE file, each channel is where its role is.
        let back = folder.path + "/back.wav"
        try expectEqual(cuejack("convert", [out, back, "--force"]).status, 0)
        try expectEqual(layout(back), roles, "\(name)")
      }
      // A file whose channels are in another order than that of WAVE files.
      let (caf, back) = (folder.path + "/order.caf", folder.path + "/order.wav")
      let plain = try tones("plain.wav", "5.0", 5, in: folder)
      try expectEqual(cuejack("convert", [plain, caf]).status, 0)
      var bytes = try Data(contentsOf: URL(fileURLWithPath: caf))
      let place = try require(bytes.range(of: Data("chan".utf8)))
      // Centre, left, right, left surround, right surround.
      bytes.replaceSubrange(place.upperBound + 8..<place.upperBound + 12, with: [0, 120, 0, 5])
      try bytes.write(to: URL(fileURLWithPath: caf))
      try expectEqual(cuejack("convert", [caf, back]).status, 0)
      try expectEqual(heard(back, 5), [1, 2, 0, 3, 4])
      try expectEqual(layout(back), layout(plain))
    }
  }

  @Test func moreThan64ChannelsAreRefusedClearly() throws {
    try withTemporaryFolder { folder in
      let path = folder.path + "/many.wav"
      let made = try run(
        "sox", ["-n", "-r", "48000", "-c", "70", path, "synth", "0.01", "sine", "300"])
      try require(made.status == 0, "\(made)")
      let result = try cuejack("convert", [path, folder.path + "/out.wav"])
      expectEqual(result.status, 1)
      expectEqual(
        result.errors, "cuejack: \(path): it has 70 channels, and files of up to 64 can be read\n"
      )
    }
  }

  // MARK: Samples

  @Test func clippedAndUnknownSamplesAreCounted() throws {
    try withTemporaryFolder { folder in
      var samples = (0..<48_000).map { Float(sin(Double($0) * 0.05)) * 0.5 }
      (samples[100], samples[101], samples[20_000], samples[30_000]) = (1.5, -2, .nan, .infinity)
      let raw = folder.appendingPathComponent("a.raw")
      try samples.withUnsafeBytes { Data($0) }.write(to: raw)
      let input = folder.path + "/a.wav"
      try ffmpeg(["-f", "f32le", "-ar", "48000", "-ac", "1", "-i", raw.path, "-c", "copy", input])
      for end in ["wav", "flac"] {
        let result = try cuejack(
          "convert",
          [input, folder.path + "/out.\(end)"] + (end == "wav" ? ["--format", "s16"] : []))
        expectTrue(
          result.output.hasSuffix("clipped samples: 3; NaN or infinite samples, now silent: 1\n"),
          "\(result)")
      }
      for end in ["mp3", "m4a", "ogg"] {
        let result = try cuejack("convert", [input, folder.path + "/out.\(end)"])
        expectTrue(result.output.hasSuffix("NaN or infinite samples, now silent: 2\n"), "\(result)")
      }
      let out = folder.path + "/slow.wav"
      let result = try cuejack("convert", [input, out, "--rate", "44100", "--json"])
      expectTrue(result.output.contains("\"notFinite\":2"), "\(result)")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: out)).suffix(44_100 * 4)
      let slow = [UInt8](bytes).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
      expectTrue(slow.count == 44_100 && slow.allSatisfy { $0.isFinite && abs($0) < 3 })
      // Integers at their own rate cannot clip.
      let whole = folder.path + "/whole.wav"
      try ffmpeg(["-f", "lavfi", "-i", "aevalsrc=1:s=48000:d=0.1", "-c:a", "pcm_s32le", whole])
      let quiet = try cuejack("convert", [whole, folder.path + "/whole.flac"])
      expectTrue(quiet.status == 0 && !quiet.output.contains("clipped"), "\(quiet)")
    }
  }
}
