import Foundation
import TestSupport
import Testing

/// MIDI files and live MIDI through SoundFonts.
@Suite(.tags(.server, .program), .serialized) struct SoundFontTests {
  /// A song of one note, from half a second to a second and a half.
  private static func song(in folder: URL, _ name: String = "song.mid") throws -> String {
    // 480 ticks a quarter note of half a second.
    let track: [UInt8] = [
      0x83, 0x60, 0x90, 60, 127, 0x87, 0x40, 0x80, 60, 64, 0, 0xFF, 0x2F, 0,
    ]
    let file: [UInt8] =
      Array("MThd".utf8) + [0, 0, 0, 6, 0, 0, 0, 1, 1, 0xE0] + Array("MTrk".utf8)
      + [0, 0, 0, UInt8(track.count)] + track
    let path = folder.appendingPathComponent(name)
    try Data(file).write(to: path)
    return path.path
  }

  private func samples(of path: String, channels: Int = 2) throws -> [[Float]] {
    let raw = path + ".raw"
    let result = try run(
      "ffmpeg", ["-v", "error", "-y", "-i", path, "-f", "f32le", "-c:a", "pcm_f32le", raw])
    guard result.status == 0 else { throw SupportError(result.errors) }
    let all = try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
    return (0..<channels).map { channel in
      stride(from: channel, to: all.count, by: channels).map { all[$0] }
    }
  }

  /// The first frame that sounds. FluidSynth's effects have an offset far below that.
  private func begin(_ samples: some Collection<Float>) -> Int? {
    samples.enumerated().first { abs($0.element) > 1e-6 }?.offset
  }

  private func render(_ arguments: [String], to path: String) throws -> [[Float]] {
    let result = try play(
      arguments + ["--render", path, "--force"], environment: pluginEnvironment())
    try require(result.status == 0 && result.errors == "", "\(result)")
    return try samples(of: path)
  }

  @Test func aMIDIFileSoundsOnItsFrames() throws {
    try withTemporaryFolder { folder in
      let song = try Self.song(in: folder)
      let font = try TinySoundFont.constant.write(to: folder)
      let out = folder.appendingPathComponent("out.wav").path
      let sound = try render([song, "--soundfont", font], to: out)
      // 1.5 s and 3 s for its end.
      expectEqual(sound[0].count, 216_000)
      expectEqual(begin(sound[0]), 24_001)
      expectTrue(abs(sound[0][60_000]) > 0.01 && sound[0][215_000...].allSatisfy { abs($0) < 1e-4 })
      // A part begins anew: the note that began before is silent, and a later one sounds on its frame.
      let part = try render([song, "--soundfont", font, "--start", "0.3"], to: out)
      expectEqual(begin(part[0]), 24_001 - 14_400)
      let twice = try render([song, song, "--sequence", "--soundfont", font], to: out)
      expectEqual(twice[0].count, 2 * 216_000)
      expectEqual(begin(twice[0][216_000...]), 24_001)
      // The system's bank.
      let usual = try render([song], to: out)
      expectTrue(usual[0][24_000..<48_000].contains { abs($0) > 0.01 })
    }
  }

  @Test func whatIsHeardIsWhatIsRendered() throws {
    try withTemporaryFolder { folder in
      let song = try Self.song(in: folder)
      let expected = try render([song], to: folder.appendingPathComponent("out.wav").path)
      let server = try JackDaemon(period: 256)
      let capture = try CaptureClient(on: server, channels: 2, capacity: 8 * server.rate)
      let at = capture.cycleFrame &+ UInt32(6 * server.rate)
      let player = try Playing(
        [
          song, "--at", "\(at)", "--server", server.name, "--connect", "capture",
        ], in: folder, environment: pluginEnvironment())
      try player.wait(for: "start frame")
      capture.arm()
      try require(capture.wait(untilFrames: 1))
      let begin = Int(at &- capture.firstFrame)
      try require(capture.wait(untilFrames: begin + 60_000))
      capture.disarm()
      player.send(signal: SIGINT)
      _ = try player.result()
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)
        let wrong = (0..<60_000).count { heard[begin + $0] != expected[channel][$0] }
        expectEqual(wrong, 0)
      }
    }
  }

  /// Of `cuejack fx`: the first note begins on its frame.
  @Test func liveNotesSoundOnTheirFrames() throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.constant.write(to: folder)
      let server = try JackDaemon(period: 256)
      let keys = try Keys(on: server)
      let capture = try CaptureClient(on: server, channels: 2, capacity: 6 * server.rate)
      let player = try Playing(
        "fx",
        [
          "--soundfont", font, "--connect-out", "capture", "--midi-in", "keys", "--server",
          server.name,
        ], in: folder, environment: pluginEnvironment())
      try player.wait(for: "cuejack-fx:midi_in <- keys:out")
      let frame = capture.cycleFrame &+ UInt32(4 * server.rate) &+ 77
      try keys.play([Keys.Message(frame, [0x90, 60, 127])])
      try capture.setFreewheel(true)
      capture.arm()
      try require(capture.wait(untilFrames: 1))
      let begin = Int(frame &- capture.firstFrame)
      try require(capture.wait(untilFrames: begin + 4800))
      capture.disarm()
      try capture.setFreewheel(false)
      expectEqual(self.begin(capture.samples(channel: 0)), begin + 1)
      player.send(signal: SIGTERM)
      let result = try player.result()
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
    }
  }

  @Test func aSessionPlaysMIDIFilesAndInstruments() throws {
    try withTemporaryFolder { folder in
      let song = try Self.song(in: folder)
      let font = try TinySoundFont.constant.write(to: folder)
      let out = folder.appendingPathComponent("out.wav").path
      let expected = try render([song, "--soundfont", font], to: out)
      let environment = try pluginEnvironment()
      let session = folder.appendingPathComponent("s").path
      for arguments in [
        ["new", session, song],
        ["set", session, "tracks[song].soundFont=\(font)"],
        [
          "set", session,
          "buses+={name: \"keys\", chain: [{id: \"synth\", uri: \"urn:cuejack:plugins:soundfont\", soundFont: \"\(font)\"}]}",
        ],
        ["check", session], ["render", session, "--output", out, "--force"],
      ] {
        let result = try cuejack("session", arguments, environment: environment)
        try require(result.status == 0, "\(arguments): \(result)")
      }
      let sound = try samples(of: out)
      expectTrue(sound[0].count >= 60_000)
      let wrong = (0..<60_000).count { abs(sound[0][$0] - expected[0][$0]) > 1e-6 }
      expectEqual(wrong, 0)
    }
  }

  /// The SoundFonts of a track and of a plugin are checked, and come along.
  @Test func aSessionChecksAndCollectsItsSoundFonts() throws {
    try withTemporaryFolder { folder in
      let song = try Self.song(in: folder)
      let font = try TinySoundFont.constant.write(to: folder)
      let environment = try pluginEnvironment()
      let session = folder.appendingPathComponent("s").path
      func run(_ arguments: String...) throws -> (status: Int32, errors: String) {
        let result = try cuejack("session", arguments, environment: environment)
        return (result.status, result.errors)
      }
      try require(run("new", session, song).status == 0)
      try require(run("set", session, "tracks[song].soundFont=/none/a.sf2").status == 0)
      let plugin = "id: \"synth\", uri: \"urn:cuejack:plugins:soundfont\""
      let bus = "buses+={name: \"keys\", chain: [{\(plugin), soundFont: \"\(song)\"}]}"
      try require(run("set", session, bus).status == 0)
      let faulty = try run("check", session)
      expectEqual(faulty.status, 1)
      expectTrue(
        faulty.errors.contains("tracks[0].soundFont: there is no /none/a.sf2"), "\(faulty)")
      let words = "buses[0].chain[0].soundFont: \(song): "
      expectTrue(faulty.errors.contains(words), "\(faulty)")
      let refused = try run("collect", session)
      expectTrue(refused.status == 1 && refused.errors.contains("/none/a.sf2"), "\(refused)")
      try require(run("set", session, "tracks[song].soundFont=\(font)").status == 0)
      try require(run("set", session, "buses[keys].chain[synth].soundFont=\(font)").status == 0)
      expectEqual(try run("collect", session).status, 0)
      try FileManager.default.removeItem(atPath: font)
      try FileManager.default.removeItem(atPath: song)
      expectEqual(try run("check", session).status, 0)
      let text = try String(contentsOfFile: session + "/session.json", encoding: .utf8)
      let name = URL(fileURLWithPath: font).lastPathComponent
      expectEqual(text.components(separatedBy: "\"audio/\(name)\"").count, 3, "\(text)")
    }
  }

  @Test func whatCannotBePlayedSaysWhy() throws {
    try withTemporaryFolder { folder in
      let song = try Self.song(in: folder)
      let out = folder.appendingPathComponent("out.wav").path
      let cut = folder.appendingPathComponent("cut.sf2").path
      try TinySoundFont.sine.data.dropLast(100).write(to: URL(fileURLWithPath: cut))
      let damaged = folder.appendingPathComponent("damaged.mid").path
      try Data("MThd    ".utf8).write(to: URL(fileURLWithPath: damaged))
      for (arguments, reason) in [
        ([song, "--soundfont", "/nowhere.sf2"], "/nowhere.sf2: there is no such file"),
        ([song, "--soundfont", song], "it is neither a SoundFont nor a DLS file"),
        ([song, "--soundfont", cut], "cut.sf2: cannot be used as a SoundFont: it ends after"),
        ([damaged], "damaged.mid: the file cannot be played as MIDI"),
      ] {
        let result = try play(
          arguments + ["--render", out], environment: pluginEnvironment())
        expectTrue(result.status == 1 && result.errors.contains(reason), "\(result)")
      }
      for isolation in [[], ["--isolate", "all"]] {
        let result = try play(
          ["--plugin", "soundfont:file=\(cut)", "--midi", song, "--render", out] + isolation,
          environment: pluginEnvironment())
        expectTrue(
          result.status == 1 && result.errors.contains("\(cut): FluidSynth cannot load it"),
          "\(isolation): \(result)")
      }
      var environment = try pluginEnvironment()
      environment["CUEJACK_SOUNDFONT"] = "/nowhere.sf2"
      let result = try play([song, "--render", out], environment: environment)
      expectTrue(
        result.status == 1 && result.errors.contains("/nowhere.sf2"), "\(result)")
    }
  }
}
