import Foundation
import TestSupport
import Testing

/// `cuejack play --plugin`, live and rendered.
@Suite(.tags(.server, .program), .serialized) struct PlayPluginTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  private let toCapture = ["--connect", "capture:in_1,capture:in_2"]

  /// Returns eg-amp's output for a gain in dB.
  private func amplified(_ samples: [Float], by decibels: Float) -> [Float] {
    let factor = powf(10, decibels * 0.05)
    return samples.map { $0 * factor }
  }

  private func rendered(_ arguments: [String], frames: Int, channels: Int) throws -> [[Float]] {
    try withTemporaryFolder { folder in
      let out = folder.appendingPathComponent("out.wav").path
      let result = try play(
        arguments + ["--render", out],
        environment: pluginEnvironment().merging(["JACK_NO_START_SERVER": "1"]) { $1 })
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectEqual(result.output, "\(out): wrote \(frames) frames\n")
      let raw = folder.appendingPathComponent("out.raw").path
      let made = try run(
        "ffmpeg", ["-v", "error", "-i", out, "-f", "f32le", "-c:a", "pcm_f32le", raw])
      try require(made.status == 0, "\(made.errors)")
      let samples = try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes {
        Array($0.bindMemory(to: Float.self))
      }
      expectEqual(samples.count, frames * channels)
      return (0..<channels).map { channel in
        stride(from: channel, to: samples.count, by: channels).map { samples[$0] }
      }
    }
  }

  @Test func aFileIsWrittenAsPluginsMakeIt() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 20_011)
      let written = try rendered(
        [file.path, "--plugin", "\(Self.amp):gain=-6", "--plugin", "\(Self.amp):gain=2.5"],
        frames: 20_011, channels: 2)
      for channel in 0..<2 {
        let expected = amplified(amplified(file.samples[channel], by: -6), by: 2.5)
        expectEqual(written[channel], expected)
      }
    }
  }

  /// The limiter has a look-ahead. The output still starts with the file's first frame and contains the
  /// last ones.
  @Test func latencyIsNotWritten() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 10_007)
      let limiter = ["--volume", "0.25", "--plugin", "urn:cuejack:plugins:limiter"]
      let written = try rendered([file.path] + limiter, frames: 10_007, channels: 2)
      let longer = try rendered(
        [file.path] + limiter + ["--tail", "0.25"], frames: 10_007 + 12_000, channels: 2)
      for channel in 0..<2 {
        expectEqual(written[channel], file.samples[channel].map { $0 * 0.25 })
        expectTrue(longer[channel].prefix(10_007).elementsEqual(written[channel]))
        expectTrue(longer[channel].dropFirst(10_007).allSatisfy { $0 == 0 })
      }
    }
  }

  @Test func filesMeetAndAreHeardOnTheFrameThatWasAsked() throws {
    try withTemporaryFolder { folder in
      let stereo = try WaveFile("a.wav", in: folder, coding: .f32, frames: 24_100, seed: 1)
      let mono = try WaveFile(
        "b.wav", in: folder, coding: .f32, channels: 1, frames: 12_000, seed: 2)
      let recording = try Recording(
        channels: 2, in: folder,
        [
          [stereo.path, mono.path, "--volume", "0.25"]
            + ["--plugin", "\(Self.amp):gain=-6", "--plugin", "urn:cuejack:plugins:limiter"]
            + toCapture
        ], environment: pluginEnvironment())
      for channel in 0..<2 {
        let sum = stereo.samples[channel].indices.map { frame in
          stereo.samples[channel][frame] * 0.25
            + (frame < mono.frames ? mono.samples[0][frame] * 0.25 : 0)
        }
        recording.expect(channel, amplified(sum, by: -6))
      }
      let result = recording.results[0]
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(result.output.contains("240 frames of latency"), "\(result)")
      expectTrue(result.output.contains("cuejack-play:out_2 -> capture:in_2"), "\(result)")
    }
  }

  /// By the end of its URI, by its label, and by the control that it sets.
  @Test func aPresetIsFoundByItsName() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, channels: 1, frames: 9000)
      let equalizer = "urn:cuejack:plugins:preset-eq-mono"
      let heard = try [
        "\(equalizer):preset=16", "\(equalizer)#rock", "preset-eq-mono#Rock", equalizer,
      ]
      .map { try rendered([file.path, "--plugin", $0], frames: 9000, channels: 1) }
      expectTrue(heard[1] == heard[0] && heard[2] == heard[0] && heard[3] != heard[0])
    }
  }

  @Test(arguments: [
    ("http://example.org/none", "no plugin <http://example.org/none> is installed"),
    ("http://lv2plug.in/plugins/eg-amp#none", "has no preset <none>; it has no presets"),
    ("preset-eq-mono#Rok", "has no preset <Rok>; its presets are “Rock”, “Pop”"),
    (
      "http://lv2plug.in/plugins/eg-amp:loud=1",
      "no such control as “loud”; its controls are “gain”"
    ),
    ("http://lv2plug.in/plugins/eg-amp:gain=1000", "1000.0 is no value for “gain”"),
  ])
  func whatCannotBeIsNamed(plugin: String, message: String) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 1000)
      let out = folder.appendingPathComponent("out.wav").path
      let result = try play(
        [file.path, "--plugin", plugin, "--render", out], environment: pluginEnvironment())
      expectTrue(result.status == 1 && result.errors.contains(message), "\(result)")
      expectTrue(!FileManager.default.fileExists(atPath: out))
      let server = try JackDaemon()
      let live = try play(
        [file.path, "--plugin", plugin, "--server", server.name],
        environment: pluginEnvironment())
      expectTrue(live.status == 1 && live.errors.contains(message), "\(live)")
    }
  }

  @Test func valuesAreNumbers() throws {
    let result = try play(["a.wav", "--plugin", "\(Self.amp):gain=loud"])
    expectEqual(result.status, 64, "\(result)")
  }
}
