import Foundation
import TestSupport
import Testing

/// `cuejack convert`, compared with `ffmpeg` and `sox`.
@Suite(.tags(.server, .program), .serialized) struct ConvertTests {
  // MARK: Help

  /// Converts a file with `ffmpeg`.
  private func ffmpeg(_ input: String, _ arguments: [String]) throws {
    let result = try run("ffmpeg", ["-v", "error", "-y", "-i", input] + arguments)
    try require(result.status == 0, "\(arguments): \(result.errors)")
  }

  /// Returns a file's samples, decoded by `ffmpeg`.
  private func samples(_ file: String) throws -> [Float] {
    try ffmpeg(file, ["-f", "f32le", "\(file).raw"])
    return try Data(contentsOf: URL(fileURLWithPath: "\(file).raw")).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
  }

  /// Returns the samples as bytes of 64-bit floats.
  private func exact(_ file: String) throws -> Data {
    try ffmpeg(file, ["-f", "f64le", "\(file).raw"])
    return try Data(contentsOf: URL(fileURLWithPath: "\(file).raw"))
  }

  private func convert(
    _ arguments: [String], _ location: SourceLocation = #_sourceLocation
  ) throws -> CommandResult {
    let result = try cuejack("convert", arguments)
    expectTrue(
      result.status == 0 && result.errors == "", "\(arguments): \(result.errors)",
      sourceLocation: location)
    return result
  }

  /// Returns the path of a stereo noise file at 44,100 Hz, which only a float format holds exactly.
  private func noise(in folder: URL, frames: Int = 22_051) throws -> String {
    try WaveFile("noise.wav", in: folder, coding: .f32, rate: 44_100, frames: frames).path
  }

  // MARK: Damage

  /// The rest of a damaged file is converted, what is missing is silent and told, and the exit code is 1.
  @Test func whatIsMissingInAFileIsToldAndTheRestConverted() throws {
    try withTemporaryFolder { folder in
      let (input, output) = (folder.path + "/in.m4a", folder.path + "/out.wav")
      try ffmpeg(noise(in: folder, frames: 40_960), ["-c:a", "alac", input])
      var bytes = try Data(contentsOf: URL(fileURLWithPath: input))
      let sound = try require(bytes.range(of: Data("mdat".utf8))).upperBound
      for index in sound..<sound + 300 { bytes[index] = 0x55 }
      try bytes.write(to: URL(fileURLWithPath: input))
      let result = try cuejack("convert", [input, output])
      expectEqual(result.status, 1)
      expectTrue(result.errors.contains("\(input): converted, 0.093 s missing at 00:00.000"))
      let samples = try samples(output)
      expectEqual(samples.count, 2 * 40_960)
      expectTrue(samples.prefix(8192).allSatisfy { $0 == 0 })
      expectTrue(samples.dropFirst(8192).prefix(8192).contains { $0 != 0 })
    }
  }

  /// A file whose header promises sound, but in which nothing can be decoded, is no success.
  @Test func aFileWithoutAnySoundThatCanBeDecodedIsAnError() throws {
    try withTemporaryFolder { folder in
      let (input, output) = (folder.path + "/in.flac", folder.path + "/out.wav")
      try ffmpeg(noise(in: folder), ["-c:a", "flac", input])
      var bytes = try Data(contentsOf: URL(fileURLWithPath: input))
      let sound = try require(bytes.range(of: Data([0xFF, 0xF8]))).lowerBound
      bytes.replaceSubrange(sound..<bytes.count, with: Data(count: bytes.count - sound))
      try bytes.write(to: URL(fileURLWithPath: input))
      let result = try cuejack("convert", [input, output])
      expectTrue(result.status == 1 && !FileManager.default.fileExists(atPath: output), "\(result)")
    }
  }

  /// A FLAC file without a length does not end what plays after it.
  @Test func aFileOfUnknownLengthIsFollowedToTheFrame() throws {
    try withTemporaryFolder { folder in
      let (input, output) = (folder.path + "/in.flac", folder.path + "/out.wav")
      try ffmpeg(noise(in: folder), ["-c:a", "flac", input])
      var bytes = try Data(contentsOf: URL(fileURLWithPath: input))
      bytes[21] &= 0xF0
      bytes.replaceSubrange(22..<26, with: Data(count: 4))
      try bytes.write(to: URL(fileURLWithPath: input))
      let result = try cuejack(
        "play", ["--sequence", "--render", output, input, input, folder.path + "/noise.wav"])
      expectEqual(result.status, 0, "\(result.errors)")
      try expectEqual(samples(output).count, 3 * 2 * 22_051)
    }
  }

  /// Broadcast metadata go along; the time reference moves with the start and the rate.
  @Test func broadcastMetadataAreKept() throws {
    try withTemporaryFolder { folder in
      let (input, output) = (folder.path + "/in.wav", folder.path + "/out.rf64")
      try ffmpeg(
        noise(in: folder),
        [
          "-c:a", "pcm_s16le", "-write_bext", "1", "-metadata", "description=Take 3",
          "-metadata", "originator=recorder", "-metadata", "origination_date=2026-11-25",
          "-metadata", "origination_time=10:00:00", "-metadata", "time_reference=441000",
          "-metadata", "coding_history=A=PCM,F=44100,W=16,M=stereo,T=recorder", input,
        ])
      _ = try convert([input, output, "--start", "22050f", "--rate", "48000", "--bits", "24"])
      let info = try cuejack("info", [output, "--json"]).output
      let json = try require(
        try JSONSerialization.jsonObject(with: Data(info.utf8)) as? [[String: Any]])
      let broadcast = try require(json.first?["broadcast"] as? [String: Any])
      expectEqual(broadcast["description"] as? String, "Take 3")
      expectEqual(broadcast["originator"] as? String, "recorder")
      expectEqual(broadcast["originationDate"] as? String, "2026-11-25")
      expectEqual(broadcast["timeReference"] as? Int, 504_000)
      let lines = try require(broadcast["codingHistory"] as? [String])
      expectEqual(lines.first, "A=PCM,F=44100,W=16,M=stereo,T=recorder")
      expectEqual(lines.last?.hasPrefix("A=PCM,F=48000,W=24,M=stereo,T=Cuejack "), true, "\(lines)")
      // Containers without them are written as before.
      _ = try convert([input, folder.path + "/out.flac"])
    }
  }

  // MARK: Linear PCM

  /// Conversion from format to format and back loses no bit.
  @Test(arguments: ["u8", "s16", "s24", "s32", "f32", "f64"])
  func linearPCMStaysExact(coding: String) throws {
    try withTemporaryFolder { folder in
      let first = folder.appendingPathComponent("first.wav").path
      let end = coding == "u8" ? "" : "le"
      try ffmpeg(noise(in: folder), ["-c:a", "pcm_\(coding)\(end)", first])
      let expected = try exact(first)
      var last = first
      for end in ["aiff", "caf", "w64", "rf64", "au", "aifc", "wav"] {
        let next = folder.appendingPathComponent("next.\(end)").path
        let result = try convert([last, next])
        expectTrue(result.output.contains("22051 frames (00:00.500)"))
        try expectEqual(exact(next), expected, "\(end)")
        last = next
      }
      let probe = try run(
        "ffprobe",
        ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", last])
      expectEqual(probe.output, "pcm_\(coding)\(end)\n")
    }
  }

  /// Samples are rounded to the nearest value, ties to even, and clipped.
  @Test func fewerBitsAreRounded() throws {
    try withTemporaryFolder { folder in
      let input = try noise(in: folder)
      let output = folder.appendingPathComponent("a.wav").path
      _ = try convert([input, output, "--format", "s16"])
      let expected = try samples(input).map { sample in
        let full = (Double(sample) * 32768).rounded(.toNearestOrEven)
        return Float(min(max(full, -32768), 32767) / 32768)
      }
      try expectEqual(samples(output), expected)
    }
  }

  /// A number of bits selects integers in the format that is usual for the file type.
  @Test func bitsAreChosen() throws {
    try withTemporaryFolder { folder in
      let input = try noise(in: folder)
      for (end, bits, format) in [
        ("wav", 8, "8-bit unsigned integer"), ("aiff", 8, "8-bit signed integer"),
        ("wav", 16, "16-bit signed integer, little-endian"),
        ("caf", 24, "24-bit signed integer, little-endian"),
        ("au", 32, "32-bit signed integer, big-endian"), ("flac", 24, "FLAC, 24-bit"),
      ] {
        let output = folder.appendingPathComponent("a.\(end)").path
        let result = try convert([input, output, "--bits", "\(bits)", "--force"])
        expectTrue(result.output.contains(": \(format), 2 channels"), "\(result)")
        let info = try cuejack("info", [output])
        expectTrue(info.output.contains("format:    \(format)\n"), "\(info)")
      }
      let output = folder.appendingPathComponent("b.m4a").path
      try expectFailure([input, output, "--bits", "24"], [output, "AAC has no bits"])
    }
  }

  /// If a codec supports fewer channels, it encodes the ones that it supports, and the command says so.
  @Test func fewerChannelsAreTold() throws {
    try withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("six.wav").path
      let made = try run(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "anullsrc=r=48000:cl=5.1:d=0.1", input])
      try require(made.status == 0, "\(made.errors)")
      for (name, options, channels, words) in [
        (
          "a.mp3", [], "2 channels",
          "MPEG Layer 3 has no room for 6 channels: the first 2 are taken"
        ),
        ("a.wav", ["--format", "gsm"], "1 channel,", "6 channels: all are mixed into one"),
      ] {
        let output = folder.appendingPathComponent(name).path
        let result = try cuejack("convert", [input, output] + options)
        expectTrue(result.status == 0 && result.output.contains(channels), "\(result)")
        expectTrue(
          result.errors.hasPrefix("cuejack: \(output): ") && result.errors.contains(words),
          "\(result)")
      }
      let output = folder.appendingPathComponent("b.mp3").path
      try expectFailure([input, output, "--channels", "6"], [output, "6 channels"])
    }
  }

  @Test func ratesAndChannelsAreConverted() throws {
    try withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("sine.wav").path
      // A sine at half of full scale on the left, silence on the right.
      let made = try run(
        "sox",
        ["-r", "44100", "-n", "-c", "2", "-b", "24", input, "synth", "44101s", "sine", "1000"]
          + ["remix", "1v0.5", "0"])
      try require(made.status == 0, "\(made.errors)")
      let output = folder.appendingPathComponent("a.caf").path
      let result = try convert([input, output, "--rate", "48000", "--channels", "1"])
      // 44,101 frames at 44,100 Hz are 48,001 frames at 48,000 Hz, rounded.
      expectTrue(result.output.contains("1 channel, 48000 Hz, 48001 frames"), "\(result.output)")
      let found = try samples(output)
      expectEqual(found.count, 48_001)
      // The mean of both channels, in phase with the original.
      let wrong = found.indices.dropFirst(500).dropLast(500).filter { index in
        let time = Double(index) / 48000
        return abs(Double(found[index]) - 0.25 * sin(2 * .pi * 1000 * time)) > 1e-4
      }
      expectTrue(wrong.isEmpty, "\(wrong.count) of them")
      // A mono signal is copied to all channels.
      let wide = folder.appendingPathComponent("wide.wav").path
      _ = try convert([output, wide, "--channels", "3"])
      try expectEqual(samples(wide), found.flatMap { [$0, $0, $0] })
    }
  }

  @Test func aPartIsTaken() throws {
    try withTemporaryFolder { folder in
      let input = try noise(in: folder)
      let whole = try samples(input)
      let output = folder.appendingPathComponent("part.wav").path
      _ = try convert([input, output, "--start", "0.1", "--end", "0.3"])
      try expectEqual(samples(output), Array(whole[(2 * 4410)..<(2 * 13_230)]))
      // This also works with packets.
      let packets = folder.appendingPathComponent("a.flac").path
      try ffmpeg(input, ["-sample_fmt", "s32", packets])
      let decoded = try samples(packets)
      _ = try convert([packets, output, "--start", "0.2", "--force"])
      try expectEqual(samples(output), Array(decoded[(2 * 8820)...]))
    }
  }

  // MARK: Reading packets

  /// Files by `ffmpeg` in every readable encoding.
  private static let encoded: [(name: String, arguments: [String])] = [
    ("aac.m4a", []), ("alac.m4a", ["-c:a", "alac", "-sample_fmt", "s32p"]),
    ("a.flac", ["-sample_fmt", "s32"]), ("a.mp3", []), ("a.ogg", ["-c:a", "libvorbis"]),
    ("a.opus", ["-c:a", "libopus", "-ar", "48000"]), ("a.aac", []), ("a.ac3", []),
    ("a.mp2", ["-c:a", "mp2"]), ("ulaw.wav", ["-c:a", "pcm_mulaw"]),
    ("alaw.au", ["-c:a", "pcm_alaw"]), ("ima.caf", ["-c:a", "adpcm_ima_qt"]),
    ("ima.aifc", ["-c:a", "adpcm_ima_qt"]), ("a.mka.flac.ogg", ["-c:a", "flac"]),
  ]

  /// The length equals that of `ffmpeg`, and the samples differ by rounding only.
  @Test func everyCodingIsDecoded() throws {
    try withTemporaryFolder { folder in
      // With a single page, Ogg does not state where the sound begins.
      let source = try noise(in: folder, frames: 66_151)
      for (name, arguments) in Self.encoded {
        let file = folder.appendingPathComponent(name).path
        try ffmpeg(source, arguments + [file])
        let output = folder.appendingPathComponent("out.wav").path
        _ = try convert([file, output, "--format", "f32", "--force"])
        let found = try samples(output)
        var expected = try samples(file)
        // ffmpeg keeps the silence that fills the last packet of MPEG-4.
        if name == "aac.m4a" { expected = Array(expected.prefix(2 * 66_151)) }
        expectEqual(found.count, expected.count, "\(name)")
        func clipped(_ sample: Float) -> Float { min(max(sample, -1), 1) }
        let furthest = zip(found, expected).map { abs(clipped($0) - clipped($1)) }.max() ?? 1
        // The two decoders for Opus and for MPEG Layer 2 differ, and one of them clips.
        let isOther = name == "a.opus" || name == "a.mp2"
        expectTrue(furthest < (isOther ? 2e-2 : 1e-5), "\(name): \(furthest)")
      }
    }
  }

  // MARK: Writing packets

  /// Every encoding and back: lossless ones are exact, and all keep the length.
  @Test func everyCodingIsEncoded() throws {
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("source.wav").path
      try ffmpeg(
        noise(in: folder, frames: 66_151), ["-c:a", "pcm_s24le", "-ar", "48000", source])
      let expected = try samples(source)
      let kinds = [
        ("a.flac", "flac"), ("alac.m4a", "alac"), ("alac.caf", "alac"), ("flac.ogg", "flac"),
        ("aac.m4a", "aac"), ("aac.caf", "aac"), ("a.mp3", "mp3"), ("a.opus", "opus"),
        ("v.ogg", "vorbis"), ("ulaw.wav", "ulaw"), ("alaw.aifc", "alaw"), ("ac3.m4a", "ac3"),
      ]
      for (name, format) in kinds {
        let file = folder.appendingPathComponent(name).path
        let back = folder.appendingPathComponent("back.wav").path
        _ = try convert([source, file, "--format", format])
        _ = try convert([file, back, "--format", "f32", "--force"])
        let found = try samples(back)
        expectEqual(found.count, expected.count, "\(name): \(found.count) of \(expected.count)")
        if format == "flac" || format == "alac" {
          expectEqual(found, expected, "\(name)")
          try expectEqual(samples(file), expected, "\(name) by ffmpeg")
        }
      }
    }
  }

  /// The sound may end anywhere in a packet and in a page of Ogg.
  @Test func anyLengthIsKept() throws {
    try withTemporaryFolder { folder in
      let source = try WaveFile("source.wav", in: folder, frames: 96_300).path
      for (name, format) in [("a.opus", "opus"), ("a.ogg", "vorbis"), ("a.flac.ogg", "flac")] {
        let file = folder.appendingPathComponent(name).path
        for frames in [1, 960, 47_040, 47_069, 47_140, 47_688, 47_689, 48_000, 95_140, 96_300] {
          let end = "\(Double(frames) / 48000)"
          // With a single page, Vorbis does not state where the sound begins.
          if format == "vorbis", frames < 50_000 { continue }
          _ = try convert([source, file, "--format", format, "--end", end, "--force"])
          try expectEqual(shownFrames(file), frames, "\(name)")
        }
      }
    }
  }

  /// Packets are copied unchanged from one file type to another.
  @Test func packetsAreCopied() throws {
    try withTemporaryFolder { folder in
      let first = folder.appendingPathComponent("first.m4a").path
      try ffmpeg(noise(in: folder), [first])
      let second = folder.appendingPathComponent("second.caf").path
      let third = folder.appendingPathComponent("third.m4a").path
      expectTrue(try convert([first, second, "--format", "aac"]).output.contains("packets copied"))
      expectTrue(try convert([second, third]).output.contains("packets copied"))
      func sums(_ file: String) throws -> [Substring] {
        let result = try run(
          "ffmpeg", ["-v", "error", "-i", file, "-c", "copy", "-f", "framemd5", "-"])
        // Size and checksum of each packet.
        return result.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
          Substring($0.split(separator: ",").suffix(2).joined())
        }
      }
      try expectEqual(sums(third), sums(first))
      let frames = #/"frames" : 22051,/#
      for file in [first, second, third] {
        expectTrue(try cuejack("info", ["--json", file]).output.contains(frames), "\(file)")
      }
    }
  }

  /// Missing packets cannot be copied, so silence is encoded in their place.
  @Test func packetsOfADamagedFileAreNotCopied() throws {
    try withTemporaryFolder { folder in
      let first = folder.appendingPathComponent("first.ogg").path
      let arguments = ["-ar", "48000", "-c:a", "libopus", "-page_duration", "100000", first]
      try ffmpeg(noise(in: folder, frames: 44_100), arguments)
      let second = folder.appendingPathComponent("second.caf").path
      let conversion = [first, second, "--format", "opus"]
      expectTrue(try convert(conversion).output.contains("packets copied"))
      try FileManager.default.removeItem(atPath: second)

      var bytes = try Data(contentsOf: URL(fileURLWithPath: first))
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: URL(fileURLWithPath: first))
      let result = try cuejack("convert", conversion)
      expectTrue(result.errors.contains("frames are missing"))
      expectTrue(!result.output.contains("packets copied"))
      expectTrue(result.output.contains("48000 frames"), "\(result)")
      let told = try require(
        result.errors.firstMatch(of: #/: (\d+) frames are missing/#).map { $0.output.1 })
      expectTrue(result.errors.contains("\(first): converted, 0."), "\(result)")
      let event = try cuejack("convert", conversion + ["--json", "--force"])
      expectTrue(
        event.status == 1 && event.output.contains("\"missingFrames\":\(told)"), "\(event)")
    }
  }

  // MARK: Several files

  /// Files and folders go into a folder, under their names and those of the folders that they are in.
  @Test func filesAndFoldersAreConvertedIntoAFolder() throws {
    try withTemporaryFolder { folder in
      func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
      try FileManager.default.createDirectory(
        atPath: path("in/disc 2"), withIntermediateDirectories: true)
      let single = try WaveFile("one.wav", in: folder, frames: 4800, seed: 1)
      let top = try WaveFile("in/two.aiff.wav", in: folder, frames: 4800, seed: 2)
      let deep = try WaveFile("in/disc 2/three.wav", in: folder, frames: 4800, seed: 3)
      for name in ["in/notes.txt", "in/.hidden.wav", "in/broken.wav"] {
        try Data("nothing but text, and a lot of it".utf8).write(
          to: URL(fileURLWithPath: path(name)))
      }
      let result = try cuejack(
        "convert", [single.path, path("in"), path("out/flac/"), "--to", "flac"])
      // The broken file is reported, and the others are converted.
      expectTrue(result.status == 1 && result.errors.contains("broken.wav"), "\(result)")
      expectEqual(result.errors.split(separator: "\n").count, 1, "\(result)")
      for (name, file) in [("one", single), ("two.aiff", top), ("disc 2/three", deep)] {
        let found = try samples(path("out/flac/\(name).flac"))
        expectEqual(
          found, (0..<4800).flatMap { [file.samples[0][$0], file.samples[1][$0]] }, "\(name)")
      }
      let names = try FileManager.default.subpathsOfDirectory(atPath: path("out/flac"))
        .filter { !$0.hasSuffix(".raw") }
      expectEqual(names.count, 4, "\(names)")
      // Two files for one name, and what is there already.
      let twice = try cuejack(
        "convert", [single.path, single.path, path("out/flac"), "--to", "flac", "--force"])
      expectTrue(twice.status == 1 && twice.errors.contains("is left out"), "\(twice)")
      let again = try cuejack("convert", [single.path, path("out/flac"), "--to", "flac"])
      expectTrue(again.status == 1 && again.errors.contains("--force replaces it"), "\(again)")
      let wrong = try cuejack("convert", [single.path, single.path, "--to", "flac"])
      expectTrue(wrong.status == 1 && wrong.errors.contains("it is no folder"), "\(wrong)")
    }
  }

  @Test func oggMeansVorbisUnlessOpusIsAskedFor() throws {
    try withTemporaryFolder { folder in
      let input = try WaveFile("a.wav", in: folder, frames: 9600).path
      for (name, words, codec) in [
        ("a.ogg", [], "vorbis"), ("a.oga", [], "vorbis"), ("a.opus", [], "opus"),
        ("b.ogg", ["--format", "opus"], "opus"),
      ] {
        let output = folder.appendingPathComponent(name).path
        _ = try convert([input, output] + words)
        let probe = try run(
          "ffprobe",
          ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", output])
        expectEqual(probe.output, "\(codec)\n", "\(name)")
      }
    }
  }

  // MARK: Errors

  private func expectFailure(
    _ arguments: [String], _ words: [String], _ location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try cuejack("convert", arguments)
    expectEqual(result.status, 1, "\(result)", sourceLocation: location)
    let line = result.errors.split(separator: "\n").first ?? ""
    expectTrue(
      line.hasPrefix("cuejack: ") && words.allSatisfy { line.contains($0) }, "\(result.errors)",
      sourceLocation: location)
  }

  /// After any error the folder is unchanged.
  @Test func aConversionThatFailsChangesNothing() throws {
    try withTemporaryFolder { folder in
      func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
      let input = try noise(in: folder)
      let old = path("old.wav")
      try Data("old".utf8).write(to: URL(fileURLWithPath: old))
      try FileManager.default.createDirectory(
        atPath: path("a.wav"), withIntermediateDirectories: true)
      try Data("nothing but text, and a lot of it".utf8).write(
        to: URL(fileURLWithPath: path("text.wav")))
      let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      try expectFailure([input, old], [old, "already"])
      try expectFailure([path("none.wav"), old, "--force"], [path("none.wav"), "no such file"])
      try expectFailure(
        [path("text.wav"), old, "--force"], [path("text.wav"), "not a sound file"])
      try expectFailure([input, path("a.txt")], [path("a.txt"), "has to end in"])
      try expectFailure([input, path("a.wav")], [path("a.wav"), "directory"])
      try expectFailure([input, path("none/b.wav")], [path("none/b.wav"), "no such folder"])
      try expectFailure([input, path("b.wav"), "--start", "2"], ["nothing is left"])
      try expectFailure([input, path("b.wav"), "--format", "vorbis"], [path("b.wav")])
      // The disk is full in the middle.
      let program = try builtProduct(named: "cuejack").path
      let full = try run(
        "bash",
        ["-c", "ulimit -f 50; exec \"$0\" convert \"$1\" \"$2\" --force", program, input, old])
      expectTrue(
        full.status == 1 && full.errors.contains("\(old): the file cannot be written"), "\(full)")
      try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), before)
      try expectEqual(Data(contentsOf: URL(fileURLWithPath: old)), Data("old".utf8))
      // A file can replace itself.
      let expected = try exact(input)
      _ = try convert([input, input, "--force"])
      try expectEqual(exact(input), expected)
    }
  }

  /// After a signal in the middle, an old file stays and nothing else remains.
  @Test func aSignalGivesItUp() throws {
    try withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("long.wav").path
      let made = try run(
        "sox", ["-n", "-r", "48000", "-c", "2", input, "synth", "600", "sine", "99"])
      try require(made.status == 0)
      let output = folder.appendingPathComponent("a.wav").path
      let converting = try Playing(
        "convert", [input, output, "--rate", "44100"], in: folder)
      let end = Date(timeIntervalSinceNow: 60)
      // The new file has no name yet where the file system permits that.
      let opened = "/proc/\(converting.processIdentifier)/fd"
      var isWriting = false
      repeat {
        usleep(2000)
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: opened)) ?? []
        isWriting = numbers.contains { number in
          let name = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "\(opened)/\(number)")
          return name.map {
            $0.hasPrefix(folder.path) && ($0.hasSuffix("(deleted)") || $0.contains("/.a.wav"))
          }
            ?? false
        }
      } while !isWriting && Date() < end
      expectTrue(isWriting)
      converting.send(signal: SIGINT)
      try expectEqual(converting.result().status, 130)
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      expectTrue(!files.contains { $0.contains("a.wav") }, "\(files)")
    }
  }

  /// Metadata that both file types support is copied.
  @Test func tagsAreKept() throws {
    try withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("a.m4a").path
      try ffmpeg(
        noise(in: folder), ["-metadata", "title=A Title", "-metadata", "artist=Somebody", input])
      for end in ["wav", "caf", "aiff"] {
        let output = folder.appendingPathComponent("b.\(end)").path
        _ = try convert([input, output])
        let probe = try run(
          "ffprobe",
          ["-v", "error", "-show_entries", "format_tags=title,artist", "-of", "csv=p=0", output])
        expectTrue(
          probe.output.contains("A Title") && (end == "aiff" || probe.output.contains("Somebody")),
          "\(end): \(probe.output)")
      }
    }
  }

  @Test(arguments: [
    [], ["a.wav"], ["a.wav", "b.wav", "c.wav"], ["a.wav", "b.wav", "--quality", "best"],
    ["a.wav", "b", "--to", "doc"], ["a.wav", "b.wav", "--rate", "48000", "--rate", "44100"],
    ["a.wav", "b.wav", "--start=-1"], ["a.wav", "b.wav", "--start", "2", "--end", "1"],
    ["a.wav", "b.wav", "--format", "mpeg"],
  ])
  func wrongUsageIsExplained(arguments: [String]) throws {
    let result = try cuejack("convert", arguments)
    expectTrue(result.status == 64 && result.errors.contains("Usage: cuejack convert"), "\(result)")
  }
}
