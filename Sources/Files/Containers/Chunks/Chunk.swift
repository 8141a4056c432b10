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
