import Codecs
import Timeline

extension StreamParser {
  /// A position in the sound, as a packet with a byte or frame position.
  package struct Location: Hashable, Sendable {
    package var packet: Int64
    /// Bytes from the start of the sound, or frames from the first one.
    package var position: Int64
    /// Bytes or frames from the packet's start.
    package var rest: Int64 = 0
    /// True if the position is computed from the average packet size.
    package var isEstimated = false
  }

  /// Average bytes of a packet; nil if still unknown.
  package var averagePacketBytes: Double? {
    if case .equal(let size) = framing { return Double(size) }
    if let count = details?.packetCount, let bytes = details?.dataBytes, count > 0, bytes > 0 {
      return Double(bytes) / Double(count)
    }
    return seenPackets > 0 ? Double(seenBytes) / Double(seenPackets) : nil
  }

  /// Returns where a packet begins, in bytes; nil if that is unknown, or there is no such packet.
  package func location(ofPacket packet: Int64) -> Location? {
    guard let details, packet >= 0, packet <= details.packetCount ?? .max else { return nil }
    switch framing {
    case .equal(let size):
      let (position, overflow) = packet.multipliedReportingOverflow(by: Int64(size))
      return overflow ? nil : Location(packet: packet, position: position)
    case .listed(let list):
      guard packet < list.count else { return nil }
      return Location(packet: packet, position: start(of: packet, list, details))
    case .fragments: return packet == 0 ? Location(packet: 0, position: 0) : nil
    case .frames, .flac:
      guard packet > 0 else { return Location(packet: 0, position: 0) }
      guard let average = averagePacketBytes else { return nil }
      let position = Int64(exactly: (Double(packet) * average).rounded(.down))
      return position.map { Location(packet: packet, position: $0, isEstimated: true) }
    }
  }

  /// Returns the packet that contains a byte of the sound; nil if that is unknown, or there is
  /// none.
  package func location(ofByte byte: Int64) -> Location? {
    guard let details, byte >= 0, byte < details.dataBytes ?? .max else { return nil }
    switch framing {
    case .equal(let size):
      let (packet, rest) = byte.quotientAndRemainder(dividingBy: Int64(size))
      return Location(packet: packet, position: byte, rest: rest)
    case .listed(let list):
      // Searches for the last packet that begins at or before the byte.
      var low: Int64 = 0
      var high = list.count
      while low < high {
        let middle = (low + high) / 2
        if start(of: middle, list, details) <= byte { low = middle + 1 } else { high = middle }
      }
      guard low > 0 else { return nil }
      let start = start(of: low - 1, list, details)
      return Location(packet: low - 1, position: byte, rest: byte - start)
    case .fragments: return nil
    case .frames, .flac:
      guard let average = averagePacketBytes else { return nil }
      let packet = (Double(byte) / average).rounded(.down)
      let rest = Int64(held: Double(byte) - packet * average)
      return Location(packet: Int64(packet), position: byte, rest: rest, isEstimated: true)
    }
  }

  private func start(of packet: Int64, _ list: PacketIndex, _ details: Details) -> Int64 {
    (list.pieces(of: packet).first?.offset ?? 0) + start - details.dataOffset
  }

  /// Frames of each packet; nil if the number varies.
  var framesPerPacket: Int64? {
    switch details?.format {
    case .pcm: 1
    case .packets(let format): format.framesPerPacket > 0 ? Int64(format.framesPerPacket) : nil
    case nil: nil
    }
  }

  /// Returns the first frame of a packet; nil if that is unknown, or there is no such packet.
  package func frame(ofPacket packet: Int64) -> Location? {
    guard packet >= 0, packet <= details?.packetCount ?? .max else { return nil }
    if let each = framesPerPacket {
      let (frame, overflow) = packet.multipliedReportingOverflow(by: each)
      return overflow ? nil : Location(packet: packet, position: frame)
    }
    guard case .listed(let list) = framing, packet <= list.count else { return nil }
    let frame = (0..<packet).reduce(0) { $0 &+ Int64(list.frames(of: $1)) }
    return Location(packet: packet, position: frame)
  }

  /// Returns the packet that contains a frame; nil if that is unknown, or there is none.
  package func packet(ofFrame frame: Int64) -> Location? {
    guard frame >= 0 else { return nil }
    if let each = framesPerPacket {
      let (packet, rest) = frame.quotientAndRemainder(dividingBy: each)
      guard packet < details?.packetCount ?? .max else { return nil }
      return Location(packet: packet, position: frame, rest: rest)
    }
    guard case .listed(let list) = framing else { return nil }
    var start: Int64 = 0
    for packet in 0..<list.count {
      let next = start &+ Int64(list.frames(of: packet))
      if frame < next { return Location(packet: packet, position: frame, rest: frame - start) }
      start = next
    }
    return nil
  }
}
