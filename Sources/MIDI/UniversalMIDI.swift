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
    var rest = words[...]
    while let word = rest.first {
      let type = Int(word >> 28)
      let count = Self.words[type]
      guard rest.count >= count else { break }
      let message = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      switch type {
      case 1: messages.append(Self.short(word))
      case 2: messages.append(Self.short(word))
      case 3: read(message, &messages)
      case 4: if let bytes = Self.voice(message) { messages.append(bytes) }
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
  private mutating func read(_ words: [UInt32], _ messages: inout [[UInt8]]) {
    let (status, count) = (words[0] >> 20 & 15, Int(words[0] >> 16 & 15))
    let bytes = [words[0] >> 8, words[0], words[1] >> 24, words[1] >> 16, words[1] >> 8, words[1]]
      .map { UInt8(truncatingIfNeeded: $0) & 0x7F }
    // Whole, beginning, middle, end.
    if status == 0 || status == 1 { exclusive = [0xF0] }
    guard var all = exclusive else { return }
    exclusive = nil
    all += bytes.prefix(count)
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
  private static func voice(_ words: [UInt32]) -> [UInt8]? {
    let status = UInt8(truncatingIfNeeded: words[0] >> 16)
    let index = UInt8(truncatingIfNeeded: words[0] >> 8) & 0x7F
    let value = UInt8(words[1] >> 25)
    switch status & 0xF0 {
    // A velocity of 0 would end the note.
    case 0x90: return [status, index, max(1, value)]
    case 0x80, 0xA0, 0xB0: return [status, index, value]
    case 0xC0: return [status, UInt8(truncatingIfNeeded: words[1] >> 24) & 0x7F]
    case 0xD0: return [status, value]
    case 0xE0:
      let bend = words[1] >> 18
      return [status, UInt8(bend & 0x7F), UInt8(bend >> 7)]
    default: return nil
    }
  }
}
