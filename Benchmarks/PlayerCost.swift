import Foundation
import TestSupport

/// Cost of playing a file with a program, in several runs.
struct PlayerCost: Row {
  var program: String
  /// Seconds of sound.
  var seconds: Int
  var runs: Int
  /// Time from the start of the process to its first sample that is not 0, in frames of the server.
  var firstSoundMilliseconds: Spread
  /// Processor time of the process, in user and kernel mode.
  var processorMilliseconds: Spread
  /// Resident memory beyond JACK's shared segment, near the end.
  var residentKilobytes: Spread

  /// Period of the server in frames, at 48 kHz.
  static let period = 256
  private static let rate = 48000

  /// A program that plays a file on the ports of a client `card`.
  private struct Player {
    let program: String
    let path: String
    let arguments: (_ file: String) -> [String]
  }

  private static func players() throws -> [Player] {
    let cuejack = try builtProduct(named: "cuejack").path
    let all = [
      Player(program: "cuejack play", path: cuejack) { ["play", $0] },
      Player(program: "sndfile-jackplay", path: "sndfile-jackplay") { ["-a=card:in_%d", $0] },
      Player(program: "mpv", path: "mpv") {
        ["--no-config", "--no-video", "--really-quiet", "--ao=jack", "--jack-port=card", $0]
      },
      Player(program: "ecasound", path: "ecasound") {
        [
          "-q", "-b:\(period)", "-G:jack,ecasound,notransport", "-f:16,2,\(rate)", "-i", $0,
          "-o", "jack,card",
        ]
      },
    ]
    return all.filter { $0.program == "cuejack play" || isThere($0.path, telling: true) }
  }

  static func all(_ effort: Effort, found: (PlayerCost) -> Void) throws {
    // The only ports to play on are those of a client that stands for the sound card.
    let server = try JackDaemon(rate: rate, period: period, playbackPorts: 0)
    defer { server.stop() }
    let players = try players()
    try withTemporaryFolder { folder in
      let seconds = effort.seconds
      let file = folder.appendingPathComponent("sound.wav")
      try waveFile(seconds: seconds).write(to: file)
      let card = try CaptureClient(
        on: server, name: "card", capacity: (seconds + 5) * rate, isSoundCard: true)
      var runs = players.map { _ in [Run]() }
      for run in 1...effort.runs {
        progress("players: run \(run) of \(effort.runs)")
        for (i, player) in players.enumerated() {
          runs[i].append(try play(file, seconds, with: player, on: server, card, folder))
        }
      }
      for (player, runs) in zip(players, runs) {
        found(
          PlayerCost(
            program: player.program, seconds: seconds, runs: runs.count,
            firstSoundMilliseconds: Spread(runs.map(\.firstSound)),
            processorMilliseconds: Spread(runs.map(\.processor)),
            residentKilobytes: Spread(runs.map(\.resident))))
      }
    }
  }

  /// What one run took: milliseconds, and kilobytes.
  private struct Run {
    let firstSound: Double
    let processor: Double
    let resident: Double
  }

  private static func play(
    _ file: URL, _ seconds: Int, with player: Player, on server: JackDaemon, _ card: CaptureClient,
    _ folder: URL
  ) throws -> Run {
    card.arm()
    guard card.wait(untilFrames: 1) else { throw SupportError("the server runs no cycles") }
    let begin = card.capturedFrames
    let child = try Child(
      player.path, player.arguments(file.path),
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
    card.disarm()
    let first = card.samples(channel: 0).dropFirst(begin).firstIndex { $0 != 0 }
    guard hasPlayed, let resident, let first else { throw failure(player.program, in: folder) }
    return Run(
      firstSound: 1000 * Double(first - begin) / Double(rate),
      processor: 1000 * child.processorSeconds, resident: resident)
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A player, from start to end: 16 bits, stereo, 48 kHz, cycles of \(period) frames"
        + " (medians of \(effort.runs), least and greatest)",
      "",
      "program           sound         first sound, ms         processor, ms       beyond JACK's, MB",
    ]
  }

  func lines(after rows: [PlayerCost]) -> [String] {
    let line =
      left(program, 16) + right("\(seconds) s", 7) + right(firstSoundMilliseconds.text(0), 24)
      + right(processorMilliseconds.text(1), 22)
      + right(residentKilobytes.text(1, over: 1024), 24)
    guard let ours = rows.first else { return [line] }
    func ratio(_ part: KeyPath<PlayerCost, Spread>) -> String {
      number(ours[keyPath: part].median / self[keyPath: part].median, 2)
    }
    return [
      line,
      left("  ratio", 16) + right("", 7) + right(ratio(\.firstSoundMilliseconds), 24)
        + right(ratio(\.processorMilliseconds), 22) + right(ratio(\.residentKilobytes), 24),
    ]
  }

  private static func failure(_ program: String, in folder: URL) -> SupportError {
    let words = text(of: folder.appendingPathComponent("output"))
    return SupportError("\(program) did not play the file: \(words.suffix(1000))")
  }

  /// Returns the resident memory of a running process beyond what it shares with JACK's server: each page as a whole.
  static func residentKilobytes(of process: Int32) -> Double? {
    var sum = 0.0
    var isJack = false
    for line in text(of: URL(fileURLWithPath: "/proc/\(process)/smaps")).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words[0].contains("-") {
        isJack = words.last?.hasPrefix("/dev/shm/jack") == true
      } else if words[0] == "Rss:", !isJack {
        sum += Double(words[1]) ?? 0
      }
    }
    return sum > 0 ? sum : nil
  }

  /// A WAVE file of 16 bits with a stereo sine.
  static func waveFile(seconds: Int, rate: Int = 48000) -> Data {
    let samples = (0..<rate * seconds).flatMap { frame in
      let sample = Int16(8000 * sin(2 * .pi * 440 / Double(rate) * Double(frame)))
      return [sample, sample]
    }
    return cuejack_bench.waveFile(samples, channels: 2, rate: rate)
  }
}

/// Returns a WAVE file of interleaved samples.
func waveFile(_ samples: [Int16], channels: Int, rate: Int) -> Data {
  func bytes<T: FixedWidthInteger>(_ value: T) -> Data {
    withUnsafeBytes(of: value.littleEndian) { Data($0) }
  }
  let sound = samples.withUnsafeBytes { Data($0) }
  var file = Data("RIFF".utf8) + bytes(UInt32(36 + sound.count)) + Data("WAVEfmt ".utf8)
  file += bytes(UInt32(16)) + bytes(UInt16(1)) + bytes(UInt16(channels)) + bytes(UInt32(rate))
  file += bytes(UInt32(rate * channels * 2)) + bytes(UInt16(channels * 2)) + bytes(UInt16(16))
  return file + Data("data".utf8) + bytes(UInt32(sound.count)) + sound
}
