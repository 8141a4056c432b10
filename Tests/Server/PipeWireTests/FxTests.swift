import Foundation
import TestSupport
import Testing

/// `cuejack fx` on PipeWire.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireFxTests {
  /// An amplifier at 0 dB does not change a bit, nor lose a frame.
  @Test(arguments: Sink.allCases, [[], ["--isolate", "all"]])
  func theEffectPassesEveryFrame(sink: Sink, arguments: [String]) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(sink)
      let emitter = try JackPeer.numbers(on: stage.daemon)
      defer { withExtendedLifetime(emitter) {} }
      let fx = try Playing(
        "fx",
        [
          "--plugin", "eg-amp:gain=0", "--channels", "2", "--connect-in", "emitter",
          "--connect-out", stage.daemon.inputs.joined(separator: ","),
        ] + arguments, in: folder,
        environment: stage.daemon.environment.merging([
          "LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path,
        ]) { $1 })
      try fx.wait(for: "cuejack-fx:in_2 <- emitter:out_2")
      try fx.wait(for: "cuejack-fx:out_2 -> \(stage.daemon.inputs[1])")
      let ports = ["cuejack-fx:out_1", "cuejack-fx:out_2"]
      let capture = try JackPeer.capture(ports, seconds: 20, on: stage.daemon)
      usleep(1_500_000)
      let recording = try capture.end()
      fx.send(signal: SIGTERM)
      let result = try fx.result()
      // A plugin's process that a busy machine holds up is late: its input is heard, which is the same at 0 dB.
      let errors = result.errors.split(separator: "\n").filter { !$0.contains("” was late ") }
      expectTrue(result.status == 0 && errors == [], "\(result)")
      for (channel, samples) in recording.samples.enumerated() {
        let heard = samples.drop { $0 == 0 }.prefix { $0 != 0 }
        expectTrue(heard.count > 24_000, "channel \(channel): \(heard.count) frames")
        // The emitter numbers its frames.
        let wrong = zip(heard, heard.dropFirst()).enumerated().first { $1.1 != $1.0 + 1 }
        expectNil(wrong, "channel \(channel): frame \(wrong?.offset ?? 0)")
      }
    }
  }
}
