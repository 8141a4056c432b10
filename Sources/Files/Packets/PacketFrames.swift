import Codecs

/// Functions that compute the frames of packets from their own bytes.
enum PacketFrames {
  /// First bytes of a packet that are sufficient.
  static let tellingBytes = 16

  /// Returns a function that computes the frames of consecutive packets; nil if the codec's packets
  /// do not give them.
  static func counter(_ codec: Codec, _ extradata: [UInt8]) -> (([UInt8]) -> Int)? {
    switch codec {
    case .opus: return opus
    case .flac: return flac
    case .vorbis:
      guard let durations = VorbisDurations(extradata) else { return nil }
      // The first packet only primes the second.
      var isFirst = true
      return { packet in
        let frames = durations.frames(of: packet)
        defer { isFirst = false }
        return isFirst ? 0 : frames
      }
    default: return nil
    }
  }

  /// Returns the frames of an Opus packet at 48 kHz; 0 if it is not valid.
  static func opus(_ packet: [UInt8]) -> Int {
    guard let head = packet.first else { return 0 }
    let configuration = Int(head >> 3)
    let each =
      switch configuration {
      case ..<12: [480, 960, 1920, 2880][configuration & 3]
      case ..<16: [480, 960][configuration & 1]
      default: [120, 240, 480, 960][configuration & 3]
      }
    switch head & 3 {
    case 0: return each
    case 1, 2: return 2 * each
    default: return packet.count > 1 ? Int(packet[1] & 63) * each : 0
    }
  }

  /// Returns the frames of a FLAC packet; 0 if it is not valid.
  static func flac(_ packet: [UInt8]) -> Int {
    guard packet.count > 5, packet[0] == 0xFF, packet[1] & 0xFC == 0xF8 else { return 0 }
    let code = Int(packet[2] >> 4)
    switch code {
    case 1: return 192
    case 2...5: return 576 << (code - 2)
    case 8...15: return 256 << (code - 8)
    case 6, 7:
      // The frame number comes first; its leading bits give its own length.
      let numberBytes = max(1, (~packet[4]).leadingZeroBitCount)
      return Int(packet.big(at: 4 + numberBytes, bytes: code - 5)) + 1
    default: return 0
    }
  }

  /// Returns the frames of an Apple Lossless packet that is shorter than the others; 0 for others.
  static func alac(_ packet: [UInt8]) -> Int {
    guard packet.count >= 7 else { return 0 }
    // The element's tag and instance and 12 unused bits precede a flag; the number follows two bits
    // and another flag.
    let bits = packet.big(at: 0, bytes: 7)
    guard packet[0] >> 5 < 4, bits >> (56 - 20) & 1 == 1 else { return 0 }
    return Int(bits >> 1 & 0xFFFF_FFFF)
  }
}
