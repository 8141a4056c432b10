import Foundation
import TestSupport
import Testing

/// `cuejack play --delay`.
@Suite(.tags(.server, .program), .serialized) struct DelayTests {
  @Test(arguments: [("100f", 100), ("12.5ms", 600)])
  func renderedSoundIsLateToTheFrame(delay: String, frames: Int) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 20_000)
      let heard = try rendered([file.path, "--delay", delay], in: folder)
      expectEqual(heard.map(\.count), [20_000 + frames, 20_000 + frames])
      for channel in 0..<2 {
        expectTrue(heard[channel].prefix(frames).allSatisfy { $0 == 0 })
        expectEqual(Array(heard[channel].dropFirst(frames)), file.samples[channel])
      }
    }
  }

  @Test func playedSoundIsLateToTheFrame() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      let jack = try JackDaemon(period: 256)
      let capture = try CaptureClient(on: jack, capacity: 48_000 * 20)
      capture.arm()
      let result = try play(
        [file.path, "--delay", "777f", "--server", jack.name, "--connect", "capture"])
      capture.disarm()
      expectTrue(
        result.status == 0 && result.output.contains("delay: client cuejack-play, 777 frames"),
        "\(result)")
      let start = try require(result.output.firstMatch(of: /start frame (\d+)/)?.output.1)
      let first = Int(
        UInt32(truncatingIfNeeded: try require(Int64(start)) + 777) &- capture.firstFrame)
      expectEqual(capture.gaps, [])
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)
        expectEqual(Array(heard[first..<first + 48_000]), file.samples[channel])
        expectTrue(heard[..<first].allSatisfy { $0 == 0 })
      }
    }
  }

  @Test(arguments: ["2.1s", "384001f", "x"]) func otherDelaysAreRefused(delay: String) throws {
    let result = try play(["a.wav", "--delay", delay])
    expectEqual(result.status, 64, "\(result)")
  }
}
