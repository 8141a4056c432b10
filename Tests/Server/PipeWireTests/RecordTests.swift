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
      #expect(count == 48_000)
      let first = UInt32(channels[0].first ?? 0)
      for (channel, samples) in channels.enumerated() {
        let wrong = samples.indices.filter {
          samples[$0] != Emitter.sample(at: first &+ UInt32($0), channel: channel)
        }
        #expect(wrong.isEmpty, "channel \(channel): \(wrong.count), from \(wrong.first ?? -1) on")
      }
    }
  }
}
