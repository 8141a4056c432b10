import Foundation
import TestSupport
import Testing

/// `cuejack play` with a PipeWire sink.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWirePlayTests {
  @Test(arguments: Sink.allCases, [1024, 2048])
  func aFileIsHeardBitForBit(sink: Sink, quantum: Int) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .s24, frames: 24_100)
      let stage = try Stage(sink, quantum: quantum)
      let (result, recording) = try stage.hear("play", [file.path])
      expectSuccess(result)
      expectTrue(result.output.contains("played 24100 frames from frame "), "\(result)")
      recording.expect(file.samples)
    }
  }

  @Test(arguments: Sink.allCases) func severalFilesStartOnOneFrame(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, frames: 8000 * $0, seed: UInt64($0))
      }
      let stage = try Stage(sink)
      let (result, recording) = try stage.hear("play", files.map(\.path))
      expectSuccess(result)
      // Sums of 16-bit samples are exact in any order.
      let sums = (0..<2).map { channel in
        (0..<24_000).map { frame in
          files.reduce(Float(0)) { sum, file in
            sum + (frame < file.frames ? file.samples[channel][frame] : 0)
          }
        }
      }
      recording.expect(sums)
    }
  }

  @Test(arguments: Sink.allCases) func aStartInTheFutureIsHeardWhole(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let stage = try Stage(sink)
      let (result, recording) = try stage.hear("play", [file.path, "--at", "+0.7"])
      expectSuccess(result)
      recording.expect(file.samples)
    }
  }

  /// PipeWire's transport waits for nobody: the file is heard from where the transport is by then, to the end.
  @Test(arguments: Sink.allCases) func theTransportStartsTheFile(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 192_000)
      let stage = try Stage(sink)
      let capture = try JackPeer.capture(seconds: 30, on: stage.daemon)
      let player = try Playing(
        [file.path, "--transport", "--connect", stage.daemon.inputs.joined(separator: ",")],
        in: folder,
        environment: stage.daemon.environment)
      try player.wait(for: "follows the transport")
      let rolled = try stage.daemon.run(
        "bash", ["-c", "printf 'locate 0\\nplay\\nquit\\n' | jack_transport"])
      expectEqual(rolled.status, 0, "\(rolled)")
      let result = try player.result()
      expectSuccess(result)
      let recording = try capture.end()
      for (channel, samples) in recording.samples.enumerated() {
        let end = try require(
          samples.lastIndex { $0 != 0 }, "nothing is heard: \(result) \(rolled)")
        let heard = samples[...end].drop { $0 == 0 }
        expectTrue(heard.count > 96_000 && heard.count <= file.frames, "\(heard.count) frames")
        let isTheEnd = heard.elementsEqual(file.samples[channel].suffix(heard.count))
        expectTrue(isTheEnd, "channel \(channel): \(heard.count) frames")
      }
    }
  }

  /// An amplifier at 0 dB does not change a bit.
  @Test(arguments: Sink.allCases, [[], ["--isolate", "all"]])
  func filesAreHeardThroughPlugins(sink: Sink, arguments: [String]) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let stage = try Stage(sink)
      let (result, recording) = try stage.hear(
        "play",
        [file.path, file.path, "--plugin", "http://lv2plug.in/plugins/eg-amp:gain=0"] + arguments,
        environment: ["LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path])
      // A plugin's process that a busy machine holds up is late: its input is heard, which is the same at 0 dB.
      let errors = result.errors.split(separator: "\n").filter { !$0.contains("” was late ") }
      expectTrue(result.status == 0 && errors == [], "\(result)")
      recording.expect(file.samples.map { $0.map { 2 * $0 } })
    }
  }

  /// Ten starts, or 200 in the long proof.
  @Test(arguments: Sink.allCases) func everyStartOfARowIsHeardWhole(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let stage = try Stage(sink)
      for start in 1...(proof == nil ? 10 : 200) {
        let (result, recording) = try stage.hear("play", [file.path])
        expectSuccess(result, "start \(start)")
        recording.expect(file.samples, "start \(start)")
      }
    }
  }

  @Test(arguments: Sink.allCases) func twoProcessesStartOnTheFrameOfOneHostTime(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let files = try (1...2).map {
        try WaveFile("\($0).wav", in: folder, frames: 24_000, seed: UInt64($0))
      }
      let stage = try Stage(sink)
      let capture = try JackPeer.capture(on: stage.daemon)
      let (first, time) = try startPlaying([files[0].path], in: folder, on: stage.daemon)
      let second = try Playing(
        [files[1].path, "--name", "other", "--at", "\(time)ns"], in: folder,
        environment: stage.daemon.environment)
      for player in [first, second] { expectSuccess(try player.result()) }
      let recording = try capture.end()
      let start = recording.expect(
        (0..<2).map { channel in
          zip(files[0].samples[channel], files[1].samples[channel]).map { $0 + $1 }
        })
      // The sink drives the cycles, so its monitor carries its input one cycle later.
      let asked = try require(recording.index(ofHostTime: time, rate: 48_000))
      let heard = try require(start) - stage.daemon.period
      expectTrue(abs(asked - Double(heard)) <= 1, "asked \(asked), heard \(heard)")
    }
  }

  @Test func aFrameThatIsAnotherOneElsewhereIsRefused() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let stage = try Stage(.idle)
      let result = try play([file.path, "--at", "480000"], environment: stage.daemon.environment)
      expectTrue(result.status == 64 && result.errors.contains("give a host time"), "\(result)")
    }
  }

  // MARK: Changes of the clock

  /// PipeWire skips cycles when the period changes. Nothing else may be missing or repeated, and all
  /// later frames must be in place.
  @Test(arguments: Sink.allCases) func aForcedQuantumIsPlayedThrough(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try writeNumbers("numbers.wav", in: folder, frames: 192_000)
      let stage = try Stage(sink)
      let capture = try JackPeer.capture(on: stage.daemon)
      let player = try Playing([file], in: folder, environment: stage.daemon.environment)
      try player.wait(for: "start frame")
      for quantum in [256, 2048, nil] {
        usleep(600_000)
        try stage.daemon.force(quantum: quantum)
      }
      let result = try player.result()
      let missing = result.output.firstMatch(of: #/(\d+) frames not heard/#)
        .flatMap { Int($0.output.1) }
      expectEqual(result.status, (missing == nil ? 0 : 1), "\(result)")
      let numbers = try capture.end().samples[0].filter { $0 != 0 }.map { Int($0 * 0x1p24) }
      expectTrue(numbers.first == 1 && numbers.last == 192_000, "\(result)")
      let steps = zip(numbers, numbers.dropFirst()).map { $1 - $0 - 1 }.filter { $0 != 0 }
      // The sink's monitor lags by one cycle, and loses that cycle when the period changes.
      let lost = (missing ?? 0) + 1024 + 256 + 2048
      expectTrue(steps.allSatisfy { $0 > 0 } && steps.reduce(0, +) <= lost, "\(steps), \(result)")
      expectTrue(steps.count <= 6 && result.errors.split(separator: "\n").count <= 3, "\(result)")
    }
  }

  @Test(arguments: Sink.allCases) func aForcedRateIsPlayedThrough(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 192_000)
      let stage = try Stage(sink)
      let player = try Playing([file.path], in: folder, environment: stage.daemon.environment)
      try player.wait(for: "start frame")
      usleep(600_000)
      try stage.daemon.force(rate: 44100)
      usleep(1_000_000)
      try stage.daemon.force(rate: nil)
      let result = try player.result()
      // Cycles that PipeWire skips during the change are not heard, and are reported.
      expectEqual(
        result.status, (result.output.contains("frames not heard") ? 1 : 0), "\(result)")
      expectTrue(!result.errors.contains("went away"), "\(result.errors)")
      expectTrue(result.errors.split(separator: "\n").count <= 2, "\(result.errors)")
    }
  }
}
