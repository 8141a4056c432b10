import FileSupport
import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// Curves of gains, balances, mutes and plugins' controls, compared with their formula sample by sample.
@Suite(.tags(.server), .serialized) struct AutomationTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"

  /// A point at a frame of a session at 48000 Hz.
  private func point(_ frame: Int, _ value: Double) -> SessionPoint {
    SessionPoint(.seconds(Double(frame) / 48000), .number(value))
  }

  /// The value of a line through points at a frame.
  private func line(_ points: [(frame: Int, value: Double)], at frame: Int) -> Double {
    guard let next = points.firstIndex(where: { $0.frame > frame }) else {
      return points[points.count - 1].value
    }
    if next == 0 { return points[0].value }
    let (a, b) = (points[next - 1], points[next])
    return a.value + (b.value - a.value) * Double(frame - a.frame) / Double(b.frame - a.frame)
  }

  private func factor(_ decibels: Double) -> Float { Float(pow(10, decibels / 20)) }

  private func curve(_ target: String, _ points: [(frame: Int, value: Double)]) -> SessionCurve {
    SessionCurve(target, points.map { point($0.frame, $0.value) })
  }

  /// Expects that samples are those of a file, from a frame on, times a gain that depends on the frame.
  private func expect(
    _ heard: [Float], _ file: [Float], from first: Int = 0, _ what: String,
    _ gain: (Int) -> Float
  ) {
    let wrong = heard.indices.first { index in
      let wanted = file[first + index] * gain(first + index)
      return abs(heard[index] - wanted) > 2e-7 + 2e-6 * abs(wanted)
    }
    guard let wrong else { return }
    Issue.record(
      "\(what): frame \(first + wrong) is \(heard[wrong] / file[first + wrong]) times the file's, not \(gain(first + wrong))"
    )
  }

  private func everything(_ rig: SessionRig) -> [Int] { Array(rig.engine.groupNames.indices) }

  /// A session whose gains, balances and mutes follow curves, and its formula.
  private struct Mix {
    static let volume = [(frame: 4801, value: 0.0), (9600, -20), (9600, -6), (14400, 0)]
    static let balance = [(frame: 0, value: -1.0), (20000, 1)]
    static let mute = (12001, 13000)
    static let bus = (frame: 24000, value: -12.0)
    let a: WaveFile
    var document: SessionDocument

    init(in folder: URL) throws {
      a = try WaveFile("a.wav", in: folder, frames: 48000, seed: 1)
      document = session([("a", [a])])
      document.buses = [SessionBus(name: "main")]
      document.tracks[0].bus = "main"
      document.transport.bpm = 60
    }
  }

  private func mix(in folder: URL) throws -> Mix {
    var mix = try Mix(in: folder)
    mix.document.automation = [
      curve("tracks[a].gain", Mix.volume), curve("tracks[0].pan", Mix.balance),
      SessionCurve(
        "tracks[a].mute",
        [
          SessionPoint(.frame(0), .flag(false)), SessionPoint(.frame(12001), .flag(true)),
          SessionPoint(.frame(13000), .flag(false)),
        ]),
      SessionCurve(
        "buses[main].gain",
        [SessionPoint(.beat(0), .number(0)), SessionPoint(.beat(0.5), .number(-12))], .step),
    ]
    return mix
  }

  private func gain(_ channel: Int, at frame: Int) -> Float {
    if frame >= Mix.mute.0, frame < Mix.mute.1 { return 0 }
    let pan = line(Mix.balance, at: frame)
    let balance = Float(min(1, channel == 0 ? 1 - pan : 1 + pan))
    let bus = frame >= Mix.bus.frame ? factor(Mix.bus.value) : 1
    return factor(line(Mix.volume, at: frame)) * balance * bus
  }

  @Test func gainsBalancesAndMutesFollowTheirCurvesToTheFrame() throws {
    try withTemporaryFolder { folder in
      let mix = try mix(in: folder)
      let rig = try SessionRig(mix.document, in: folder)
      try rig.engine.start(everything(rig), at: 0)
      rig.run(to: 30 * 1024)
      for channel in 0..<2 {
        expect(
          rig.samples(of: "main_\(channel + 1)", 0..<30 * 1024), mix.a.samples[channel],
          "channel \(channel)"
        ) { gain(channel, at: $0) }
      }
    }
  }

  @Test func curvesFollowPausesAndLocates() throws {
    try withTemporaryFolder { folder in
      let mix = try mix(in: folder)
      let rig = try SessionRig(mix.document, in: folder)
      try rig.engine.start(everything(rig), at: 0)
      rig.run(to: 2048)
      try rig.engine.pause(everything(rig))
      rig.run(to: 8192)
      try rig.engine.locate(everything(rig), to: 9000)
      rig.run(to: 10240)
      try rig.engine.start(everything(rig), at: 12000)
      rig.run(to: 20480)
      // The tracks' own fade after the start is over.
      expect(
        rig.samples(of: "main_1", 13000..<20480), mix.a.samples[0], from: 10000, "located"
      ) { gain(0, at: $0) }
      try rig.engine.locate(everything(rig), to: 3000, at: 24000)
      rig.run(to: 30 * 1024)
      expect(
        rig.samples(of: "main_2", 25000..<30 * 1024), mix.a.samples[1], from: 4000, "moved back"
      ) { gain(1, at: $0) }
    }
  }

  /// A track that loops goes on along the timeline.
  @Test func aLoopGoesOnAlongTheCurve() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 3000)
      var document = session([("a", [a])])
      document.tracks[0].loop = true
      let points = [(frame: 0, value: 0.0), (9600, -12)]
      document.automation = [curve("tracks[a].gain", points)]
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(everything(rig), at: 0)
      rig.run(to: 10240)
      let sound = Array((a.samples[0] + a.samples[0] + a.samples[0] + a.samples[0])[..<10240])
      expect(rig.samples(of: "a_1", 0..<10240), sound, "loop") { factor(line(points, at: $0)) }
    }
  }

  /// The gain of eg-amp whose control goes in a line from a point, in steps of 32 frames.
  private func ramp(_ from: Double, _ to: Double, over length: Int, at elapsed: Int) -> Float {
    let end = (elapsed / 32 + 1) * 32
    return factor(end >= length ? to : from + (to - from) * Double(end) / Double(length))
  }

  @Test func controlsOfPluginsFollowTheirCurves() throws {
    try withTemporaryFolder { folder in
      try validate(Self.amp)
      let a = try WaveFile("a.wav", in: folder, frames: 48000, seed: 1)
      for isolate in [false, true] {
        var document = session([("a", [a])])
        document.tracks[0].chain = [SessionPlugin(id: "amp", uri: Self.amp)]
        document.tracks[0].chain[0].isolate = isolate
        document.automation = [
          curve("tracks[a].chain[amp].parameters.gain", [(1001, -3), (9001, -20), (9001, 2)])
        ]
        let path =
          isolate
          ? try renderByCommand(document, in: folder) : try render(document, in: folder, "out.wav")
        let heard = try samples(path)
        for channel in 0..<2 {
          expect(heard[channel], a.samples[channel], "channel \(channel), isolate \(isolate)") {
            frame in
            switch frame {
            case ..<1001: factor(-3)
            case ..<9001: ramp(-3, -20, over: 8000, at: frame - 1001)
            default: factor(2)
            }
          }
        }
      }
    }
  }

  /// The limiter of the bus delays its sound by 240 frames. Curves before and behind it meet the same sound.
  @Test func curvesMeetTheSoundBehindALatency() throws {
    for (name, value) in try pluginEnvironment() { setenv(name, value, 1) }
    try withTemporaryFolder { folder in
      let limiter = "urn:cuejack:plugins:limiter"
      try validate(limiter)
      try validate(Self.amp)
      let a = try WaveFile("a.wav", in: folder, frames: 30000, seed: 1)
      var document = session([("a", [a])])
      document.tracks[0].bus = "main"
      document.buses = [SessionBus(name: "main")]
      document.buses[0].chain = [
        SessionPlugin(id: "limiter", uri: limiter), SessionPlugin(id: "amp", uri: Self.amp),
      ]
      document.automation = [
        curve("tracks[a].gain", [(0, -40), (7000, -40), (7000, -30)]),
        curve("buses[main].gain", [(0, 0), (11000, 0), (11000, -6)]),
        curve("buses[main].chain[amp].parameters.gain", [(0, 0), (15000, 0), (15000, 10)]),
      ]
      let heard = try samples(render(document, in: folder, "out.wav"))
      for channel in 0..<2 {
        expect(heard[channel], a.samples[channel], "channel \(channel)") { frame in
          factor(frame < 7000 ? -40 : -30) * factor(frame < 11000 ? 0 : -6)
            * factor(frame < 15000 ? 0 : 10)
        }
      }
    }
  }

  @Test func aHandDoesNotMoveWhatACurveMoves() throws {
    try withTemporaryFolder { folder in
      let mix = try mix(in: folder)
      let rig = try SessionRig(mix.document, in: folder)
      var document = rig.engine.document
      document.tracks[0].volume = -3
      do throws(SessionRunError) {
        try rig.engine.adopt(document)
        Issue.record("the edit was taken")
      } catch {
        expectEqual(
          "\(error)", "tracks[0].gain: a curve of the session's automation moves this value")
      }
      document = rig.engine.document
      document.tracks[0].solo = true
      document.buses[0].mute = true
      try rig.engine.adopt(document)
      try expectEqual(
        require(rig.engine.automated(SessionPath("tracks[0].gain"))), 0)
      try expectNil(rig.engine.automated(SessionPath("buses[0].mute")))
    }
  }

  /// A plugin in a process of its own needs the command.
  private func renderByCommand(_ document: SessionDocument, in folder: URL) throws -> String {
    _ = try SessionStore(creating: folder.path + "/s", document)
    let path = folder.appendingPathComponent("command.wav").path
    let result = try run(
      builtProduct(named: "cuejack").path,
      ["session", "render", folder.path + "/s", "--output", path, "--rate", "48000"])
    expectEqual(result.status, 0, "\(result)")
    return path
  }

  private func render(_ document: SessionDocument, in folder: URL, _ name: String) throws -> String
  {
    var options = SessionRendering.Options()
    options.sampleRate = 48000
    let path = folder.appendingPathComponent(name).path
    let rendering = try SessionRendering(
      document, in: try SessionFolder(opening: folder.path), to: path, options,
      onMessage: { _ in })
    _ = try require(try rendering.run(isStopped: { false }))
    return path
  }
}
