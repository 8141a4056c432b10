import Foundation
import TestSupport
import Testing

/// `cuejack play --render --midi`: MIDI files through plugins.
@Suite(.tags(.program)) struct RenderMIDITests {
  private static let environment = withoutServer.merging(["LV2_PATH": "/usr/lib/lv2"]) { $1 }

  /// Writes a file of format 0 with 480 ticks a quarter note, at 120 beats a minute: a tick is 50 frames
  /// of 48 kHz.
  private func song(_ events: [(ticks: Int, bytes: [UInt8])], in folder: URL) throws -> String {
    let body = events.flatMap { event -> [UInt8] in
      [UInt8(0x80 | event.ticks >> 7), UInt8(event.ticks & 0x7f)] + event.bytes
    }
    let head: [UInt8] = [0, 0, 0, 6, 0, 0, 0, 1, 0x01, 0xe0]
    let size = [24, 16, 8, 0].map { UInt8(body.count >> $0 & 0xff) }
    let path = folder.appendingPathComponent("\(UUID().uuidString).mid")
    try Data("MThd".utf8 + head + "MTrk".utf8 + size + body).write(to: path)
    return path.path
  }

  private func rendered(_ arguments: [String], in folder: URL) throws -> [[Float]] {
    let output = folder.appendingPathComponent("\(UUID().uuidString).wav")
    let result = try play(
      arguments + ["--render", output.path, "--format", "f32"],
      environment: Self.environment.merging(["XDG_CACHE_HOME": folder.path]) { $1 })
    try require(result.status == 0 && result.errors == "", "\(arguments): \(result)")
    return try channels(of: output)
  }

  /// A note comes on its frame, and the rendering ends with the last event and the tail.
  @Test func anInstrumentPlaysAFile() throws {
    try withTemporaryFolder { folder in
      let end: (Int, [UInt8]) = (480, [0xff, 0x2f, 0])
      let early = try song([(0, [0x90, 60, 100]), end], in: folder)
      let late = try song([(0, [0xc0, 0]), (41, [0x90, 60, 100]), end], in: folder)
      let plugin = ["--plugin", "MDA Piano", "--tail", "0.25", "--midi"]
      let first = try rendered(plugin + [early], in: folder)
      let second = try rendered(plugin + [late], in: folder)
      expectTrue(first.count == 2 && first[0].count == 24_000 + 12_000)
      expectEqual(second[0].count, 24_000 + 2050 + 12_000)
      for channel in 0..<2 {
        expectTrue(first[channel].contains { abs($0) > 0.05 })
        expectTrue(second[channel][..<2050].allSatisfy { $0 == 0 })
        expectTrue(first[channel].elementsEqual(second[channel].dropFirst(2050)))
      }
    }
  }

  /// A controller of the file moves a control from its frame on, while a sound file plays.
  @Test func controllersMoveControls() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, channels: 1, frames: 30_000)
      let midi = try song(
        [(100, [0xb0, 7, 127]), (100, [0xb1, 7, 0]), (0, [0xff, 0x2f, 0])], in: folder)
      let heard = try rendered(
        [file.path, "--plugin", "eg-amp", "--midi", midi, "--map", "cc7@1=1:gain:-20..20"],
        in: folder)[0]
      expectEqual(heard.count, 30_000)
      expectTrue(heard[..<5000].elementsEqual(file.samples[0][..<5000]))
      let wrong = (10_000..<30_000).count { abs(heard[$0] - 10 * file.samples[0][$0]) > 1e-4 }
      expectEqual(wrong, 0)
      let changed = (5000..<5064).contains { heard[$0] != file.samples[0][$0] }
      expectTrue(changed)
    }
  }

  @Test func whatCannotBeIsNamed() throws {
    try withTemporaryFolder { folder in
      let midi = try song([(0, [0xff, 0x2f, 0])], in: folder)
      let sound = try WaveFile("a.wav", in: folder, frames: 100)
      let out = folder.appendingPathComponent("out.wav").path
      let plugin = ["--plugin", "eg-amp"]
      for (arguments, status, message) in [
        (["--midi", midi, "--render", out], 64, "--midi is for --plugin"),
        (plugin + ["--midi", midi], 64, "Missing expected argument"),
        (plugin + [sound.path, "--midi", midi], 64, "--midi is for --render"),
        (plugin + ["--render", out], 64, "Missing expected argument"),
        (plugin + ["--midi", midi, "--render", out, "--learn", "1:gain"], 64, "--learn makes no"),
        (plugin + ["--midi", sound.path, "--render", out], 1, "no Standard MIDI File"),
        (plugin + ["--midi", out, "--render", out], 1, "No such file"),
        (plugin + ["--midi", midi, "--render", out, "--map", "cc7=1:x"], 1, "its controls are"),
      ] as [([String], Int32, String)] {
        let result = try play(arguments, environment: Self.environment)
        expectTrue(result.status == status && result.errors.contains(message), "\(result)")
        expectTrue(!FileManager.default.fileExists(atPath: out))
      }
    }
  }
}
