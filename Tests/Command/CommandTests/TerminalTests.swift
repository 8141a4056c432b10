import Foundation
import TestSupport
import Testing

/// The progress display, on a pseudo-terminal.
@Suite(.tags(.server, .program), .serialized) struct TerminalTests {
  /// Returns the terminal output after `arguments` were played on a terminal of the given size.
  private func display(_ arguments: [String], columns: Int, rows: Int = 24, in folder: URL) throws
    -> String
  {
    let cuejack = try builtProduct(named: "cuejack").path
    let words = ([cuejack, "play"] + arguments).map { "'\($0)'" }.joined(separator: " ")
    let file = folder.appendingPathComponent("typescript")
    let result = try run(
      "script",
      ["-qec", "stty cols \(columns) rows \(rows); exec \(words)", file.path],
      environment: ["TERM": "xterm", "SHELL": "/bin/sh", "NO_COLOR": "1"])
    expectEqual(result.status, 0, "\(result.output)\(result.errors)")
    return text(of: file)
  }

  /// Returns the lines of each redraw without cursor movements.
  private func drawnLines(_ display: String) -> [String] {
    display.components(separatedBy: CharacterSet(charactersIn: "\r\n"))
      .filter { $0.contains("\u{1B}[K") }
      .map { $0.replacing(#/\x1B\[\d*[A-Z]/#, with: "") }
  }

  @Test func barTimeAndMetersFitIntoEightyColumns() throws {
    try withTemporaryFolder { folder in
      let left = try WaveFile("left.wav", in: folder, frames: 72_000)
      let right = try WaveFile("right.wav", in: folder, channels: 1, frames: 72_000)
      let server = try JackDaemon()
      let display = try display(
        [left.path, right.path, "--server", server.name, "--volume", "0.1"], columns: 80,
        in: folder)
      let lines = drawnLines(display)
      expectTrue(lines.allSatisfy { $0.count < 80 })
      // Noise at a tenth of full scale has a peak of about -20 dB.
      let stereo =
        #/^left\.wav  \[#+-+\]  0:0[01]/0:01 \|====--\| -2\d\.\d \|====--\| -2\d\.\d dB$/#
      let mono = #/^right\.wav \[#+-+\]  0:0[01]/0:01 \|====--\| -2\d\.\d dB$/#
      expectTrue(lines.contains { $0.contains(stereo) }, "\(lines)")
      expectTrue(lines.contains { $0.contains(mono) }, "\(lines)")
      // The display is redrawn in place: a line for each file, and one for its loudness.
      expectTrue(lines.filter { $0.hasPrefix("left.wav") }.count >= 5)
      expectTrue(lines.contains { $0.contains(/^  M -2\d\.\d  S .* LUFS  LRA .* LU  TP -/) })
      expectTrue(display.contains("\u{1B}[3A"))
      // Finally the plain lines replace it.
      expectTrue(display.contains("left.wav: played 72000 frames"))
      expectTrue(display.contains("right.wav: played 72000 frames"))
    }
  }

  @Test(arguments: [60, 40, 20, 5, 1]) func aNarrowTerminalIsNotOverrun(columns: Int) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a-rather-long-name.wav", in: folder, channels: 4, frames: 24_000)
      let server = try JackDaemon()
      let lines = drawnLines(
        try display([file.path, "--server", server.name], columns: columns, in: folder))
      expectTrue(!lines.isEmpty && lines.allSatisfy { $0.count < columns }, "\(lines)")
      if columns >= 20 { expectTrue(lines.contains { $0.contains("0:00/0:00") }, "\(lines)") }
      if columns >= 40 { expectTrue(lines.contains { $0.contains("[#") }, "\(lines)") }
      if columns >= 60 { expectTrue(lines.contains { $0.contains("a-rather-l.") }, "\(lines)") }
    }
  }

  @Test func aLowTerminalShowsTheFirstFiles() throws {
    try withTemporaryFolder { folder in
      let files = try (1...5).map { try WaveFile("\($0).wav", in: folder, frames: 24_000) }
      let server = try JackDaemon()
      let lines = drawnLines(
        try display(
          files.map(\.path) + ["--server", server.name], columns: 80, rows: 4, in: folder))
      expectTrue(
        lines.contains { $0.hasPrefix("2.wav") } && !lines.contains { $0.hasPrefix("3.wav") })
      expectTrue(lines.contains { $0.hasPrefix("and 3 more") })
    }
  }

  /// A terminal that Ctrl-S has stopped does not hold up the end of a recording or of playback.
  @Test(arguments: ["record", "play"]) func aTerminalThatStandsStillHoldsNothingUp(command: String)
    throws
  {
    try withTemporaryFolder { folder in
      let noise = try WaveFile("noise.wav", in: folder, frames: 48_000 * 60)
      let server = try JackDaemon()
      let file = command == "record" ? folder.appendingPathComponent("take.wav").path : noise.path
      let terminal = try PseudoTerminal(
        try builtProduct(named: "cuejack").path, [command, file, "--server", server.name])
      try terminal.wait(for: "0:00")
      terminal.type("\u{13}")
      // The time would change meanwhile.
      try wait(for: "the stop") {
        terminal.clear()
        usleep(1_500_000)
        return terminal.display.isEmpty
      }
      terminal.send(signal: SIGTERM)
      let result = terminal.result()
      expectTrue(command == "record" ? result.isRecorded : result.status == 128 + SIGTERM)
      expectTrue(terminal.isCooked)
      if command == "record" { expectTrue(try openedFrames(file) > 0) }
    }
  }

  /// A message in between is printed on a line of its own.
  @Test func aMessageDoesNotGarbleTheDisplay() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 240_000)
      let server = try JackDaemon()
      let shortener = try Child(
        "sh", ["-c", "sleep 1; truncate -s 100000 '\(file.path)'"],
        output: folder.appendingPathComponent("shortener"))
      let cuejack = try builtProduct(named: "cuejack").path
      let typescript = folder.appendingPathComponent("typescript")
      let result = try run(
        "script",
        ["-qec", "exec '\(cuejack)' play '\(file.path)' --server \(server.name)", typescript.path],
        environment: ["TERM": "xterm", "SHELL": "/bin/sh"])
      expectEqual(result.status, 1)
      expectEqual(shortener.wait(seconds: 30), 0)
      expectTrue(
        text(of: typescript).contains("\u{1B}[Jcuejack: \(file.path): the file ended early"))
    }
  }

  @Test func withoutATerminalNothingIsDrawn() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let server = try JackDaemon()
      let result = try play([file.path, "--server", server.name])
      expectTrue(!result.output.contains("\u{1B}") && !result.output.contains("\r"))
      expectEqual(result.output.split(separator: "\n").count, 4)
    }
  }
}
