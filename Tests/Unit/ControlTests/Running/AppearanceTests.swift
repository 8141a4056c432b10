import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Metadata, aliases and latencies of a session's ports, as JACK's tools read them.
@Suite(.tags(.server, .program), .serialized) struct AppearanceTests {
  private static let metadata = "http://jackaudio.org/metadata/"

  /// Returns the properties that `jack_property` prints for a port or a client, without the common part of
  /// their URIs.
  private func properties(_ kind: String, _ name: String, _ jack: JackDaemon) throws
    -> [String: String]
  {
    let result = try run(
      "jack_property", ["--\(kind)", "-l", name], environment: jack.environment)
    var found: [String: String] = [:]
    for line in result.output.split(separator: "\n") {
      guard
        let match = line.firstMatch(
          of: /key: http:\/\/jackaudio\.org\/metadata\/(\S+) value: (.*?)( type: \S+)?$/)
      else { continue }
      found[String(match.output.1)] = String(match.output.2)
    }
    return found
  }

  @Test func patchbaysShowTheNamesOfTracksAndBuses() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let mono = try WaveFile("b.wav", in: folder, channels: 1, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("Lead: é", [a]), ("bass", [mono])])
      document.name = "My song"
      document.buses = [SessionBus(name: "main")]
      document.tracks[1].bus = "main"
      document.controllers = [
        SessionMapping(try require(SessionController("cc7")), to: "tracks[bass].volume")
      ]
      document.recordings = [
        SessionRecording(name: "take", ports: ["system:capture_1"], file: "take.wav")
      ]
      document.recordings[0].armed = true
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let client = try properties("client", "My song", jack)
      expectEqual(client, ["pretty-name": "My song", "icon-name": "multimedia-player"])
      let ports = [
        ("Lead_ é_1", "Lead: é left", "0", "Lead: é"),
        ("Lead_ é_2", "Lead: é right", "1", "Lead: é"),
        ("main_1", "main left", "2", "main"), ("main_2", "main right", "3", "main"),
      ]
      for (port, pretty, order, group) in ports {
        try expectEqual(
          properties("port", "My song:\(port)", jack),
          [
            "pretty-name": pretty, "order": order, "port-group": group, "signal-type": "AUDIO",
          ], "\(port)")
      }
      try expectEqual(
        properties("port", "My song:midi_in", jack),
        [
          "pretty-name": "MIDI", "order": "4", "event-types": "MIDI",
        ])
      let aliases = try run("jack_lsp", ["-A", "My song"], environment: jack.environment).output
      expectTrue(aliases.contains("My song:Lead_ é_1\n   My song:Lead_ é left\n"), "\(aliases)")
      // The ports of a recording come later.
      try running.start()
      try wait(for: "the name of the recording's port") {
        try properties("port", "My song:in_1", jack)["pretty-name"] == "record take"
      }
      try running.stop()

      // A server that returns is told again.
      jack.kill()
      try wait(for: "the loss") { running.engine?.device.isLost == true }
      try jack.start()
      try wait(for: "the return") {
        try properties("port", "My song:main_1", jack)["pretty-name"] == "main left"
      }
      running.close()
      let left = try run("jack_property", ["-l"], environment: jack.environment)
      expectEqual(left.status, 0, "\(left)")
      expectTrue(!left.output.contains("My song") && !left.output.contains("main"), "\(left)")
    }
  }

  @Test func aKilledSessionLeavesNoNames() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      _ = try SessionStore(creating: folder.path + "/s", session([("drums", [a])]))
      let program = try ManagedProgram(
        ["session", "run", folder.path + "/s"], environment: jack.environment,
        executable: builtProduct(named: "cuejack").path)
      _ = try program.value(after: "session: server")
      try expectEqual(properties("port", "session:drums_1", jack)["pretty-name"], "drums left")
      program.child.send(signal: SIGKILL)
      _ = program.child.wait(seconds: 60)
      try wait(for: "the client's end") { !jack.hasClient(named: "session") }
      let left = try run("jack_property", ["-l"], environment: jack.environment)
      expectTrue(left.status == 0 && !left.output.contains("drums"), "\(left)")
    }
  }

  /// The latency that JACK's tools see is that of the plugins: our limiter looks five milliseconds ahead.
  @Test func latenciesAreThoseOfThePlugins() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("plain", [a]), ("late", [a])])
      document.tracks[1].chain = [
        SessionPlugin(id: "limiter", uri: "urn:cuejack:plugins:limiter")
      ]
      _ = try SessionStore(creating: folder.path + "/s", document)
      let program = try ManagedProgram(
        ["session", "run", folder.path + "/s", "--no-connect"],
        environment: try pluginEnvironment().merging(jack.environment) { $1 },
        executable: builtProduct(named: "cuejack").path)
      _ = try program.value(after: "session: server")
      for port in ["plain_1", "late_1", "late_2"] {
        try wait(for: "the latency of \(port)") {
          try run("jack_lsp", ["-l", "session:\(port)"], environment: jack.environment).output
            .contains("port capture latency = [ 240 240 ] frames")
        }
      }
    }
  }

  @Test func playersAndRecordersAreNamedAfterTheirFiles() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 480_000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let player = try ManagedProgram(
        ["play", a.path, "--name", "deck"], environment: jack.environment,
        executable: builtProduct(named: "cuejack").path)
      let recorder = try ManagedProgram(
        ["record", folder.path + "/take.wav", "--name", "tape"], environment: jack.environment,
        executable: builtProduct(named: "cuejack").path)
      try wait(for: "both") {
        player.lines.contains { $0.contains("deck:out_2") }
          && recorder.lines.contains { $0.contains("tape:in_2") }
      }
      try expectEqual(properties("client", "deck", jack)["pretty-name"], "a.wav")
      try expectEqual(properties("port", "deck:out_2", jack)["pretty-name"], "a.wav right")
      try expectEqual(properties("client", "tape", jack)["pretty-name"], "take.wav")
      try expectEqual(properties("port", "tape:in_1", jack)["port-group"], "take.wav")
      for program in [player, recorder] { program.child.end() }
    }
  }
}
