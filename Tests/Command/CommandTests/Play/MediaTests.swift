import Foundation
import TestSupport
import Testing

/// `cuejack play` on the desktop's bus, by MPRIS.
@Suite(.tags(.server, .program), .serialized) struct MediaTests {
  /// A D-Bus session bus of its own.
  private final class Bus {
    private let daemon: Child
    let environment: [String: String]

    init(in folder: URL) throws {
      let socket = folder.appendingPathComponent("bus").path
      let address = "unix:path=\(socket)"
      daemon = try Child(
        "dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"],
        output: folder.appendingPathComponent("dbus-daemon"))
      environment = ["DBUS_SESSION_BUS_ADDRESS": address]
      try wait(for: "the bus") { FileManager.default.fileExists(atPath: socket) }
    }

    func end() { daemon.end() }

    func run(_ command: String, _ arguments: [String]) throws -> CommandResult {
      try TestSupport.run(command, arguments, environment: environment)
    }

    /// Returns what `playerctl` prints.
    func control(_ words: String) throws -> String {
      try run("playerctl", words.split(separator: " ").map(String.init)).output.trimmingCharacters(
        in: .newlines)
    }

    /// Waits until `playerctl` prints a text.
    func expect(_ words: String, _ text: String, _ location: SourceLocation = #_sourceLocation)
      throws
    {
      var found = ""
      let isThere = try waits {
        found = try control(words)
        return found == text
      }
      expectTrue(isThere, "\(words): \(found), not \(text)", sourceLocation: location)
    }

    /// The names of players.
    var players: Set<String> {
      get throws {
        let list = try run("busctl", ["--user", "list", "--no-pager", "--no-legend", "--acquired"])
        let names = list.output.split(separator: "\n").compactMap {
          $0.split(separator: " ").first.map(String.init)
        }
        return Set(names.filter { $0.hasPrefix("org.mpris.MediaPlayer2.cuejack") })
      }
    }
  }

  private static let name = "org.mpris.MediaPlayer2.cuejack"
  private static let object = [name, "/org/mpris/MediaPlayer2"]
  private static let interface = "org.mpris.MediaPlayer2.Player"

  /// Two files of 20 s, the first one with tags.
  private func files(in folder: URL) throws -> [String] {
    let noise = try WaveFile("two.wav", in: folder, frames: 960_000, seed: 1)
    let tagged = folder.appendingPathComponent("one é.flac").path
    let made = try run(
      "ffmpeg",
      [
        "-v", "error", "-i", noise.path, "-metadata", "title=A Title", "-metadata",
        "artist=Some Body", "-metadata", "album=An Album", tagged,
      ])
    try require(made.status == 0, "\(made.errors)")
    return [tagged, noise.path]
  }

  @Test("playerctl controls a sequence, and signals tell what changes") func sequence() throws {
    try withTemporaryFolder { folder in
      let (server, bus) = (try JackDaemon(), try Bus(in: folder))
      defer { bus.end() }
      let player = try Playing(
        ["-q", "--server", server.name, "--no-connect"] + files(in: folder), in: folder,
        environment: bus.environment)
      try bus.expect("-l", "cuejack")
      let signals = folder.appendingPathComponent("signals")
      let monitor = try Child(
        "gdbus", ["monitor", "--session", "--dest", Self.name],
        environment: ProcessInfo.processInfo.environment.merging(bus.environment) { $1 },
        output: signals)
      defer { monitor.end() }
      try wait(for: "the monitor") { text(of: signals).contains("is owned by") }
      try bus.expect("status", "Playing")
      try bus.expect("metadata xesam:title", "A Title")
      expectEqual(try bus.control("metadata xesam:artist"), "Some Body")
      expectEqual(try bus.control("metadata xesam:album"), "An Album")
      expectEqual(try bus.control("metadata mpris:length"), "20000000")
      expectTrue(try bus.control("metadata xesam:url").hasSuffix("/one%20%C3%A9.flac"))
      _ = try bus.control("pause")
      try bus.expect("status", "Paused")
      _ = try bus.control("position 1.5")
      try bus.expect("position", "1.500000")
      _ = try bus.control("position 0.25-")
      try bus.expect("position", "1.250000")
      _ = try bus.control("next")
      try bus.expect("metadata xesam:title", "two")
      try bus.expect("position", "0.000000")
      // The position is that in the file.
      _ = try bus.control("position 3")
      try bus.expect("position", "3.000000")
      _ = try bus.control("play")
      try bus.expect("status", "Playing")
      _ = try bus.control("play-pause")
      try bus.expect("status", "Paused")
      _ = try bus.control("volume 0.5")
      try bus.expect("volume", "0.500000")
      _ = try bus.control("loop Playlist")
      try bus.expect("loop", "Playlist")
      _ = try bus.control("previous")
      try bus.expect("position", "0.000000")
      let rate = { (value: String) in
        try bus.run(
          "busctl",
          ["--user", "set-property"] + Self.object + [Self.interface, "Rate", "d", value])
      }
      expectEqual(try rate("0.8").status, 0)
      let refused = try rate("9")
      expectTrue(
        refused.status != 0 && refused.errors.contains("it takes 0.5 to 2"), "\(refused)")
      let shown = try bus.run(
        "busctl", ["--user", "get-property"] + Self.object + [Self.interface, "Rate"])
      expectEqual(shown.output, "d 0.8\n")
      _ = try bus.control("stop")
      try bus.expect("status", "Stopped")
      for signal in [
        "Seeked (int64 1500000,)", "'PlaybackStatus': <'Paused'>", "'Volume': <0.5", "'two'",
        "'LoopStatus': <'Playlist'>", "'PlaybackStatus': <'Stopped'>",
      ] {
        expectTrue(waits { text(of: signals).contains(signal) }, "\(signal)")
      }
      let quit = try bus.run(
        "busctl",
        ["--user", "call"] + Self.object + [
          "org.mpris.MediaPlayer2", "Quit",
        ])
      expectEqual(quit.status, 0, "\(quit)")
      let result = try player.result()
      expectTrue(result.errors == "", "\(result)")
      expectEqual(try bus.players, [])
    }
  }

  @Test("What the bus cannot ask for is refused") func refusals() throws {
    try withTemporaryFolder { folder in
      let (server, bus) = (try JackDaemon(), try Bus(in: folder))
      defer { bus.end() }
      let file = try WaveFile("one.wav", in: folder, frames: 960_000)
      let player = try Playing(
        [file.path, "--server", server.name, "--no-connect"], in: folder,
        environment: bus.environment)
      try bus.expect("status", "Playing")
      let calls: [([String], String)] = [
        (["call"] + Self.object + [Self.interface, "Next"], "none follows another"),
        (["call"] + Self.object + [Self.interface, "OpenUri", "s", "file:///x"], "command line"),
        (["call"] + Self.object + [Self.interface, "Seek", "s", "x"], "microseconds"),
        (["get-property"] + Self.object + [Self.interface, "Nothing"], "no such property"),
        (["get-property"] + Self.object + ["org.nobody", "Rate"], "no such interface"),
        (
          ["set-property"] + Self.object + [Self.interface, "PlaybackStatus", "s", "Playing"],
          "cannot be set"
        ),
        (["call"] + Self.object + [Self.interface, "Jump"], "Unknown method"),
      ]
      for (call, words) in calls {
        let result = try bus.run("busctl", ["--user"] + call)
        expectTrue(result.status != 0 && result.errors.contains(words), "\(call): \(result)")
      }
      // Another track's position is ignored.
      let ignored = try bus.run(
        "busctl",
        ["--user", "call"] + Self.object
          + [Self.interface, "SetPosition", "ox", "/org/nobody/1", "1000000"])
      expectEqual(ignored.status, 0, "\(ignored)")
      let described = try bus.run("busctl", ["--user", "introspect"] + Self.object)
      expectTrue(described.output.contains(".PlaybackStatus"), "\(described)")
      player.send(signal: SIGTERM)
      expectEqual(try player.result().errors, "")
    }
  }

  @Test("Several players have names of their own, and options leave one out") func names() throws {
    try withTemporaryFolder { folder in
      let (server, bus) = (try JackDaemon(), try Bus(in: folder))
      defer { bus.end() }
      let file = try WaveFile("one.wav", in: folder, frames: 1_920_000)
      func player(_ name: String, _ options: String...) throws -> Playing {
        let player = try Playing(
          [file.path, "--server", server.name, "--no-connect", "--name", name] + options,
          in: folder, environment: bus.environment)
        try player.wait(for: "start frame")
        return player
      }
      let silent = [try player("a", "--no-mpris"), try player("b", "--no-remote")]
      let first = try player("c")
      try wait(for: "the first player") { try bus.players == [Self.name] }
      let second = try player("d")
      let other = "\(Self.name).instance\(second.processIdentifier)"
      try wait(for: "the second player") { try bus.players == [Self.name, other] }
      for player in silent + [first, second] {
        player.send(signal: SIGTERM)
        expectEqual(try player.result().errors, "")
      }
    }
  }

  @Test("Without a bus, and when it goes away, the player says nothing") func noBus() throws {
    try withTemporaryFolder { folder in
      let (server, bus) = (try JackDaemon(), try Bus(in: folder))
      let file = try WaveFile("one.wav", in: folder, frames: 240_000)
      let arguments = [file.path, "--server", server.name, "--no-connect"]
      let leaving = try Playing(arguments, in: folder, environment: bus.environment)
      try wait(for: "the player") { try bus.players == [Self.name] }
      bus.end()
      expectTrue(try leaving.result().status == 0 && leaving.errors == "", "\(leaving.errors)")
      let alone = try play(
        arguments, environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"])
      expectTrue(alone.status == 0 && alone.errors == "", "\(alone)")
    }
  }
}
