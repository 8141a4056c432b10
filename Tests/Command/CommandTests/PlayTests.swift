import Foundation
import TestSupport
import Testing

/// The samples and start frames of `cuejack play`.
@Suite(.tags(.server, .program), .serialized) struct PlayTests {
  private let toCapture = ["--connect", "capture:in_1,capture:in_2"]

  @Test(arguments: WaveFile.Coding.allCases)
  func theSamplesAreTheFilesFromTheFrameThatWasAsked(coding: WaveFile.Coding) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: coding, frames: 24_100)
      let recording = try Recording(channels: 2, in: folder, [[file.path] + toCapture])
      for channel in 0..<2 { recording.expect(channel, file.samples[channel]) }
      let result = recording.results[0]
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(result.output.contains("played 24100 frames from frame "))
      expectTrue(result.output.contains("underruns: 0 ") || result.output.contains("ran dry: 0,"))
    }
  }

  /// Priming and remainder frames of codecs are not played, and nothing else is missing.
  @Test func packetsAreHeardAsTheyAreDecoded() throws {
    let kinds = [
      ("a.m4a", ["-c:a", "aac"]), ("a.mp3", ["-c:a", "libmp3lame"]),
      ("a.flac", ["-c:a", "flac", "-sample_fmt", "s32"]), ("a.opus", ["-c:a", "libopus"]),
    ]
    try withTemporaryFolder { folder in
      let noise = try WaveFile("noise.wav", in: folder, coding: .s24, frames: 24_100)
      let files = try kinds.map { name, arguments in
        let file = folder.appendingPathComponent(name).path
        let made = try run("ffmpeg", ["-v", "error", "-i", noise.path] + arguments + [file])
        try require(made.status == 0, "\(made.errors)")
        return file
      }
      let recording = try Recording(
        channels: 8, in: folder,
        files.enumerated().map { number, file in
          [file, "--name", "player-\(number)", "--connect", "capture:in_\(2 * number + 1)"]
            + ["--connect", "capture:in_\(2 * number + 2)"]
        })
      for (number, file) in files.enumerated() {
        let raw = folder.appendingPathComponent("\(number).wav").path
        let decoded = try cuejack("convert", [file, raw, "--format", "f32"])
        expectTrue(decoded.status == 0 && decoded.output.contains(" 24100 frames"), "\(decoded)")
        let data = try Data(contentsOf: URL(fileURLWithPath: raw)).suffix(8 * 24_100)
        let samples = [UInt8](data).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        for channel in 0..<2 {
          recording.expect(
            2 * number + channel, (0..<24_100).map { samples[2 * $0 + channel] })
        }
        let result = recording.results[number]
        expectTrue(result.status == 0 && result.errors == "", "\(result)")
        expectTrue(result.output.contains("played 24100 frames from frame "), "\(result)")
      }
    }
  }

  /// Ten starts, or 200 in the long proof, on a server that another client uses or none.
  @Test(arguments: [false, true]) func everyStartOfARowIsHeardWhole(isBusy: Bool) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon(period: 1024)
      let other = isBusy ? try JackPeer.silence(on: server) : nil
      let capture = try CaptureClient(on: server, channels: 2, capacity: 20 * server.rate)
      for start in 1...(proof == nil ? 10 : 200) {
        capture.arm()
        let result = try play([file.path, "--server", server.name] + toCapture)
        capture.disarm()
        expectTrue(result.status == 0 && result.errors == "", "start \(start): \(result)")
        let found = result.output.firstMatch(of: #/played 4800 frames from frame (\d+)/#)
        let frame = try require(
          found.flatMap { UInt64($0.output.1) }, "start \(start): \(result)")
        let begin = Int(UInt32(truncatingIfNeeded: frame) &- capture.firstFrame)
        for channel in 0..<2 {
          let heard = capture.samples(channel: channel)
          try require(begin >= 0 && heard.count >= begin + 4800, "start \(start)")
          expectTrue(heard[..<begin].allSatisfy { $0 == 0 }, "start \(start)")
          expectEqual(Array(heard[begin..<begin + 4800]), file.samples[channel], "start \(start)")
        }
      }
      withExtendedLifetime(other) {}
    }
  }

  @Test func twoProcessesStartOnOneFrame() throws {
    try withTemporaryFolder { folder in
      let first = try WaveFile("a.wav", in: folder, frames: 24_000, seed: 1)
      let second = try WaveFile("b.wav", in: folder, coding: .s24, frames: 20_001, seed: 2)
      let recording = try Recording(
        channels: 4, in: folder,
        [
          [first.path] + toCapture,
          [second.path, "--name", "other", "--connect", "capture:in_3,capture:in_4"],
        ])
      for channel in 0..<2 {
        recording.expect(channel, first.samples[channel])
        recording.expect(channel + 2, second.samples[channel])
      }
      expectTrue(recording.results.allSatisfy { $0.status == 0 && $0.errors == "" })
    }
  }

  @Test func severalFilesInOneProcessStartOnOneFrame() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile(
          "\($0).wav", in: folder, channels: 1, frames: 12_000 * $0 / 2, seed: UInt64($0))
      }
      let recording = try Recording(
        channels: 3, in: folder, [files.map(\.path) + ["--no-connect", "--name", "part"]]
      ) { capture in
        for (i, name) in ["part", "part-2", "part-3"].enumerated() {
          expectEqual(capture.connections(of: "\(name):out_1"), [])
          try capture.connect("\(name):out_1", toInput: i + 1)
        }
      }
      for (i, file) in files.enumerated() { recording.expect(i, file.samples[0]) }
      expectTrue(recording.results[0].output.contains("part-3:out_1 -> not connected"))
    }
  }

  @Test func volumeIsAFactorOnEverySample() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 9000)
      let recording = try Recording(
        channels: 2, in: folder, [[file.path, "--volume", "0.5"] + toCapture])
      for channel in 0..<2 { recording.expect(channel, file.samples[channel].map { $0 * 0.5 }) }
    }
  }

  @Test func secondsEndItOnTheFrame() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let recording = try Recording(
        channels: 2, in: folder, [[file.path, "--seconds", "0.25"] + toCapture])
      for channel in 0..<2 {
        recording.expect(channel, Array(file.samples[channel].prefix(12_000)))
      }
      expectTrue(recording.results[0].output.contains("played 12000 frames"))
    }
  }

  /// In real time, without --at and with a start frame in the past.
  @Test func startAndEndLeaveOutTheRest() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let recording = try Recording(
        channels: 2, in: folder, [[file.path, "--start", "0.1", "--end", "0.35"] + toCapture])
      for channel in 0..<2 {
        recording.expect(channel, Array(file.samples[channel][4800..<16_800]))
      }
      expectTrue(recording.results[0].output.contains("played 12000 frames"))
    }
  }

  @Test func aLoopHasNoGapAndSecondsEndIt() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 9000)
      let recording = try Recording(
        channels: 2, in: folder,
        [[file.path, "--loop", "--start", "0.025", "--seconds", "0.5"] + toCapture])
      for channel in 0..<2 {
        let part = file.samples[channel][1200...]
        recording.expect(channel, Array((part + part + part + part).prefix(24_000)))
      }
      expectEqual(recording.results[0].status, 0)
    }
  }

  @Test func fadesAndPanFollowTheirFormulas() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 20_000)
      let recording = try Recording(
        channels: 2, in: folder,
        [
          [
            file.path, "--fade-in", "0.1", "--fade-out", "0.2", "--volume", "0.5", "--pan",
            "-0.25",
          ] + toCapture
        ])
      for channel in 0..<2 {
        let balance: Float = channel == 0 ? 1 : 0.75
        let expected = file.samples[channel].enumerated().map { i, sample -> Float in
          // Fades in over 4800 frames and out over the last 9600.
          if i < 4800 { return sample * balance * Float(0.5 * (Double(i) / 4800)) }
          if i < 10_400 { return sample * (0.5 * balance) }
          return sample * balance * Float(0.5 + -0.5 * (Double(i - 10_400) / 9600))
        }
        recording.expect(channel, expected)
      }
    }
  }

  @Test func filesBeginOneAfterTheOtherToTheFrame() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, channels: 1, frames: 4000, seed: UInt64($0))
      }
      let recording = try Recording(
        channels: 3, in: folder,
        [files.map(\.path) + ["--no-connect", "--name", "part", "--stagger", "0.1001"]]
      ) { capture in
        for (i, name) in ["part", "part-2", "part-3"].enumerated() {
          try capture.connect("\(name):out_1", toInput: i + 1)
        }
      }
      for (i, file) in files.enumerated() {
        let silence = [Float](repeating: 0, count: Int((0.1001 * 48_000 * Double(i)).rounded()))
        recording.expect(i, silence + file.samples[0])
      }
      expectTrue(
        recording.results[0].status == 0 && recording.results[0].errors == "",
        "\(recording.results[0])")
    }
  }

  @Test(arguments: [[], ["--at", "+0.3"], ["--at", "PAST"]])
  func filesStartTogetherWithoutAFutureFrame(arguments: [String]) throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, frames: 4800 * $0, seed: UInt64($0))
      }
      let server = try JackDaemon(period: 1024)
      let probe = try CaptureClient(on: server, capacity: 0)
      let past = "\(probe.cycleFrame)"
      usleep(100_000)
      let result = try play(
        files.map(\.path) + arguments.map { $0 == "PAST" ? past : $0 } + ["--server", server.name])
      let starts = result.output.matches(of: #/played (\d+) frames from frame (\d+)/#)
      expectEqual(result.status, 0, "\(result.errors)")
      expectEqual(starts.count, 3)
      expectEqual(Set(starts.map(\.output.2)).count, 1)
      expectEqual(starts.map { Int($0.output.1) }, [4800, 9600, 14400])
      expectEqual(result.output.contains("past"), (arguments.last == "PAST"))
    }
  }

  @Test func aFileAtAnotherRateLastsAsLong() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, rate: 44_100, frames: 22_050)
      let server = try JackDaemon(period: 1024)
      let result = try play([file.path, "--server", server.name])
      let played = try require(result.output.firstMatch(of: #/played (\d+) frames/#))
      expectTrue(abs(try require(Int(played.output.1)) - 24_000) <= 1)
      expectEqual(result.status, 0)
    }
  }

  @Test func connectionsAreAsAsked() throws {
    try withTemporaryFolder { folder in
      let stereo = try WaveFile("s.wav", in: folder, frames: 240_000)
      let mono = try WaveFile("m.wav", in: folder, channels: 1, frames: 240_000)
      let server = try JackDaemon()
      let capture = try CaptureClient(on: server, capacity: 0)
      func connections(_ arguments: [String]) throws -> [[String]] {
        let player = try Playing(arguments + ["--server", server.name], in: folder)
        try player.wait(for: "start frame")
        let found = ["out_1", "out_2"].map {
          capture.connections(of: "cuejack-play:\($0)").sorted()
        }
        player.send(signal: SIGTERM)
        let result = try player.result()
        for (i, names) in found.enumerated() where !names.isEmpty {
          expectTrue(
            result.output.contains(
              "  cuejack-play:out_\(i + 1) -> \(names.joined(separator: ", "))\n"))
        }
        return found
      }
      try expectEqual(connections([stereo.path]), [["system:playback_1"], ["system:playback_2"]])
      try expectEqual(connections([mono.path]), [["system:playback_1", "system:playback_2"], []])
      try expectEqual(
        connections([stereo.path, "--connect", "capture:in_2", "--connect", "capture:in_1"]),
        [["capture:in_2"], ["capture:in_1"]])
      try expectEqual(connections([stereo.path] + toCapture), [["capture:in_1"], ["capture:in_2"]])
      try expectEqual(
        connections([mono.path] + toCapture), [["capture:in_1", "capture:in_2"], []])
      try expectEqual(connections([stereo.path, "--no-connect"]), [[], []])
    }
  }

  /// The demo's command with its own files, on another server.
  @Test func theDemoPlaysItsFilesTogether() throws {
    let makefile = text(of: repository.appendingPathComponent("Makefile"))
    let command = try require(makefile.firstMatch(of: #/cuejack play ((?:.*\\\n)*.*)\n/#))
    let words = command.output.1.replacing("\\\n", with: " ").replacing("'", with: "")
      .split(whereSeparator: \.isWhitespace).map(String.init)
    let files = words.filter { $0.hasPrefix("sessions/demo/") }
    let plugins = words.filter { !$0.hasPrefix("sessions/demo/") }
    expectTrue(files.count == 3 && plugins.count { $0 == "--plugin" } == 2 && plugins.count == 4)
    try withTemporaryFolder { folder in
      let demo = folder.path + "/sessions/demo"
      let made = try cuejack("demo", [demo])
      try require(made.status == 0, "\(made.errors)")
      // A second time, nothing is replaced.
      let again = try cuejack("demo", [demo])
      expectTrue(again.status == 1 && again.errors.contains("--force replaces it"), "\(again)")
      let server = try JackDaemon(period: 1024)
      let paths = files.map { folder.appendingPathComponent($0).path }
      let result = try play(
        paths + plugins + ["--seconds", "1", "--server", server.name],
        environment: pluginEnvironment())
      expectEqual(result.status, 0, "\(result.errors)")
      let starts = result.output.matches(of: #/played (\d+) frames from frame (\d+)/#)
      expectEqual(starts.count, 3)
      expectEqual(Set(starts.map(\.output.2)).count, 1)
      for path in paths {
        expectTrue(result.output.contains("\(path): server \(server.name), client"))
      }
    }
  }
}
