import Foundation
import TestSupport
import Testing

/// What `cuejack info` measures and draws.
@Suite(.tags(.program)) struct MeasurementTests {
  /// Returns the report of one file.
  private func report(_ path: String, _ options: [String]) throws -> [String: Any] {
    let result = try cuejack("info", ["--json"] + options + [path])
    expectEqual(result.status, 0, "\(result)")
    let reports = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
    return try require((reports as? [[String: Any]])?.first)
  }

  /// The same sound has the same sum in every lossless file, and it is FFmpeg's.
  @Test(arguments: [WaveFile.Coding.s16, .s24, .f32]) func theSumIsThatOfTheSound(
    coding: WaveFile.Coding
  ) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: coding, frames: 5000)
      let form = coding == .f32 ? "f32le" : "s32le"
      let ffmpeg = try run(
        "ffmpeg",
        [
          "-v", "error", "-i", file.path, "-c:a", "pcm_\(form)", "-f", "hash", "-hash", "sha256",
          "-",
        ])
      let wanted = try require(ffmpeg.output.firstMatch(of: /SHA256=([0-9a-f]{64})/)).output.1
      var paths = [file.path]
      let ends = [WaveFile.Coding.s16: ["flac"], .s24: ["flac", "m4a", "aiff"], .f32: ["caf"]]
      for end in ends[coding]! {
        let path = folder.appendingPathComponent("b.\(end)").path
        let words = end == "m4a" ? ["--format", "alac"] : []
        let made = try cuejack("convert", [file.path, path] + words)
        expectEqual(made.status, 0, "\(made)")
        paths.append(path)
      }
      for path in paths {
        let sum = try require(try report(path, ["--checksum"])["checksum"] as? [String: String])
        expectEqual(sum, ["sha256": String(wanted), "samples": form], "\(path)")
      }
      let words = try cuejack("info", ["--checksum", "--loudness", file.path]).output
      expectTrue(words.contains("  SHA-256:   \(wanted) (\(form))\n"))
      expectTrue(
        words.contains(#/  loudness:  -?[\d.inf-]+ LUFS, range .* LU, true peak .* dBTP, /#))
      // Not without being asked.
      let plain = try report(file.path, [])
      expectTrue(plain["checksum"] == nil && plain["loudness"] == nil)
      // One bit makes another sum.
      var bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: URL(fileURLWithPath: file.path))
      let other = try require(
        try report(file.path, ["--checksum"])["checksum"] as? [String: String])
      expectTrue(try require(other["sha256"]) != String(wanted))
    }
  }

  @Test func loudnessIsAPropertyOfEachObject() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("sine.wav").path
      let sine = (0..<96000).map { 0.25 * sin(2 * Float.pi * 997 / 48000 * Float($0)) }
      try writeWave([sine, sine], to: path)
      let loudness = try require(try report(path, ["--loudness"])["loudness"] as? [String: Any])
      // A sine at -12.04 dB in both channels.
      expectTrue(abs(try require(loudness["integrated"] as? Double) + 12.04) < 0.1)
      expectTrue(abs(try require(loudness["truePeak"] as? Double) + 12.04) < 0.05)
      expectTrue(loudness["samplePeak"] as? Double == -12.04 && loudness["clips"] as? Int == 0)
      expectEqual(loudness["range"] as? Double, 0)
      let silent = folder.appendingPathComponent("silent.wav").path
      try writeWave([[Float](repeating: 0, count: 1000)], to: silent)
      let nothing = try require(try report(silent, ["--loudness"])["loudness"] as? [String: Any])
      expectTrue(nothing["integrated"] is NSNull && nothing["samplePeak"] is NSNull)
    }
  }

  @Test func picturesAreWrittenAndNotReplaced() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 5000)
      func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
      for words in [
        ["--waveform", path("w.png"), "--spectrum", path("s.png")], ["--waveform", path("w.svg")],
        ["--waveform", path("w.pdf"), "--spectrum", path("s.SVG")],
      ] {
        let result = try cuejack("info", words + [file.path])
        expectTrue(result.status == 0 && result.errors == "", "\(result)")
      }
      for (name, head) in [
        ("w.png", "\u{89}PNG"), ("s.png", "\u{89}PNG"), ("w.svg", "<?xml"), ("s.SVG", "<?xml"),
        ("w.pdf", "%PDF"),
      ] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
        expectTrue(bytes.starts(with: head.unicodeScalars.map { UInt8($0.value) }), "\(name)")
      }
      let again = try cuejack("info", ["--waveform", path("w.svg"), file.path])
      expectTrue(
        again.status == 1 && again.errors.contains("\(path("w.svg")): ") == true, "\(again)")
      expectTrue(again.errors.contains("--force replaces it"))
      let forced = try cuejack("info", ["--waveform", path("w.svg"), "--force", file.path])
      expectEqual(forced.status, 0)
      for words in [
        ["--waveform", "a.jpg"], ["--spectrum", "svg"], ["--force"],
        ["--waveform", "a.png", "--spectrum", "a.png"],
      ] {
        let wrong = try cuejack("info", words + [file.path])
        expectEqual(wrong.status, 64, "\(words): \(wrong)")
      }
      try expectEqual(cuejack("info", ["--spectrum", "a.png", file.path, file.path]).status, 64)
    }
  }

  /// A file that is no library stands for one that is not installed.
  @Test func withoutCairoAPictureIsRefused() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 5000)
      try Data().write(to: folder.appendingPathComponent("libcairo.so.2"))
      for name in ["a.png", "a.svg"] {
        let path = folder.appendingPathComponent(name).path
        let result = try run(
          builtProduct(named: "cuejack").path, ["info", "--waveform", path, file.path],
          environment: ["LD_LIBRARY_PATH": folder.path])
        expectEqual(result.status, 1)
        expectTrue(
          result.errors.hasPrefix(
            "cuejack: \(path): the file cannot be written: cairo (libcairo2) cannot be loaded: "),
          "\(result.errors)")
        expectTrue(!FileManager.default.fileExists(atPath: path))
      }
    }
  }
}
