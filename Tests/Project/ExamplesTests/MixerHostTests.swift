import Foundation
import TestSupport
import Testing

/// The examples that mix two loops in a graph.
@Suite(.tags(.server, .program)) struct MixerHostTests {
  enum Language: String, CaseIterable, Sendable {
    case c = "mixer-host"
    case swift = "mixer-host-swift"
  }

  /// What is heard in a period.
  private enum State: Equatable {
    case silence
    /// Neither silence nor one of the mixes, for more than a period.
    case unknown
    /// Both loops, with gains.
    case mix(stereo: Float, mono: Float, output: Float)

    /// Whether the mixer asks for the mono loop, which is switched off in the second state below.
    var asksForMono: Bool { self != .silence && self != .mix(stereo: 1, mono: 0, output: 1) }
  }

  private static let states: [State] = [
    .mix(stereo: 1, mono: 1, output: 1), .mix(stereo: 1, mono: 0, output: 1),
    .mix(stereo: 0.5, mono: 1, output: 1), .mix(stereo: 0.5, mono: 1, output: 0.25), .silence,
    .mix(stereo: 0.5, mono: 1, output: 0.25), .mix(stereo: 0.5, mono: 0, output: 0.25),
  ]

  private func withHost(_ language: Language, _ body: (String) throws -> Void) throws {
    if language == .swift { return try body(builtProduct(named: language.rawValue).path) }
    try withExample("MixerHost", program: language.rawValue, body)
  }

  /// Returns the states of a recording, in their order. Between two of them, one period may have
  /// neither, in which gains reach their new values.
  private func states(of channels: [[Float]], period: Int, stereo: WaveFile, mono: WaveFile)
    -> [State]
  {
    var found: [State] = []
    var (stereoFrame, monoFrame, unknown) = (0, 0, 0)
    var start = channels[0].firstIndex { $0 != 0 } ?? channels[0].count
    start -= start % period
    for first in stride(from: start, through: channels[0].count - period, by: period) {
      let state = Set([0, 1, 2, 3, 4, 6]).sorted().map { Self.states[$0] }.first { state in
        (0..<2).allSatisfy { channel in
          (0..<period).allSatisfy { i in
            var expected: Float = 0
            if case .mix(let a, let b, let gain) = state {
              expected =
                gain
                * (a * stereo.samples[channel][(stereoFrame + i) % stereo.frames]
                  + b * mono.samples[0][(monoFrame + i) % mono.frames])
            }
            return abs(channels[channel][first + i] - expected) <= 1e-6
          }
        }
      }
      if state != .silence { stereoFrame += period }
      if state?.asksForMono ?? true { monoFrame += period }
      unknown = state == nil ? unknown + 1 : 0
      if let state = unknown > 1 ? .unknown : state, state != found.last { found.append(state) }
    }
    return found
  }

  @Test(arguments: Language.allCases)
  func commandsSetTheMix(language: Language) throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    let card = try CaptureClient(
      on: server, name: "card", capacity: 20 * server.rate, isSoundCard: true)
    try withTemporaryFolder { folder in
      let stereo = try WaveFile("stereo.wav", in: folder, frames: 9000)
      let mono = try WaveFile(
        "mono.wav", in: folder, coding: .f32, channels: 1, frames: 7001, seed: 2)
      try withHost(language) { program in
        let wrong = try unlessBusy(patience: 0.05) { () -> String? in
          card.arm()
          let host = try TypedProgram(program, [stereo.path, mono.path], on: server, in: folder)
          host.type("start")
          try wait(for: "the host's ports") { card.connections(of: "card:in_1") != [] }
          for commands in [
            "enable 1 0", "enable 1 1\ngain 0 0.5", "output 0.25", "stop", "start", "gain 1 0",
          ] {
            try card.wait(periods: 12, of: server)
            host.type(commands)
          }
          try card.wait(periods: 12, of: server)
          let result = try host.end()
          card.disarm()
          expectTrue(result.status == 0 && result.errors == "", "\(result)")
          var found = states(
            of: card.recording, period: server.period, stereo: stereo, mono: mono)
          if found.last == .silence { found.removeLast() }
          return found == Self.states ? nil : "\(found)"
        }
        expectNil(wrong, "\(wrong ?? "")")
      }
    }
  }

  @Test(arguments: Language.allCases)
  func whatIsNotUnderstoodIsSaid(language: Language) throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 100).path
      try withHost(language) { program in
        let name = language.rawValue
        let usage = try run(program, [file])
        expectTrue(
          usage.status == 64 && usage.errors == "usage: \(name) STEREO-FILE MONO-FILE\n", "\(usage)"
        )
        let host = try TypedProgram(program, [file, file], on: server, in: folder)
        host.type("gain 2 1", "gain 1", "sing", "", "gain 0 0.5")
        let result = try host.end()
        expectTrue(
          result.errors
            == ["gain 2 1", "gain 1", "sing"].map { "\(name): there is no command “\($0)”\n" }
            .joined() && result.status == 0, "\(result)")
        let missing = try run(
          program, ["/nowhere.wav", file], environment: ["JACK_DEFAULT_SERVER": server.name])
        expectTrue(
          missing.status == 1 && missing.errors == "\(name): /nowhere.wav: -43\n", "\(missing)")
      }
    }
  }
}
