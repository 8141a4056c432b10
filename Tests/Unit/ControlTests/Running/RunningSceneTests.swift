import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Scenes of a session on jackd: recalled by OSC and MIDI, stored and saved.
@Suite(.tags(.server), .serialized) struct RunningSceneTests {
  private func document(_ a: WaveFile) throws -> SessionDocument {
    var document = session([("a", [a]), ("b", [a])])
    func scene(_ name: String, _ a: Double, _ b: Double) -> SessionScene {
      var scene = SessionScene(
        name: name, values: ["tracks[a].gain": .number(a), "tracks[b].gain": .number(b)])
      scene.fade = 0
      return scene
    }
    document.scenes = [scene("soft", -20, -40), scene("loud", 0, 0)]
    document.scenes[0].program = try require(SessionMIDINumber("3@2"))
    return document
  }

  @Test func messagesAndProgramsRecallAllValuesInOneCycle() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 60)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let capture = try CaptureClient(on: jack, channels: 2, capacity: 60 * 48000)
      let keys = try Keys(on: jack)
      let running = try openSession(document(a), in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      try capture.connect("session:a_1", toInput: 1)
      try capture.connect("session:b_1", toInput: 2)
      try capture.connect("keys:out", to: "session:midi_in")
      let client = try RemoteClient(of: OSCAddress(port: try require(running.port)))
      try client.send(OSCMessage("/cuejack/start"))
      try wait(for: "sound") { engine.position(ofGroup: 0) > 4800 }
      capture.arm()
      func awaitGain(_ gain: Double) throws {
        try wait(for: "the gain \(gain)") { engine.document.tracks[1].volume == gain }
        let now = engine.position(ofGroup: 0)
        try wait(for: "some frames") { engine.position(ofGroup: 0) > now + 9600 }
      }
      try client.send(OSCMessage("/cuejack/scene", .string("soft")))
      try expectEqual(
        client.values(of: "/cuejack/{scene,scenes}").map { $0.arguments.last },
        [.string("soft"), .string("soft\nloud")])
      try expectEqual(
        client.values(of: "/cuejack/tracks/2/gain").first?.arguments.last, .float(-40))
      try awaitGain(-40)
      try client.send(OSCMessage("/cuejack/scenes/2/recall"))
      try awaitGain(0)
      let soon = capture.cycleFrame &+ 2400
      try keys.play([
        Keys.Message(soon, [0xC0, 3, 0]), Keys.Message(soon &+ 100, [0xC1, 4, 0]),
        Keys.Message(soon &+ 4800, [0xC1, 3, 0]),
      ])
      try awaitGain(-40)
      expectEqual(running.recalledScene, "soft")
      capture.disarm()
      let (one, two) = (capture.samples(channel: 0), capture.samples(channel: 1))
      var gains: [Float] = []
      for (a, b) in zip(one, two) where a != 0 {
        let gain: Float = abs(b - a) <= 1e-6 * abs(a) ? 1 : 0.1
        if abs(b - a * gain) > 1e-5 * abs(a) { Issue.record("\(b / a) is of no scene") }
        if gains.last != gain { gains.append(gain) }
      }
      expectEqual(gains, [1, 0.1, 1, 0.1])
    }
  }

  /// Of messages that come together, one that is refused does not take the others with it.
  @Test func aRefusedMovementLeavesTheOthers() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let capture = try CaptureClient(on: jack, channels: 1, capacity: 48000)
      let keys = try Keys(on: jack)
      var document = try document(a)
      document.controllers = try [("cc7", "tracks[a].pan"), ("cc8", "tracks[b].gain")].map {
        SessionMapping(try require(SessionController($0)), to: $1)
      }
      document.controllers[1].low = -60
      document.controllers[1].high = 0
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      try capture.connect("keys:out", to: "session:midi_in")
      let soon = capture.cycleFrame &+ 4800
      try keys.play([
        Keys.Message(soon, [0xB0, 7, 127]), Keys.Message(soon &+ 1, [0xB0, 8, 0]),
      ])
      try wait(for: "the other gain") { running.engine?.document.tracks[1].volume == -60 }
      // A track with one port has no balance until the session is run again.
      expectEqual(running.engine?.document.tracks[0].pan, 0)
    }
  }

  @Test func scenesAreStoredSavedAndAddressed() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let running = try openSession(document(a), in: folder, on: jack)
      defer { running.end() }
      let client = try RemoteClient(of: OSCAddress(port: try require(running.port)))
      func refusal(_ address: String, _ text: String) -> String {
        do throws(RemoteError) {
          try client.send(OSCMessage(address, .string(text)))
          return "taken"
        } catch { return "\(error)" }
      }
      expectTrue(
        refusal("/cuejack/scene", "sofd").contains("there is no scene “sofd”; did you mean “soft”?")
      )
      expectTrue(refusal("/cuejack/scene/store", "").contains("1 to 200 bytes"))
      expectTrue(!running.hasEdits)
      try client.send(OSCMessage("/cuejack/tracks/1/mute", .bool(true)))
      try client.send(OSCMessage("/cuejack/tracks/2/gain", .float(-7.5)))
      try client.send(OSCMessage("/cuejack/scene/store", .string("mine")))
      try client.send(OSCMessage("/cuejack/scene/store", .string("loud")))
      let stored = [
        SessionScene(
          name: "mine",
          values: [
            "tracks[a].gain": .number(0), "tracks[a].mute": .flag(true),
            "tracks[b].gain": .number(-7.5), "tracks[b].mute": .flag(false),
          ]),
        SessionScene(
          name: "loud", values: ["tracks[a].gain": .number(0), "tracks[b].gain": .number(-7.5)]),
      ]
      try client.send(OSCMessage("/cuejack/save"))
      let saved = try SessionStore.read(folder.path + "/s").document
      expectEqual(saved.scenes.map(\.name), ["soft", "loud", "mine"])
      expectEqual(saved.scenes[2], stored[0])
      expectEqual(saved.scenes[1].values, stored[1].values)
      expectEqual(saved.scenes[1].fade, 0)
      try client.send(OSCMessage("/cuejack/tracks/1/mute", .bool(false)))
      try expectEqual(client.address(of: "scenes/mine/recall"), "/cuejack/scenes/3/recall")
      try client.send(OSCMessage("/cuejack/scenes/3/recall"))
      expectEqual(running.engine?.document.tracks[0].mute, true)
      // One edit, which a kill does not lose.
      try expectEqual(SessionStore.read(folder.path + "/s").document.tracks[0].mute, true)
    }
  }
}
