/// The STREAMINFO block behind the name of a FLAC stream. A decoder takes both as a packet.
struct FLACStreamInfo {
  /// Bytes of the name and of the block.
  static let bytes = 42

  /// Bytes of the largest frame; 0 if it is not known.
  let maximumBytes: Int
  /// Frames of each packet; 0 if they vary.
  let blockFrames: Int64
  let sampleRate: Double
  let channels: Int
  /// The bytes that set up a decoder: block sizes, rate, channels and bits.
  private let form: [UInt8]

  /// Parses it; nil if there is none.
  init?(_ stream: [UInt8], at offset: Int = 0) {
    guard offset >= 0, stream.count - offset >= Self.bytes,
      case let bytes = Array(stream[offset..<offset + Self.bytes]),
      bytes.starts(with: "fLaC".utf8), bytes[4] & 0x7F == 0
    else { return nil }
    let word = bytes.big(at: 18, bytes: 4)
    sampleRate = Double(word >> 12)
    guard sampleRate > 0 else { return nil }
    channels = Int(word >> 9 & 7) + 1
    maximumBytes = Int(bytes.big(at: 15, bytes: 3))
    blockFrames = bytes[8..<10] == bytes[10..<12] ? Int64(bytes.big(at: 8, bytes: 2)) : 0
    form = bytes[8..<12] + bytes[18..<21] + [bytes[21] & 0xF0]
  }

  func isLike(_ other: FLACStreamInfo) -> Bool { form == other.form }

  /// Returns where the metadata blocks of the stream end whose name is at an offset. Blocks.
  static func soundOffset(
    _ store: any ByteStore, at offset: Int64
  ) throws(SoundFileError) -> Int64 {
    var end = offset + 4
    for _ in 0..<FileHead.mostStreamChunks {
      guard let block = try store.bytes(at: end, count: 4) else { break }
      end += 4 + Int64(block.big(at: 1, bytes: 3))
      guard block[0] & 0x80 != 0 else { continue }
      let start = try store.bytes(at: end, count: Int(min(16, max(0, store.byteCount() - end))))
      if let start, case .head = FLACScanner.Head.read(start, at: 0) { return end }
      break
    }
    // The frames are searched behind a damaged head.
    return offset + Int64(bytes)
  }
}
