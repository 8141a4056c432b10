import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` that play a file's packets: what is heard is the file, from its
/// first frame to its last, sample by sample.
@Suite(.tags(.server, .program), .serialized) struct ClientPlayerTests {
  @Test func aFilePlayerIsHeardWithoutPrimingAndRemainder() throws {
    try play("player") { file in file.sound }
  }

  @Test func aStreamFromASocketIsHeardPacketByPacket() throws {
    var cases = rates.flatMap { rate in
      Kind.streams.map { Case(program: ClientProgram("stream"), kind: $0, rate: rate) }
    }
    cases.append(Case(program: ClientProgram("stream", .cxx), kind: .mp3, rate: 48000))
    let wanted = try Dictionary(
      uniqueKeysWithValues: cases.map {
        ($0.description, try atDeviceRate(Sounds.file($0.kind, $0.rate).decoded, from: $0.rate))
      })
    let wrong = try onServers(cases) { item, lane in
      let data = try Data(
        contentsOf: URL(fileURLWithPath: Sounds.file(item.kind, item.rate).path))
      let sender = try SocketSender(data)
      defer { withExtendedLifetime(sender) {} }
      return try hear(item.program, on: lane, wanted[item.description]!) { ["\(sender.port)"] }
    }
    expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
  }

  @Test func volumeAndTimeOfAFilePlayerAreHeard() throws {
    let cases = rates.flatMap { rate in
      [Kind.wave, .aac].map { Case(program: ClientProgram("player"), kind: $0, rate: rate) }
    }
    let wanted = try Dictionary(
      uniqueKeysWithValues: cases.map {
        let part = try Sounds.file($0.kind, $0.rate).sound.prefix(frames: $0.rate / 2)
        return ($0.description, try atDeviceRate(part.scaled(by: 0.25), from: $0.rate))
      })
    let wrong = try onServers(cases) { item, lane in
      let path = try Sounds.file(item.kind, item.rate).path
      let format = item.kind == .wave ? "lpcm" : "aac "
      let told = """
        \(path): '\(format)', \(item.rate) Hz, 2 channels
        \(item.rate / 2) frames
        running
        stopped

        """
      return try hear(item.program, on: lane, wanted[item.description]!, output: told) {
        ["-v", "0.25", "-t", "0.5", "-d", path]
      }
    }
    expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
  }

  #if RubberBand
    /// The time-pitch processor changes the samples, so the length and the level are compared.
    @Test func theRateOfAFilePlayerIsHeard() throws {
      let file = try Sounds.file(.wave, 48000)
      let cases = [Case(program: ClientProgram("player"), kind: .wave, rate: 48000)]
      let wrong = try onServers(cases) { item, lane in
        let (result, recording) = try lane.hear(item.program, ["-r", "1.25", file.path])
        if result.status != 0 || result.errors != "" { return "\(result)" }
        let heard = recording.samples[0]
        guard let first = heard.firstIndex(where: { $0 != 0 }),
          let last = heard.lastIndex(where: { $0 != 0 })
        else { return "nothing is heard" }
        let frames = last - first + 1
        let expected = Int((Double(file.sound[0].count) / 1.25).rounded(.up))
        func power(_ samples: [Float]) -> Double {
          samples.reduce(0) { $0 + Double($1 * $1) } / Double(samples.count)
        }
        let decibels = 10 * log10(power(Array(heard[first...last])) / power(file.sound[0]))
        return frames == expected && abs(decibels) < 1
          ? nil : "\(frames) frames instead of \(expected), \(decibels) dB louder"
      }
      expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
  #endif

  @Test func aToneOnARunLoopIsHeardOnBothSides() throws {
    let frames = 20_000
    let cases = rates.map { Case(program: ClientProgram("tone", .cxx), kind: .wave, rate: $0) }
    let tone = (0..<frames).map { (i: Int) -> Float in Float(100 * (i % 100 + 1)) / 32768 }
    let wanted = try Dictionary(
      uniqueKeysWithValues: rates.map { ($0, try atDeviceRate([tone, tone], from: $0)) })
    let wrong = try onServers(cases) { item, lane in
      try hear(item.program, on: lane, wanted[item.rate]!) {
        ["100", "\(frames)", "\(item.rate)"]
      }
    }
    expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
  }
}

/// The programs of `Tests/API/Clients` that play what they mix or decode themselves.
@Suite(.tags(.server, .program), .serialized) struct ClientDriverTests {
  /// The second effect is the file itself, too: it begins later.
  @Test func aMixerInACallbackIsHeard() throws {
    let delay = 5001
    try play("mixer", arguments: { [$0.path, "0", $0.path, "\(delay)"] }) { file in
      file.sound.map { samples in
        (0..<samples.count + delay).map { frame in
          (frame < samples.count ? 0.5 * samples[frame] : 0)
            + (frame >= delay ? 0.5 * samples[frame - delay] : 0)
        }
      }
    }
  }

  @Test func writesThatBlockAreHeard() throws {
    try play("push") { file in file.sound.roundedTo16Bits }
  }

  /// The engine plays at half its volume, and all packets.
  @Test func anEngineWithAMutexRoundEveryCallIsHeard() throws {
    try play("engine") { file in file.decoded.scaled(by: 0.5) }
  }
}

/// A program and the file that it plays.
private struct Case: Sendable, CustomStringConvertible {
  let program: ClientProgram
  let kind: Kind
  let rate: Int
  var description: String { "\(program), \(rate) Hz, \(kind.rawValue)" }
}

/// Plays each kind of file at each rate with the program in C, and two of them with it in C++.
private func play(
  _ name: String, _ kinds: [Kind] = Kind.files,
  arguments: @escaping @Sendable (SoundFile) throws -> [String] = { [$0.path] },
  expecting expected: (SoundFile) throws -> [[Float]]
) throws {
  var cases = rates.flatMap { rate in
    kinds.map { Case(program: ClientProgram(name), kind: $0, rate: rate) }
  }
  cases.append(Case(program: ClientProgram(name, .cxx), kind: kinds[0], rate: 48000))
  cases.append(Case(program: ClientProgram(name, .cxx), kind: kinds[3], rate: 44100))
  let wanted = try Dictionary(
    uniqueKeysWithValues: cases.map {
      let file = try Sounds.file($0.kind, $0.rate)
      return ($0.description, try atDeviceRate(expected(file), from: $0.rate))
    })
  let wrong = try onServers(cases) { item, lane in
    try hear(item.program, on: lane, wanted[item.description]!) {
      try arguments(Sounds.file(item.kind, item.rate))
    }
  }
  expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
}

/// Runs a program and says how what is heard differs from `expected`; nil if it does not.
private func hear(
  _ program: ClientProgram, on lane: Lane, _ expected: [[Float]], output: String? = nil,
  arguments: () throws -> [String]
) throws -> String? {
  let (result, recording) = try lane.hear(program, arguments())
  if result.status != 0 || result.errors != "" { return "\(result)" }
  if let output, result.output != output { return "it says \(result.output)" }
  return difference(heard: recording, expected)
}
