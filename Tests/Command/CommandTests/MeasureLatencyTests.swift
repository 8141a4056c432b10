import Foundation
import TestSupport
import Testing

/// `cuejack measure-latency`, through loops of known delays.
@Suite(.tags(.server, .program), .serialized) struct MeasureLatencyTests {
  private struct Report: Decodable {
    let roundTripFrames, leastFrames, greatestFrames, knownFrames, systemicFrames: Int
    let roundTripMilliseconds, gain, coefficient: Double
    let isInverted: Bool
  }

  private let ports = ["--output", "loop:in_1", "--input", "loop:out_1"]

  /// Runs `body` with a `cuejack fx` called `loop`.
  private func withLoop(_ plugin: String, _ body: (JackDaemon, [String: String]) throws -> Void)
    throws
  {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(period: 256)
      let environment = [
        "LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path, "XDG_RUNTIME_DIR": folder.path,
      ]
      let loop = try Playing(
        "fx",
        [
          "--plugin", plugin, "--channels", "1", "--connect-in", "system:capture_1",
          "--connect-out", "system:playback_1", "--name", "loop", "--server", jack.name,
        ], in: folder, environment: environment)
      try loop.wait(for: "loop:out_1 -> ")
      try body(jack, environment)
      loop.send(signal: SIGINT)
      _ = try loop.result()
    }
  }

  private func measure(_ jack: JackDaemon, _ more: [String] = []) throws -> Report {
    let result = try cuejack(
      "measure-latency", ports + ["--server", jack.name, "--json"] + more)
    expectEqual(result.status, 0, "\(result)")
    return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
  }

  /// JACK delays a loop of connections by one period.
  @Test func theRoundTripIsExactToTheFrame() throws {
    try withLoop("eg-amp:gain=-6") { jack, environment in
      let plain = try measure(jack)
      expectEqual(plain.roundTripFrames, 256)
      expectTrue(plain.leastFrames == 256 && plain.greatestFrames == 256, "\(plain)")
      expectEqual(plain.systemicFrames, 256 - plain.knownFrames)
      expectTrue(
        abs(plain.gain + 6) < 0.1 && plain.coefficient > 0.999 && !plain.isInverted, "\(plain)")
      let set = try cuejack("set", ["loop", "delay=10.0625"], environment: environment)
      expectEqual(set.status, 0, "\(set)")
      let late = try measure(jack)
      expectEqual(late.roundTripFrames, 256 + 483)
      let people = try cuejack("measure-latency", ports + ["--server", jack.name])
      expectTrue(
        people.output.contains("round trip: 739 frames (15.396 ms)")
          && people.output.contains("level:      -6.0 dB"), "\(people)")
      let wrong = try cuejack("set", ["loop", "delay=2001"], environment: environment)
      expectTrue(wrong.status == 1 && wrong.errors.contains("2000"), "\(wrong)")
    }
  }

  /// A plugin tells its latency, which JACK adds up both ways in a loop of connections.
  @Test func theLatencyThatJACKKnowsIsTold() throws {
    try withLoop("http://gareus.org/oss/lv2/nodelay:delay=1000") { jack, _ in
      let report = try measure(jack)
      expectEqual(report.roundTripFrames, 1256)
      expectTrue(report.knownFrames >= 1000, "\(report)")
    }
  }

  @Test func noFigureHasItsReason() throws {
    try withLoop("eg-amp") { jack, environment in
      func fails(_ words: [String], _ status: Int32, _ reason: String) throws {
        let result = try cuejack("measure-latency", words + ["--server", jack.name])
        expectTrue(result.status == status && result.errors.contains(reason), "\(result)")
      }
      try fails([], 1, "nothing came back to system:capture_1 within 2 s")
      try fails(["--output", "loop:in_11"], 1, "did you mean “loop:in_1”?")
      try fails(["--input", "system:*"], 1, "it names 2 ports")
      try fails(["--level", "1dB"], 64, "--level takes a gain up to full scale")
      let emitter = try Emitter(on: jack, channels: 1)
      let capture = try CaptureClient(on: jack, capacity: 4096)
      try capture.connect("emitter:out_1", to: "loop:in_1")
      try fails(ports + ["--level", "-80dB"], 1, "is lost in other sound")
      withExtendedLifetime(emitter) {}
    }
  }
}
