import Foundation
import TestSupport

/// Cost of recording many channels with a program, in several runs.
struct RecordingCost: Row {
  var program: String
  var channels: Int
  /// Seconds of sound.
  var seconds: Int
  var runs: Int
  /// Processor time of the process, in user and kernel mode.
  var processorMilliseconds: Spread
  /// Resident memory beyond JACK's shared segment, near the end.
  var residentKilobytes: Spread
  /// Frames that are missing inside the recordings, in all runs.
  var lostFrames: Int

  static let channels = 32
  /// Period of the server in frames, at 48 kHz.
  static let period = 256
  private static let rate = 48000

  /// A program that records all ports of the client `source` as 24-bit WAVE.
  private struct Recorder {
    let program: String
    let path: String
    let arguments: (_ file: String, _ seconds: Int) -> [String]
  }

  private static func recorders() throws -> [Recorder] {
    let ports = (1...channels).map { "source:out_\($0)" }
    let cuejack = try builtProduct(named: "cuejack").path
    let all = [
      Recorder(program: "cuejack record", path: cuejack) {
        ["record", $0, "--bits", "24", "--seconds", "\($1)", "--connect", "source"]
      },
      Recorder(program: "jack_capture", path: "jack_capture") {
        ["-as", "-ns", "-dc", "-b", "24", "-c", "\(channels)", "-d", "\($1)", "-fn", $0]
          + ports.flatMap { ["-p", $0] }
      },
      Recorder(program: "jack_rec", path: "jack_rec") {
        ["-f", $0, "-d", "\($1)", "-b", "24"] + ports
      },
    ]
    return all.filter { $0.program == "cuejack record" || isThere($0.path, telling: true) }
  }

  static func all(_ effort: Effort, found: (RecordingCost) -> Void) throws {
    let server = try JackDaemon(rate: rate, period: period)
    defer { server.stop() }
    let recorders = try recorders()
    try withTemporaryFolder { folder in
      let sound = folder.appendingPathComponent("source.wav")
      try rampFile(seconds: 2).write(to: sound)
      let environment = ProcessInfo.processInfo.environment.merging(
        ["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"]) { $1 }
      let output = folder.appendingPathComponent("source")
      let source = try Child(
        builtProduct(named: "cuejack").path,
        ["play", sound.path, "--loop", "--name", "source", "--no-connect"],
        environment: environment, output: output)
      defer { source.end(seconds: 5) }
      guard waits(for: { text(of: output).contains("start frame") }) else {
        throw failure("the source", output)
      }
      var runs = recorders.map { _ in [(processor: Double, resident: Double, lost: Int)]() }
      for run in 1...effort.runs {
        progress("recordings: \(channels) channels, run \(run) of \(effort.runs)")
        for (i, recorder) in recorders.enumerated() {
          runs[i].append(
            try record(with: recorder, seconds: effort.seconds, environment, folder))
        }
      }
      for (recorder, runs) in zip(recorders, runs) {
        found(
          RecordingCost(
            program: recorder.program, channels: channels, seconds: effort.seconds,
            runs: runs.count, processorMilliseconds: Spread(runs.map(\.processor)),
            residentKilobytes: Spread(runs.map(\.resident)),
            lostFrames: runs.reduce(0) { $0 + $1.lost }))
      }
    }
  }

  private static func record(
    with recorder: Recorder, seconds: Int, _ environment: [String: String], _ folder: URL
  ) throws -> (processor: Double, resident: Double, lost: Int) {
    let file = folder.appendingPathComponent("take.wav")
    let output = folder.appendingPathComponent("recorder")
    // jack_rec connects its ports before jackd knows of them, now and then, and ends.
    var tries = 0
    var child: Child
    repeat {
      child = try Child(
        recorder.path, recorder.arguments(file.path, seconds), environment: environment,
        output: output)
      tries += 1
      // Read near the end of the sound, when the process has touched all of its memory.
      if child.wait(seconds: 0.7 * Double(seconds)) == nil { break }
      if tries == 5 { throw failure(recorder.program, output) }
    } while true
    let resident = PlayerCost.residentKilobytes(of: child.processIdentifier)
    guard child.wait(seconds: 30 + Double(seconds)) != nil, let resident else {
      throw failure(recorder.program, output)
    }
    let lost = try lostFrames(in: file, seconds: seconds, folder)
    try FileManager.default.removeItem(at: file)
    return (1000 * child.processorSeconds, resident, lost)
  }

  /// Returns how many frames are missing between the first and the last frame of a recording. Each sample of the
  /// source is one step greater than the one before.
  private static func lostFrames(in file: URL, seconds: Int, _ folder: URL) throws -> Int {
    let raw = folder.appendingPathComponent("take.raw")
    let made = try TestSupport.run(
      "sox", ["-D", file.path, "-t", "raw", "-e", "signed", "-b", "16", raw.path, "remix", "1"])
    let samples = try Data(contentsOf: raw).withUnsafeBytes {
      Array($0.bindMemory(to: UInt16.self))
    }
    // Recorders may connect their ports a little after they begin.
    let first = samples.firstIndex { $0 != 0 } ?? samples.endIndex
    guard made.status == 0, samples.count - first > rate * seconds / 2 else {
      throw SupportError("the recording has \(samples.count) frames: \(made.errors)")
    }
    var lost = 0
    for i in first..<samples.count - 1 { lost += Int(samples[i + 1] &- samples[i] &- 1) }
    return lost
  }

  /// A WAVE file of 16 bits whose samples count the frames, in each channel. It can be looped.
  private static func rampFile(seconds: Int) -> Data {
    let frames = max(1, seconds * rate >> 16) << 16
    let samples = [Int16](unsafeUninitializedCapacity: frames * channels) { samples, count in
      count = frames * channels
      for i in 0..<count { samples[i] = Int16(truncatingIfNeeded: i / channels) }
    }
    return cuejack_bench.waveFile(samples, channels: channels, rate: rate)
  }

  private static func failure(_ program: String, _ output: URL) -> SupportError {
    SupportError("\(program) failed: \(text(of: output).suffix(1000))")
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Recording \(channels) channels of 24 bits for \(effort.seconds) s, 48 kHz, cycles of \(period) frames"
        + " (medians of \(effort.runs), least and greatest)",
      "",
      "program                 processor, ms       beyond JACK's, MB   frames lost",
    ]
  }

  func lines(after rows: [RecordingCost]) -> [String] {
    [
      left(program, 16) + right(processorMilliseconds.text(0), 22)
        + right(residentKilobytes.text(1, over: 1024), 24) + right("\(lostFrames)", 14)
    ]
  }
}
