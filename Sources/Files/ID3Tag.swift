/// Tags of ID3v2, which stand before streams of several kinds.
enum ID3Tag {
  /// Bytes of the head, which tells how long a tag is.
  static let headBytes = 10
  /// More tags in a row are a way to keep a reader busy.
  static let mostInARow = 16

  /// Bytes of a tag, with its head and what may end it; nil if `bytes` begin with none.
  static func byteCount(_ bytes: [UInt8]) -> Int? {
    // Of the size's bytes seven bits count.
    guard bytes.count >= headBytes, bytes.starts(with: "ID3".utf8), bytes[3] < 0xFF,
      bytes[4] < 0xFF, bytes[6..<10].allSatisfy({ $0 < 0x80 })
    else { return nil }
    let size = bytes[6..<10].reduce(0) { $0 << 7 | Int($1) }
    let hasFooter = bytes[5] & 0x10 != 0
    return headBytes + size + (hasFooter ? headBytes : 0)
  }
}
