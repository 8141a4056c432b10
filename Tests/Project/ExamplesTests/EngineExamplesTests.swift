import Foundation
import TestSupport
import Testing

/// The examples with engines of AVFAudio, built against an installation in both modes of the language.
@Suite(.tags(.server, .pipeWire, .program), .serialized) struct EngineExamplesTests {
  enum Kind: CaseIterable, Sendable {
    case jackd, pipeWire

    /// Starts a server whose sound card is a client of the test.
    func server() throws -> any PeerServer {
      switch self {
      case .jackd: try JackDaemon(period: 1024, playbackPorts: 0, capturePorts: 0)
      case .pipeWire: try PipeWireDaemon(hasSink: false)
      }
    }
  }

  private func run(
    _ name: String, _ arguments: [String], on server: [String: String]? = nil
  ) throws -> CommandResult {
    // PipeWire's library calls its server so.
    let settings = ["JACK_DEFAULT_SERVER": "pipewire-0", "JACK_NO_START_SERVER": "1"]
    return try SwiftProgram(example: name).run(
      arguments, environment: settings.merging(server ?? [:]) { $1 })
  }

  /// Runs commands beside each other and says what is wrong with the sum that is heard; nil if nothing is. A busy machine
  /// holds up cycles of PipeWire, so that it may take more than one try.
  private func hear(
    _ name: String, on server: any PeerServer, _ commands: () throws -> [[String]],
    _ wrong: ([[Float]]) -> String?
  ) throws {
    var found: String?
    for _ in 1...4 {
      let card = try JackPeer.card(on: server)
      let group = DispatchGroup()
      let environment = server.environment
      let results = Results()
      for arguments in try commands() {
        DispatchQueue.global().async(group: group) {
          results.add(try? run(name, arguments, on: environment))
        }
      }
      group.wait()
      let heard = try sound(card.end().samples)
      let failed = results.all.filter { $0?.status != 0 || $0?.errors != "" }
      found = failed.isEmpty ? wrong(heard) : "\(failed)"
      if found == nil { return }
    }
    Issue.record("\(name): \(found ?? "")")
  }

  private final class Results: @unchecked Sendable {
    private let lock = NSLock()
    private var results: [CommandResult?] = []
    var all: [CommandResult?] { lock.withLock { results } }
    func add(_ result: CommandResult?) { lock.withLock { results.append(result) } }
  }

  @Test(arguments: Kind.allCases) func theGeneratorPlaysItsSine(kind: Kind) throws {
    let server = try kind.server()
    try hear("SignalGenerator", on: server) {
      [["1000", "1", "-6"]]
    } _: { heard in
      let level = pow(10, -6.0 / 20)
      // The first frame is 0.
      let wanted = (1...24_000).map { Float(level * sin(2 * .pi * Double($0) * 1000 / 48000)) }
      return heard.count < 2
        ? "\(heard.count) channels"
        : difference(Array(heard[1].prefix(24_000)), wanted, tolerance: 1e-5)
    }
  }

  @Test(arguments: Kind.allCases) func theMetronomeKeepsTime(kind: Kind) throws {
    let server = try kind.server()
    try hear("Metronome", on: server) {
      [["480", "6", "3"]]
    } _: { heard in
      let clicks = (0..<6).map { beat -> Float in
        // A click begins with its peak; the frame before it is silent.
        let frame = beat * 6000
        guard frame < heard[0].count, frame == 0 || heard[0][frame - 1] == 0 else { return 0 }
        return heard[0][frame]
      }
      return clicks == Array(repeating: 0.5, count: 6) ? nil : "\(clicks)"
    }
  }

  /// Through a plugin of Debian that changes nothing.
  @Test(arguments: Kind.allCases) func aFileIsHeardThroughAPlugin(kind: Kind) throws {
    let server = try kind.server()
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .s24, frames: 20_000)
      try hear("EnginePlayer", on: server) {
        [[file.path, "Simple Amplifier"]]
      } _: { heard in
        difference(heard[0], file.samples[0], tolerance: 1e-6)
      }
      let names = try run("EnginePlayer", ["--effects"])
      expectTrue(names.output.contains("Simple Amplifier\n"), "\(names)")
      let result = try run("EnginePlayer", [file.path, "No Such"], on: server.environment)
      expectTrue(result.status == 1 && result.errors.contains("“No Such”"), "\(result)")
    }
  }

  /// The files of two programs begin on one frame.
  @Test(arguments: Kind.allCases) func anEnsembleStartsOnOneFrame(kind: Kind) throws {
    let server = try kind.server()
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, coding: .s24, frames: 20_000, seed: UInt64($0))
      }
      let wanted = (0..<20_000).map { i in files.map { $0.samples[0][i] }.reduce(0, +) }
      try hear("Ensemble", on: server) {
        let moment = try run("Ensemble", ["--in", "2"]).output.filter(\.isNumber)
        return [["--at", moment, files[0].path], ["--at", moment, files[1].path, files[2].path]]
      } _: { heard in
        difference(heard[0], wanted, tolerance: 1e-6)
      }
    }
  }

  @Test func theRendererMixesFiles() throws {
    try withTemporaryFolder { folder in
      let files = [
        try WaveFile("a.wav", in: folder, coding: .f32, frames: 30_000),
        try WaveFile("b.wav", in: folder, coding: .s16, channels: 1, frames: 10_000, seed: 2),
      ]
      let mix = folder.appendingPathComponent("mix.wav").path
      let result = try run("OfflineRenderer", [mix, files[0].path, files[1].path + "@0.5"])
      expectTrue(result.status == 0 && result.output == "30000 frames\n", "\(result)")
      let found = try floats(of: mix)
      for channel in 0..<2 {
        expectEqual(
          found[channel],
          (0..<30_000).map { frame in
            files[0].samples[channel][frame]
              + (frame < 10_000 ? files[1].samples[0][frame] / 2 : 0)
          })
      }
    }
  }

  @Test(arguments: Kind.allCases) func theRecorderKeepsWhatItHears(kind: Kind) throws {
    let server = try kind.server()
    let tone = try JackPeer.tone(hertz: 480, amplitude: 0.5, on: server)
    defer { _ = tone }
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("take.wav").path
      let result = try run("TapRecorder", [path, "1.5"], on: server.environment)
      expectTrue(result.output.wholeMatch(of: #/ +-[56]\.\d dB\n\d+ frames\n/#) != nil, "\(result)")
      let take = try floats(of: path)
      let first = try require(take[0].firstIndex { $0 != 0 })
      expectTrue(take.count == 2 && take[0].count > 48_000)
      expectTrue(abs(take[0][first...].max()! - 0.5) < 0.001)
    }
  }

  /// Returns the samples of a file with two channels, decoded by ffmpeg.
  private func floats(of path: String) throws -> [[Float]] {
    let raw = path + ".raw"
    let result = try TestSupport.run(
      "ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-c:a", "pcm_f32le", raw])
    try require(result.status == 0, "\(result)")
    let samples = try Data(contentsOf: URL(fileURLWithPath: raw))
      .withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    return (0..<2).map { channel in
      stride(from: channel, to: samples.count, by: 2).map { samples[$0] }
    }
  }

  @Test func badArgumentsAreRefused() throws {
    for (name, arguments) in [
      ("EnginePlayer", []), ("SignalGenerator", ["loud"]), ("TapRecorder", []),
      ("OfflineRenderer", ["mix.wav"]),
      ("Metronome", ["0"]), ("Ensemble", []), ("LoopSequencer", ["0"]), ("SongRenderer", ["a.mid"]),
      ("Keyboard", ["-x"]),
    ] {
      let result = try run(name, arguments)
      expectTrue(result.status == 64 && result.errors.contains("usage: "), "\(result)")
    }
    let result = try run("OfflineRenderer", ["mix.wav", "/nowhere.wav"])
    expectTrue(result.status == 1 && result.errors.contains("/nowhere.wav"), "\(result)")
  }
}
