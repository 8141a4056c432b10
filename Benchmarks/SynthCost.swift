import Foundation
import TestSupport

/// Cost of a cycle in which voices of a SoundFont sound: processor time of the program's busiest thread, which is JACK's
/// process thread.
struct SynthCost: Row {
  var program: String
  var voices: Int
  var runs: Int
  /// Time of a cycle; nil if the program is not here.
  var microseconds: Spread?
  /// Share of fluidsynth's time, run by run.
  var ratio: Spread?

  /// Period of the server in frames, at 48 kHz.
  static let period = 256
  private static let voices = 64

  /// A program that plays what comes in at a JACK port.
  private struct Player {
    let program: String
    let path: String
    let arguments: [String]
    let input: String
    let output: String
  }

  private static func players(_ font: String) throws -> [Player] {
    let all = [
      Player(
        program: "cuejack fx", path: try builtProduct(named: "cuejack").path,
        arguments: ["fx", "--soundfont", font], input: "cuejack-fx:midi_in",
        output: "cuejack-fx:out_1"),
      Player(
        program: "fluidsynth", path: "fluidsynth",
        arguments: [
          "-q", "-i", "-s", "-a", "jack", "-m", "jack", "-r", "48000",
          "-o", "audio.jack.id=fluid", "-o", "midi.jack.id=fluid",
          "-o", "shell.port=\(20_000 + ProcessInfo.processInfo.processIdentifier % 10_000)", font,
        ], input: "fluid:midi_00", output: "fluid:left"),
    ]
    return all.filter { $0.path != $0.program || isThere($0.path, telling: true) }
  }

  static func all(_ effort: Effort, found: (SynthCost) -> Void) throws {
    let server = try JackDaemon(rate: 48000, period: period, isRealtime: true)
    defer { server.stop() }
    try withTemporaryFolder { folder in
      let players = try players(TinySoundFont.sine.write(to: folder))
      var times = players.map { _ in [Double]() }
      for run in 1...effort.runs {
        progress("synthesisers: \(voices) voices, run \(run) of \(effort.runs)")
        for (i, player) in players.enumerated() {
          times[i].append(try measure(player, on: server, seconds: effort.seconds, folder))
        }
      }
      let other = players.firstIndex { $0.program == "fluidsynth" }
      for (i, player) in players.enumerated() {
        let ratio = other.map { other in Spread(zip(times[i], times[other]).map { $0 / $1 }) }
        found(
          SynthCost(
            program: player.program, voices: voices, runs: times[i].count,
            microseconds: Spread(times[i]), ratio: ratio))
      }
    }
  }

  private static func measure(
    _ player: Player, on server: JackDaemon, seconds: Int, _ folder: URL
  ) throws -> Double {
    let output = folder.appendingPathComponent("words")
    let environment = try pluginEnvironment().merging(
      ["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"]) { $1 }
    let child = try Child(
      player.path, player.arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, output: output)
    defer { child.end(seconds: 5) }
    let keys = try Keys(on: server)
    let card = try CaptureClient(on: server, channels: 1, capacity: 48_000 * (seconds + 30))
    guard card.waitForPort(named: player.input), card.waitForPort(named: player.output) else {
      throw SupportError("\(player.program) has no ports: \(text(of: output))")
    }
    try card.connect("keys:out", to: player.input)
    try card.connect(player.output, toInput: 1)
    let start = card.cycleFrame &+ 24_000
    try keys.play((0..<voices).map { Keys.Message(start, [0x90, UInt8(32 + $0), 100]) })
    card.arm()
    guard waits(for: { card.samples(channel: 0).contains { abs($0) > 0.01 } }) else {
      throw SupportError("\(player.program) is silent: \(text(of: output))")
    }
    let before = ThreadActivity.all(of: child.processIdentifier)
    let frame = card.cycleFrame
    usleep(UInt32(seconds) * 1_000_000)
    let cycles = Double(card.cycleFrame &- frame) / Double(period)
    let after = ThreadActivity.all(of: child.processIdentifier)
    let most =
      after.map { ($0.value - (before[$0.key] ?? $0.value)).nanoseconds }.max() ?? 0
    guard cycles > 0, most > 0 else { throw SupportError("\(player.program) does not run") }
    return most / 1000 / cycles
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A cycle of \(period) frames at 48 kHz with \(voices) voices of a SoundFont, reverberation and chorus"
        + " (\(effort.runs) runs, alternated: median, least and greatest)",
      "",
      "program             voices" + right("processor time of a cycle", 31)
        + right("of fluidsynth's", 24),
    ]
  }

  func lines(after rows: [SynthCost]) -> [String] {
    [
      left(program, 19) + right("\(voices)", 7)
        + right(microseconds.map { "\($0.text(1)) µs" } ?? "-", 31)
        + right(ratio.map { $0.text(2) } ?? "-", 24)
    ]
  }
}
