import Foundation
import TestSupport
import Testing

/// A server that enters and leaves freewheel mode while a command runs.
@Suite(.tags(.server, .program), .serialized) struct FreewheelTests {
  /// Lets the server run `seconds` of its time in freewheel, and then half a second in real time.
  private func toggle(_ capture: CaptureClient, _ server: JackDaemon, seconds: Int) throws {
    let frames = capture.capturedFrames
    try capture.setFreewheel(true)
    expectTrue(capture.wait(untilFrames: frames + seconds * server.rate, deadline: 60))
    try capture.setFreewheel(false)
    let end = capture.capturedFrames + server.rate / 2
    expectTrue(capture.wait(untilFrames: end, deadline: 60))
  }

  @Test func aRecordingLosesNothing() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      let capture = try CaptureClient(on: server, channels: 1, capacity: 300 * server.rate)
      let file = folder.appendingPathComponent("take.w64")
      let recorder = try Playing(
        "record",
        [
          file.path, "--format", "f32", "--server", server.name,
          "--connect", "emitter:out_1,emitter:out_2",
        ], in: folder)
      try recorder.wait(for: ":in_2")
      capture.arm()
      expectTrue(capture.wait(untilFrames: server.rate))
      // The recorder has buffers for four seconds.
      for _ in 0..<2 { try toggle(capture, server, seconds: 40) }
      recorder.send(signal: SIGINT)
      let result = try recorder.result()
      expectTrue(result.status == 0 && result.errors == "", "\(result.errors)")
      let told = try require(
        result.output.firstMatch(of: #/recorded (\d+) frames .* from frame (\d+); overruns: 0,/#),
        "\(result.output)")
      let frames = try require(Int(told.output.1))
      expectTrue(frames > 80 * server.rate)
      let start = try require(Int64(told.output.2))
      let first = UInt32(truncatingIfNeeded: start)
      try expectEqual(wrongSamples(file, frames: frames, channels: 2, start: first), 0)
      withExtendedLifetime(emitter) {}
    }
  }

  @Test func aPlayLosesNothing() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, channels: 2, capacity: 100 * server.rate)
      let file = try WaveFile("sound.wav", in: folder, coding: .f32, frames: 20 * server.rate)
      let player = try Playing(
        [
          file.path, "--server", server.name, "--connect",
          "\(capture.name):in_1,\(capture.name):in_2",
        ],
        in: folder)
      capture.arm()
      try player.wait(for: "start frame")
      try toggle(capture, server, seconds: 8)
      let result = try player.result()
      expectTrue(result.status == 0 && result.errors == "", "\(result.errors)")
      // The server itself may report an xrun where its clock changes.
      expectTrue(
        result.output.contains("played \(file.frames) frames from frame")
          && result.output.contains("ran dry: 0") && !result.output.contains("not heard"),
        "\(result.output)")
      capture.disarm()
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)
        let first = heard.firstIndex { $0 != 0 } ?? 0
        expectTrue(heard[first...].prefix(file.frames).elementsEqual(file.samples[channel]))
      }
    }
  }
}
