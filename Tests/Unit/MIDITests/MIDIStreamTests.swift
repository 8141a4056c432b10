import TestSupport
import Testing

@testable import MIDI

/// Bytes, divided into messages.
@Suite struct MIDIStreamTests {
  private func messages(_ bytes: [UInt8]...) -> [[UInt8]] {
    var stream = MIDIStream()
    return bytes.flatMap { stream.messages($0) }
  }

  @Test func messagesGetTheirStatusBytes() {
    expectEqual(
      messages([0x90, 60, 1, 61, 2, 0xC1, 5, 6, 0xF2, 1, 2, 0xF6]),
      [[0x90, 60, 1], [0x90, 61, 2], [0xC1, 5], [0xC1, 6], [0xF2, 1, 2], [0xF6]])
    // In parts.
    expectEqual(messages([0x90], [60], [1, 61], [2]), [[0x90, 60, 1], [0x90, 61, 2]])
    // Another packet has its own.
    expectEqual(messages([0x90, 60, 1], [61, 2, 0x80, 3, 4]), [[0x90, 60, 1], [0x80, 3, 4]])
    // A system message ends what the status byte holds for.
    expectEqual(messages([0x90, 60, 1, 0xF6, 61, 2]), [[0x90, 60, 1], [0xF6]])
  }

  @Test func realTimeMessagesStandBetweenTheBytesOfOthers() {
    expectEqual(messages([0x90, 0xF8, 60, 0xFE, 1]), [[0xF8], [0xFE], [0x90, 60, 1]])
    expectEqual(messages([0xF0, 1, 0xF8, 2, 0xF7]), [[0xF8], [0xF0, 1, 2, 0xF7]])
  }

  @Test func systemExclusiveMessagesComeInPartsOfAnyLength() {
    expectEqual(messages([0xF0, 1], [2], [], [3, 0xF7]), [[0xF0, 1, 2, 3, 0xF7]])
    // Another status ends one.
    expectEqual(messages([0xF0, 1, 0x90, 60, 1]), [[0xF0, 1, 0xF7], [0x90, 60, 1]])
    let long = [0xF0] + [UInt8](repeating: 5, count: 200_000) + [0xF7]
    let pieces = messages(long)
    expectTrue(pieces.count > 1)
    expectEqual(Array(pieces.joined()), long)
    // A long one that ends with a whole piece.
    let even = [0xF0] + [UInt8](repeating: 5, count: (1 << 16) - 1) + [0xF7]
    expectEqual(Array(messages(even).joined()), even)
  }

  @Test func bytesOfNoMessageAreLeftOut() {
    expectEqual(messages([1, 2, 3, 0x90, 60, 1]), [[0x90, 60, 1]])
    expectEqual(messages([0x90, 60, 0x80, 60, 1]), [[0x80, 60, 1]])
    expectEqual(messages([0xF7, 0xF4, 0xF5, 9]), [])
    var stream = MIDIStream()
    expectEqual(stream.messages([1, 0x90, 60, 0xF7, 0xF4]), [])
    expectEqual(stream.strayBytes, 5)
  }
}

/// Messages as universal packets, and back.
@Suite struct UniversalMIDIWriterTests {
  private let all: [[UInt8]] = [
    [0x80, 60, 64], [0x93, 60, 1], [0x9F, 127, 127], [0xA2, 1, 2], [0xB0, 7, 100], [0xC4, 5],
    [0xD5, 6], [0xE6, 1, 2], [0xE0, 0, 64], [0xF1, 1], [0xF2, 3, 4], [0xF3, 5], [0xF6], [0xF8],
    [0xFF], [0xF0, 0xF7], [0xF0, 1, 2, 3, 4, 5, 6, 0xF7], [0xF0, 1, 2, 3, 4, 5, 6, 7, 0xF7],
  ]

  @Test(arguments: [UniversalMIDIWriter.Version.midi1, .midi2])
  func messagesComeBackAsTheyWere(version: UniversalMIDIWriter.Version) {
    for message in all {
      var writer = UniversalMIDIWriter(version)
      var reader = UniversalMIDI()
      expectEqual(writer.packets(message).flatMap { reader.messages($0) }, [message])
    }
  }

  @Test func aLongMessageGoesOnInItsPieces() {
    var writer = UniversalMIDIWriter(.midi1)
    var reader = UniversalMIDI()
    let pieces: [[UInt8]] = [[0xF0, 1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11], [12, 0xF7]]
    let heard = pieces.flatMap { writer.packets($0).flatMap { reader.messages($0) } }
    expectEqual(heard, [Array(pieces.joined())])
  }

  @Test func leastMiddleAndMostStayWhatTheyAre() {
    for (bits, wide) in [(7, 16), (7, 32), (14, 32)] {
      let full = UInt32(truncatingIfNeeded: UInt64(1) << UInt64(wide) - 1)
      expectEqual(UniversalMIDIWriter.scaled(0, from: bits, to: wide), 0)
      expectEqual(
        UniversalMIDIWriter.scaled(1 << (bits - 1), from: bits, to: wide), 1 << (wide - 1))
      expectEqual(UniversalMIDIWriter.scaled(1 << bits - 1, from: bits, to: wide), full)
      for value in 0..<UInt32(1) << bits {
        expectEqual(UniversalMIDIWriter.scaled(value, from: bits, to: wide) >> (wide - bits), value)
      }
    }
  }

  @Test func aNoteOnOfVelocity0IsANoteOff() {
    var writer = UniversalMIDIWriter(.midi2)
    expectEqual(writer.packets([0x91, 60, 0]), [[0x4081_3C00, 0]])
    expectEqual(writer.packets([0x91, 60, 100]), [[0x4091_3C00, 0xC924_0000]])
  }

  @Test func whatIsNoMessageGivesNoPacket() {
    var writer = UniversalMIDIWriter(.midi1)
    expectTrue(writer.packets([]).isEmpty && writer.packets([0x90, 1]).isEmpty)
    expectTrue(writer.packets([1, 2, 0xF7]).isEmpty)
  }
}

/// What thru connections let pass.
@Suite struct MIDIThruRulesTests {
  @Test func rulesChangeAndDropMessages() {
    var rules = MIDIThruRules()
    expectEqual(rules.applied(to: [0x95, 60, 100]), [0x95, 60, 100])
    rules.channels[5] = 2
    rules.channels[6] = 0xFF
    rules.note = .add(12)
    rules.velocity = .scale(2048)
    rules.program = .drop
    rules.bend = .atMost(0x2000)
    (rules.lowNote, rules.highNote) = (40, 80)
    expectEqual(rules.applied(to: [0x95, 60, 100]), [0x92, 72, 50])
    expectEqual(rules.applied(to: [0x85, 60, 100]), [0x82, 72, 100])
    expectEqual(rules.applied(to: [0x95, 60, 1]), [0x92, 72, 1])
    expectNil(rules.applied(to: [0x96, 60, 100]))
    expectNil(rules.applied(to: [0x95, 39, 100]))
    expectNil(rules.applied(to: [0xC0, 1]))
    expectEqual(rules.applied(to: [0xE0, 0x7F, 0x7F]), [0xE0, 0, 0x40])
    (rules.lowNote, rules.highNote) = (80, 40)
    expectNil(rules.applied(to: [0x90, 60, 100]))
    expectEqual(rules.applied(to: [0x90, 127, 100]), [0x90, 127, 50])
    rules.velocities = 10...20
    expectNil(rules.applied(to: [0x90, 30, 100]))
    expectEqual(rules.applied(to: [0x90, 30, 0]), [0x90, 42, 0])
    rules.dropsClock = true
    rules.dropsExclusive = true
    rules.dropsControls = true
    expectNil(rules.applied(to: [0xF8]))
    expectNil(rules.applied(to: [0xF0, 1, 0xF7]))
    expectNil(rules.applied(to: [0xB0, 1, 2]))
    expectNil(rules.applied(to: []))
    expectEqual(rules.applied(to: [0xFE]), [0xFE])
  }
}
