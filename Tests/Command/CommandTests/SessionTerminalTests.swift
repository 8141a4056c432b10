import Foundation
import TestSupport
import Testing

/// `cuejack session run` on a pseudo-terminal: its display, its keys, and the terminal's modes.
@Suite(.tags(.server, .program), .serialized) struct SessionTerminalTests {
  /// A running session of two tracks on a server of its own.
  private final class Stage {
    let folder: URL
    let jack: JackDaemon
    let terminal: PseudoTerminal
    let session: String

    /// - Parameter edits: Edits of the session before the run.
    init(columns: Int = 80, rows: Int = 24, edits: [String] = []) throws {
      folder = try makeTemporaryFolder()
      session = folder.appendingPathComponent("song").path
      let a = try WaveFile("drums.wav", in: folder, frames: 48000 * 30)
      let b = try WaveFile("bass.wav", in: folder, channels: 1, frames: 48000 * 30)
      jack = try JackDaemon(rate: 48000, period: 1024)
      let cuejack = try builtProduct(named: "cuejack").path
      for arguments in [
        ["new", session, a.path, b.path],
        [
          "set", session, "tracks[bass].start.seconds=10",
          "recordings+={name: 'take', ports: ['system:capture_1'], file: 'take.wav'}",
        ] + edits,
      ] {
        let result = try run(cuejack, ["session"] + arguments)
        guard result.status == 0 else { throw SupportError(result.errors) }
      }
      terminal = try PseudoTerminal(
        cuejack, ["session", "run", session, "--server", jack.name, "--no-remote"],
        environment: ["NSM_URL": "", "XDG_RUNTIME_DIR": folder.path], columns: columns, rows: rows)
      try shows("stopped 0:00")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Waits until the program writes a text, from the last wait on.
    func shows(_ text: String) throws {
      do {
        try wait(for: "“\(text)”") { terminal.display.contains(text) }
      } catch {
        throw SupportError("\(error)\n\(terminal.display.suffix(1000))")
      }
      terminal.clear()
    }

    /// Presses a key, and waits for what it shows.
    func press(_ key: String, shows text: String) throws {
      terminal.type(key)
      try shows(text)
    }

    /// The session as it is saved.
    func saved() throws -> [String: Any] {
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(session)/session.json"))
      return try require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
  }

  /// The display has the values of curves at the present position.
  @Test func theValuesOfCurvesAreShown() throws {
    let stage = try Stage(edits: [
      #"automation+={target: "tracks[drums].gain", points: [{at: {seconds: 0}, value: -18}]}"#,
      #"automation+={target: "tracks[drums].mute", points: [{at: {seconds: 0}, value: true}]}"#,
    ])
    try stage.press("s", shows: "MS  -18.0 dB")
    stage.terminal.type("q")
    expectEqual(stage.terminal.wait(seconds: 30), 0)
  }

  @Test func keysRunTheSession() throws {
    let stage = try Stage()
    expectTrue(!stage.terminal.isCooked)
    try stage.press(" ", shows: "playing 0:0")
    try stage.press("p", shows: "paused")
    try stage.press("0", shows: "paused 0:00")
    try stage.press("n", shows: "paused 0:10")
    try stage.press("\u{1B}[C", shows: "paused 0:15")
    try stage.press("\u{1B}[D", shows: "paused 0:10")
    try stage.press("m", shows: "M-")
    try stage.press("\u{1B}[B", shows: "> bass")
    try stage.press("s", shows: "-S")
    try stage.press("+", shows: "+1.0 dB")
    try stage.press("-", shows: "+0.0 dB")
    try stage.press("-", shows: "-1.0 dB")
    try stage.press("?", shows: "arm or disarm recordings")
    try stage.press("r", shows: "not saved")
    try stage.press("p", shows: "recording")
    try stage.press("w", shows: "playing")
    try stage.press(" ", shows: "take.wav: recorded ")
    stage.terminal.type("q")
    expectEqual(stage.terminal.wait(seconds: 30), 0)
    expectTrue(stage.terminal.isCooked)
    let tracks = try require(try stage.saved()["tracks"] as? [[String: Any]])
    expectEqual(tracks[0]["mute"] as? Bool, true)
    expectTrue(tracks[1]["solo"] as? Bool == true && tracks[1]["gain"] as? Int == -1)
    expectTrue(FileManager.default.fileExists(atPath: "\(stage.session)/take.wav"))
  }

  @Test func theDisplayFitsASmallTerminal() throws {
    let stage = try Stage(columns: 30, rows: 2)
    stage.terminal.type(" ")
    try stage.shows("playing 0:00")
    try stage.shows("playing 0:01")
    // What comes before are messages, which a terminal wraps.
    let shown = stage.terminal.text.components(separatedBy: "playing 0:00").dropFirst().joined()
    let lines = shown.components(separatedBy: CharacterSet(charactersIn: "\r\n"))
      .map { $0.replacing(#/\x1B\[\d*[A-Z]/#, with: "") }
    expectTrue(lines.contains { $0.contains("playing 0:01") }, "\(lines)")
    expectTrue(lines.allSatisfy { $0.count < 30 }, "\(lines)")
    stage.terminal.type("q")
    expectEqual(stage.terminal.wait(seconds: 30), 0)
  }

  @Test func aStoppedSessionLeavesTheTerminalAndTakesItAgain() throws {
    let stage = try Stage()
    stage.terminal.type("\u{1A}")
    try wait(for: "the stop") { stage.terminal.state == "T" }
    expectTrue(stage.terminal.isCooked)
    stage.terminal.clear()
    stage.terminal.send(signal: SIGCONT)
    try wait(for: "the terminal") { !stage.terminal.isCooked }
    // The display is drawn anew, below what else is there.
    try stage.shows("stopped 0:00")
    try stage.press("m", shows: "M-")
    stage.terminal.type("q")
    expectEqual(stage.terminal.wait(seconds: 30), 0)
    expectTrue(stage.terminal.isCooked)
  }

  /// Ctrl-S stops the terminal's output, and nothing else.
  @Test func aTerminalThatStandsStillHoldsNothingUp() throws {
    let stage = try Stage()
    try stage.press(" ", shows: "playing 0:0")
    stage.terminal.type("\u{13}")
    // The time would change meanwhile.
    try wait(for: "the stop") {
      stage.terminal.clear()
      usleep(1_500_000)
      return stage.terminal.display.isEmpty
    }
    // The keys go on to work: an edit comes into the journal.
    stage.terminal.type("m")
    let cuejack = try builtProduct(named: "cuejack").path
    try wait(for: "the edit") {
      try run(cuejack, ["session", "show", stage.session]).output.contains("muted")
    }
    stage.terminal.send(signal: SIGTERM)
    expectEqual(stage.terminal.wait(seconds: 30), 128 + SIGTERM)
    expectTrue(stage.terminal.isCooked)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGILL])
  func everyExitLeavesTheTerminalAsItWas(signal: Int32) throws {
    let stage = try Stage()
    try stage.press("m", shows: "M-")
    stage.terminal.send(signal: signal)
    expectEqual(stage.terminal.wait(seconds: 30), 128 + signal)
    expectTrue(stage.terminal.isCooked)
    // The edit that was not saved is in the journal, or was saved by an orderly end.
    let read = try run(
      builtProduct(named: "cuejack").path, ["session", "show", stage.session])
    expectTrue(read.status == 0 && read.output.contains("muted"), "\(read)")
  }
}
