/// Frames of MPEG audio of a free format. Their headers do not give a bit rate, and so no size: all have one, but for
/// padding.
struct FreeFormat {
  /// Bits of the header that are the same in all frames.
  private let form: UInt16
  /// Bytes of a frame without padding.
  private let bytes: Int

  /// Name of sound in such frames.
  static let name = "MPEG audio of a free format"
  /// Bytes of a frame of 640 kbit/s at 8 kHz, and those that tell the size of such frames.
  private static let mostBytes = 5760
  static let tellingBytes = 2 * mostBytes + 8

  /// Finds the size of the frames that begin at an offset; nil if there are none. Two more headers prove it.
  init?(_ b: [UInt8], at i: Int = 0) {
    guard b.count - i >= 4, let form = Self.form(b, at: i) else { return nil }
    var second = i + 23
    while let next = b.first(0xFF, from: second + 1), next - i <= Self.mostBytes {
      second = next
      guard b.count - second >= 4, Self.form(b, at: second) == form else { continue }
      let size = second - i - Self.padding(b, at: i)
      let third = second + size + Self.padding(b, at: second)
      if b.count - third >= 4, Self.form(b, at: third) == form {
        (self.form, bytes) = (form, size)
        return
      }
    }
    return nil
  }

  /// Parses the header of such a frame; nil if it is none.
  func head(_ b: [UInt8], at i: Int) -> FrameHead? {
    guard b[i] == 0xFF, Self.form(b, at: i) == form else { return nil }
    // A header that differs only in its bit rate.
    var head = FrameKind.mpeg.head([b[i], b[i + 1], b[i + 2] | 0x80, b[i + 3]], at: 0)
    head?.bytes = bytes + Self.padding(b, at: i)
    head.map { head?.bitRate = Int(Double(8 * bytes) * $0.sampleRate) / $0.frames }
    return head
  }

  /// Bytes of padding. Layer I counts in four.
  private static func padding(_ b: [UInt8], at i: Int) -> Int {
    Int(b[i + 2] >> 1 & 1) * (b[i + 1] & 0x06 == 0x06 ? 4 : 1)
  }

  /// The bits of a header that are the same in all frames; nil if its bit rate is given.
  private static func form(_ b: [UInt8], at i: Int) -> UInt16? {
    guard b[i] == 0xFF, b[i + 1] & 0xE0 == 0xE0, b[i + 1] & 0x18 != 0x08,
      b[i + 1] & 0x06 != 0, b[i + 2] & 0xF0 == 0, b[i + 2] & 0x0C != 0x0C
    else { return nil }
    return UInt16(b[i + 1]) << 8 | UInt16(b[i + 2] & 0x0C)
  }
}
