import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// Scenes that are recalled in hand-driven cycles.
@Suite(.tags(.server), .serialized) struct SceneTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"

  private func factor(_ decibels: Double) -> Float { Float(pow(10, decibels / 20)) }

  /// Gains, a mute and a plugin's control go to the scene from one frame on, in the scene's time.
  @Test func allValuesOfASceneChangeFromOneFrameOn() throws {
    try validate(Self.amp)
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000, seed: 1)
      var document = session([("a", [a]), ("b", [a]), ("c", [a])])
      document.tracks[2].chain = [SessionPlugin(id: "amp", uri: Self.amp)]
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(Array(rig.engine.groupNames.indices), at: 0)
      rig.run(to: 4096)
      var scene = SessionScene(
        name: "soft",
        values: [
          "tracks[a].gain": .number(-20), "tracks[b].mute": .flag(true),
          "tracks[c].chain[amp].parameters.gain": .number(-12),
        ])
      scene.fade = 100
      document.tracks[0].volume = -20
      document.tracks[1].mute = true
      document.tracks[2].chain[0].parameters["gain"] = -12
      document.scenes = [scene]
      let begin = Int(rig.engine.recallFrame)
      expectTrue(begin % SessionRig.period == 0 && begin > 4096 && begin < 4096 + 2048)
      try rig.engine.adopt(document, recalling: scene)
      rig.run(to: 12288)
      func heard(_ port: String) -> [Float] { rig.samples(of: port, 0..<12288) }
      func line(_ frame: Int, to end: Float) -> Float {
        let at = frame - begin
        return at <= 0 ? 1 : at >= 4800 ? end : 1 + (end - 1) * (Float(at) / 4800)
      }
      expectEqual(heard("a_1"), (0..<12288).map { a.samples[0][$0] * line($0, to: factor(-20)) })
      expectEqual(heard("b_1"), (0..<12288).map { a.samples[0][$0] * line($0, to: 0) })
      let amp = heard("c_1")
      let wrong = (0..<12288).first { frame in
        let end = ((frame - begin) / 32 + 1) * 32
        let decibels = frame < begin ? 0 : end >= 4800 ? -12 : -12 * Double(end) / 4800
        return abs(amp[frame] - a.samples[0][frame] * factor(decibels)) > 1e-6
      }
      expectNil(wrong)
    }
  }

  /// A hand that moves a fader during the crossfade has that fader at once; the others go on.
  @Test func aHandTakesOneFaderOutOfTheCrossfade() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000, seed: 1)
      var document = session([("a", [a]), ("b", [a])])
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(Array(rig.engine.groupNames.indices), at: 0)
      rig.run(to: 1024)
      var scene = SessionScene(
        name: "off", values: ["tracks[a].mute": .flag(true), "tracks[b].mute": .flag(true)])
      scene.fade = 500
      document.tracks[0].mute = true
      document.tracks[1].mute = true
      let begin = Int(rig.engine.recallFrame)
      try rig.engine.adopt(document, recalling: scene)
      rig.run(to: 8192)
      document.tracks[1].mute = false
      document.tracks[1].volume = -20
      try rig.engine.adopt(document)
      rig.run(to: 12288)
      let gains = ["a_1", "b_1"].map { rig.samples(of: $0, 0..<12288)[12000] / a.samples[0][12000] }
      expectTrue(abs(gains[0] - (1 - Float(12000 - begin) / 24000)) < 1e-4, "\(gains)")
      expectTrue(abs(gains[1] - 0.1) < 1e-6, "\(gains)")
    }
  }

  @Test func aValueThatAPluginRefusesLeavesAllAsTheyAre() throws {
    try validate(Self.amp)
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000, seed: 1)
      var document = session([("a", [a])])
      document.tracks[0].chain = [SessionPlugin(id: "amp", uri: Self.amp)]
      let rig = try SessionRig(document, in: folder)
      let scene = SessionScene(
        name: "loud",
        values: [
          "tracks[a].gain": .number(-20), "tracks[a].chain[amp].parameters.gain": .number(500),
        ])
      document.tracks[0].volume = -20
      #expect(throws: SessionRunError.self) { try rig.engine.adopt(document, recalling: scene) }
      try rig.engine.start([0], at: 0)
      rig.run(to: 4096)
      expectEqual(rig.samples(of: "a_1", 0..<4096), Array(a.samples[0][..<4096]))
      expectEqual(rig.engine.document.tracks[0].volume, 0)
      // A file with such a scene is refused with the scene and the parameter.
      document.scenes = [scene]
      do {
        _ = try SessionRig(document, in: folder)
        Issue.record("the session was opened")
      } catch let error as SessionRunError {
        expectTrue(
          "\(error)".contains(
            "scenes[loud].values[\"tracks[a].chain[amp].parameters.gain\"]: 500 is out of the control's range, -90 to 24 dB"
          ), "\(error)")
      }
    }
  }

  @Test func thePresentValuesAreThoseThatAreHeard() throws {
    try validate(Self.amp)
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800, seed: 1)
      var document = session([("a", [a])])
      document.tracks[0].chain = [SessionPlugin(id: "amp", uri: Self.amp)]
      document.tracks[0].bus = "main"
      document.buses = [SessionBus(name: "main")]
      document.tracks[0].volume = -6.5
      document.automation = [
        SessionCurve("buses[main].gain", [SessionPoint(.seconds(0), .number(-1))])
      ]
      let rig = try SessionRig(document, in: folder)
      document.tracks[0].chain[0].parameters["gain"] = -3.3
      document.tracks[0].mute = true
      try rig.engine.adopt(document)
      expectEqual(
        rig.engine.presentValues(),
        [
          "tracks[a].gain": .number(-6.5), "tracks[a].mute": .flag(true),
          "tracks[a].pan": .number(0), "tracks[a].chain[amp].parameters.gain": .number(-3.3),
          "buses[main].mute": .flag(false),
        ])
      let part = SessionScene(name: "part", values: ["tracks[0].gain": .number(0)])
      expectEqual(rig.engine.presentValues(of: part), ["tracks[0].gain": .number(-6.5)])
    }
  }
}
