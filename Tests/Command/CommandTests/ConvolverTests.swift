import Foundation
import TestSupport
import Testing

/// The convolver in the command: rooms for files and live sound.
@Suite(.tags(.server, .program), .serialized) struct ConvolverTests {
  private let environment: [String: String]

  init() throws { environment = try pluginEnvironment() }

  @Test("A response is heard as it is computed directly, offline and on a server") func sound()
    throws
  {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, coding: .s24, frames: 24_000, seed: 1)
      let room = try WaveFile(
        "room.wav", in: folder, coding: .f32, frames: 6000, seed: 2)
      let path = folder.appendingPathComponent("room.flac").path
      let made = try run(
        "sox", [room.path, "-b", "24", path, "gain", "-40"])
      try require(made.status == 0, "\(made)")
      let response = try converted(path, in: folder)
      let out = folder.appendingPathComponent("out.wav")
      let result = try play(
        [
          file.path, "--plugin", "convolver:file=\(path)", "--render", out.path, "--format", "f32",
          "--tail", "0.1",
        ], environment: environment.merging(withoutServer) { $1 })
      try require(result.status == 0 && result.errors == "", "\(result)")
      let heard = try channels(of: out)
      expectEqual(heard[0].count, 28_800)
      var (error, peak) = (0.0, 0.0)
      for channel in 0..<2 {
        for frame in stride(from: 0, to: 28_800, by: 41) {
          var sum = 0.0
          for tap in 0..<6000 where frame - tap >= 0 && frame - tap < 24_000 {
            sum += Double(response[channel][tap]) * Double(file.samples[channel][frame - tap])
          }
          error = max(error, abs(sum - Double(heard[channel][frame])))
          peak = max(peak, abs(sum))
        }
      }
      expectTrue(peak > 0.01 && 20 * log10(error / peak) < -120, "\(20 * log10(error / peak)) dB")
      let recording = try Recording(
        channels: 2, in: folder,
        [[file.path, "--plugin", "convolver:file=\(path)", "--connect", "capture"]],
        environment: environment)
      // Blocks of the transforms begin on other frames there.
      for channel in 0..<2 {
        let live = recording.samples[channel][recording.start...].prefix(24_000)
        let worst = zip(live, heard[channel]).map { abs($0 - $1) }.max() ?? 1
        expectTrue(live.count == 24_000 && Double(worst) < peak * 1e-6, "\(worst) of \(peak)")
      }
    }
  }

  @Test("A session has a response, which is checked and comes along") func session() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, frames: 9600, seed: 1)
      let room = try WaveFile(
        "room.wav", in: folder, coding: .f32, channels: 1, frames: 480, seed: 2)
      let out = folder.appendingPathComponent("out.wav")
      let plugin = "convolver:file=\(room.path),wet=-20,predelay=5"
      let played = try play(
        [file.path, "--plugin", plugin, "--render", out.path, "--format", "f32"],
        environment: environment.merging(withoutServer) { $1 })
      try require(played.status == 0, "\(played)")
      let expected = try channels(of: out)
      let session = folder.appendingPathComponent("s").path
      func run(_ arguments: String...) throws -> CommandResult {
        try cuejack("session", arguments, environment: environment)
      }
      try require(run("new", session, file.path).status == 0)
      let chain =
        "{id: \"room\", uri: \"urn:cuejack:plugins:convolver\", impulse: \"/none/room.wav\", "
        + "parameters: {wet: -20, predelay: 5}}"
      try require(run("set", session, "buses+={name: \"hall\", chain: [\(chain)]}").status == 0)
      try require(run("set", session, "tracks[in].bus=hall").status == 0)
      let faulty = try run("check", session)
      expectTrue(
        faulty.status == 1
          && faulty.errors.contains("buses[0].chain[0].impulse: there is no /none/room.wav"),
        "\(faulty)")
      try require(
        run("set", session, "buses[hall].chain[room].impulse=\(room.path)").status == 0)
      let collected = try run("collect", session)
      expectEqual(collected.status, 0, "\(collected)")
      try FileManager.default.removeItem(atPath: room.path)
      let checked = try run("check", session)
      expectEqual(checked.status, 0, "\(checked)")
      let rendered = try run(
        "render", session, "--output", out.path, "--format", "f32", "--force")
      try require(rendered.status == 0, "\(rendered)")
      let heard = try channels(of: out)
      for channel in 0..<2 {
        let worst = zip(heard[channel], expected[channel]).map { abs($0 - $1) }.max() ?? 1
        expectTrue(worst < 1e-6 && expected[channel].contains { abs($0) > 0.01 }, "\(worst)")
      }
    }
  }

  /// The process has a copy of the state in another folder of temporary files, and the response is in a third one.
  @Test("In a process of its own it reads the same file") func isolated() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, frames: 9600, seed: 1)
      let room = try WaveFile(
        "room.wav", in: folder, coding: .f32, channels: 1, frames: 480, seed: 2)
      let heard = try [[], ["--isolate", "all"]].map { isolation in
        let out = folder.appendingPathComponent("out\(isolation.count).wav")
        let result = try play(
          [
            file.path, "--plugin", "convolver:file=\(room.path),wet=-20", "--render", out.path,
            "--format", "f32",
          ] + isolation, environment: environment.merging(withoutServer) { $1 })
        try require(result.status == 0 && result.errors == "", "\(result)")
        return try channels(of: out)
      }
      expectTrue(heard[0] == heard[1] && heard[0][0].contains { abs($0) > 0.01 })
    }
  }

  /// The longest path at which there is a file is meant.
  @Test("A file's name may have commas and equal signs") func names() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, frames: 480, seed: 1)
      func response(_ name: String, _ seed: UInt64) throws -> String {
        try WaveFile(name, in: folder, coding: .f32, channels: 1, frames: 48, seed: seed).path
      }
      func heard(_ plugin: String) throws -> [[Float]] {
        let out = folder.appendingPathComponent("out.wav")
        let result = try play(
          [file.path, "--plugin", plugin, "--render", out.path, "--format", "f32", "--force"],
          environment: environment.merging(withoutServer) { $1 })
        try require(result.status == 0 && result.errors == "", "\(plugin): \(result)")
        return try channels(of: out)
      }
      let (plain, odd) = try (response("room", 2), response("room,wet=-40", 3))
      let (one, other) = try (
        heard("convolver:file=\(plain),wet=-20"), heard("convolver:wet=-20,file=\(odd)")
      )
      expectTrue(one != other && one[0].contains { abs($0) > 0.001 })
      try expectEqual(heard("convolver:file=\(odd),wet=-20"), other)
      try expectEqual(heard("convolver:wet=-20,file=\(plain)"), one)
      let same = try response("a=b, c=d.wav", 2)
      try expectEqual(heard("convolver:file=\(same),wet=-20"), one)
      for (text, path) in [("/no,a=b.wav,wet=1", "/no,a=b.wav"), ("/no,wet=x", "/no,wet=x")] {
        let result = try play(
          [file.path, "--plugin", "convolver:file=\(text)", "--render", "out.wav"],
          environment: environment.merging(withoutServer) { $1 })
        expectTrue(
          result.status == 1 && result.errors.contains("\(path): there is no such file"),
          "\(result)")
      }
    }
  }

  @Test("What is no response is told") func faults() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, frames: 480)
      let three = try WaveFile("three.wav", in: folder, channels: 3, frames: 480)
      let text = folder.appendingPathComponent("text.wav").path
      try Data("no sound".utf8).write(to: URL(fileURLWithPath: text))
      let m4a = folder.appendingPathComponent("room.m4a").path
      _ = try run("ffmpeg", ["-v", "error", "-i", file.path, m4a])
      for (plugin, words) in [
        ("convolver:file=\(three.path)", "\(three.path): it has 3 channels"),
        ("convolver:file=\(text)", "\(text): this is not a sound file"),
        ("convolver:file=/nowhere.wav", "/nowhere.wav: there is no such file"),
        ("convolver:file=\(m4a)", "\(m4a): the convolver cannot load it"),
        ("limiter:file=\(file.path)", "has no such control as “file”"),
      ] {
        let out = folder.appendingPathComponent("out.wav").path
        for isolation in [[], ["--isolate", "all"]] {
          let result = try play(
            [file.path, "--plugin", plugin, "--render", out] + isolation,
            environment: environment.merging(withoutServer) { $1 })
          expectTrue(
            result.status == 1 && result.errors.contains(words), "\(plugin) \(isolation): \(result)"
          )
        }
      }
    }
  }
}
