import AudioToolbox
import Foundation
import MIDI

/// MIDI messages as a cable and as universal packets bring them: damaged, cut and in pieces.
struct Messages: Subject {
  // MARK: Making bytes

  func input(_ dice: inout Dice) -> Corpus.File {
    var bytes: [UInt8] = []
    for _ in 0..<dice.roll(40) { bytes += Self.message(&dice) }
    if dice.once(in: 2) {
      for _ in 0...dice.roll(6) where !bytes.isEmpty {
        let place = dice.roll(bytes.count)
        switch dice.roll(3) {
        case 0: bytes[place] = UInt8(dice.roll(256))
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(dice.roll(256)), at: place)
        }
      }
    }
    return Corpus.File(name: "messages.bin", bytes: bytes)
  }

  private static func message(_ dice: inout Dice) -> [UInt8] {
    func data(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(dice.roll(128)) } }
    switch dice.roll(10) {
    case 0: return [0xF0] + data(dice.roll(dice.once(in: 5000) ? 200_000 : 30)) + [0xF7]
    case 1: return [UInt8(0xF8 + dice.roll(8))]
    case 2: return [UInt8(0xF1 + dice.roll(6))] + data(dice.roll(3))
    case 3: return (0..<dice.roll(8)).map { _ in UInt8(dice.roll(256)) }
    default: return [UInt8(0x80 + dice.roll(112))] + data(2)
    }
  }

  // MARK: Reading them

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    var stream = MIDIStream()
    var messages: [[UInt8]] = []
    var rest = input.bytes[...]
    while !rest.isEmpty {
      let count = 1 + dice.roll(rest.count)
      messages += stream.messages(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    try check(messages)
    for version in [UniversalMIDIWriter.Version.midi1, .midi2] {
      try pack(messages, version)
    }
    // The same bytes as words that no program has written.
    let words = stride(from: 0, to: input.bytes.count, by: 4).map { start in
      input.bytes[start...].prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    var universal = UniversalMIDI()
    var again = MIDIStream()
    var at = 0
    while at < words.count {
      let count = min(1 + dice.roll(64), words.count - at)
      let bytes = universal.messages(Array(words[at..<at + count])).joined()
      try check(again.messages(bytes))
      at += count
    }
    try fill(messages, &dice)
  }

  /// The bytes of a message with a status; nil for a system exclusive one.
  private func length(_ status: UInt8) -> Int? {
    switch status {
    case 0xF0: nil
    case 0xC0...0xDF, 0xF1, 0xF3: 2
    case 0xF4...0xFF: 1
    default: 3
    }
  }

  private func check(_ messages: [[UInt8]]) throws {
    for message in messages {
      guard let status = message.first else { throw FuzzError("a message has no bytes") }
      // A long exclusive message comes in pieces.
      if status < 0x80 || status == 0xF0 {
        guard message.count <= 1 << 17 else { throw FuzzError("a piece is too long") }
        guard message.dropFirst().dropLast().allSatisfy({ $0 < 0x80 }) else {
          throw FuzzError("an exclusive message has a status byte in it")
        }
      } else if status != 0xF7 {
        guard message.count == length(status), message.dropFirst().allSatisfy({ $0 < 0x80 }) else {
          throw FuzzError("\(message) is no message")
        }
      }
    }
  }

  /// Packets of messages give the same messages.
  private func pack(_ messages: [[UInt8]], _ version: UniversalMIDIWriter.Version) throws {
    var writer = UniversalMIDIWriter(version)
    var reader = UniversalMIDI()
    for message in messages {
      let packets = writer.packets(message)
      let read = packets.flatMap { reader.messages($0) }
      guard message[0] >= 0x80, message[0] != 0xF7, message[0] != 0xF0 || message.last == 0xF7
      else { continue }
      // A note-on message of velocity 0 is a note-off message of MIDI 2.0.
      let ends = version == .midi2 && message[0] & 0xF0 == 0x90 && message[2] == 0
      let expected = ends ? [message[0] & 0x8F, message[1], 0] : message
      guard read == [expected] else { throw FuzzError("\(message.prefix(20)) became \(read)") }
    }
  }

  /// Lists take what has room.
  private func fill(_ messages: [[UInt8]], _ dice: inout Dice) throws {
    let size = 14 + dice.roll(2000)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4)
    defer { memory.deallocate() }
    let list = memory.assumingMemoryBound(to: MIDIPacketList.self)
    var packet = MIDIPacketListInit(list)
    var taken: [UInt8] = []
    for message in messages where message.count <= 0xFFFF {
      packet = MIDIPacketListAdd(
        list, size, packet, MIDITimeStamp(dice.roll(3)), message.count, message)
      // Swift takes the result for a pointer that is never null, but it is null where there is no room.
      if UInt(bitPattern: packet) == 0 { break }
      taken += message
    }
    let found = UnsafePointer(list).unsafeSequence().flatMap { Array($0.bytes()) }
    guard found == taken else { throw FuzzError("a list has lost bytes") }
  }
}
