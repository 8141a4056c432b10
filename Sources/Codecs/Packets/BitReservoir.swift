/// The bytes of earlier frames in which a frame of MPEG Layer III may begin.
///
/// libavcodec decodes frames of a free format only as units that hold all of their own bytes.
struct BitReservoir {
  /// The latest bytes of sound: as many as a frame can refer to.
  private var bytes: [UInt8] = []
  private static let mostBytes = 511

  /// Returns a frame with all bytes that it decodes. Without those before it, it is silence.
  mutating func unit(_ frame: UnsafeRawBufferPointer) -> [UInt8] {
    guard frame.count >= 4 else { return unsafe Array(frame) }
    let (isFirst, isMono) = unsafe (frame[1] & 0x08 != 0, frame[3] >> 6 == 3)
    // A checksum may precede the side information, which begins with the number of bytes.
    let start = unsafe 4 + (frame[1] & 1 == 0 ? 2 : 0)
    let end = start + (isFirst ? (isMono ? 17 : 32) : (isMono ? 9 : 17))
    guard frame.count >= end else { return unsafe Array(frame) }
    var unit = unsafe Array(frame[..<end])
    let own = unsafe frame[end...]
    // The header gets a bit rate, which does not matter.
    if unit[2] & 0xF0 == 0 { unit[2] |= 0x80 }
    let count = isFirst ? Int(unit[start]) << 1 | Int(unit[start + 1] >> 7) : Int(unit[start])
    if count <= bytes.count {
      unsafe unit += bytes.suffix(count) + own
    } else {
      for index in start..<end { unit[index] = 0 }
    }
    bytes = unsafe Array((bytes + own).suffix(Self.mostBytes))
    return unit
  }
}
