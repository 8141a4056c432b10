import FileSupport
import Files
import Foundation
import Testing

/// Standard MIDI Files, written by hand.
@Suite struct MIDIFileTests {
  /// A track's events, each with its ticks since the one before.
  private func track(_ events: [(ticks: Int, bytes: [UInt8])]) -> [UInt8] {
    let body = events.flatMap { number($0.ticks) + $0.bytes }
    return Array("MTrk".utf8) + word(body.count, 4) + body
  }

  private func number(_ value: Int) -> [UInt8] {
    var bytes = [UInt8(value & 0x7f)]
    var rest = value >> 7
    while rest > 0 {
      bytes.insert(UInt8(rest & 0x7f | 0x80), at: 0)
      rest >>= 7
    }
    return bytes
  }

  private func word(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(value >> (8 * (count - 1 - $0)) & 0xff) }
  }

  private func smf(format: Int = 1, division: Int = 480, _ tracks: [[UInt8]]) -> [UInt8] {
    Array("MThd".utf8) + word(6, 4) + word(format, 2) + word(tracks.count, 2) + word(division, 2)
      + tracks.joined()
  }

  private let end: (ticks: Int, bytes: [UInt8]) = (0, [0xff, 0x2f, 0])

  private func read(_ bytes: [UInt8]) throws -> MIDIFile { try MIDIFile(bytes, path: "x.mid") }

  /// The messages with their frames at 48 kHz.
  private func messages(_ file: MIDIFile) -> [[Int]] {
    file.messages.map { message in
      [Int(file.frame(at: message.time, sampleRate: 48000))]
        + file.bytes[message.offset..<(message.offset + message.count)].map(Int.init)
    }
  }

  @Test func messagesOfAllTracksFollowTheTempoOfTheFirst() throws {
    let tempo = track([
      (0, [0xff, 0x51, 3, 0x07, 0xa1, 0x20]),  // 500,000 µs
      (480, [0xff, 0x51, 3, 0x0f, 0x42, 0x40]),  // 1,000,000 µs
      (480, [0xff, 0x51, 3, 0, 0, 0]),  // No tempo at all.
      end,
    ])
    let notes = track([
      (0, [0x90, 60, 100]), (240, [60, 0]), (240, [0x91, 64, 90]), (1, [0xc1, 5]),
      (479, [0x81, 64, 0]),
      (240, [0xff, 0x2f, 0]),
    ])
    let file = try read(smf([tempo, notes]))
    expectTrue(file.format == 1 && file.trackCount == 2)
    expectEqual(
      messages(file),
      [
        [0, 0x90, 60, 100], [12_000, 0x90, 60, 0], [24_000, 0x91, 64, 90], [24_100, 0xc1, 5],
        [72_000, 0x81, 64, 0],
      ])
    expectEqual(file.frame(at: file.end, sampleRate: 48000), 96_000)
  }

  /// A tempo that no frame divides: each frame is the nearest one, without a drift.
  @Test func framesAreExactOverAnHour() throws {
    let count = 10_000
    let tempo: [UInt8] = [0xff, 0x51, 3, 0x05, 0xa3, 0x17]  // 369,431 µs
    let notes = (0..<count).map { _ in (ticks: 97, bytes: [0x90, 60, 1] as [UInt8]) }
    let file = try read(smf(format: 0, division: 96, [track([(0, tempo)] + notes + [end])]))
    let frames = messages(file).map { $0[0] }
    let wrong = frames.enumerated().count { index, frame in
      // In exact arithmetic: 97 (n + 1) ticks of 369,431 / 96 µs.
      let numerator = Int128(97 * (index + 1)) * 369_431 * 48_000
      let denominator = Int128(96_000_000)
      return frame != Int((2 * numerator + denominator) / (2 * denominator))
    }
    expectTrue(frames.count == count && wrong == 0)
  }

  @Test(arguments: [
    (0xe728, 48_000), (0xe828, 50_000), (0xe350, 24_024), (0xe250, 24_000),
  ])
  func timeCodeGivesSeconds(division: Int, frame: Int) throws {
    // 25 frames a second with 40 ticks, 24 with 40, 29.97 and 30 with 80.
    let ticks = division & 0xff == 40 ? 1000 : 1200
    let tempo: [UInt8] = [0xff, 0x51, 3, 0, 0, 1]
    let file = try read(
      smf(format: 0, division: division, [track([(0, tempo), (ticks, [0x90, 1, 1]), end])]))
    expectEqual(messages(file), [[frame, 0x90, 1, 1]])
  }

  @Test func exclusiveMessagesAreWhole() throws {
    let file = try read(
      smf([
        track([
          (0, [0xf0, 3, 1, 2, 0xf7]), (10, [0xf0, 2, 3, 4]), (10, [0xf7, 2, 5, 0xf7]),
          (0, [0xf7, 1, 0xf8]), (0, [0xf7, 3, 0x90, 1, 1]), (0, [0xff, 1, 2, 65, 66]), end,
        ])
      ]))
    expectEqual(
      messages(file), [[0, 0xf0, 1, 2, 0xf7], [1000, 0xf0, 3, 4, 5, 0xf7], [1000, 0xf8]])
  }

  /// Chunks of other kinds, a longer header, and what follows a track's end.
  @Test func whatIsUnknownIsSkipped() throws {
    let head = Array("MThd".utf8) + word(8, 4) + word(0, 2) + word(1, 2) + word(480, 2) + [1, 2]
    let other = Array("XFIH".utf8) + word(2, 4) + [0, 0]
    let notes = track([(0, [0x90, 1, 1]), end, (0, [0x90, 2, 2])])
    try expectEqual(messages(read(head + other + notes + other)), [[0, 0x90, 1, 1]])
  }

  @Test func whatIsDamagedIsTold() throws {
    let whole = smf([track([(0, [0x90, 60, 100]), end])])
    let cases: [(bytes: [UInt8], words: String)] = [
      ([], "no Standard MIDI File"),
      (Array("RIFF".utf8), "no Standard MIDI File"),
      (smf(format: 2, [track([end])]), "its format is 2"),
      (smf(division: 0, []), "0 ticks"),
      (smf(division: 0xe700, []), "0 ticks a frame"),
      (smf(division: 0x8001, []), "128 frames a second"),
      (Array(whole.dropLast(1)), "bytes are missing"),
      (Array(whole[..<14]), "after 0 of its 1 tracks"),
      (smf([track([(0, [60, 100]), end])]), "no status byte"),
      (smf([track([(0, [0x90, 60, 0x90]), end])]), "a status byte is in a message"),
      (smf([track([(0, [0xf4]), end])]), "the status byte 244"),
      (smf([Array("MTrk".utf8) + word(5, 4) + [0xff, 0xff, 0xff, 0xff, 0]]), "more than four"),
      (smf([track([(0, [0xff, 1, 0xff, 0xff, 0xff, 0x7f])])]), "bytes are missing"),
      (
        smf(
          division: 1,
          [track([(0, [0xff, 0x51, 3, 0xff, 0xff, 0xff]), (0xfffffff, [0x90, 1, 1]), end])]),
        "more than 100 hours"
      ),
    ]
    for (bytes, words) in cases {
      let error = #expect(throws: MIDIFileError.self) { try read(bytes) }
      expectEqual(error?.description.contains(words), true, "\(words): \(error as Any)")
      expectEqual(error?.description.hasPrefix("x.mid: cannot be read as MIDI: "), true)
    }
    #expect(throws: MIDIFileError.self) { try MIDIFile(path: "/no/such/file.mid") }
    #expect(throws: MIDIFileError.self) { try MIDIFile(path: "/tmp") }
    #expect(throws: MIDIFileError.self) { try MIDIFile(path: "/dev/zero") }
  }
}
