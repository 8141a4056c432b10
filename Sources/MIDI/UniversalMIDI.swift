/// Reads Universal MIDI Packets as messages of MIDI 1.0.
///
/// Messages of MIDI 2.0 lose what MIDI 1.0 has no room for: lower bits of values, and what concerns one note
/// only, except pressure.
package struct UniversalMIDI {
  /// The bytes of a system exclusive message that has begun; nil if none has.
  private var exclusive: [UInt8]?

  package init() {}

  /// Returns the messages that a packet completes, as bytes. A long system exclusive message comes in pieces.
  package mutating func messages(_ words: [UInt32]) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    var next = 0
    while next < words.count {
      let word = words[next]
      let type = Int(word >> 28)
      let count = Self.words[type]
      guard words.count - next >= count else { break }
      let second = count > 1 ? words[next + 1] : 0
      next += count
      switch type {
      case 1, 2: messages.append(Self.short(word))
      case 3: read(word, second, &messages)
      case 4: if let bytes = Self.voice(word, second) { messages.append(bytes) }
      default: break
      }
    }
    return messages
  }

  /// Words of a message, by its type.
  private static let words = [1, 1, 1, 2, 2, 4, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4]

  /// A message of MIDI 1.0 in one word.
  private static func short(_ word: UInt32) -> [UInt8] {
    let bytes = [16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
    // What is no status of a short message stays as it is.
    let count = max(1, MIDIStream.count(bytes[0]))
    return Array(bytes.prefix(count))
  }

  /// Six bytes of a system exclusive message.
  private mutating func read(_ word: UInt32, _ second: UInt32, _ messages: inout [[UInt8]]) {
    let (status, count) = (word >> 20 & 15, min(6, Int(word >> 16 & 15)))
    let bytes = UInt64(word) << 32 | UInt64(second)
    // Whole, beginning, middle, end.
    if status == 0 || status == 1 { exclusive = [0xF0] }
    guard var all = exclusive else { return }
    exclusive = nil
    for i in 0..<count { all.append(UInt8(truncatingIfNeeded: bytes >> (40 - 8 * i)) & 0x7F) }
    if status == 0 || status == 3 {
      messages.append(all + [0xF7])
    } else if all.count >= MIDIStream.mostBytes {
      messages.append(all)
      exclusive = []
    } else {
      exclusive = all
    }
  }

  /// A channel message of MIDI 2.0.
  private static func voice(_ word: UInt32, _ second: UInt32) -> [UInt8]? {
    let status = UInt8(truncatingIfNeeded: word >> 16)
    let index = UInt8(truncatingIfNeeded: word >> 8) & 0x7F
    let value = UInt8(second >> 25)
    switch status & 0xF0 {
    // A velocity of 0 would end the note.
    case 0x90: return [status, index, max(1, value)]
    case 0x80, 0xA0, 0xB0: return [status, index, value]
    case 0xC0: return [status, UInt8(truncatingIfNeeded: second >> 24) & 0x7F]
    case 0xD0: return [status, value]
    case 0xE0:
      let bend = second >> 18
      return [status, UInt8(bend & 0x7F), UInt8(bend >> 7)]
    default: return nil
    }
  }
}
