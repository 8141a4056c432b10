import Codecs

/// A scanner for the frames of a FLAC stream. Frame headers do not give a frame's size. A frame
/// ends where its CRC matches and either another header follows or the decoder accepts it as
/// complete.
///
/// Most frames end where the next header begins, so only the places of headers are looked at first.
struct FLACScanner {
  /// Upper limit of a frame's size in bytes.
  private(set) var maximumPacketBytes: Int
  private static let unknownMaximum = 2_200_000
  /// Factory of decoders; returns nil if there is none.
  private let decoder: () -> PacketDecoder?
  /// True if more bytes follow, or `isAtEnd` is set. Otherwise frames are found without the next header.
  private let canWait: Bool
  /// Bytes of the current frame before which no header follows it, and their CRC.
  private var passed = (bytes: 0, sum: UInt16(0))
  /// Bytes of the current frame already examined one by one, and their CRC.
  private var checked = 0
  private var sum: UInt16 = 0
  /// How often the decoder was tried on this frame.
  private var tries = 0
  /// False headers found since the last frame.
  private var mistakes = 0

  /// The head of a stream in another form than the first one's, which a decoder needs.
  private var setup: [UInt8] = []
  /// The form of the latest stream; nil if it does not matter.
  var streamInfo: FLACStreamInfo?
  /// True if no bytes follow those that are given.
  var isAtEnd = false

  /// Limit on false headers, for damaged data that is full of them.
  private static let mostMistakes = 64

  /// - Parameter maximumFrameBytes: From the stream's header; 0 if it gives none.
  init(maximumFrameBytes: Int, format: PacketFormat, cookie: [UInt8], canWait: Bool) {
    self.canWait = canWait
    // 65535 frames of 8 channels of 33 bits, with some margin.
    maximumPacketBytes = maximumFrameBytes > 0 ? maximumFrameBytes : Self.unknownMaximum
    decoder = { () -> PacketDecoder? in try? PacketDecoder(format, cookie: cookie) }
  }

  enum Step {
    /// A frame at an offset, with its size in bytes.
    case frame(Head, bytes: Int, at: Int)
    /// The STREAMINFO of another stream, which may have another form, at an offset.
    case stream(FLACStreamInfo, isOther: Bool, at: Int)
    /// The scanner needs more bytes. Bytes before the offset may be discarded.
    case more(from: Int)
  }

  /// Tells the scanner that the next bytes do not continue the last ones.
  mutating func loseStep() {
    passed = (0, 0)
    checked = 0
    sum = 0
    tries = 0
  }

  /// Finds the first complete frame at or after `offset`.
  mutating func step(_ bytes: [UInt8], from offset: Int) -> Step {
    var offset = offset
    while true {
      let head: Head
      switch Head.read(bytes, at: offset) {
      case .short: return .more(from: offset)
      case .none:
        loseStep()
        let left = bytes.count - offset
        if bytes[offset] == UInt8(ascii: "f"),
          bytes[offset...].starts(with: "fLaC".utf8.prefix(left))
        {
          guard isAtEnd || left >= FLACStreamInfo.bytes else { return .more(from: offset) }
          if let info = FLACStreamInfo(bytes, at: offset), let old = streamInfo {
            let most = info.maximumBytes > 0 ? info.maximumBytes : Self.unknownMaximum
            maximumPacketBytes = max(maximumPacketBytes, most)
            streamInfo = info
            let isOther = !info.isLike(old)
            if isOther { setup = Array(bytes[offset..<offset + FLACStreamInfo.bytes]) }
            return .stream(info, isOther: isOther, at: offset)
          }
        }
        offset = min(
          bytes.first(0xFF, from: offset + 1) ?? bytes.count,
          bytes.first(UInt8(ascii: "f"), from: offset + 1) ?? bytes.count)
        continue
      case .head(let found): head = found
      }
      let most = min(maximumPacketBytes, head.maximumBytes)
      if let end = endByHeader(of: head, bytes, from: offset, most) {
        loseStep()
        mistakes = 0
        return .frame(head, bytes: end - offset, at: offset)
      }
      if canWait, !isAtEnd, bytes.count - offset < most + Head.mostBytes {
        return .more(from: offset)
      }
      while checked <= most {
        let end = offset + checked
        if sum == 0, checked > head.bytes, isWhole(bytes, from: offset, to: end) {
          loseStep()
          mistakes = 0
          return .frame(head, bytes: end - offset, at: offset)
        }
        guard end < bytes.count else { return .more(from: offset) }
        sum = FLACChecksum.ofFrame(bytes, end..<end + 1, after: sum)
        checked += 1
      }
      // This was a false header, or its frame is damaged. The next frame may begin right behind it.
      mistakes += 1
      offset += mistakes <= Self.mostMistakes ? 1 : checked
      loseStep()
    }
  }

  /// Returns where a frame ends that another header or the end of all bytes follows; nil if there is none so far.
  private mutating func endByHeader(
    of head: Head, _ bytes: [UInt8], from start: Int, _ most: Int
  ) -> Int? {
    let limit = min(bytes.count, start + most)
    while true {
      let from = start + passed.bytes
      // The last byte may be the first one of a header.
      guard from < limit else { return nil }
      let next = bytes.first(0xFF, from: max(from + 1, start + head.bytes)) ?? bytes.count
      let end = min(next, limit)
      guard isAtEnd || bytes.count - end >= Head.mostBytes else { return nil }
      passed.sum = FLACChecksum.ofFrame(bytes, from..<end, after: passed.sum)
      passed.bytes = end - start
      guard passed.sum == 0 else { continue }
      if end == bytes.count { return Self.endBeforeZeros(bytes, start..<end) }
      if case .head = Head.read(bytes, at: end) {
        return Self.endBeforeZeros(bytes, start..<end)
      }
    }
  }

  /// Returns where the frame ends that some bytes with a CRC of 0 begin with. Zeros behind a frame leave that CRC
  /// unchanged, but up to two of them may be its own CRC.
  private static func endBeforeZeros(_ bytes: [UInt8], _ part: Range<Int>) -> Int {
    guard bytes[part.upperBound - 1] == 0 else { return part.upperBound }
    var end = (bytes[part].lastIndex { $0 != 0 } ?? part.lowerBound) + 1
    var sum = FLACChecksum.ofFrame(bytes, part.lowerBound..<end, after: 0)
    while sum != 0 {
      sum = FLACChecksum.ofFrame(bytes, end..<end + 1, after: sum)
      end += 1
    }
    return min(end + 2, part.upperBound)
  }

  private mutating func isWhole(_ bytes: [UInt8], from start: Int, to end: Int) -> Bool {
    if case .head = Head.read(bytes, at: end) { return true }
    if isAtEnd && end == bytes.count { return true }
    // Zero bytes leave a CRC of 0 unchanged, so the number of decoder calls is limited.
    guard tries < 8, let decoder = decoder() else { return false }
    tries += 1
    if !setup.isEmpty { unsafe setup.withUnsafeBytes { unsafe try? decoder.decode($0) } }
    return unsafe bytes.withUnsafeBytes { memory in
      unsafe (try? decoder.decode(UnsafeRawBufferPointer(rebasing: memory[start..<end]))) != nil
    }
  }

  /// The header of a frame.
  struct Head {
    /// The most bytes that a header has.
    static let mostBytes = 16

    var bytes: Int
    /// Number of the frame in the stream, or of its first sample.
    var number: Int64
    var countsSamples: Bool
    /// Audio frames.
    var frames: Int
    /// Upper limit of the frame's size: no encoder writes a frame larger than its uncompressed
    /// samples.
    var maximumBytes: Int

    enum Reading {
      case head(Head)
      case short
      case none
    }

    static func read(_ b: [UInt8], at start: Int) -> Reading {
      guard b.count - start >= 5 else {
        // The bytes present may already rule out a header.
        let isPossible = b.count - start < 1 || b[start] == 0xFF
        return isPossible ? .short : .none
      }
      guard b[start] == 0xFF, b[start + 1] & 0xFE == 0xF8, b[start + 3] & 1 == 0 else {
        return .none
      }
      let size = Int(b[start + 2] >> 4)
      let rate = Int(b[start + 2] & 15)
      let channels = Int(b[start + 3] >> 4)
      guard size > 0, rate < 15, channels < 11, b[start + 3] >> 1 & 7 != 3 else { return .none }
      // The frame number is coded like a UTF-8 character, in up to seven bytes.
      let ones = (~b[start + 4]).leadingZeroBitCount
      guard ones != 1, ones < 8 else { return .none }
      let afterNumber = start + 4 + max(ones, 1)
      let sizeBytes = size == 6 ? 1 : size == 7 ? 2 : 0
      let rateBytes = rate == 12 ? 1 : rate == 13 || rate == 14 ? 2 : 0
      let end = afterNumber + sizeBytes + rateBytes
      guard b.count > end else { return .short }
      guard FLACChecksum.ofHead(b[start...end]) == 0 else { return .none }
      let frames =
        switch size {
        case 1: 192
        case 2...5: 576 << (size - 2)
        case 6: Int(b[afterNumber]) + 1
        case 7: Int(b[afterNumber]) << 8 + Int(b[afterNumber + 1]) + 1
        default: 256 << (size - 8)
        }
      let bits = [32, 8, 12, 32, 16, 20, 24, 32][Int(b[start + 3] >> 1 & 7)]
      let count = channels < 8 ? channels + 1 : 2
      // A difference channel takes one more bit per sample. The rest allows for headers and CRCs.
      let most = 64 + count * (8 + frames * (bits + 1) / 8)
      var number = Int64(b[start + 4]) & (ones == 0 ? 0x7F : 0x3F >> Int64(ones - 1))
      for byte in b[start + 5..<afterNumber] { number = number << 6 | Int64(byte & 0x3F) }
      return .head(
        Head(
          bytes: end + 1 - start, number: number, countsSamples: b[start + 1] & 1 == 1,
          frames: frames, maximumBytes: most))
    }
  }
}

/// The checksums of FLAC: CRCs whose highest bit comes first, from 0 on.
private enum FLACChecksum {
  /// Returns the CRC of some bytes by the polynomial 0x107, for the header of a frame.
  static func ofHead(_ bytes: ArraySlice<UInt8>) -> UInt8 {
    bytes.reduce(0) { sum, byte in
      (0..<8).reduce(sum ^ byte) { sum, _ in sum << 1 ^ (sum & 0x80 != 0 ? 0x07 : 0) }
    }
  }

  /// The CRCs by the polynomial 0x18005 of a byte that zeros follow: none in the first 256 elements, one in the next
  /// 256, and so on, up to fifteen.
  private static let table: [UInt16] = {
    var table: [UInt16] = []
    for byte in 0..<UInt16(256) {
      table.append(
        (0..<8).reduce(byte << 8) { sum, _ in sum << 1 ^ (sum & 0x8000 != 0 ? 0x8005 : 0) })
    }
    for i in 256..<4096 { table.append(table[i - 256] << 8 ^ table[Int(table[i - 256] >> 8)]) }
    return table
  }()

  /// Returns the CRC of a part of the bytes by the polynomial 0x18005, continued from that of the bytes before it. It is
  /// 0 if the part ends with its own CRC.
  static func ofFrame(_ bytes: [UInt8], _ part: Range<Int>, after start: UInt16) -> UInt16 {
    unsafe table.withUnsafeBufferPointer { table in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        var sum = start
        var at = part.lowerBound
        while part.upperBound - at >= 16 {
          let first = unsafe Int(sum >> 8 ^ UInt16(bytes[at]))
          let second = unsafe Int(sum & 0xFF ^ UInt16(bytes[at + 1]))
          var rest: UInt16 = 0
          for i in 2..<16 { unsafe rest ^= table[256 &* (15 &- i) &+ Int(bytes[at &+ i])] }
          unsafe sum = rest ^ table[3840 + first] ^ table[3584 + second]
          at += 16
        }
        while at < part.upperBound {
          unsafe sum = sum << 8 ^ table[Int(sum >> 8 ^ UInt16(bytes[at]))]
          at += 1
        }
        return sum
      }
    }
  }
}
