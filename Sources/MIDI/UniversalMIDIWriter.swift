/// Makes Universal MIDI Packets of messages of MIDI 1.0, in group 0.
package struct UniversalMIDIWriter {
  package enum Version: Int32, Sendable {
    case midi1 = 1
    case midi2 = 2
  }
  private let version: Version
  /// Whether a system exclusive message has begun and not ended.
  private var isExclusive = false

  package init(_ version: Version) { self.version = version }

  /// Returns the packets of a message, or of a piece of a system exclusive message: one to four words each.
  package mutating func packets(_ message: [UInt8]) -> [[UInt32]] {
    guard let status = message.first else { return [] }
    if status == 0xF0 || status < 0x80 || status == 0xF7 { return exclusive(message) }
    guard message.count == MIDIStream.count(status) else { return [] }
    let bytes = message + [0, 0]
    let data = (UInt32(bytes[1] & 0x7F), UInt32(bytes[2] & 0x7F))
    let short = UInt32(status) << 16 | data.0 << 8 | data.1
    if status >= 0xF0 { return [[0x1000_0000 | short]] }
    return [version == .midi1 ? [0x2000_0000 | short] : Self.voice(status, data.0, data.1)]
  }

  /// Six bytes to a packet.
  private mutating func exclusive(_ message: [UInt8]) -> [[UInt32]] {
    let begins = message[0] == 0xF0
    if !begins && !isExclusive { return [] }
    let ends = message.last == 0xF7
    isExclusive = !ends
    var packets: [[UInt32]] = []
    unsafe message.filter { $0 < 0x80 }.withUnsafeBufferPointer { data in
      unsafe Self.eachPacket(of: data, begins: begins, ends: ends) { packets.append([$0, $1]) }
    }
    return packets
  }

  /// Calls a function with the two words of each packet of a system exclusive message, or of a piece of one: six bytes of
  /// data to a packet. Does not allocate.
  ///
  /// - Parameter data: The bytes between 0xF0 and 0xF7.
  package static func eachPacket(
    of data: UnsafeBufferPointer<UInt8>, begins: Bool, ends: Bool, _ body: (UInt32, UInt32) -> Void
  ) {
    var next = 0
    repeat {
      let (first, count) = (begins && next == 0, min(6, data.count - next))
      let isLast = ends && next + count == data.count
      // Whole, beginning, middle, end.
      let kind: UInt64 = first ? (isLast ? 0 : 1) : (isLast ? 3 : 2)
      var packet: UInt64 = (0x3000_0000 | kind << 20 | UInt64(count) << 16) << 32
      for i in 0..<count { packet |= unsafe UInt64(data[next + i]) << (40 - 8 * i) }
      next += count
      body(UInt32(packet >> 32), UInt32(truncatingIfNeeded: packet))
    } while next < data.count
  }

  /// A channel message of MIDI 2.0.
  private static func voice(_ status: UInt8, _ first: UInt32, _ second: UInt32) -> [UInt32] {
    let head = 0x4000_0000 | UInt32(status) << 16
    switch status & 0xF0 {
    // A note-on message of velocity 0 ends a note.
    case 0x90 where second == 0: return [0x4080_0000 | UInt32(status & 15) << 16 | first << 8, 0]
    case 0x80, 0x90: return [head | first << 8, scaled(second, from: 7, to: 16) << 16]
    case 0xA0, 0xB0: return [head | first << 8, scaled(second, from: 7, to: 32)]
    case 0xC0: return [head, first << 24]
    case 0xD0: return [head, scaled(first, from: 7, to: 32)]
    default: return [head, scaled(second << 7 | first, from: 14, to: 32)]
    }
  }

  /// Scales a value so that least, middle and most stay least, middle and most: above the middle the lower bits repeat.
  static func scaled(_ value: UInt32, from bits: Int, to wide: Int) -> UInt32 {
    let shifted = UInt64(value) << (wide - bits)
    if value <= 1 << (bits - 1) { return UInt32(truncatingIfNeeded: shifted) }
    let width = bits - 1
    let pattern = UInt64(value) & (1 << width - 1)
    var result = shifted
    var shift = wide - bits - width
    while shift > -width {
      result |= shift >= 0 ? pattern << shift : pattern >> -shift
      shift -= width
    }
    return UInt32(truncatingIfNeeded: result)
  }
}
