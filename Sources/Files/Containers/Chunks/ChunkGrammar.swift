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
