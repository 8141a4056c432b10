import MIDI
import TestSupport
import Testing

/// Universal MIDI Packets, as the messages of MIDI 1.0 that plugins hear.
@Suite struct UniversalMIDITests {
  private func messages(_ words: UInt32...) -> [[UInt8]] {
    var reader = UniversalMIDI()
    return reader.messages(words)
  }

  @Test func messagesOfOneWordKeepTheirBytes() {
    expectEqual(messages(0x2090_4064), [[0x90, 0x40, 0x64]])
    expectEqual(messages(0x20C3_0500), [[0xC3, 5]])
    expectEqual(messages(0x20D3_0700, 0x20E0_0040), [[0xD3, 7], [0xE0, 0, 0x40]])
    expectEqual(messages(0x10F8_0000, 0x10F2_0102), [[0xF8], [0xF2, 1, 2]])
    // Time stamps and nothing.
    expectTrue(messages(0x0000_0000, 0x0020_1234).isEmpty)
  }

  @Test func messagesOfMIDI2LoseTheirLowerBits() {
    expectEqual(messages(0x4091_3C00, 0xC800_0000), [[0x91, 0x3C, 0x64]])
    // A velocity of almost nothing is still a note.
    expectEqual(messages(0x4090_3C00, 0x0001_0000), [[0x90, 0x3C, 1]])
    expectEqual(messages(0x4080_3C00, 0x8000_0000), [[0x80, 0x3C, 0x40]])
    expectEqual(messages(0x40B0_0700, 0xFFFF_FFFF), [[0xB0, 7, 0x7F]])
    expectEqual(messages(0x40E0_0000, 0x8000_0000), [[0xE0, 0, 0x40]])
    expectEqual(messages(0x40C0_0000, 0x0900_0000), [[0xC0, 9]])
    // Pitch bend of one note.
    expectTrue(messages(0x4060_3C00, 0x8000_0000).isEmpty)
  }

  @Test func systemExclusiveMessagesGoOverSeveralPackets() {
    expectEqual(messages(0x3003_7E7F, 0x0900_0000), [[0xF0, 0x7E, 0x7F, 9, 0xF7]])
    var reader = UniversalMIDI()
    expectTrue(reader.messages([0x3016_0102, 0x0304_0506]).isEmpty)
    expectTrue(reader.messages([0x3026_0708, 0x090A_0B0C]).isEmpty)
    let whole: [UInt8] = [0xF0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xF7]
    expectEqual(reader.messages([0x3032_0D0E, 0]), [whole])
    // An end without a beginning.
    expectTrue(reader.messages([0x3032_0D0E, 0]).isEmpty)
  }

  /// A message without an end takes no more memory than a piece.
  @Test func aLongSystemExclusiveMessageComesInPieces() {
    var reader = UniversalMIDI()
    // Words that belong to no message are left out.
    for _ in 0..<20_000 { expectTrue(reader.messages([0x3026_0708, 0x090A_0B0C]).isEmpty) }
    var pieces = reader.messages([0x3016_0102, 0x0304_0506])
    for _ in 0..<20_000 { pieces += reader.messages([0x3026_0708, 0x090A_0B0C]) }
    expectEqual(pieces.count, 1)
    pieces += reader.messages([0x3030_0000, 0])
    expectEqual(pieces.map(\.count).reduce(0, +), 1 + 6 * 20_001 + 1)
    expectTrue(pieces.first?.first == 0xF0 && pieces.last?.last == 0xF7)
  }

  @Test func aPacketThatEndsEarlyIsLeftOut() {
    expectEqual(messages(0x2090_4064, 0x4090_3C00), [[0x90, 0x40, 0x64]])
  }
}
