import Foundation
import TestSupport
import Testing

/// The examples with a player class, which obey commands.
@Suite(.tags(.server, .program)) struct PlayerClassTests {
  enum Language: String, CaseIterable, Sendable {
    case cxx = "player-class"
    case swift = "player-class-swift"
  }

  private func withPlayer(_ language: Language, _ body: (String) throws -> Void) throws {
    if language == .swift { return try body(builtProduct(named: language.rawValue).path) }
    try withExample("PlayerClass", program: language.rawValue, body)
  }

  /// Returns the frames that are not silent, without those between them.
  private func heard(_ channels: [[Float]]) -> [[Float]] {
    let frames = channels[0].indices.filter { frame in channels.contains { $0[frame] != 0 } }
    return channels.map { channel in frames.map { channel[$0] } }
  }

  @Test(arguments: Language.allCases)
  func commandsAreObeyed(language: Language) throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    let card = try CaptureClient(
      on: server, name: "card", capacity: 20 * server.rate, isSoundCard: true)
    try withTemporaryFolder { folder in
      let file = try WaveFile("long.wav", in: folder, frames: 60_001)
      let short = try WaveFile("short.wav", in: folder, coding: .f32, frames: 9000, seed: 2)
      try withPlayer(language) { program in
        /// Returns what is heard while `body` types commands.
        func recording(_ path: String, _ body: (TypedProgram) throws -> Void) throws -> [[Float]] {
          card.arm()
          let player = try TypedProgram(program, [path], on: server, in: folder)
          try body(player)
          let result = try player.end()
          card.disarm()
          expectTrue(result.status == 0 && result.errors == "", "\(result)")
          return card.recording
        }
        func waitForSound() throws {
          try wait(for: "the player's ports") { card.connections(of: "card:in_1") != [] }
          try card.wait(periods: 15, of: server)
        }

        // A pause keeps the place.
        let paused = try unlessBusy(patience: 0.05) { () -> String? in
          let channels = try recording(file.path) { player in
            player.type("start")
            try waitForSound()
            player.type("pause")
            try card.wait(periods: 15, of: server)
            player.type("start")
          }
          let gap = zip(sound(channels)[0], sound(channels)[1]).filter { $0 == 0 && $1 == 0 }.count
          if gap < 5 * server.period { return "a pause of \(gap) frames" }
          return difference(heard(channels), file.samples)
        }
        expectNil(paused, "\(paused ?? "")")

        // After a stop, the file begins again.
        let stopped = try unlessBusy(patience: 0.05) { () -> String? in
          let channels = heard(
            try recording(file.path) { player in
              player.type("start")
              try waitForSound()
              player.type("stop", "start")
            })
          let first = channels[0].count - file.frames
          guard first > 0, first < file.frames else { return "\(channels[0].count) frames" }
          return difference(channels, file.samples.map { $0[..<first] + $0 })
        }
        expectNil(stopped, "\(stopped ?? "")")

        // A loop has no gap, and ends with the file.
        let looped = try unlessBusy(patience: 0.05) { () -> String? in
          let channels = sound(
            try recording(short.path) { player in
              player.type("loop", "start")
              try waitForSound()
              try card.wait(periods: 40, of: server)
              player.type("once")
            })
          let times = channels[0].count / short.frames
          guard times > 3 else { return "\(channels[0].count) frames" }
          return difference(
            channels, short.samples.map { Array(repeatElement($0, count: times).joined()) })
        }
        expectNil(looped, "\(looped ?? "")")

        // The program ends at once.
        let quit = heard(
          try recording(file.path) { player in
            player.type("start")
            try waitForSound()
            player.type("quit")
          })
        expectTrue(quit[0].count < file.frames && !quit[0].isEmpty)
        expectEqual(quit[0], Array(file.samples[0].prefix(quit[0].count)))
      }
    }
  }

  @Test(arguments: Language.allCases)
  func whatCannotBePlayedIsSaid(language: Language) throws {
    try withPlayer(language) { program in
      let name = language.rawValue
      let usage = try run(program)
      expectTrue(usage.status == 64 && usage.errors == "usage: \(name) FILE\n", "\(usage)")
      let missing = try run(program, ["/nowhere.wav"])
      expectTrue(
        missing.status == 1 && missing.errors == "\(name): AudioFileOpenURL: -43\n", "\(missing)")
      try withTemporaryFolder { folder in
        let file = try WaveFile("a.wav", in: folder, frames: 10)
        let unknown = try run("sh", ["-c", "echo sing | \"$0\" \"$1\"", program, file.path])
        expectTrue(
          unknown.status == 0 && unknown.errors == "\(name): there is no command “sing”\n",
          "\(unknown)")
      }
    }
  }
}
