import Codecs

/// Finds the frames of a FLAC stream. Their heads do not tell their size: a frame ends where its
/// check sum comes out, and where the next head stands or the decoder finds it complete.
struct FLACScanner {
  /// Bytes that no frame exceeds.
  let maximumPacketBytes: Int
  /// Makes a decoder; nil if there is none.
  private let decoder: () -> PacketDecoder?
  /// Bytes of the frame that were looked at, and their check sum.
  private var checked = 0
  private var sum: UInt16 = 0
  /// How often the decoder was asked for this frame.
  private var tries = 0
  /// What looked like heads and were none, since the last frame.
  private var mistakes = 0

  /// Rubbish made of heads is not looked at without end.
  private static let mostMistakes = 64

  /// - Parameter maximumFrameBytes: As the stream's head says; 0 if it does not.
  init(maximumFrameBytes: Int, format: PacketFormat, cookie: [UInt8]) {
    // 65535 frames of 8 channels of 33 bits, and a little more.
    maximumPacketBytes = maximumFrameBytes > 0 ? maximumFrameBytes : 2_200_000
    decoder = { () -> PacketDecoder? in try? PacketDecoder(format, cookie: cookie) }
  }

  enum Step {
    /// A frame: so many bytes from the offset on, and the frames of sound in it.
    case frame(bytes: Int, frames: Int, at: Int)
    /// More bytes are needed; those before the offset are not.
    case more(from: Int)
  }

  /// The bytes that come next do not follow the last ones.
  mutating func loseStep() {
    checked = 0
    sum = 0
    tries = 0
  }

  /// Finds the first whole frame from `offset` on.
  mutating func step(_ bytes: [UInt8], from offset: Int) -> Step {
    var offset = offset
    while true {
      let head: Head
      switch Head.read(bytes, at: offset) {
      case .short: return .more(from: offset)
      case .none:
        loseStep()
        offset += 1
        continue
      case .head(let found): head = found
      }
      let most = min(maximumPacketBytes, head.maximumBytes)
      while checked <= most {
        let end = offset + checked
        if sum == 0, checked > head.bytes, isWhole(bytes, from: offset, to: end) {
          loseStep()
          mistakes = 0
          return .frame(bytes: end - offset, frames: head.frames, at: offset)
        }
        guard end < bytes.count else { return .more(from: offset) }
        sum = sum << 8 ^ Self.table[Int(UInt8(sum >> 8) ^ bytes[end])]
        checked += 1
      }
      // It was no head, or its frame is damaged: the next one may begin right behind it.
      mistakes += 1
      offset += mistakes <= Self.mostMistakes ? 1 : checked
      loseStep()
    }
  }

  private mutating func isWhole(_ bytes: [UInt8], from start: Int, to end: Int) -> Bool {
    if case .head = Head.read(bytes, at: end) { return true }
    // Zeros leave the sum as it is: the decoder must not be asked without end.
    guard tries < 8, let decoder = decoder() else { return false }
    tries += 1
    return unsafe bytes.withUnsafeBytes { memory in
      unsafe (try? decoder.decode(UnsafeRawBufferPointer(rebasing: memory[start..<end]))) != nil
    }
  }

  /// The check sum's steps: the polynomial 0x8005.
  private static let table: [UInt16] = (0..<256).map { byte in
    (0..<8).reduce(UInt16(byte) << 8) { sum, _ in sum << 1 ^ (sum & 0x8000 != 0 ? 0x8005 : 0) }
  }

  /// The head of a frame.
  private struct Head {
    var bytes: Int
    /// Frames of sound.
    var frames: Int
    /// Bytes that the frame does not exceed: no encoder makes one longer than its samples are.
    var maximumBytes: Int

    enum Reading {
      case head(Head)
      case short
      case none
    }

    static func read(_ b: [UInt8], at start: Int) -> Reading {
      guard b.count - start >= 5 else {
        // What is there may already be wrong.
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
      // The frame's number is written as UTF-8 writes a character, with up to seven bytes.
      let ones = (~b[start + 4]).leadingZeroBitCount
      guard ones != 1, ones < 8 else { return .none }
      let afterNumber = start + 4 + max(ones, 1)
      let sizeBytes = size == 6 ? 1 : size == 7 ? 2 : 0
      let rateBytes = rate == 12 ? 1 : rate == 13 || rate == 14 ? 2 : 0
      let end = afterNumber + sizeBytes + rateBytes
      guard b.count > end else { return .short }
      var sum: UInt8 = 0
      for byte in b[start..<end] {
        sum ^= byte
        for _ in 0..<8 { sum = sum << 1 ^ (sum & 0x80 != 0 ? 0x07 : 0) }
      }
      guard sum == b[end] else { return .none }
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
      // The difference of two channels takes one bit more; some bytes go to heads and sums.
      let most = 64 + count * (8 + frames * (bits + 1) / 8)
      return .head(Head(bytes: end + 1 - start, frames: frames, maximumBytes: most))
    }
  }
}
