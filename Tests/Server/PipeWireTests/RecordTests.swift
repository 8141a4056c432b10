import Foundation
import TestSupport
import Testing

/// `cuejack record` on PipeWire.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireRecordTests {
  @Test(arguments: Sink.allCases, [[], ["--at", "+0.5"]])
  func everyFrameIsRecorded(sink: Sink, arguments: [String]) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(sink)
      let emitter = try JackPeer.numbers(
        to: sink == .busy ? stage.daemon.inputs : [], on: stage.daemon)
      defer { withExtendedLifetime(emitter) {} }
      let file = folder.appendingPathComponent("take.wav").path
      let result = try cuejack(
        "record",
        [file, "--format", "f32", "--seconds", "1"] + arguments
          + ["--connect", "emitter:out_1,emitter:out_2"], environment: stage.daemon.environment)
      expectSuccess(result)
      let channels = try readWave(file)
      let count = channels.first?.count
      expectEqual(count, 48_000)
      let first = UInt32(channels[0].first ?? 0)
      for (channel, samples) in channels.enumerated() {
        let wrong = samples.indices.filter {
          samples[$0] != Emitter.sample(at: first &+ UInt32($0), channel: channel)
        }
        expectTrue(
          wrong.isEmpty, "channel \(channel): \(wrong.count), from \(wrong.first ?? -1) on")
      }
    }
  }

  @Test func aSessionForgetsItsRecorder() throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(.busy)
      let environment = stage.daemon.environment
      let path = folder.path + "/s"
      func session(_ arguments: String...) throws -> CommandResult {
        let result = try cuejack("session", arguments, environment: environment)
        expectEqual(result.status, 0, "\(arguments): \(result)")
        return result
      }
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      _ = try session("new", path, file.path)
      let running = try Playing("session", ["run", path], in: folder, environment: environment)
      try running.wait(for: "client s")
      // The second one has the name of one that is gone.
      for _ in 1...2 {
        let recorder = try Playing(
          "record", [folder.path + "/b.wav", "--force", "--connect", "s"], in: folder,
          environment: environment)
        try recorder.wait(for: "cuejack-record:in_2")
        func isForgotten() throws -> Bool {
          _ = try session("save", path)
          let saved = try String(contentsOfFile: path + "/session.json", encoding: .utf8)
          return !saved.contains("cuejack-record")
        }
        // PipeWire tells a property some time after the connections.
        try wait(for: "the claim") { try isForgotten() }
        recorder.send(signal: SIGTERM)
        _ = try recorder.result()
        expectTrue(try isForgotten())
        try wait(for: "the end of the ports") {
          try stage.daemon.run("jack_lsp", []).output.contains("cuejack-record") == false
        }
        expectTrue(try isForgotten())
        expectTrue(try !session("show", path).output.contains("waiting"))
      }
      running.send(signal: SIGTERM)
      _ = try running.result()
    }
  }
}
