import Foundation
import TestSupport
import Testing

/// Names of Cuejack's clients in PipeWire's tools.
@Suite(.tags(.pipeWire, .program), .serialized) struct NamesTests {
  @Test func theFilesNameIsShown() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("Ärger \"1\" \\.wav", in: folder, frames: 480_000)
      let daemon = try PipeWireDaemon()
      let player = try Playing(
        [file.path, "--name", "one"], in: folder,
        environment: daemon.environment.merging(["PIPEWIRE_PROPS": "{ node.nick = mine }"]) { $1 })
      try player.wait(for: "start frame")
      let nodes = try daemon.properties(ofNode: "one")
      expectEqual(nodes.count, 1)
      expectEqual(nodes.first?["media.name"], "Ärger \"1\" \\.wav", "\(nodes)")
      expectEqual(nodes.first?["node.nick"], "mine", "\(nodes)")
      player.send(signal: SIGTERM)
      _ = try player.result()
      // The user's setting takes precedence.
      let other = try Playing(
        [file.path, "--name", "two"], in: folder,
        environment: daemon.environment.merging(["PIPEWIRE_PROPS": "media.name = \"theirs\""]) {
          $1
        })
      try other.wait(for: "start frame")
      try expectEqual(daemon.properties(ofNode: "two").first?["media.name"], "theirs")
      other.send(signal: SIGTERM)
      _ = try other.result()
    }
  }

  /// The names for people are JACK's metadata, which PipeWire keeps, too.
  @Test func portsAreNamedAfterTheFile() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 480_000)
      let daemon = try PipeWireDaemon()
      let player = try Playing(
        [file.path, "--name", "one", "--loop"], in: folder, environment: daemon.environment)
      try player.wait(for: "start frame")
      func listed() throws -> String {
        try daemon.run("jack_property", ["-l"]).output
      }
      try wait(for: "the names") { try listed().contains("a.wav right") }
      player.send(signal: SIGTERM)
      _ = try player.result()
      try wait(for: "the end of the names") { try !listed().contains("a.wav") }
    }
  }

  /// The names are the same for every program: each client's node has a name of its own.
  @Test func aTakenNameGetsTheLowestFreeNumber() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 480_000)
      let daemon = try PipeWireDaemon()
      func play(as name: String) throws -> Playing {
        let player = try Playing(
          [file.path, "--name", "deck", "--loop"], in: folder, environment: daemon.environment)
        try player.wait(for: "start frame")
        try expectEqual(daemon.properties(ofNode: name).count, 1, "\(name): \(player.errors)")
        return player
      }
      func end(_ player: Playing) throws {
        player.send(signal: SIGTERM)
        _ = try player.result()
      }
      let first = try play(as: "deck")
      let second = try play(as: "deck-01")
      let third = try play(as: "deck-02")
      try end(second)
      let fourth = try play(as: "deck-01")
      for player in [first, third, fourth] { try end(player) }
    }
  }
}
