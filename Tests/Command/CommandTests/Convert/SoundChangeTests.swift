import Foundation
import TestSupport
import Testing

/// The options of `cuejack convert` that change the sound, against computed samples and FFmpeg's meter.
@Suite(.tags(.program)) struct SoundChangeTests {
  /// Writes a WAVE file of floats at 48,000 Hz, and returns its path.
  private func file(_ name: String, _ planes: [[Float]], in folder: URL) throws -> String {
    func number<T: FixedWidthInteger>(_ value: T) -> Data {
      withUnsafeBytes(of: value) { Data($0) }
    }
    let count = planes.count
    var samples = Data()
    for frame in planes[0].indices {
      for plane in planes { samples += number(plane[frame].bitPattern) }
    }
    var data = Data("RIFF".utf8) + number(UInt32(36 + samples.count)) + Data("WAVEfmt ".utf8)
    data += number(UInt32(16)) + number(UInt16(3)) + number(UInt16(count)) + number(UInt32(48_000))
    data += number(UInt32(192_000 * count)) + number(UInt16(4 * count)) + number(UInt16(32))
    data += Data("data".utf8) + number(UInt32(samples.count)) + samples
    let path = folder.appendingPathComponent(name).path
    try data.write(to: URL(fileURLWithPath: path))
    return path
  }

  /// Converts a file to one of floats, and returns its planes.
  @discardableResult private func convert(
    _ input: String, _ options: [String], in folder: URL, remark: String = "",
    _ location: SourceLocation = #_sourceLocation
  ) throws -> [[Float]] {
    let output = folder.appendingPathComponent("out.wav").path
    let result = try cuejack("convert", [input, output, "--force", "--format", "f32"] + options)
    expectTrue(
      result.status == 0 && (remark.isEmpty ? result.errors == "" : result.errors.contains(remark)),
      "\(result)", sourceLocation: location)
    return try converted(output, in: folder)
  }

  /// Returns the integrated loudness and the true peak of a file by FFmpeg.
  private func figures(_ path: String) throws -> (loudness: Double, peak: Double) {
    let result = try run(
      "ffmpeg",
      ["-nostats", "-i", path, "-af", "ebur128=peak=true", "-f", "null", "-"])
    let loudness = try require(result.errors.matches(of: /I: +(-?[\d.]+) LUFS/).last?.output.1)
    let peak = try require(result.errors.matches(of: /Peak: +(-?[\d.]+) dBFS/).last?.output.1)
    return (try require(Double(loudness)), try require(Double(peak)))
  }

  private func sine(_ frames: Int, _ amplitude: Float, _ hertz: Double = 997) -> [Float] {
    (0..<frames).map { amplitude * Float(sin(2 * .pi * hertz * Double($0) / 48_000)) }
  }

  // MARK: Channels

  @Test func channelsAreMovedAndMixed() throws {
    try withTemporaryFolder { folder in
      let noise = try WaveFile("noise.wav", in: folder, coding: .f32, frames: 70_001)
      let (left, right) = (noise.samples[0], noise.samples[1])
      let cases: [(String, [[Float]])] = [
        ("2,1", [right, left]), ("R,L", [right, left]), ("1", [left]), ("r", [right]),
        ("1, 0, 2", [left, left.map { _ in 0 }, right]), ("-1,2", [left.map(-), right]),
        ("0.5*L+0.5*R", [zip(left, right).map { 0 + $0 * 0.5 + $1 * 0.5 }]),
        (".25*1 - 2", [zip(left, right).map { 0 + $0 * 0.25 - $1 }]),
      ]
      for (value, wanted) in cases {
        try expectEqual(convert(noise.path, ["--remix", value], in: folder), wanted, "\(value)")
      }
    }
  }

  /// Surround channels at the sides and behind are both Ls and Rs.
  @Test(arguments: ["5.1", "5.1(side)"]) func surroundBecomesStereoByRoles(layout: String) throws {
    try withTemporaryFolder { folder in
      let noise = try WaveFile("six.wav", in: folder, coding: .f32, channels: 6, frames: 5000)
      let input = folder.appendingPathComponent("surround.wav").path
      let made = try run(
        "ffmpeg",
        ["-v", "error", "-channel_layout", layout, "-i", noise.path, "-c:a", "pcm_f32le", input])
      try require(made.status == 0, "\(made)")
      let found = try convert(
        input, ["--remix", "L+0.5*C+0.5*Ls,R+0.5*C+0.5*Rs"], in: folder)
      let planes = noise.samples
      let half = planes.map { plane in plane.map { $0 * 0.5 } }
      func mixed(_ front: Int, _ back: Int) -> [Float] {
        (0..<5000).map { (frame: Int) -> Float in
          let sum: Float = planes[front][frame] + half[2][frame]
          return sum + half[back][frame]
        }
      }
      let wanted = [mixed(0, 4), mixed(1, 5)]
      expectEqual(found, wanted)
      // Given roles are stored.
      let output = folder.appendingPathComponent("roles.wav").path
      let result = try cuejack("convert", [input, output, "--remix", "L=1,R=2,LFE=4"])
      expectEqual(result.status, 0, "\(result)")
      let probe = try run(
        "ffprobe",
        ["-v", "error", "-show_entries", "stream=channel_layout", "-of", "csv=p=0", output])
      expectEqual(probe.output, "2.1\n")
      // The file's channels are in the order of WAVE files, the sound's are as given.
      _ = try cuejack("convert", [input, output, "--remix", "LFE=4,R=2,L=1", "--force"])
      try expectEqual(converted(output, in: folder), [planes[0], planes[1], planes[3]])
    }
  }

  // MARK: Ends

  @Test func silentEndsAreTrimmed() throws {
    try withTemporaryFolder { folder in
      var left = [Float](repeating: 0.001, count: 200_000)
      var right = left
      (left[70_000], right[140_000], right[100]) = (0.02, -0.02, 0.0099)
      let input = try file("in.wav", [left, right], in: folder)
      func part(_ range: Range<Int>) -> [[Float]] { [Array(left[range]), Array(right[range])] }
      try expectEqual(
        convert(input, ["--silence", "-40dB"], in: folder), part(70_000..<140_001))
      try expectEqual(
        convert(input, ["--silence", "-40dB,0.5"], in: folder), part(46_000..<164_001))
      try expectEqual(
        convert(input, ["--silence", "-40dB,2", "--start", "0.1"], in: folder), part(4800..<200_000)
      )
      try expectEqual(
        convert(
          input, ["--silence", "-20dB"], in: folder, remark: "\(input): all of it is silent"),
        part(0..<200_000))
    }
  }

  /// 32-bit integers are not rounded to floats.
  @Test func trimmedAndMovedIntegersStayExact() throws {
    try withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("in.wav").path
      let output = folder.appendingPathComponent("out.wav").path
      let swapped = folder.appendingPathComponent("swapped.wav").path
      for words in [
        [
          "-r", "48000", "-n", "-c", "2", "-b", "32", "-D", input, "synth", "1", "whitenoise",
          "pad", "1", "1",
        ],
        ["-D", input, swapped, "remix", "2", "1", "trim", "1", "1"],
      ] {
        let made = try run("sox", words)
        try require(made.status == 0, "\(made)")
      }
      let result = try cuejack("convert", [input, output, "--silence", "-90dB", "--remix", "2,1"])
      expectEqual(result.status, 0, "\(result)")
      let sums = try [swapped, output].map { path in
        try run("ffmpeg", ["-v", "error", "-i", path, "-c:a", "pcm_s32le", "-f", "hash", "-"])
          .output
      }
      expectEqual(sums[0], sums[1])
    }
  }

  @Test func fadesAreStraight() throws {
    try withTemporaryFolder { folder in
      let input = try file("in.wav", [[Float](repeating: 0.5, count: 100_000)], in: folder)
      let found = try convert(
        input, ["--fade-in", "0.25", "--fade-out", "0.5", "--start", "1", "--end", "2.5"],
        in: folder)
      let wanted = (0..<52_000).map { (frame: Int) -> Float in
        let (rising, falling) = (Double(frame) / 12_000, Double(52_000 - frame) / 24_000)
        return 0.5 * Float(min(1, rising, falling))
      }
      expectTrue(found.count == 1 && found[0].count == 52_000)
      expectEqual(found, [wanted])
      let long = try cuejack("convert", [input, folder.path + "/b.wav", "--fade-in", "3"])
      expectTrue(
        long.status == 1
          && long.errors.contains("\(input): the fades take 00:03.000, but the sound has 00:02.083"),
        "\(long)")
      expectTrue(!FileManager.default.fileExists(atPath: folder.path + "/b.wav"))
    }
  }

  // MARK: Level

  @Test func loudnessIsReachedByOneGain() throws {
    try withTemporaryFolder { folder in
      let sound = sine(240_000, 0.05)
      let input = try file("in.wav", [sound, sound], in: folder)
      let found = try convert(input, ["--loudness", "-16"], in: folder)
      let (loudness, peak) = try figures(folder.path + "/out.wav")
      expectTrue(abs(loudness + 16) < 0.11 && peak < -1, "\(loudness) \(peak)")
      let gain = found[0][12] / sound[12]
      let wrong = zip(found[1], sound).filter { abs($0 - $1 * gain) > 1e-6 }
      expectTrue(wrong.isEmpty && found[0] == found[1], "\(wrong.count)")
      // Through a pipe, the same.
      let piped = try run(
        "bash",
        [
          "-c",
          "cat \"$1\" | \"$0\" convert - \"$2.wav\" --loudness -16 --format f32 && cmp \"$2\" \"$2.wav\"",
          builtProduct(named: "cuejack").path, input, folder.path + "/out.wav",
        ])
      expectEqual(piped.status, 0, "\(piped)")
    }
  }

  @Test func theLimiterHoldsTheTruePeak() throws {
    try withTemporaryFolder { folder in
      // Bursts near a quarter of the rate: the wave between the samples is 3 dB above them.
      var sound = sine(480_000, 0.05)
      for start in stride(from: 20_000, to: 460_000, by: 60_000) {
        for frame in 0..<2000 {
          sound[start + frame] += 0.4 * Float(sin(.pi / 2 * Double(frame) + .pi / 4))
        }
      }
      let input = try file("in.wav", [sound, sound.map { $0 * 0.5 }], in: folder)
      for ceiling in [-1.0, -3] {
        let found = try convert(
          input, ["--loudness", "-14", "--ceiling", "\(ceiling)"], in: folder)
        let (loudness, peak) = try figures(folder.path + "/out.wav")
        expectTrue(abs(loudness + 14) < 0.15, "\(loudness)")
        expectTrue(peak < ceiling + 0.16 && peak > ceiling - 0.5, "\(peak)")
        expectEqual(found.map(\.count), [480_000, 480_000])
        // All channels have one gain.
        let wrong = zip(found[0], found[1]).filter { abs($0 * 0.5 - $1) > 1e-6 }
        expectTrue(wrong.isEmpty, "\(wrong.count)")
      }
    }
  }

  @Test func whatCannotBeReachedOrMeasuredIsTold() throws {
    try withTemporaryFolder { folder in
      let sound = sine(96_000, 0.5)
      let input = try file("in.wav", [sound], in: folder)
      let loud = try cuejack("convert", [input, folder.path + "/b.wav", "--loudness", "0"])
      expectTrue(
        loud.status == 1
          && loud.errors.contains(
            "\(input): with true peaks of -1.0 dBTP at most it gets no louder than -"),
        "\(loud)")
      expectTrue(!FileManager.default.fileExists(atPath: folder.path + "/b.wav"))
      let (short, silent) = (Array(sound[..<19_000]), sound.map { _ in Float(0) })
      for (name, sound) in [("short.wav", short), ("silent.wav", silent)] {
        let input = try file(name, [sound], in: folder)
        try expectEqual(
          convert(
            input, ["--loudness", "-16"], in: folder,
            remark: "\(input): it is silent or shorter than 0.4 s: --loudness changes nothing"),
          [sound])
      }
      try expectEqual(
        convert(
          folder.path + "/silent.wav", ["--peak", "-3"], in: folder,
          remark: "it is silent: --peak changes nothing"), [silent])
    }
  }

  @Test func thePeakIsThatOfTheSamples() throws {
    try withTemporaryFolder { folder in
      let noise = try WaveFile("noise.wav", in: folder, coding: .s16, frames: 100_000)
      let output = folder.appendingPathComponent("out.wav").path
      for (level, wanted) in [("-6dB", Float(pow(10, -0.3))), ("0", 1 - 1 / 32768)] {
        let result = try cuejack("convert", [noise.path, output, "--peak", level, "--force"])
        expectTrue(result.status == 0 && !result.output.contains("clipped"), "\(result)")
        let most = try converted(output, in: folder).joined().map(abs).max()
        expectTrue(abs(try require(most) - wanted) <= 0.5 / 32768, "\(most ?? 0)")
      }
    }
  }

  /// Each file of several is measured by itself, and its event has the figures.
  @Test func eachFileHasItsOwnFigures() throws {
    try withTemporaryFolder { folder in
      let inputs = try [0.05, 0.1].map {
        try file("\($0).wav", [sine(96_000, Float($0))], in: folder)
      }
      let result = try cuejack(
        "convert", inputs + [folder.path + "/out", "--to", "caf", "--loudness", "-20", "--json"])
      expectEqual(result.status, 0, "\(result)")
      let events = try result.output.split(separator: "\n").map {
        try require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }.filter { $0["event"] as? String == "converted" }
      let gains = events.compactMap { $0["gain"] as? Double }
      expectTrue(gains.count == 2 && abs(gains[0] - gains[1] - 6.02) < 0.011, "\(gains)")
      for event in events {
        let after = try require(event["after"] as? [String: Double])
        expectEqual(after["integrated"], -20)
        let before = try require(event["before"] as? [String: Double])
        let gain = try require(event["gain"] as? Double)
        for key in ["integrated", "truePeak", "samplePeak"] {
          let change = try require(after[key]) - (try require(before[key]))
          expectTrue(abs(change - gain) < 0.021, "\(key): \(event)")
        }
      }
    }
  }

  @Test(arguments: [
    (["--loudness", "1"], "--loudness 1: it takes a number from -70 to 0"),
    (["--loudness", "loud"], "--loudness loud: it takes a number from -70 to 0"),
    (["--peak", "-61"], "--peak -61: it takes a number from -60 to 0"),
    (["--peak", "-1", "--loudness", "-16"], "exclude each other"),
    (["--ceiling", "-1"], "--ceiling is for --loudness"),
    (["--silence", "3dB"], "--silence 3dB: it takes a level below 0 dB"),
    (["--silence", "-50dB,x"], "“x” is no time"),
    (["--remix", "1,"], "“” is no sum of channels"), (["--remix", "1 2"], "is no sum of channels"),
    (["--remix", "X"], "“X” is no role. There are L, R, C"),
    (["--remix", "L=1,2"], "give every channel a role, or none"),
    (["--remix", "L=1,L=2"], "two channels have one role"),
    (["--remix", "65"], "channel 65 is not from 1 to 64"),
    (["--remix", "99*1"], "the factor 99 is not from 0 to 63.1"),
    (["--remix", "1", "--channels", "1"], "leave --channels out"),
    (["--fade-in", "-1"], "--fade-in"),
  ])
  func wrongUsageIsExplained(options: [String], words: String) throws {
    let result = try cuejack("convert", ["a.wav", "b.wav"] + options)
    expectTrue(result.status == 64 && result.errors.contains(words), "\(result)")
  }

  @Test func channelsThatAreNotThereAreTold() throws {
    try withTemporaryFolder { folder in
      let noise = try WaveFile("noise.wav", in: folder, frames: 100, seed: 2)
      let three = try WaveFile("three.wav", in: folder, channels: 3, frames: 100)
      for (path, value, words) in [
        (noise.path, "3", "there is no channel 3: it has 2"),
        (noise.path, "C", "no channel is C: it has left, right"),
        (three.path, "L", "its 3 channels have no roles: use numbers instead of L"),
      ] {
        let result = try cuejack("convert", [path, folder.path + "/b.wav", "--remix", value])
        expectTrue(
          result.status == 1 && result.errors.contains("\(path): --remix: \(words)"), "\(result)")
      }
    }
  }
}
