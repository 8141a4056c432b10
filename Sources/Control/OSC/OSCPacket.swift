import Glibc

/// The packets of OSC: a message, or a bundle of messages and bundles.
package enum OSCPacket {
  /// Deepest nesting of bundles, and most messages of a packet, that are read.
  package static let deepest = 8
  package static let mostMessages = 1024

  private static let bundleHead = Array("#bundle\0".utf8)

  /// Returns the messages of a packet, in order. Time tags of bundles are not kept: a bundle is in effect
  /// when it arrives.
  ///
  /// - Throws: `OSCError.malformed` if any part of the packet is malformed.
  package static func messages(in bytes: [UInt8]) throws(OSCError) -> [OSCMessage] {
    var messages: [OSCMessage] = []
    try read(bytes[...], depth: 0, into: &messages)
    return messages
  }

  private static func read(
    _ bytes: ArraySlice<UInt8>, depth: Int, into messages: inout [OSCMessage]
  ) throws(OSCError) {
    guard bytes.starts(with: bundleHead) else {
      guard messages.count < mostMessages else {
        throw .malformed("it has more than \(mostMessages) messages")
      }
      messages.append(try OSCMessage(bytes: bytes))
      return
    }
    guard depth < deepest else { throw .malformed("its bundles are nested too deeply") }
    // A bundle's head is followed by a time tag of eight bytes.
    guard bytes.count >= 16 else { throw .malformed("a bundle has no time tag") }
    var rest = bytes.dropFirst(16)
    while !rest.isEmpty {
      guard rest.count >= 4 else { throw .malformed("a bundle does not end with an element") }
      let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard size > 0, size % 4 == 0, size <= rest.count else {
        throw .malformed("a bundle of \(bytes.count) bytes has an element of \(size)")
      }
      try read(rest.prefix(size), depth: depth + 1, into: &messages)
      rest = rest.dropFirst(size)
    }
  }

  /// Returns a packet with all messages: a bundle with the time tag “immediately”.
  package static func bundle(of messages: [OSCMessage]) throws(OSCError) -> [UInt8] {
    var bytes = bundleHead + [0, 0, 0, 0, 0, 0, 0, 1]
    for message in messages {
      let part = try message.encoded()
      for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
      bytes += part
    }
    guard bytes.count <= OSCMessage.mostBytes else {
      throw .unsendable(
        "the bundle has \(bytes.count) bytes, and a packet holds \(OSCMessage.mostBytes)")
    }
    return bytes
  }
}
