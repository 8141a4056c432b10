import Foundation
import TestSupport
import Testing

/// The variables of PipeWire's library, as the user sets them for `cuejack play`.
@Suite(.tags(.pipeWire), .serialized) struct PipeWireEnvironmentTests {
  @Test(arguments: ["PIPEWIRE_LATENCY", "PIPEWIRE_QUANTUM"])
  func theUserChoosesThePeriod(variable: String) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      let stage = try Stage(.idle, quantum: 1024)
      // PipeWire 1.x grants the wish unless another client locks the period, as JACK clients do.
      let capture = try JackPeer.capture(locksPeriod: false, on: stage.daemon)
      let result = try play(
        [file.path],
        environment: stage.daemon.environment.merging([variable: "2048/48000"]) { $1 })
      expectSuccess(result)
      let recording = try capture.end()
      let start = try require(recording.expect(file.samples))
      let cycles = recording.cycles.map(\.frame).filter { start..<start + file.frames ~= $0 }
      let isKept = zip(cycles, cycles.dropFirst()).allSatisfy { $1 - $0 == 2048 }
      expectTrue(isKept && cycles.count >= 23, "\(cycles)")
    }
  }

  /// The variable takes the serial number of a node.
  @Test func theUserChoosesTheNode() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 24_000)
      let daemon = try PipeWireDaemon()
      let made = try daemon.run(
        "pw-cli",
        [
          "create-node", "adapter",
          """
          { factory.name = support.null-audio-sink, node.name = "second-sink",
            node.description = "Second sink", media.class = "Audio/Sink",
            audio.position = [ FL FR ], monitor.channel-volumes = false, object.linger = true }
          """,
        ])
      expectEqual(made.status, 0, "\(made)")
      for (name, title) in [("test-sink", "Test sink"), ("second-sink", "Second sink")] {
        let capture = try JackPeer.capture(
          ["\(title):monitor_FL", "\(title):monitor_FR"], on: daemon)
        let serial = try require(try daemon.properties(ofNode: name).first?["object.serial"])
        let result = try play(
          [file.path], environment: daemon.environment.merging(["PIPEWIRE_NODE": serial]) { $1 })
        expectSuccess(result)
        expectTrue(
          result.output.contains("cuejack-play:out_1 -> \(title):playback_FL"), "\(result)")
        try capture.end().expect(file.samples, title)
      }
    }
  }
}
