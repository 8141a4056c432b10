/// The id of a chunk: four characters, as a big-endian number.
package struct ChunkID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  package let code: UInt32

  package init(_ code: UInt32) { self.code = code }

  package init(stringLiteral name: StaticString) {
    var code: UInt32 = 0
    for index in 0..<4 {
      code =
        code << 8 | UInt32(unsafe index < name.utf8CodeUnitCount ? name.utf8Start[index] : 0x20)
    }
    self.code = code
  }

  init(_ bytes: Bytes, at offset: Int) {
    code = UInt32(bytes.unsigned(at: offset, bytes: 4, bigEndian: true))
  }

  var bytes: [UInt8] { [UInt8](code, count: 4, bigEndian: true) }

  package var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Chunks that only fill space.
  static let fillers: Set<ChunkID> = ["JUNK", "junk", "FLLR", "free", "PAD ", "filr"]
}

/// A chunk of a file, without its header.
struct Chunk: Sendable {
  var id: ChunkID
  /// Offset of the content from the start of the file.
  var offset: Int64
  var size: Int64
  /// The content, if it is in memory rather than at `offset`.
  var bytes: [UInt8]?

  init(_ id: ChunkID, offset: Int64, size: Int64) {
    self.id = id
    self.offset = offset
    self.size = size
  }

  init(_ id: ChunkID, _ bytes: [UInt8]) {
    self.init(id, offset: 0, size: Int64(bytes.count))
    self.bytes = bytes
  }
}

/// How a family of containers lays out chunks: a header with an id and a size, then the content.
struct ChunkGrammar: Equatable, Sendable {
  /// Bytes before the first chunk.
  let start: Int64
  /// Bytes of the id and of the size, which together are the chunk header.
  let nameBytes: Int
  let sizeBytes: Int
  let isBigEndian: Bool
  /// True if the size field includes the chunk header.
  let countsHead: Bool
  /// Chunk headers start at multiples of this many bytes.
  let alignment: Int64

  var headBytes: Int64 { Int64(nameBytes + sizeBytes) }

  /// The id of chunks that fill space.
  let filler: ChunkID

  static func riff(bigEndian: Bool) -> ChunkGrammar {
    ChunkGrammar(
      start: 12, nameBytes: 4, sizeBytes: 4, isBigEndian: bigEndian, countsHead: false,
      alignment: 2, filler: "JUNK")
  }
  static let aiff = ChunkGrammar(
    start: 12, nameBytes: 4, sizeBytes: 4, isBigEndian: true, countsHead: false, alignment: 2,
    filler: "FLLR")
  static let caf = ChunkGrammar(
    start: 8, nameBytes: 4, sizeBytes: 8, isBigEndian: true, countsHead: false, alignment: 1,
    filler: "free")
  static let wave64 = ChunkGrammar(
    start: 40, nameBytes: 16, sizeBytes: 8, isBigEndian: false, countsHead: true, alignment: 8,
    filler: "junk")

  /// The last twelve bytes of a Wave64 chunk's GUID, which follow the four-character id.
  static let guidTail: [UInt8] = [
    0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1, 0x00, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A,
  ]
  /// Limit on the number of chunks that are read.
  static let mostChunks = 10_000

  /// Returns the bytes that a chunk of `size` bytes occupies, with its header and padding.
  func extent(_ size: Int64) -> Int64 { headBytes + padded(size) }

  func padded(_ size: Int64) -> Int64 { (size + alignment - 1) / alignment * alignment }

  /// Returns the header of a chunk.
  func head(_ id: ChunkID, size: Int64) -> [UInt8] {
    id.bytes + (nameBytes == 16 ? Self.guidTail : [])
      + [UInt8](
        UInt64(bitPattern: countsHead ? size + headBytes : size), count: sizeBytes,
        bigEndian: isBigEndian)
  }

  /// Returns a complete chunk with its header and padding.
  func chunk(_ id: ChunkID, _ bytes: [UInt8]) -> [UInt8] {
    let size = Int64(bytes.count)
    return head(id, size: size) + bytes
      + [UInt8](repeating: 0, count: Int(padded(size) - size))
  }

  /// Returns the chunk whose header is at `offset`; nil if the header is not all present. The size
  /// is unchecked: it may be absurd, or negative where the writer left it open.
  func chunk(at offset: Int64, in store: any ByteStore) throws(SoundFileError) -> Chunk? {
    guard let head = try store.bytes(at: offset, count: Int(headBytes)).map(Bytes.init) else {
      return nil
    }
    var size = Int64(
      bitPattern: head.unsigned(at: nameBytes, bytes: sizeBytes, bigEndian: isBigEndian))
    if countsHead { size = size &- headBytes }
    return Chunk(ChunkID(head, at: 0), offset: offset + headBytes, size: size)
  }

  /// Returns the offset of the chunk after `chunk`; nil if the size is not plausible.
  func end(of chunk: Chunk) -> Int64? {
    guard chunk.size >= 0, chunk.size < Int64.max / 4, chunk.offset < Int64.max / 4 else {
      return nil
    }
    // Chunk headers are not always aligned, so the padding is counted from this chunk's own offset.
    return chunk.offset + padded(chunk.size)
  }
}

/// A reader of numbers and ids in a file's bytes.
struct Bytes {
  private let bytes: [UInt8]
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var count: Int { bytes.count }
  subscript(index: Int) -> UInt8 { bytes[index] }

  /// Returns four characters, or "" if they are not all present.
  func name(at offset: Int) -> String {
    guard offset >= 0, offset <= bytes.count, 4 <= bytes.count - offset else { return "" }
    return String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  /// Returns an unsigned number; 0 if its bytes are not all present.
  func unsigned(at offset: Int, bytes count: Int, bigEndian: Bool) -> UInt64 {
    guard offset >= 0, offset <= bytes.count, count <= bytes.count - offset else { return 0 }
    let slice = bytes[offset..<offset + count]
    return bigEndian
      ? slice.reduce(0) { $0 << 8 | UInt64($1) }
      : slice.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  func double(at offset: Int) -> Double {
    Double(bitPattern: unsigned(at: offset, bytes: 8, bigEndian: true))
  }

  /// Returns up to `count` bytes: fewer if the data ends earlier.
  func slice(at offset: Int, count: Int) -> [UInt8] {
    guard offset >= 0, offset <= bytes.count, count > 0 else { return [] }
    return Array(bytes[offset..<offset + min(count, bytes.count - offset)])
  }

  /// Returns the text up to a zero byte or the end of the data.
  ///
  /// - Parameter encoding: Its encoding if it is not UTF-8.
  func text(
    at offset: Int, count: Int = .max, else encoding: FileText.Encoding = .windows
  ) -> String {
    FileText.decoded(slice(at: offset, count: count).prefix { $0 != 0 }, else: encoding)
  }

  /// Returns an 80-bit extended float: 16 bits of sign and exponent, 64 bits of mantissa. Nil if it
  /// is not all present, or is not positive and finite.
  func extended(at offset: Int) -> Double? {
    guard offset + 10 <= bytes.count else { return nil }
    let exponent = Int(unsigned(at: offset, bytes: 2, bigEndian: true))
    let mantissa = unsigned(at: offset + 2, bytes: 8, bigEndian: true)
    guard exponent < 0x7FFF, mantissa != 0 else { return nil }
    return Double(sign: .plus, exponent: exponent - 16383 - 63, significand: Double(mantissa))
  }
}

extension [UInt8] {
  /// Creates the low `count` bytes of a number.
  init(_ number: some BinaryInteger, count: Int, bigEndian: Bool) {
    let bits = UInt64(truncatingIfNeeded: number)
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * $0)) }
    self = bigEndian ? bytes.reversed() : bytes
  }

  init(bigEndian number: Double) { self.init(number.bitPattern, count: 8, bigEndian: true) }

  /// Creates an 80-bit extended float from a positive number: 16 bits of exponent, 64 bits of
  /// mantissa.
  init(extended number: Double) {
    let exponent = Int(number.exponent)
    let mantissa = UInt64(Double(sign: .plus, exponent: 63, significand: number.significand))
    self =
      [UInt8](exponent + 16383, count: 2, bigEndian: true)
      + [UInt8](mantissa, count: 8, bigEndian: true)
  }
}
