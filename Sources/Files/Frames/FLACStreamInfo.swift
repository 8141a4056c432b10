import Codecs

/// The STREAMINFO block behind the name of a FLAC stream. A decoder takes both as a packet.
struct FLACStreamInfo {
  /// Bytes of the name, of the block's head, and of the block.
  static let bytes = 42

  /// Bytes of the largest frame; 0 if it is not known.
  let maximumBytes: Int
  /// Frames of each packet; 0 if they vary.
  let blockFrames: Int64
  let sampleRate: Double
  let channels: Int
  /// Bits of a sample.
  let bits: Int
  /// Frames of the stream; 0 if they are not known.
  let frames: Int64
  /// The block, as a decoder takes it.
  let block: [UInt8]
  /// The bytes that set up a decoder: block sizes, rate, channels and bits.
  private let form: [UInt8]

  /// Parses it; nil if there is none.
  init?(_ stream: [UInt8], at offset: Int = 0) {
    guard offset >= 0, stream.count - offset >= Self.bytes,
      case let bytes = Array(stream[offset..<offset + Self.bytes]),
      bytes.starts(with: "fLaC".utf8), bytes[4] & 0x7F == 0
    else { return nil }
    self.init(block: Array(bytes[8...]))
  }

  /// Parses the block itself; nil if it is none.
  init?(block: [UInt8]) {
    let word = block.big(at: 10, bytes: 4)
    guard block.count == Self.bytes - 8, word >> 12 > 0 else { return nil }
    self.block = block
    sampleRate = Double(word >> 12)
    channels = Int(word >> 9 & 7) + 1
    bits = Int(word >> 4 & 31) + 1
    frames = Int64(block.big(at: 13, bytes: 5) & 0xF_FFFF_FFFF)
    maximumBytes = Int(block.big(at: 7, bytes: 3))
    blockFrames = block[0..<2] == block[2..<4] ? Int64(block.big(at: 0, bytes: 2)) : 0
    form = block[0..<4] + block[10..<13] + [block[13] & 0xF0]
  }

  /// The format of the stream's frames.
  var format: PacketFormat {
    PacketFormat(
      codec: .flac, sampleRate: sampleRate, channels: channels, framesPerPacket: Int(blockFrames),
      bitsPerSample: bits)
  }

  func isLike(_ other: FLACStreamInfo) -> Bool { form == other.form }
}
