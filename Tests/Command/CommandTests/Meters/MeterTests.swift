import Foundation
import TestSupport
import Testing

/// Meters on a pseudo-terminal, and the figures of the closing lines.
@Suite(.tags(.server, .program), .serialized) struct MeterTests {
  /// Writes a sine that is silent in the last second, with a peak of `amplitude`.
  private func sine(
    _ name: String, in folder: URL, amplitude: Float, seconds: Int = 2, rest: Int = 0
  ) throws -> String {
    let path = folder.appendingPathComponent(name).path
    let sound = (0..<48000 * seconds).map {
      amplitude * sin(2 * .pi * 1000 / 48000 * Float($0) + .pi / 4)
    }
    let all = sound + [Float](repeating: 0, count: 48000 * rest)
    try writeWave([all, all], to: path)
    return path
  }

  private func start(
    _ arguments: [String], columns: Int = 100, environment: [String: String] = [:]
  ) throws -> PseudoTerminal {
    try PseudoTerminal(
      try builtProduct(named: "cuejack").path, arguments, environment: environment,
      columns: columns)
  }

  /// The lines that were drawn, without escape sequences.
  private func lines(_ text: String) -> [String] {
    text.components(separatedBy: CharacterSet(charactersIn: "\r\n"))
      .filter { $0.contains("\u{1B}[K") }
      .map { $0.replacing(#/\x1B\[[\d;]*[A-Za-z]/#, with: "") }
  }

  /// Levels are colored, the peak is held, and the meters are as wide as the terminal.
  @Test func metersHoldPeaksInColorsAndFollowTheTerminal() throws {
    try withTemporaryFolder { folder in
      let file = try sine("a.wav", in: folder, amplitude: 0.9, seconds: 1, rest: 60)
      let server = try JackDaemon(period: 1024)
      let terminal = try start(["play", file, "--server", server.name])
      try terminal.wait(for: "\u{1B}[31m")
      let text = terminal.text
      expectTrue(text.contains("\u{1B}[32m=") && text.contains("\u{1B}[33m="))
      // The sound is over, and its peak still stands: a mark without a bar.
      try terminal.wait("the held peak") {
        lines(terminal.text).contains { $0.contains(#/\|-+\|-*\|  -0\.9 \|/#) }
      }
      // Later it falls.
      try terminal.wait(for: "-inf dB")
      expectTrue(lines(terminal.text).contains { $0.hasPrefix("  M ") && $0.contains(" LUFS  ") })
      expectTrue(lines(terminal.text).allSatisfy { $0.count < 100 })
      for columns in [160, 70] {
        terminal.clear()
        terminal.resize(columns: columns)
        try terminal.wait("lines of \(columns)") {
          lines(terminal.display).contains { $0.count == columns - 1 }
        }
      }
      terminal.type("q")
      expectEqual(terminal.wait(seconds: 30), 0, "\(terminal.text)")
      expectTrue(terminal.text.contains("; peak -0.9 dB, clips: 0, loudness "))
    }
  }

  @Test(arguments: ["NO_COLOR"]) func colorsCanBeSwitchedOff(variable: String) throws {
    try withTemporaryFolder { folder in
      let file = try sine("a.wav", in: folder, amplitude: 2)
      let server = try JackDaemon(period: 1024)
      let cuejack = try builtProduct(named: "cuejack").path
      for (value, isColored) in [("1", false), ("", true)] {
        let terminal = try start(
          ["-c", "\(variable)=\(value) exec \(cuejack) play \(file) --server \(server.name)"],
          program: "sh")
        // A clip mark in place of the meter's end, and the count.
        try terminal.wait("clips") {
          lines(terminal.text).contains { $0.contains(#/ \|=+! +6\.0 \|=+! +6\.0 dB/#) }
            && lines(terminal.text).contains { $0.contains(#/LUFS .*clips: \d+/#) }
        }
        expectEqual(terminal.wait(seconds: 30), 0, "\(terminal.text)")
        let colors = terminal.text.matches(of: #/\x1B\[[\d;]*m/#)
        expectEqual(colors.isEmpty, !isColored)
      }
    }
  }

  private func start(_ arguments: [String], program: String) throws -> PseudoTerminal {
    // The words after -c are one word of the shell that starts the program.
    try PseudoTerminal(program, arguments, columns: 100)
  }

  /// Peak, clips, loudness and true peak are those of the samples that are heard: after gain and pan.
  @Test func theClosingLineHasTheFiguresOfWhatIsHeard() throws {
    try withTemporaryFolder { folder in
      let file = try sine("a.wav", in: folder, amplitude: 0.44)
      let server = try JackDaemon(period: 1024)
      let quiet = try play([file, "--server", server.name, "--volume", "0.5"])
      expectTrue(quiet.output.contains("; peak -13.2 dB, clips: 0\n"), "\(quiet.output)")
      // A sine in two channels has a loudness of its peak level in LUFS; K-weighting adds 0.0 at 1 kHz.
      let loud = try play([file, "--server", server.name, "--volume", "5", "--loudness"])
      let figures = try require(
        loud.output.firstMatch(
          of:
            #/; peak 6\.8 dB, clips: (\d+), loudness (\d+\.\d) LUFS, true peak (\d+\.\d) dBTP/#),
        "\(loud.output)")
      for word in [figures.output.2, figures.output.3] {
        expectTrue(abs(Double(word)! - 6.85) < 0.11, "\(loud.output)")
      }
      let samples = (0..<96000).count {
        abs(2.2 * sin(2 * Float.pi * 1000 / 48000 * Float($0) + .pi / 4)) >= 1
      }
      expectTrue(abs(Int(figures.output.1)! - 2 * samples) <= 8, "\(loud.output)")
      // Only one side.
      let left = try play(
        [file, "--server", server.name, "--volume", "1", "--pan", "-1", "--loudness"])
      expectTrue(
        left.output.contains("; peak -7.1 dB, clips: 0, loudness -10.1 LUFS"), "\(left.output)")
    }
  }

  /// The closing line of a recording has the figures that `info` finds in the file.
  @Test(arguments: ["s16", "f32", "s24"]) func aRecordingHasTheFiguresOfItsFile(format: String)
    throws
  {
    try withTemporaryFolder { folder in
      let file = try sine("a.wav", in: folder, amplitude: 1.2, seconds: 3)
      let take = folder.appendingPathComponent("take.wav").path
      let server = try JackDaemon(period: 1024)
      let player = try Playing(
        [file, "--server", server.name, "--at", "+1", "--no-connect"], in: folder)
      try player.wait(for: "out_2")
      let recorder = try Playing(
        "record",
        [
          take, "--server", server.name, "--connect", "cuejack-play", "--seconds", "3", "--format",
          format, "--loudness",
        ], in: folder)
      let result = try recorder.result()
      try expectEqual(player.result().status, 0)
      expectTrue(result.isRecorded, "\(result)")
      let told = try require(
        result.output.firstMatch(
          of:
            #/; peak (-?[\d.]+) dB, clips: (\d+), loudness (-?[\d.]+) LUFS, true peak (-?[\d.]+) dBTP/#
        ), "\(result.output)")
      let info = try cuejack("info", ["--json", "--loudness", take])
      let report = try require(
        try JSONSerialization.jsonObject(with: Data(info.output.utf8)) as? [[String: Any]])
      let found = try require(report[0]["loudness"] as? [String: Any])
      func value(_ key: String) throws -> Double { try require(found[key] as? Double) }
      expectEqual(Int(told.output.2), found["clips"] as? Int, "\(result.output) \(found)")
      expectTrue(Int(told.output.2)! > 1000)
      for (word, key) in [
        (told.output.1, "samplePeak"), (told.output.3, "integrated"), (told.output.4, "truePeak"),
      ] {
        expectTrue(abs(Double(word)! - (try value(key))) < 0.11, "\(key): \(word)")
      }
      // What is cut off at full scale has no greater samples.
      expectEqual(told.output.1, (format == "f32" ? "1.6" : "0.0"), "\(result.output)")
    }
  }

  @Test func theMetersOfARecordingAreAsWideAsTheTerminal() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let take = folder.appendingPathComponent("take.wav").path
      let emitter = try Emitter(on: server)
      let terminal = try start([
        "record", take, "--server", server.name, "--connect", "emitter", "--format", "f32",
      ])
      try terminal.wait("the meters") {
        lines(terminal.text).contains { $0.contains(#/^take\.wav .*overruns: \d+ \|=+!/#) }
      }
      terminal.clear()
      terminal.resize(columns: 120)
      try terminal.wait("wide lines") { lines(terminal.display).contains { $0.count >= 117 } }
      expectTrue(lines(terminal.text).contains { $0.hasPrefix("  M ") && $0.contains("clips: ") })
      terminal.type("q")
      expectTrue(terminal.result().isRecorded, "\(terminal.text)")
      withExtendedLifetime(emitter) {}
    }
  }
}
