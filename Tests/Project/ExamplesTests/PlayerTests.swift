import Foundation
import TestSupport
import Testing

/// The example players, built like their users build them, must play a file's samples.
@Suite(.tags(.server, .program)) struct PlayerTests {
  /// A programming language and the player's name in it.
  enum Language: String, CaseIterable, Sendable {
    case c = "player"
    case swift = "player-swift"
  }

  /// Calls `body` with the player as a command.
  private func withPlayer(_ language: Language, _ body: (String) throws -> Void) throws {
    if language == .swift { return try body(builtProduct(named: language.rawValue).path) }
    try withExample("Player", program: language.rawValue, body)
  }

  /// Writes a WAVE file of 16-bit samples that are unique within any neighbourhood. Returns the
  /// samples.
  private func writeFile(_ file: URL, frames: Int, channels: Int, rate: Int) throws -> [[Float]] {
    var data = Data()
    func add<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
    }
    let bytes = frames * channels * 2
    data.append(contentsOf: "RIFF".utf8)
    add(UInt32(36 + bytes))
    data.append(contentsOf: "WAVEfmt ".utf8)
    add(UInt32(16))
    add(UInt16(1))
    add(UInt16(channels))
    add(UInt32(rate))
    add(UInt32(rate * channels * 2))
    add(UInt16(channels * 2))
    add(UInt16(16))
    data.append(contentsOf: "data".utf8)
    add(UInt32(bytes))
    var samples = [[Float]](repeating: [], count: channels)
    for frame in 0..<frames {
      for channel in 0..<channels {
        // Never 0, so that sound differs from silence.
        let value = Int16(truncatingIfNeeded: (frame * 7919 + channel * 13) % 32749 - 32768)
        add(value)
        samples[channel].append(Float(value) / 32768)
      }
    }
    try data.write(to: file)
    return samples
  }

  private func played(_ capture: CaptureClient, by command: String, _ arguments: [String]) throws
    -> (CommandResult, [[Float]])
  {
    capture.arm()
    let result = try run(command, arguments, environment: ["LD_LIBRARY_PATH": ""])
    capture.disarm()
    let channels = (0..<capture.channels).map { capture.samples(channel: $0) }
    // From the first to the last frame with sound.
    let heard = channels[0].indices.filter { frame in channels.contains { $0[frame] != 0 } }
    guard let first = heard.first, let last = heard.last else { return (result, []) }
    return (result, channels.map { Array($0[first...last]) })
  }

  @Test(arguments: Language.allCases)
  func aFileIsHeardBitForBit(language: Language) throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0)
    setenv("JACK_DEFAULT_SERVER", server.name, 1)
    defer { unsetenv("JACK_DEFAULT_SERVER") }
    let card = try CaptureClient(
      on: server, name: "card", capacity: 10 * server.rate, isSoundCard: true)
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("sound.wav")
      try withPlayer(language) { player in
        // Many buffers, a partial one, and a volume that is a power of two, which scales exactly.
        for (frames, volume) in [(50_000, "1"), (100, "1"), (20_000, "0.25")] {
          let samples = try writeFile(file, frames: frames, channels: 2, rate: server.rate)
          let (result, heard) = try played(card, by: player, [file.path, volume])
          expectTrue(result.status == 0 && result.errors == "", "\(result.errors)")
          let perBuffer = server.rate / 4
          expectEqual(
            result.output,
            """
            \(file.path): 'lpcm', 16 bits, 2 channels, \(server.rate) Hz
            played \(frames) packets in \((frames + perBuffer - 1) / perBuffer) buffers

            """)
          let expected = samples.map { $0.map { $0 * Float(volume)! } }
          expectEqual(
            heard, expected, "\(frames) frames at \(volume), \(heard.first?.count ?? 0) heard")
        }
        // A mono file plays on both sides.
        let samples = try writeFile(file, frames: 4000, channels: 1, rate: server.rate)
        let (result, heard) = try played(card, by: player, [file.path])
        expectEqual(result.status, 0, "\(result.errors)")
        expectEqual(heard, [samples[0], samples[0]])
      }
    }
  }

  @Test(arguments: Language.allCases)
  func whatCannotBePlayedIsSaid(language: Language) throws {
    try withTemporaryFolder { folder in
      let empty = folder.appendingPathComponent("empty.wav")
      _ = try writeFile(empty, frames: 0, channels: 2, rate: 48000)
      let note = folder.appendingPathComponent("note.txt")
      try Data("This is not a sound file, though it is long enough to be one.\n".utf8).write(
        to: note)
      try withPlayer(language) { player in
        let name = language.rawValue
        func expect(_ arguments: [String], status: Int32, errors: String) throws {
          let result = try run(player, arguments)
          let told = result.errors.split(separator: "\n").last ?? ""
          expectTrue(result.status == status && told == errors, "\(result)")
        }
        try expect([], status: 2, errors: "usage: \(name) FILE [VOLUME]")
        try expect([note.path, "loud"], status: 2, errors: "usage: \(name) FILE [VOLUME]")
        try expect(
          [folder.path + "/missing"], status: 1, errors: "\(name): AudioFileOpenURL: -43")
        try expect([note.path], status: 1, errors: "\(name): AudioFileOpenURL: 'typ?'")
        // With nothing to play, no server is needed.
        let result = try run(player, [empty.path], environment: ["JACK_NO_START_SERVER": "1"])
        expectTrue(
          result.output.hasSuffix("played 0 packets in 0 buffers\n") && result.status == 0,
          "\(result)")
      }
    }
  }
}
