import Foundation
import TestSupport

/// Cost of playing a file with a program: medians of several runs.
struct PlayerCost: Row {
  var program: String
  /// Seconds of sound.
  var seconds: Int
  var runs: Int
  /// Processor time of the process, in user and kernel mode.
  var processorMilliseconds: Double
  /// Peak resident memory.
  var residentKilobytes: Double

  /// Period of the server in frames, at 48 kHz.
  static let period = 256

  static func all(_ effort: Effort, found: (PlayerCost) -> Void) throws {
    let server = try JackDaemon(rate: 48000, period: period)
    defer { server.stop() }
    try withTemporaryFolder { folder in
      let players: [(program: String, path: String, arguments: [String])] = [
        ("cuejack play", try builtProduct(named: "cuejack").path, ["play"]),
        ("sndfile-jackplay", "sndfile-jackplay", ["-a=system:playback_%d"]),
      ]
      for seconds in [effort.seconds.long, effort.seconds.short] {
        let file = folder.appendingPathComponent("\(seconds).wav")
        try waveFile(seconds: seconds).write(to: file)
        var runs = players.map { _ in [(milliseconds: Double, kilobytes: Double)]() }
        for run in 1...effort.runs {
          progress("players: \(seconds) s of sound, run \(run) of \(effort.runs)")
          for (i, player) in players.enumerated() {
            let child = try Child(
              player.path, player.arguments + [file.path],
              environment: ProcessInfo.processInfo.environment.merging(
                ["JACK_DEFAULT_SERVER": server.name]) { $1 },
              output: folder.appendingPathComponent("output"))
            // Read near the end of the sound, when the process has touched all of its memory.
            if child.wait(seconds: 0.7 * Double(seconds)) != nil {
              throw failure(player.program, in: folder)
            }
            let resident = residentKilobytes(of: child.processIdentifier)
            // A cycle that was late on a busy machine makes cuejack report frames not heard, but
            // does not affect the cost.
            let hasPlayed =
              child.wait(seconds: 30 + Double(seconds)) == 0
              || text(of: folder.appendingPathComponent("output")).contains("frames not heard")
            guard hasPlayed, let resident else {
              throw failure(player.program, in: folder)
            }
            runs[i].append((1000 * child.processorSeconds, resident))
          }
        }
        for (player, runs) in zip(players, runs) {
          found(
            PlayerCost(
              program: player.program, seconds: seconds, runs: runs.count,
              processorMilliseconds: median(runs.map(\.milliseconds)),
              residentKilobytes: median(runs.map(\.kilobytes))))
        }
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A player, from start to end: 16 bits, stereo, 48 kHz, cycles of \(period) frames"
        + " (medians of \(effort.runs))",
      "",
      "program           sound   processor   resident",
    ]
  }

  func lines(after rows: [PlayerCost]) -> [String] {
    let line =
      left(program, 16) + right("\(seconds) s", 7)
      + right("\(number(processorMilliseconds, 1)) ms", 12)
      + right("\(number(residentKilobytes / 1024, 1)) MB", 11)
    guard let ours = rows.last, ours.seconds == seconds else { return [line] }
    return [
      line,
      left("ratio", 16) + right("\(seconds) s", 7)
        + right(number(ours.processorMilliseconds / processorMilliseconds, 2), 9)
        + right(number(ours.residentKilobytes / residentKilobytes, 2), 11),
    ]
  }

  private static func failure(_ program: String, in folder: URL) -> SupportError {
    let words = text(of: folder.appendingPathComponent("output"))
    return SupportError("\(program) did not play the file: \(words.suffix(1000))")
  }

  /// Returns the peak resident memory of a running process, as the kernel reports it.
  ///
  /// Not `ru_maxrss`, which includes the peak of the process that forked it.
  private static func residentKilobytes(of process: Int32) -> Double? {
    text(of: URL(fileURLWithPath: "/proc/\(process)/status"))
      .firstMatch(of: #/VmHWM:\s*(\d+) kB/#).flatMap { Double($0.output.1) }
  }

  /// Returns a WAVE file with a stereo tone of 16 bits.
  static func waveFile(seconds: Int, rate: Int = 48000) -> Data {
    func bytes<T: FixedWidthInteger>(_ value: T) -> Data {
      withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
    var sound = Data()
    for frame in 0..<rate * seconds {
      let sample = Int16(8000 * sin(2 * .pi * 440 / Double(rate) * Double(frame)))
      sound += bytes(sample) + bytes(sample)
    }
    var file = Data("RIFF".utf8) + bytes(UInt32(36 + sound.count)) + Data("WAVEfmt ".utf8)
    file += bytes(UInt32(16)) + bytes(UInt16(1)) + bytes(UInt16(2)) + bytes(UInt32(rate))
    file += bytes(UInt32(rate * 4)) + bytes(UInt16(4)) + bytes(UInt16(16))
    return file + Data("data".utf8) + bytes(UInt32(sound.count)) + sound
  }
}
