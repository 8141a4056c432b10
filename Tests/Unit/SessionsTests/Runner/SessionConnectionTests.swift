import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// The connections of a session's ports from one run to the next, on a hand-driven server.
@Suite(.serialized) struct SessionConnectionTests {
  private func connection(_ from: String, _ to: String) -> SessionConnection {
    SessionConnection(from: from, to: to)
  }

  /// Runs a session on a server with four ports of another client.
  private func rig(_ document: SessionDocument, _ folder: URL) throws -> SessionRig {
    try SessionRig(document, in: folder, otherInputs: (1...4).map { "x:in_\($0)" })
  }

  /// Returns the connections of the session's ports as they are on the server.
  private func connections(of rig: SessionRig) -> [String: [String]] {
    rig.server.clients[0].connections.filter { !$0.value.isEmpty }
  }

  private func saved(_ rig: SessionRig) -> SessionDocument {
    var document = rig.engine.document
    rig.engine.capture(&document)
    return document
  }

  /// The next run connects its own card.
  @Test func whatNobodyAskedForIsNotSaved() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let cards = (1...2).map { card in (1...2).map { "card\(card):playback_\($0)" } }
      var document = session([("a", [a])])
      let first = try SessionRig(document, in: folder, card: cards[0])
      expectEqual(connections(of: first), ["a_1": [cards[0][0]], "a_2": [cards[0][1]]])
      document = saved(first)
      expectEqual(document.connections, [])
      let second = try SessionRig(document, in: folder, card: cards[1])
      expectEqual(connections(of: second), ["a_1": [cards[1][0]], "a_2": [cards[1][1]]])
      // Who ends one of them, or makes another connection, wants what is left.
      second.engine.device.disconnect("a_2", from: cards[1][1])
      document = saved(second)
      expectEqual(document.connections, [connection("session:a_1", cards[1][0])])
      // Those of a document are those of people.
      let third = try SessionRig(document, in: folder, card: cards[1])
      expectEqual(saved(third).connections, document.connections)
      document.connections = []
      let fourth = try SessionRig(document, in: folder, otherInputs: ["x:in_1"], card: cards[1])
      try fourth.engine.device.connect("a_1", to: "x:in_1")
      expectEqual(saved(fourth).connections.count, 3)
    }
  }

  /// “ports” of the document is empty then, whatever was connected before.
  @Test func anOutputOfWhichEveryConnectionWasEndedStaysSo() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let card = (1...2).map { "card:playback_\($0)" }
      let inputs = ["x:in_1", "x:in_2"]
      let plain = session([("a", [a])])
      var listed = plain
      listed.tracks[0].ports = inputs
      var single = plain
      single.connections = [connection("session:a_1", "x:in_1")]
      var bus = plain
      bus.buses = [SessionBus(name: "main")]
      bus.tracks[0].bus = "main"
      for document in [plain, listed, single, bus] {
        let first = try SessionRig(document, in: folder, otherInputs: inputs, card: card)
        expectTrue(!connections(of: first).isEmpty)
        // A save leaves the document as it is while all its connections exist.
        expectEqual(saved(first).json, document.json)
        for (port, others) in connections(of: first) {
          for other in others { first.engine.device.disconnect(port, from: other) }
        }
        let none = saved(first)
        expectEqual(none.connections, [])
        expectEqual((none.tracks[0].bus == nil ? none.tracks[0].ports : none.buses[0].ports), [])
        expectTrue(none.json != plain.json)
        let second = try SessionRig(none, in: folder, otherInputs: inputs, card: card)
        expectEqual(connections(of: second), [:])
        // It stays so, until somebody connects it.
        expectEqual(saved(second).json, none.json)
        try second.engine.device.connect("\(none.buses.isEmpty ? "a" : "main")_1", to: inputs[0])
        expectEqual(saved(second).connections.map(\.to), [inputs[0]])
      }
    }
  }

  /// A card that is not there, and connections of other programs for their own runs, say nothing.
  @Test func anOutputThatNobodyHasDisconnectedGoesToTheCardLater() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let document = session([("a", [a])])
      let first = try SessionRig(document, in: folder)
      expectEqual(connections(of: first), [:])
      expectEqual(saved(first).json, document.json)
    }
  }

  @Test func aTrackKeepsTheSecondPortThatAConnectionNames() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      var document = session([("a", [a])])
      document.tracks[0].pan = 0.25
      document.connections = [
        connection("session:a_1", "x:in_1"), connection("session:a_2", "x:in_2"),
      ]
      let first = try rig(document, folder)
      document.tracks[0].pan = 0
      try first.engine.adopt(document)
      let second = try rig(saved(first), folder)
      expectEqual(second.engine.portNames, ["a_1", "a_2"])
      expectEqual(connections(of: second), ["a_1": ["x:in_1"], "a_2": ["x:in_2"]])
      expectEqual(second.lines, [])
      // Both sides are heard as they were, and the balance can move again.
      document.tracks[0].pan = -0.5
      try second.engine.adopt(document)
    }
  }

  @Test func aNewSecondPortTakesEverySecondConnection() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      var document = session([("a", [a])])
      document.connections = (1...4).map { connection("session:a_1", "x:in_\($0)") }
      document.tracks[0].pan = -0.5
      let first = try rig(document, folder)
      let expected = ["a_1": ["x:in_1", "x:in_3"], "a_2": ["x:in_2", "x:in_4"]]
      expectEqual(connections(of: first), expected)
      // They are saved so.
      let again = try rig(saved(first), folder)
      expectEqual(connections(of: again), expected)
    }
  }

  @Test func connectionsAreSavedUnderTheNameOfTheSession() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      var document = session([("a", [a])])
      document.name = "a song: two"
      // The client is called “session” here, as after `--name session`.
      let first = try rig(document, folder)
      try first.engine.device.connect("a_1", to: "x:in_1")
      document = saved(first)
      expectEqual(document.connections, [connection("a song_ two:a_1", "x:in_1")])
      let again = try rig(document, folder)
      expectEqual(connections(of: again), ["a_1": ["x:in_1"]])
      expectEqual(again.lines, [])
    }
  }

  @Test func connectionsOfTracksThatAreGoneAreDroppedWithAMessage() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      var document = session([("a", [a]), ("missing", [a])])
      document.tracks[1].files = ["not-there.wav"]
      document.connections = [
        connection("session:a_1", "x:in_1"), connection("session:b_1", "x:in_2"),
        // The file may have four channels once it is back.
        connection("session:missing_4", "x:in_3"),
      ]
      let first = try rig(document, folder)
      expectEqual(
        first.lines.filter { $0.hasPrefix("connections") },
        [
          "connections: the session has no port b_1: session:b_1 -> x:in_2 is left out",
          "connections: the session has no port missing_4 now: session:missing_4 -> x:in_3 is not made",
        ])
      expectEqual(saved(first).connections, [document.connections[0], document.connections[2]])
    }
  }

  @Test func theSessionsOwnClientNeedsNoName() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      var document = session([("a", [a])])
      document.name = "rig"
      document.connections = [connection("{self}:a_1", "x:in_1")]
      document.recordings = ["{self}", "rig", "session", "other"].enumerated().map {
        SessionRecording(name: "\($0)", ports: ["\($1):a_1"], file: "\($0).wav")
      }
      let rig = try rig(document, folder)
      expectEqual(connections(of: rig), ["a_1": ["x:in_1"]])
      expectEqual(saved(rig).connections, document.connections)
      // The client is called “session” here, as after `--name session`.
      expectEqual(
        document.recordings.map { rig.engine.presentName(of: $0.ports[0]) },
        [
          "session:a_1", "session:a_1", "session:a_1", "other:a_1",
        ])
      try document.apply(.set(SessionPath("tracks[a].name"), .text("b")))
      expectEqual(document.connections, [connection("{self}:b_1", "x:in_1")])
      expectEqual(document.recordings[0].ports, ["{self}:b_1"])
      expectEqual(document.recordings[1].ports, ["rig:b_1"])
    }
  }

  @Test func aClientThatIsAwayIsNamedOnce() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 2, frames: 4800)
      var document = session([("a", [a])])
      document.connections = (1...2).map { connection("session:a_\($0)", "rack:in_\($0)") }
      let rig = try rig(document, folder)
      let words = "waiting for rack: session:a_1 -> rack:in_1, session:a_2 -> rack:in_2"
      expectEqual(rig.lines, ["connections: \(words)"])
      expectEqual(rig.engine.waitingConnections, document.connections)
      rig.server.otherInputs = ["rack:in_1", "rack:in_2"]
      try wait(for: "the connections") { rig.engine.waitingConnections.isEmpty }
    }
  }
}
