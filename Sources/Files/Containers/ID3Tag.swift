/// A parser of ID3v2 tag headers. Such tags precede streams of several codecs. Others are passed over.
enum ID3Tag {
  /// Bytes of the tag header, which gives the tag's length.
  static let headBytes = 10
  /// Limit on consecutive tags, so that a crafted file cannot keep a reader busy.
  static let mostInARow = 16

  /// Returns the bytes of a tag including its header and footer; nil if `bytes` do not begin with
  /// one.
  static func byteCount(_ bytes: [UInt8]) -> Int? {
    // Each byte of the size holds seven bits.
    guard bytes.count >= headBytes, bytes.starts(with: "ID3".utf8), bytes[3] < 0xFF,
      bytes[4] < 0xFF, bytes[6..<10].allSatisfy({ $0 < 0x80 })
    else { return nil }
    let size = bytes[6..<10].reduce(0) { $0 << 7 | Int($1) }
    let hasFooter = bytes[5] & 0x10 != 0
    return headBytes + size + (hasFooter ? headBytes : 0)
  }

  /// Returns the end of the tags at the start of a file; 0 if there is none. Blocks.
  static func end(in store: any ByteStore) throws(SoundFileError) -> Int64 {
    let total = try store.byteCount()
    var end: Int64 = 0
    for _ in 0..<mostInARow {
      guard
        let size = try store.bytes(at: end, count: headBytes).flatMap(byteCount),
        Int64(size) < total - end
      else { break }
      end += Int64(size)
    }
    return end
  }

  /// Returns where tags of any kind and zeros end that begin at an offset. Blocks.
  static func endOfTags(
    in store: any ByteStore, from offset: Int64
  ) throws(SoundFileError) -> Int64 {
    let total = try store.byteCount()
    var place = offset
    for _ in 0..<mostInARow {
      let start = try store.bytes(at: place, count: Int(min(32, total - place))) ?? []
      if let size = byteCount(start) {
        place += Int64(size)
      } else if start.starts(with: "TAG".utf8) {
        place += 128
      } else if start.starts(with: "APETAGEX".utf8), start.count == 32 {
        // The size does not count the header.
        place += 32 + Int64(Bytes(start).unsigned(at: 12, bytes: 4, bigEndian: false))
      } else {
        let first = place
        while place < total {
          let zeros = try store.bytes(at: place, count: Int(min(1 << 16, total - place))) ?? []
          place += Int64(zeros.isZero ? zeros.count : zeros.firstIndex { $0 != 0 } ?? 0)
          if !zeros.isZero || zeros.isEmpty { break }
        }
        // The size of an MPEG-4 file's first box begins with zeros.
        if place - first >= 3, try store.bytes(at: place + 1, count: 4)?.name(at: 0) == "ftyp" {
          return place - 3
        }
        if place == first { break }
      }
      place = min(place, total)
    }
    return place
  }

  /// True for the start of a tag, or of a FLAC stream, whose end may be missing.
  static func isTag(_ start: [UInt8]) -> Bool {
    ["ID3", "TAG", "APETAGEX", "fLaC"].contains { start.starts(with: $0.utf8.prefix(start.count)) }
  }
}
