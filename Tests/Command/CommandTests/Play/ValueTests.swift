import Foundation
import TestSupport
import Testing

/// Times, gains, and options for one file.
@Suite(.tags(.program), .serialized) struct ValueTests {
  @Test func timesAreTakenAsPeopleTypeThem() throws {
    try withTemporaryFolder { folder in
      // A low rate, so that an hour and more is a small file.
      let file = try WaveFile("a.wav", in: folder, channels: 1, rate: 1000, frames: 3_900_000)
      for (text, frame) in [
        ("2", 2000), ("2.5s", 2500), ("2.5", 2500), (".25", 250), ("250ms", 250), ("0:01.5", 1500),
        ("1:23.5", 83_500), ("90:00", 5_400_000), ("1:02:03", 3_723_000), ("1:02:03.25", 3_723_250),
        ("1h", 3_600_000), ("1h2m", 3_720_000), ("1h2m3.5s", 3_723_500), ("2m", 120_000),
        ("96000f", 96_000), ("0f", 0), ("1e1", 10_000),
      ] where frame < file.frames {
        let found = try rendered([file.path, "--start", text, "--seconds", "100f"], in: folder)
        expectEqual(found, [Array(file.samples[0][frame..<frame + 100])], "\(text)")
      }
      for text in ["-1", "1:", ":30", "1:60", "1:-1", "1:2:3:4", "1.5f", "f", "s", "1x", "nan"] {
        let result = try play([file.path, "--start=\(text)"])
        expectTrue(
          result.status == 64 && result.errors.contains("is no time"), "\(text): \(result)")
      }
    }
  }

  @Test func gainsAreFactorsOrDecibels() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 4800)
      for (text, gain) in [
        ("0.5", 0.5), ("2", 2), ("0", 0), ("0dB", 1), ("6 dB", Float(pow(10, 0.3))),
        ("-6dB", Float(pow(10, -0.3))), ("+20db", 10), ("-20dB", 0.1), ("-6", Float(pow(10, -0.3))),
      ] as [(String, Float)] {
        let found = try rendered([file.path, "--volume", text], in: folder)
        expectNil(
          difference(found, file.samples.map { $0.map { $0 * gain } }), "\(text)")
      }
      // Fades lead to gains above 1, too.
      let faded = try rendered([file.path, "--gain", "2", "--fade-in", "0.05"], in: folder)
      expectTrue(
        faded[0][0] == 0 && faded[0][2400...] == file.samples[0][2400...].map { $0 * 2 }[...])
      for text in ["loud", "-x", "37dB", "nan", "inf", "64", "dB"] {
        let result = try play([file.path, "--volume", text])
        expectTrue(
          result.status == 64 && result.errors.contains("is no gain"), "\(text): \(result)")
      }
    }
  }

  @Test func optionsOfOneFileTakeThePlaceOfThoseForAll() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800, seed: 1)
      let b = try WaveFile("b.wav", in: folder, frames: 4800, seed: 2)
      // The name of a file may have an @, and even look like an option.
      let odd = try WaveFile("me@home.wav", in: folder, frames: 480, seed: 3)
      let trap = try WaveFile("x@gain=2", in: folder, frames: 480, seed: 4)
      let found = try rendered(
        [
          a.path + "@gain=0.25,pan=-1,start=0.05,at=+1000f", b.path, "--volume", "0.5", "--end",
          "4000f",
        ], in: folder)
      let silence = [Float](repeating: 0, count: 1000)
      let left = silence + a.samples[0][2400..<4000].map { $0 * 0.25 }
      let expected = (0..<2).map { channel -> [Float] in
        (0..<4000).map { frame -> Float in
          let added: Float = channel == 0 && frame < left.count ? left[frame] : 0
          return b.samples[channel][frame] * 0.5 + added
        }
      }
      expectNil(difference(found, expected))
      try expectEqual(rendered([odd.path], in: folder), odd.samples)
      try expectEqual(rendered([trap.path], in: folder), trap.samples)
      try expectEqual(
        rendered([trap.path + "@gain=0.5"], in: folder), trap.samples.map { $0.map { $0 * 0.5 } })
      let wrong = try play([a.path + "@gian=1"])
      expectTrue(wrong.status == 64 && wrong.errors.contains("did you mean “gain”?"), "\(wrong)")
      let looped = try rendered(
        [odd.path + "@loop=yes", "--seconds", "1000f"], in: folder)
      expectEqual(looped[0], Array((odd.samples[0] * 3).prefix(1000)))
    }
  }

  @Test func everyKindOfFileIsRendered() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .s24, frames: 48_000)
      for (name, words, codec) in [
        ("a.flac", [], "flac"), ("a.m4a", [], "aac"), ("b.m4a", ["--format", "alac"], "alac"),
        ("a.mp3", ["--bitrate", "192k"], "mp3"), ("a.ogg", [], "vorbis"), ("a.opus", [], "opus"),
        ("b.flac", ["--bits", "16"], "flac"),
        ("c.wav", ["--bits", "16"], "pcm_s16le"), ("d.caf", ["--format", "ulaw"], "pcm_mulaw"),
      ] {
        let output = folder.appendingPathComponent(name).path
        let result = try play([file.path, "--render", output] + words, environment: withoutServer)
        expectTrue(
          result.status == 0 && result.errors == ""
            && result.output == "\(output): wrote 48000 frames\n", "\(name): \(result)")
        let probe = try run(
          "ffprobe",
          ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", output])
        expectEqual(probe.output, "\(codec)\n", "\(name)")
        try expectEqual(shownFrames(output), 48_000, "\(name)")
        if ["a.flac", "b.m4a"].contains(name) {
          try expectEqual(converted(output, in: folder), file.samples, "\(name)")
        }
      }
      // One channel has the mean of both.
      let mono = folder.appendingPathComponent("m.amr").path
      let result = try play([file.path, "--render", mono], environment: withoutServer)
      expectTrue(result.status == 0 || result.errors.contains("AMR"), "\(result)")
    }
  }
}

private func * (samples: [Float], count: Int) -> [Float] {
  Array(repeatElement(samples, count: count).joined())
}
