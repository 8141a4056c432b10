import Foundation
import TestSupport
import Testing

/// The examples for single features of queues.
@Suite(.tags(.server, .program)) struct QueueExamplesTests {
  /// A server with a sound card that records.
  private struct Stage {
    let server: JackDaemon
    let card: CaptureClient

    init() throws {
      server = try JackDaemon(period: 1024, playbackPorts: 0, capturePorts: 0)
      card = try CaptureClient(
        on: server, name: "card", capacity: 20 * server.rate, isSoundCard: true)
    }

    /// Runs a program that must succeed. Returns what it printed and what was heard.
    func run(_ program: String, _ arguments: [String]) throws -> (output: String, heard: [[Float]])
    {
      card.arm()
      let result = try TestSupport.run(
        program, arguments,
        environment: ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""])
      card.disarm()
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      return (result.output, card.recording)
    }
  }

  /// Expects a program to refuse arguments with its usage, and a missing file with its name.
  private func expectRefusals(
    _ program: String, usages: [[String]] = [[]], missing: [String]? = nil
  ) throws {
    let name = URL(fileURLWithPath: program).lastPathComponent
    for arguments in usages {
      let result = try run(program, arguments)
      expectTrue(result.status == 64 && result.errors.contains("usage: \(name) "), "\(result)")
    }
    if let missing {
      let result = try run(program, missing)
      expectTrue(result.status == 1 && result.errors == "\(name): /nowhere.wav: -43\n", "\(result)")
    }
  }

  @Test func queuesAndBuffersStartOnExactFrames() throws {
    let stage = try Stage()
    try withTemporaryFolder { folder in
      // The second one is longer than the interval of 4800 frames.
      let files = [
        try WaveFile("a.wav", in: folder, coding: .f32, frames: 3000),
        try WaveFile("b.wav", in: folder, coding: .s24, channels: 1, frames: 6000, seed: 2),
      ]
      var expected = [[Float]](repeating: Array(repeating: 0, count: 4 * 4800 + 6000), count: 2)
      for channel in 0..<2 {
        for time in 0..<5 {
          for file in files {
            let samples = file.samples[min(channel, file.samples.count - 1)]
            for (i, sample) in samples.prefix(time < 4 ? 4800 : 6000).enumerated() {
              expected[channel][time * 4800 + i] += sample
            }
          }
        }
      }
      try withExample("Scheduled", program: "scheduled") { program in
        let wrong = try unlessBusy(patience: 0.01) { () -> String? in
          let (output, heard) = try stage.run(
            program, ["-n", "5", "-e", "0.1"] + files.map(\.path))
          expectEqual(output, "played 2 files 5 times\n")
          return difference(surrounded: heard, expected)
        }
        expectNil(wrong, "\(wrong ?? "")")
        try expectRefusals(
          program, usages: [[], ["-n", "0", files[0].path], ["-e", "no", files[0].path]],
          missing: ["/nowhere.wav"])
      }
    }
  }

  @Test func notesAreComputed() throws {
    let stage = try Stage()
    /// Returns the samples of a chord of some beats of half a second.
    func chord(_ frequencies: [Double], beats: Double) -> [Float] {
      let frames = Int((beats * 24000).rounded())
      return (0..<frames).map { frame in
        let time = Double(frame) / 48000
        let length = Double(frames) / 48000
        let level = exp(-time / 0.6) * min(1, time / 0.005) * min(1, (length - time) / 0.02)
        let sum = frequencies.reduce(0) { sum, frequency in
          let phase = 2 * Double.pi * frequency * time
          return sum + sin(phase) + sin(2 * phase) / 2 + sin(3 * phase) / 4
        }
        return Float(0.1 * level * sum)
      }
    }
    func note(_ semitonesAboveA4: Double) -> Double { 440 * pow(2, semitonesAboveA4 / 12) }
    let expected =
      chord([note(0)], beats: 1) + chord([], beats: 0.5)
      + chord([note(-9), note(-5), note(-3)], beats: 0.75) + chord([note(10)], beats: 0.25)
    try withExample("Synthesis", program: "synthesis") { program in
      let wrong = try unlessBusy(patience: 0.01) { () -> String? in
        let heard = sound(
          try stage.run(program, ["A4", "-:0.5", "C4+E4+Gb4:0.75", "F##5:0.25"]).heard)
        expectEqual(heard[0], heard[1])
        return difference(heard[0], sound([expected])[0], tolerance: 1e-6)
      }
      expectNil(wrong, "\(wrong ?? "")")
      // Another tempo, another length.
      let slow = sound(try stage.run(program, ["-t", "60", "A4"]).heard)[0]
      expectTrue((47_990...48_000).contains(slow.count), "\(slow.count)")
      try expectRefusals(program, usages: [[], ["-t", "0", "A4"]])
      for word in ["H4", "A", "A4:", "A4:0", "A4+", "A4x"] {
        let result = try run(program, [word])
        expectTrue(
          result.status == 1 && result.errors == "synthesis: “\(word)” is not a note\n", "\(result)"
        )
      }
    }
  }

  @Test func aTapFiltersAndMeasures() throws {
    let stage = try Stage()
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 30_000)
      let angle = 2 * Double.pi * 800 / 48000
      let alpha = sin(angle) / sqrt(2)
      let filtered = file.samples.map { channel in
        var (i1, i2, o1, o2) = (0.0, 0.0, 0.0, 0.0)
        return channel.map { sample in
          let input = Double(sample)
          let part = (1 - cos(angle)) / 2 * (input + 2 * i1 + i2)
          let output = (part + 2 * cos(angle) * o1 - (1 - alpha) * o2) / (1 + alpha)
          (i1, i2, o1, o2) = (input, i1, output, o1)
          return Float(output)
        }
      }
      /// The program's words about a sound.
      func words(_ channels: [[Float]]) -> String {
        channels.enumerated().map { number, channel in
          let peak = channel.map { abs(Double($0)) }.max()!
          let mean = channel.reduce(0) { $0 + Double($1) * Double($1) } / Double(channel.count)
          return String(format: "channel %d: peak %.6f, RMS %.6f\n", number + 1, peak, sqrt(mean))
        }.joined()
      }
      try withExample("Tap", program: "tap") { program in
        for (options, expected) in [([], file.samples), (["-l", "800"], filtered)] {
          let wrong = try unlessBusy(patience: 0.01) { () -> String? in
            let (output, heard) = try stage.run(program, options + [file.path])
            expectEqual(output, words(expected))
            let channels = sound(heard)
            return (0..<2).compactMap {
              difference(channels[$0], expected[$0], tolerance: options.isEmpty ? 0 : 1e-6)
            }.first
          }
          expectNil(wrong, "\(options): \(wrong ?? "")")
        }
        try expectRefusals(
          program, usages: [[], ["-l", "0", file.path], ["-x", file.path]],
          missing: ["/nowhere.wav"])
      }
    }
  }

  @Test func metersShowTheLevels() throws {
    let stage = try Stage()
    let tone = try JackPeer.tone(hertz: 1000, amplitude: 0.5, offset: 0.1, on: stage.server)
    try withExample("Meters", program: "meters") { program in
      let output = try stage.run(program, ["-s", "1"]).output
      withExtendedLifetime(tone) {}
      let lines = output.split(separator: "\n").map(String.init)
      // 0.6 and 0.25 in decibels.
      expectEqual(
        lines.suffix(2),
        [
          "channel 1: highest peak -4.44 dB", "channel 2: highest peak -12.04 dB",
        ])
      expectTrue(lines.count >= 30 && lines.count % 2 == 0)
      for (line, (number, power, peak)) in zip(
        lines.dropLast(2).suffix(2),
        [(1, (0.125 + 0.01).squareRoot(), 0.6), (2, 0.25 * 0.5.squareRoot(), 0.25)])
      {
        func decibels(_ level: Double) -> Double { 20 * log10(level) }
        func place(_ level: Double) -> Int { Int((1 + decibels(level) / 60) * 60) }
        let match = try require(
          line.wholeMatch(of: #/ (\d) \[(#+) *\|( *)\] +(-[\d.]+) dB, peak +(-[\d.]+) dB/#))
        expectEqual(match.output.1, "\(number)")
        // A cycle need not have whole periods of the tone.
        expectTrue(abs(match.output.2.count - place(power)) <= 1, "\(line)")
        expectEqual(60 - match.output.3.count, place(peak), "\(line)")
        expectTrue(abs(Double(match.output.4)! - decibels(power)) < 0.3, "\(line)")
        expectTrue(abs(Double(match.output.5)! - decibels(peak)) < 0.06, "\(line)")
      }
      try expectRefusals(program, usages: [["-c", "0"], ["-x"], ["loud"]])
    }
  }

  @Test func aQueueIsExportedWithoutAServer() throws {
    try withTemporaryFolder { folder in
      func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
      let file = try WaveFile("a.wav", in: folder, frames: 30_001)
      let sine = (0..<44100).map { Float(0.5 * sin(2 * Double.pi * 440 * Double($0) / 44100)) }
      try writeWave([sine], rate: 44100, to: path("sine.wav"))
      try withExample("OfflineExport", program: "offline-export") { program in
        func exported(_ options: [String], _ source: String) throws -> [[Float]] {
          let result = try run(
            program, options + [source, path("out.wav")],
            environment: ["JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": ""])
          expectTrue(result.status == 0 && result.errors == "", "\(result)")
          let channels = try readWave(path("out.wav"))
          expectEqual(result.output, "\(channels[0].count) frames are in \(path("out.wav"))\n")
          return channels
        }
        expectNil(difference(try exported([], file.path), file.samples))
        expectNil(
          difference(
            try exported(["-g", "0.25"], file.path), file.samples.map { $0.map { $0 / 4 } }))
        // At another rate: the same sine, without a delay.
        let resampled = try exported(["-r", "48000"], path("sine.wav"))
        expectTrue(resampled.count == 1 && resampled[0].count == 48000)
        let expected = (0..<48000).map {
          Float(0.5 * sin(2 * Double.pi * 440 * Double($0) / 48000))
        }
        let middle = 2000..<46000
        expectNil(
          difference(Array(resampled[0][middle]), Array(expected[middle]), tolerance: 1e-4))
        // At half the speed: twice as long, at the same pitch.
        let slow = try exported(["-s", "0.5"], path("sine.wav"))[0]
        expectTrue(abs(slow.count - 88200) <= 10, "\(slow.count)")
        let periods = zip(slow, slow.dropFirst()).filter { $0 < 0 && $1 >= 0 }.count
        expectTrue(abs(periods - 880) <= 5, "\(periods)")
        try expectRefusals(
          program, usages: [[], [file.path], ["-s", "9", file.path, path("b.wav")]],
          missing: ["/nowhere.wav", path("b.wav")])
      }
    }
  }
}
