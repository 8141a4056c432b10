import Foundation
import TestSupport
import Testing

/// Files and error messages of `cuejack play --render`.
@Suite(.tags(.program), .serialized) struct RenderTests {
  /// Renders without a server, where none may be started.
  private func render(_ arguments: [String], to path: String) throws -> CommandResult {
    try play(
      arguments + ["--render", path],
      environment: [
        "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())", "JACK_NO_START_SERVER": "1",
      ])
  }

  /// Returns a file's interleaved samples, decoded by `ffmpeg`.
  private func samples(of path: String) throws -> [Float] {
    let raw = path + ".raw"
    let result = try run(
      "ffmpeg", ["-v", "error", "-y", "-i", path, "-f", "f32le", "-c:a", "pcm_f32le", raw])
    guard result.status == 0 else { throw SupportError(result.errors) }
    return try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
  }

  private func interleaved(_ planes: [[Float]], gain: Float = 1) -> [Float] {
    planes[0].indices.flatMap { frame in planes.map { $0[frame] * gain } }
  }

  private func info(_ path: String, _ option: String) throws -> String {
    try run("soxi", [option, path]).output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test("Roles that a codec gives the channels are told")
  func roles() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, channels: 8, frames: 4800)
      for (name, isTold) in [("out.m4a", true), ("out.wav", false)] {
        let out = folder.appendingPathComponent(name).path
        let result = try render([file.path], to: out)
        expectEqual(result.status, 0, "\(result)")
        let told = "\(out): the channels have no roles; in AAC they become left, right, centre"
        expectEqual(result.errors.contains(told), isTold, "\(result)")
      }
    }
  }

  @Test("A file is written as it was read, in every kind", arguments: WaveFile.Coding.allCases)
  func exact(coding: WaveFile.Coding) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, coding: coding, frames: 100_003)
      for end in ["wav", "aiff", "caf", "w64", "rf64", "au"] {
        let out = folder.appendingPathComponent("out.\(end)").path
        let result = try render([file.path], to: out)
        expectTrue(result.status == 0 && result.errors == "", "\(result)")
        expectEqual(result.output, "\(out): wrote 100003 frames\n")
        let bits = [.s16: "16", .s24: "24", .f32: "32"][coding]!
        try expectEqual(samples(of: out), interleaved(file.samples))
        // sox does not support the other two.
        guard end != "rf64" && end != "w64" else { continue }
        expectTrue(
          try info(out, "-r") == "48000" && info(out, "-c") == "2" && info(out, "-b") == bits)
      }
    }
  }

  @Test(
    "Rate and pitch leave each other alone",
    arguments: [("0.5", "0", 440), ("2", "0", 440), ("1", "1200", 880), ("0.75", "-700", 293.66)]
      as [(String, String, Double)])
  func rateAndPitch(rate: String, pitch: String, hertz: Double) throws {
    try withTemporaryFolder { folder in
      let tone = folder.appendingPathComponent("tone.wav").path
      let made = try run("sox", "-n -r 48000 -b 24 -c 1 \(tone) synth 3 sine 440".words)
      guard made.status == 0 else { throw SupportError(made.errors) }
      let out = folder.appendingPathComponent("out.wav").path
      let result = try render([tone, "--rate", rate, "--pitch", pitch], to: out)
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      let heard = try samples(of: out)
      let expected = 144_000 / Double(rate)!
      expectTrue(abs(Double(heard.count) - expected) <= 0.005 * expected)
      // Count rising zero crossings in the middle half.
      let middle = heard[(heard.count / 4)..<(heard.count * 3 / 4)]
      let crossings = zip(middle, middle.dropFirst()).filter { $0 < 0 && $1 >= 0 }.count
      let found = Double(crossings) * 48_000 / Double(middle.count)
      expectTrue(abs(found - hertz) <= 0.005 * hertz)
    }
  }

  @Test("Several files are mixed as they would sound, and what is clipped is counted")
  func mix() throws {
    try withTemporaryFolder { folder in
      let long = try WaveFile("a.wav", in: folder, coding: .f32, frames: 60_000, seed: 1)
      let short = try WaveFile("b.wav", in: folder, channels: 1, frames: 30_001, seed: 2)
      let out = folder.appendingPathComponent("out.wav").path
      let result = try render([long.path, short.path, "--volume", "0.5"], to: out)
      expectEqual(result.status, 0, "\(result)")
      let mono = short.samples[0].map { $0 * 0.5 } + [Float](repeating: 0, count: 29_999)
      let expected = interleaved(long.samples.map { zip($0, mono).map { $0 * 0.5 + $1 } })
      try expectEqual(samples(of: out), expected)
      // With integers, twice the same signal clips.
      let loud = try WaveFile("c.wav", in: folder, frames: 1000, seed: 3)
      let clipped = folder.appendingPathComponent("clipped.aiff").path
      let second = try render([loud.path, loud.path], to: clipped)
      let sums = interleaved(loud.samples).map { $0 * 2 }
      let count = sums.count { $0 > 32767 / 32768 || $0 < -1 }
      expectEqual(second.output, "\(clipped): wrote 1000 frames; clipped samples: \(count)\n")
      try expectEqual(samples(of: clipped), sums.map { min(max($0, -1), 32767 / 32768) })
    }
  }

  @Test("A sample is clipped if no integer of the file is nearest to it", arguments: [16, 24, 32])
  func clipping(bits: Int) throws {
    try withTemporaryFolder { folder in
      var samples: [Float] = [0, 0.5, 1, -1, 2, -2]
      for exponent in [-24, -23, -16, -15] {
        let step = Float(sign: .plus, exponent: exponent, significand: 1)
        for edge in [1 - step, -1 - step] { samples += [edge.nextDown, edge, edge.nextUp] }
      }
      let file = folder.appendingPathComponent("edges.wav").path
      try writeWave([samples], to: file)
      let out = folder.appendingPathComponent("out.wav").path
      let result = try render([file, "--format", "s\(bits)"], to: out)
      let fullScale = Double(sign: .plus, exponent: bits - 1, significand: 1)
      let count = samples.count { sample in
        let integer = (Double(sample) * fullScale).rounded(.toNearestOrEven)
        return integer > fullScale - 1 || integer < -fullScale
      }
      expectTrue(count > 2)
      expectEqual(
        result.output, "\(out): wrote \(samples.count) frames; clipped samples: \(count)\n",
        "\(result)")
    }
  }

  @Test("A second file at another rate is converted; --seconds is kept to")
  func rates() throws {
    try withTemporaryFolder { folder in
      let first = try WaveFile("a.wav", in: folder, rate: 48000, frames: 100)
      let second = try WaveFile("b.wav", in: folder, rate: 44100, frames: 88_200)
      let out = folder.appendingPathComponent("out.wav").path
      let result = try render([first.path, second.path, "--seconds", "1"], to: out)
      expectTrue(result.status == 0 && result.output.contains("wrote 48000 frames"), "\(result)")
    }
  }

  @Test("Parts, fades, the balance and staggered files are rendered as they are played")
  func options() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 48_000)
      let out = folder.appendingPathComponent("out.wav").path
      let result = try render(
        [
          file.path, file.path, "--start", "0.1", "--end", "0.2", "--stagger", "0.25", "--fade-in",
          "0.05", "--pan", "0.5",
        ], to: out)
      expectTrue(result.status == 0 && result.output.contains("wrote 16800 frames"), "\(result)")
      var expected = [Float](repeating: 0, count: 2 * 16_800)
      for first in [0, 12_000] {
        for frame in 0..<4800 {
          let gain = frame < 2400 ? Float(Double(frame) / 2400) : 1
          expected[2 * (first + frame)] = file.samples[0][4800 + frame] * 0.5 * gain
          expected[2 * (first + frame) + 1] = file.samples[1][4800 + frame] * gain
        }
      }
      try expectEqual(samples(of: out), expected)
    }
  }

  @Test func whatCannotBeWrittenIsToldAndNothingIsLeft() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("in.wav", in: folder, frames: 4800)
      func expectFailure(_ path: String, _ words: String, _ arguments: [String] = []) throws {
        let result = try render([file.path] + arguments, to: path)
        expectTrue(result.status == 1 && result.output == "", "\(result)")
        expectTrue(
          result.errors.hasPrefix("cuejack: \(path): ") && result.errors.contains(words),
          "\(result)")
      }
      try expectFailure(folder.path + "/out.xyz", "its name has to end in")
      try expectFailure(folder.path + "/none/out.wav", "no such folder")
      try expectFailure("/proc/out.wav", "cannot be written")
      let kept = try Data(contentsOf: URL(fileURLWithPath: file.path))
      try expectFailure(file.path, "already")
      try expectEqual(Data(contentsOf: URL(fileURLWithPath: file.path)), kept)
      let directory = folder.appendingPathComponent("folder.wav")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      try expectFailure(directory.path, "this is a directory", ["--force"])
      let out = folder.appendingPathComponent("out.wav").path
      // On a full disk, an old file stays.
      try Data("old".utf8).write(to: URL(fileURLWithPath: out))
      let program = try builtProduct(named: "cuejack").path
      let full = try run(
        "bash",
        ["-c", "ulimit -f 5; exec \"$0\" play \"$1\" --render \"$2\" --force", program, file.path]
          + [out])
      expectTrue(
        full.status == 1 && full.errors.contains("\(out): the file cannot be written"), "\(full)")
      expectEqual(text(of: URL(fileURLWithPath: out)), "old")
      try expectEqual(
        FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(),
        ["folder.wav", "in.wav", "out.wav"])
      try FileManager.default.removeItem(atPath: out)
      try expectEqual(render([file.path], to: out).status, 0)
      try expectEqual(render([file.path], to: out).status, 1)
      try expectEqual(render([file.path, "--force"], to: out).status, 0)
      // The output can replace an input file.
      let louder = try render([out, out, "--force"], to: out)
      expectTrue(louder.status == 0 && louder.output.contains("wrote 4800 frames"), "\(louder)")
      expectTrue(try samples(of: out) != samples(of: file.path))
      // With a damaged input, nothing is written.
      let cut = folder.appendingPathComponent("cut.wav")
      try kept.prefix(30).write(to: cut)
      try expectEqual(render([cut.path], to: folder.path + "/cut-out.wav").status, 1)
      expectTrue(!FileManager.default.fileExists(atPath: folder.path + "/cut-out.wav"))
    }
  }

  @Test func whatNeedsAServerMakesNoSense() throws {
    for options in [["--at", "+1"], ["--server", "a"], ["--no-connect"], ["--connect", "a:b"]] {
      let result = try play(["a.wav", "--render", "b.wav"] + options)
      expectTrue(
        result.status == 64 && result.errors.contains("\(options[0]) makes no sense"), "\(result)")
    }
    try expectEqual(play(["a.wav", "--force"]).status, 64)
    try expectEqual(play(["a.wav", "--render", "b.wav", "--loop"]).status, 64)
  }
}

extension String {
  fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
