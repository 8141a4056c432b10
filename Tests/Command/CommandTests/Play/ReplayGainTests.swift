import Foundation
import TestSupport
import Testing

/// `cuejack play --replaygain`: samples against the gain that the tags give.
@Suite(.tags(.program), .serialized) struct ReplayGainTests {
  /// Writes tags as other programs do, through Mutagen: in the form of the file's format.
  private func tag(_ path: String, _ tags: [String: String]) throws {
    let script = """
      import sys, mutagen, mutagen.id3
      file = mutagen.File(sys.argv[1])
      if file.tags is None: file.add_tags()
      for word in sys.argv[2:]:
        key, value = word.split("=", 1)
        if isinstance(file.tags, mutagen.id3.ID3):
          file.tags.add(mutagen.id3.TXXX(encoding=3, desc=key, text=[value]))
        elif isinstance(file.tags, mutagen.mp4.MP4Tags):
          file["----:com.apple.iTunes:" + key] = value.encode()
        else:
          file[key] = value
      file.save()
      """
    let result = try run("/usr/bin/python3", ["-c", script, path] + tags.map { "\($0)=\($1)" })
    try require(result.status == 0, "\(path): \(result)")
  }

  private func encoded(_ name: String, seed: UInt64 = 1, in folder: URL, _ tags: [String: String])
    throws -> String
  {
    let noise = try WaveFile("noise.wav", in: folder, frames: 9600, seed: seed)
    let file = folder.appendingPathComponent(name).path
    let codec = name.hasSuffix("opus") ? ["-c:a", "libopus"] : []
    let made = try run("ffmpeg", ["-v", "error", "-y", "-i", noise.path] + codec + [file])
    try require(made.status == 0, "\(made.errors)")
    try tag(file, tags)
    return file
  }

  private func scaled(_ sound: [[Float]], _ factor: Double) -> [[Float]] {
    sound.map { $0.map { $0 * Float(factor) } }
  }

  private func level(_ decibels: Double) -> Double { pow(10, decibels / 20) }

  /// Expects two sounds to agree but for the rounding of a factor.
  private func expectSame(_ heard: [[Float]], _ expected: [[Float]], _ what: String) {
    expectEqual(heard.map(\.count), expected.map(\.count), "\(what)")
    let worst = zip(heard.joined(), expected.joined()).map { abs($0 - $1) }.max() ?? 1
    expectTrue(worst < 2e-7 && expected[0].contains { abs($0) > 0.01 }, "\(what): \(worst)")
  }

  @Test(
    "The tags of each format give the gain",
    arguments: ["flac", "ogg", "opus", "mp3", "m4a", "wav", "wv", "aiff"])
  func formats(end: String) throws {
    try withTemporaryFolder { folder in
      // Opus has the tags of R 128, in 1/256 dB and with -23 LUFS for 0.
      let tags =
        end == "opus"
        ? ["R128_TRACK_GAIN": "-3200", "R128_ALBUM_GAIN": "-2048"]
        : [
          "REPLAYGAIN_TRACK_GAIN": "-7.50 dB", "REPLAYGAIN_TRACK_PEAK": "0.98",
          "REPLAYGAIN_ALBUM_GAIN": "-3.00 dB", "REPLAYGAIN_ALBUM_PEAK": "1",
        ]
      let file = try encoded("in.\(end)", in: folder, tags)
      let plain = try rendered([file], in: folder)
      for (choice, decibels) in [("off", 0), ("track", -7.5), ("album", -3)] {
        expectSame(
          try rendered([file, "--replaygain", choice], in: folder),
          scaled(plain, level(decibels)), "\(end) \(choice)")
      }
      let info = try cuejack("info", [file])
      expectTrue(info.output.contains("gain:      track -7.5 dB"), "\(info)")
      expectTrue(info.output.contains("gain:      album -3 dB"), "\(info)")
    }
  }

  @Test("Peaks bound the gain, and one kind of tags stands for the other")
  func peaks() throws {
    try withTemporaryFolder { folder in
      let cases: [([String: String], String, Double)] = [
        (["REPLAYGAIN_TRACK_GAIN": "+6.00 dB", "REPLAYGAIN_TRACK_PEAK": "0.8"], "track", 1.25),
        (["REPLAYGAIN_TRACK_GAIN": "+6 dB", "REPLAYGAIN_TRACK_PEAK": "0.1"], "track", level(6)),
        (["REPLAYGAIN_TRACK_GAIN": "+6 dB"], "track", 1),
        (["REPLAYGAIN_TRACK_GAIN": "0 dB", "REPLAYGAIN_TRACK_PEAK": "1.25"], "track", 0.8),
        (["replaygain_track_gain": "-1,5 db"], "album", level(-1.5)),
        (["REPLAYGAIN_ALBUM_GAIN": "-2"], "track", level(-2)),
        ([:], "track", 1),
      ]
      for (index, (tags, choice, factor)) in cases.enumerated() {
        let file = try encoded("\(index).flac", in: folder, tags)
        let plain = try rendered([file], in: folder)
        expectSame(
          try rendered([file, "--replaygain", choice], in: folder), scaled(plain, factor),
          "\(tags)")
        expectSame(
          try rendered([file, "--replaygain", choice, "--gain", "-6dB"], in: folder),
          scaled(plain, factor * level(-6)), "\(tags)")
      }
    }
  }

  @Test("Each file of a sequence has its gain, or the fallback")
  func sequence() throws {
    try withTemporaryFolder { folder in
      let files = try [
        ["REPLAYGAIN_TRACK_GAIN": "-4 dB"], [:], ["REPLAYGAIN_TRACK_GAIN": "-9 dB"],
      ].enumerated().map {
        try encoded("\($0).flac", seed: UInt64($0 + 1), in: folder, $1)
      }
      let sounds = try files.map { try rendered([$0], in: folder) }
      let expected = joined(zip(sounds, [-4.0, -12, -9]).map { scaled($0, level($1)) })
      expectSame(
        try rendered(
          ["-q", "--replaygain", "album", "--replaygain-fallback", "-12"] + files, in: folder),
        expected, "sequence")
    }
  }

  /// A constant sound shows the gain.
  @Test("The tags are chosen anew while files play", .tags(.server), arguments: [false, true])
  func chosenWhilePlaying(isSequence: Bool) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let capture = try CaptureClient(on: server, channels: 1, capacity: 60 * server.rate)
      let files = try (isSequence ? [-3, -8] : [-3]).map { decibels -> String in
        let file = folder.appendingPathComponent("\(decibels).flac").path
        let made = try run(
          "ffmpeg",
          ["-v", "error", "-f", "lavfi", "-i", "aevalsrc=0.5:d=1:s=48000", "-ac", "1", file])
        try require(made.status == 0, "\(made)")
        try tag(
          file,
          ["REPLAYGAIN_TRACK_GAIN": "\(decibels) dB", "REPLAYGAIN_ALBUM_GAIN": "-12 dB"])
        return file
      }
      let environment = server.environment.merging(
        ["XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path]) { $1 }
      let player = try Playing(
        files + ["--loop", "--connect", "capture"]
          + (isSequence ? ["-q", "--replaygain", "track"] : []), in: folder,
        environment: environment)
      try player.wait(for: "start frame")
      // The gains in dB that are heard, in order.
      func hear(_ expected: [Double]) {
        capture.arm()
        defer { capture.disarm() }
        var heard: [Double] = []
        let isThere = waits {
          let samples = capture.samples(channel: 0)
          heard = expected.filter { gain in
            samples.contains { abs(Double($0) - 0.5 * level(gain)) < 1e-6 }
          }
          return heard == expected
        }
        expectTrue(isThere, "\(heard), not \(expected)")
      }
      func set(_ text: String) throws -> CommandResult {
        try cuejack("set", ["cuejack-play", text], environment: environment)
      }
      hear(isSequence ? [-3, -8] : [0])
      try expectEqual(set("replaygain=album").status, 0)
      hear([-12])
      try expectEqual(set("replaygain=track").status, 0)
      hear(isSequence ? [-3, -8] : [-3])
      try expectEqual(set("tracks/1/gain=-6").status, 0)
      try expectEqual(set("replaygain=off").status, 0)
      hear([-6])
      let refused = try set("replaygain=loud")
      expectTrue(
        refused.status == 1 && refused.errors.contains("“loud” is not off, track or album"),
        "\(refused)")
      try expectEqual(set("quit").status, 0)
      try expectEqual(player.result().status, 0)
    }
  }

  @Test("A tag that is no number is told once, and wrong options are refused")
  func faults() throws {
    try withTemporaryFolder { folder in
      let file = try encoded(
        "in.flac", in: folder,
        ["REPLAYGAIN_TRACK_GAIN": "loud", "REPLAYGAIN_ALBUM_GAIN": "900 dB"])
      let out = folder.appendingPathComponent("out.wav").path
      let result = try play(
        ["-q", file, file, "--replaygain", "track", "--render", out], environment: withoutServer)
      expectEqual(
        result.errors,
        """
        cuejack: \(file): the tag REPLAYGAIN_TRACK_GAIN is not a gain in dB: “loud”
        cuejack: \(file): the tag REPLAYGAIN_ALBUM_GAIN is not a gain in dB: “900 dB”

        """)
      expectEqual(result.status, 0)
      for words in [
        ["--replaygain", "loud"], ["--replaygain-fallback", "3"],
        ["--replaygain", "track", "--replaygain-fallback", "31"],
        ["--replaygain", "track", "--replaygain", "album"],
      ] {
        let refused = try play(words + [file], environment: withoutServer)
        expectTrue(
          refused.status == 64 && refused.errors.contains("--replaygain"), "\(words): \(refused)")
      }
    }
  }
}
