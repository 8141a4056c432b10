/// Divides a stream of bytes into MIDI messages, each with its own status byte.
///
/// A system exclusive message may come in any number of calls, with real-time messages between its bytes. Bytes that
/// belong to no message are left out.
package struct MIDIStream {
  /// The bytes of the message that has begun.
  private var begun: [UInt8] = []
  /// The status byte of the latest channel message of a call, for messages behind it that leave theirs out; 0 if
  /// there is none.
  private var running: UInt8 = 0
  /// Number of bytes that belong to no message.
  package private(set) var strayBytes = 0

  /// Bytes of a system exclusive message that are kept until its end. A longer one is divided.
  static let mostBytes = 1 << 16

  package init() {}

  /// Returns the messages that bytes complete.
  package mutating func messages(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    running = 0
    for byte in bytes {
      switch byte {
      case 0xF8...0xFF: messages.append([byte])
      case 0xF7:
        if isExclusive {
          messages.append(begun + [byte])
          end()
        } else {
          strayBytes += begun.count + 1
          end()
        }
      case 0x80...0xF6: begin(byte, &messages)
      default: add(byte, &messages)
      }
    }
    return messages
  }

  /// A piece of a divided message begins without its status byte.
  private var isExclusive = false

  private mutating func end() {
    begun = []
    isExclusive = false
  }

  private mutating func begin(_ status: UInt8, _ messages: inout [[UInt8]]) {
    // Another status ends a system exclusive message, too.
    if isExclusive { messages.append(begun + [0xF7]) } else { strayBytes += begun.count }
    end()
    running = 0
    begun = [status]
    isExclusive = status == 0xF0
    if Self.count(status) == 1 { finish(&messages) }
  }

  private mutating func add(_ data: UInt8, _ messages: inout [[UInt8]]) {
    if isExclusive {
      begun.append(data)
      if begun.count == Self.mostBytes {
        messages.append(begun)
        begun = []
      }
      return
    }
    if begun.isEmpty {
      guard running != 0 else {
        strayBytes += 1
        return
      }
      begun = [running]
    }
    begun.append(data)
    if begun.count == Self.count(begun[0]) { finish(&messages) }
  }

  private mutating func finish(_ messages: inout [[UInt8]]) {
    // The two statuses that MIDI leaves undefined are no messages.
    if begun[0] == 0xF4 || begun[0] == 0xF5 { strayBytes += 1 } else { messages.append(begun) }
    if begun[0] < 0xF0 { running = begun[0] }
    end()
  }

  /// The bytes of a message with a status; 0 for system exclusive.
  static func count(_ status: UInt8) -> Int {
    switch status {
    case 0xF0: 0
    case 0xC0...0xDF, 0xF1, 0xF3: 2
    case 0xF4...0xFF: 1
    default: 3
    }
  }
}
