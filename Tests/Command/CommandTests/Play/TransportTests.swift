import CTestSupport
import Foundation
import TestSupport
import Testing

/// `cuejack play --transport`, as it is heard.
@Suite(.tags(.server, .program), .serialized) struct PlayTransportTests {
  /// A server with a conductor, and two files of noise that follow its transport.
  private final class Stage {
    let server: JackDaemon
    let conductor: Conductor
    let capture: CaptureClient
    let files: [WaveFile]
    let player: Playing

    init(_ options: [String] = [], seconds: Int = 8, in folder: URL) throws {
      server = try JackDaemon(period: 256)
      conductor = try Conductor(on: server, tempo: nil)
      capture = try CaptureClient(on: server, channels: 2, capacity: 60 * server.rate)
      files = try (1...2).map {
        try WaveFile(
          "\($0).wav", in: folder, channels: 1, frames: seconds * 48_000, seed: UInt64($0))
      }
      player = try Playing(
        files.map(\.path) + ["--transport", "--no-connect", "--server", server.name] + options,
        in: folder)
      for name in ["cuejack-play", "cuejack-play-2"] {
        try player.wait(for: "client \(name), follows the transport")
      }
      try capture.connect("cuejack-play:out_1", toInput: 1)
      try capture.connect("cuejack-play-2:out_1", toInput: 2)
      capture.arm()
      try require(capture.wait(untilFrames: 1))
    }

    /// Frame of the recording at which the transport's frame 0 is, while it rolls.
    func zero() throws -> Int {
      var zero: Int?
      try TestSupport.wait(for: "the transport") {
        zero = conductor.begin
        return zero != nil
      }
      return Int(Int32(bitPattern: UInt32(truncatingIfNeeded: zero!) &- capture.firstFrame))
    }

    /// Expects that the files are heard from a position of the transport on.
    func expectHeard(
      from position: Int, count: Int = 20_000, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let frame = try zero() + position
      try require(capture.wait(untilFrames: frame + count), sourceLocation: location)
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)[frame..<frame + count]
        let wrong = zip(heard, files[channel].samples[0][position...]).enumerated().first {
          $1.0 != $1.1
        }
        expectNil(wrong, "channel \(channel)", sourceLocation: location)
      }
    }

    /// Expects that nothing has been heard since a frame of the recording.
    func expectSilence(since frame: Int, _ location: SourceLocation = #_sourceLocation) {
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)[frame...]
        expectTrue(heard.allSatisfy { $0 == 0 }, "channel \(channel)", sourceLocation: location)
      }
    }
  }

  /// jackd's transport rolls on the frame on which both files are ready. It stops, moves and rolls again.
  @Test func theFilesAreWhereTheTransportIs() throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(in: folder)
      try require(stage.capture.wait(untilFrames: 24_000))
      stage.expectSilence(since: 0)
      stage.conductor.start()
      try stage.expectHeard(from: 0)
      stage.conductor.stop()
      try wait(for: "the stop") { stage.conductor.begin == nil }
      // The command hears of the stop in the cycle in which it happens.
      let stopped = stage.capture.capturedFrames + 12_000
      try require(stage.capture.wait(untilFrames: stopped + 12_000))
      stage.expectSilence(since: stopped)
      stage.conductor.locate(100_003)
      stage.conductor.start()
      try stage.expectHeard(from: 100_003)
      // Moved while it rolls.
      let before = try stage.zero()
      stage.conductor.locate(200_000)
      try wait(for: "the move") { try stage.zero() != before }
      try stage.expectHeard(from: 200_000)
      stage.player.send(signal: SIGTERM)
      try expectEqual(stage.player.result().status, 128 + SIGTERM)
    }
  }

  /// The last frame ends the command, as without the transport.
  @Test func theCommandEndsWithItsFiles() throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(["--seconds", "0.5"], seconds: 1, in: folder)
      stage.conductor.start()
      try stage.expectHeard(from: 0)
      let result = try stage.player.result()
      expectEqual(result.status, 0, "\(result)")
      expectTrue(result.output.contains("2.wav: played 24000 frames from frame "), "\(result)")
    }
  }

  @Test func wrongUsageIsExplained() throws {
    for words in [["--at", "+1"], ["--render", "a.wav"]] {
      let result = try play(["a.wav", "--transport"] + words)
      expectTrue(result.status == 64 && result.errors.contains("--transport"), "\(result)")
    }
  }
}
