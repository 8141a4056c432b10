import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` with a PipeWire sink: what is heard is their file, sample by
/// sample, and what is played to them is in theirs.
@Suite(.serialized) struct PipeWireClientTests {
  enum Player: String, CaseIterable, Sendable {
    case player, mixer, push, engine, stream

    /// The gain at which it plays a file.
    var gain: Float { [.mixer, .engine].contains(self) ? 0.5 : 1 }

    /// Its arguments for a file, and what must live while it runs.
    func arguments(_ path: String) throws -> (words: [String], server: SocketSender?) {
      switch self {
      case .player, .push, .engine: return ([path], nil)
      case .mixer: return ([path, "0"], nil)
      case .stream:
        let sender = try SocketSender(try Data(contentsOf: URL(fileURLWithPath: path)))
        return (["\(sender.port)"], sender)
      }
    }
  }

  /// Files at the sink's rate are heard bit for bit, others as `cuejack convert` resamples them.
  @Test(arguments: Player.allCases, Sink.allCases)
  func aFileIsHeard(player: Player, sink: Sink) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(sink, quantum: 2048)
      for (rate, language) in [(48000, ClientProgram.Language.c), (44100, .cxx)] {
        let file = try WaveFile("\(rate).wav", in: folder, rate: rate, frames: rate * 2 / 3)
        let resampled = folder.appendingPathComponent("resampled.wav").path
        let converted = try cuejack(
          "convert", ["--force", "--format", "f32", "--rate", "48000", file.path, resampled])
        try #require(converted.status == 0, "\(converted)")
        let sound = rate == 48000 ? file.samples : try readWave(resampled)
        let expected = sound.map { $0.map { $0 * player.gain } }
        func attempt() throws -> String? {
          let (words, server) = try player.arguments(file.path)
          defer { withExtendedLifetime(server) {} }
          let capture = try JackPeer.capture(seconds: 20, on: stage.daemon)
          let result = try ClientProgram(player.rawValue, language).run(
            words, environment: stage.daemon.environment)
          let recording = try capture.end()
          guard result.status == 0, result.errors == "" else { return "\(result)" }
          return difference(surrounded: recording.samples, expected)
        }
        var wrong = try attempt()
        // PipeWire leaves out the cycle of a client that a busy machine holds up.
        if let first = wrong {
          print("\(player) again: \(first)")
          wrong = try attempt()
        }
        #expect(wrong == nil, "\(rate) Hz: \(wrong ?? "")")
      }
    }
  }

  @Test(arguments: ["a.wav", "a.caf"]) func whatIsPlayedIsRecorded(name: String) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(.busy, quantum: 2048)
      let source = try WaveFile("source.wav", in: folder, frames: 32_000)
      let file = folder.appendingPathComponent(name).path
      func attempt() throws -> String? {
        let output = folder.appendingPathComponent("output")
        let recorder = try Child(
          ClientProgram("recorder").built().path, [file],
          environment: playEnvironment(stage.daemon.environment), output: output)
        try wait(for: "the recorder") {
          text(of: output).contains("recording\n") || recorder.wait(seconds: 0) != nil
        }
        let played = try play(
          [source.path, "--connect", "recorder:in_1", "recorder:in_2"],
          environment: stage.daemon.environment)
        expectSuccess(played)
        recorder.send(signal: SIGINT)
        guard recorder.wait(seconds: 60) == 0 else { return text(of: output) }
        let decoded = folder.appendingPathComponent("decoded.wav").path
        let converted = try cuejack("convert", ["--force", "--format", "f32", file, decoded])
        guard converted.status == 0 else { return "\(converted)" }
        return difference(surrounded: try readWave(decoded), source.samples)
      }
      var wrong = try attempt()
      if let first = wrong {
        print("recorder again: \(first)")
        wrong = try attempt()
      }
      #expect(wrong == nil, "\(wrong ?? "")")
    }
  }
}
