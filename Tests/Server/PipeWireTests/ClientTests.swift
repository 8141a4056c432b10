import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` with a PipeWire sink: what is heard is their file, sample by
/// sample, and what is played to them is in theirs.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireClientTests {
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
        try convert(["--force", "--format", "f32", "--rate", "48000", file.path, resampled])
        let sound = rate == 48000 ? file.samples : try readWave(resampled)
        let expected = sound.map { $0.map { $0 * player.gain } }
        try hears(expected, on: stage, "\(player) at \(rate) Hz") {
          let (words, server) = try player.arguments(file.path)
          defer { withExtendedLifetime(server) {} }
          return try ClientProgram(player.rawValue, language).run(
            words, environment: stage.daemon.environment)
        }
      }
    }
  }

  /// Each kind of file, at the sink's rate and at another one, is heard as `cuejack convert` decodes it.
  @Test(arguments: ["aac.m4a aac", "mp3.mp3 mp3", "alac.m4a alac", "ima4.caf ima4"])
  func packetsAreHeard(kind: String) throws {
    let (name, format) = (kind.split(separator: " ")[0], String(kind.split(separator: " ")[1]))
    try withTemporaryFolder { folder in
      let stage = try Stage(.busy, quantum: 2048)
      for rate in [48000, 44100] {
        let source = try WaveFile("\(rate).wav", in: folder, rate: rate, frames: rate * 2 / 3)
        let file = folder.appendingPathComponent("\(rate)-\(name)").path
        try convert(["--format", format, source.path, file])
        let decoded = folder.appendingPathComponent("decoded.wav").path
        try convert(["--force", "--format", "f32", "--rate", "48000", file, decoded])
        try hears(try readWave(decoded), on: stage, "\(rate) Hz") {
          try ClientProgram("player").run([file], environment: stage.daemon.environment)
        }
      }
    }
  }

  @Test func aToneIsHeard() throws {
    let stage = try Stage(.busy, quantum: 2048)
    let tone = (0..<20_000).map { (frame: Int) -> Float in Float(100 * (frame % 100 + 1)) / 32768 }
    try hears([tone, tone], on: stage, "tone") {
      try ClientProgram("tone", .cxx).run(
        ["100", "20000", "48000"], environment: stage.daemon.environment)
    }
  }

  @Test func theDeviceIsListed() throws {
    let stage = try Stage(.idle, quantum: 2048)
    let result = try ClientProgram("devices").run(["-d"], environment: stage.daemon.environment)
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    for line in ["name: PipeWire", "rate: 48000", "alive: 1"] {
      expectTrue(result.output.contains("  \(line)\n"), "\(result.output)")
    }
  }

  /// Two queues, and an IOProc with calls as long as the period and with others.
  @Test(arguments: ["thru", "ioproc", "ioproc 480"]) func whatIsPassedOnIsHeard(how: String) throws
  {
    let words = how.split(separator: " ").map(String.init)
    try withTemporaryFolder { folder in
      let stage = try Stage(.busy, quantum: 2048)
      let source = try WaveFile("source.wav", in: folder, frames: 32_000)
      let output = folder.appendingPathComponent("output")
      try hears(source.samples, on: stage, how) {
        let program = try Child(
          ClientProgram(words[0]).built().path, Array(words.dropFirst()),
          environment: playEnvironment(stage.daemon.environment), output: output)
        try wait(for: "the program") {
          text(of: output).contains("recording\n") || program.wait(seconds: 0) != nil
        }
        let played = try play(
          [source.path, "--connect", "\(words[0]):in_1,\(words[0]):in_2"],
          environment: stage.daemon.environment)
        program.send(signal: SIGINT)
        let status = program.wait(seconds: 60) ?? -1
        return CommandResult(
          status: played.status == 0 ? status : played.status, output: text(of: output),
          errors: "")
      }
    }
  }

  private func convert(_ arguments: [String]) throws {
    let converted = try cuejack("convert", arguments)
    try require(converted.status == 0, "\(converted)")
  }

  /// Expects a program to be heard, and to end well.
  private func hears(
    _ expected: [[Float]], on stage: Stage, _ what: String, _ body: () throws -> CommandResult
  ) throws {
    func attempt() throws -> String? {
      let capture = try JackPeer.capture(seconds: 20, on: stage.daemon)
      let result = try body()
      let recording = try capture.end()
      guard result.status == 0, result.errors == "" else { return "\(result)" }
      return difference(surrounded: recording.samples, expected)
    }
    var wrong = try attempt()
    // PipeWire leaves out the cycle of a client that a busy machine holds up.
    if let first = wrong {
      print("\(what) again: \(first)")
      wrong = try attempt()
    }
    expectNil(wrong, "\(what): \(wrong ?? "")")
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
          [source.path, "--connect", "recorder:in_1,recorder:in_2"],
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
      expectNil(wrong, "\(wrong ?? "")")
    }
  }
}
