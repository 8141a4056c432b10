/// The chunks of a CAF file of packets, either one that is open for reading or one being written.
struct CAFPacketChunks: ChunkedFile {
  let store: any ByteStore
  let sampleRate: Double
  let stored: [Chunk]
  /// Access to the chunks of a file being written; nil for a file open for reading.
  let changing: (@Sendable ((inout [Chunk]) -> Void) -> Void)?

  var path: String { store.name }
  var container: Container { .caf }
  var hasBigEndianChunks: Bool { true }

  /// The chunks that the writer generates from the file's other properties.
  private static let structural: Set<ChunkID> = ["desc", "data", "pakt", "kuki", "chan", "info"]

  private var all: [Chunk] {
    var all = stored
    changing? { all = $0 }
    return all
  }

  var chunkIDs: [ChunkID] { all.map(\.id).filter { !ChunkID.fillers.contains($0) } }

  func chunkSizes(_ id: ChunkID) -> [Int64] { all.filter { $0.id == id }.map(\.size) }

  func chunk(_ id: ChunkID, index: Int, most: Int64) throws(SoundFileError) -> [UInt8]? {
    let chunks = all.filter { $0.id == id }
    guard chunks.indices.contains(index) else { return nil }
    let chunk = chunks[index]
    let count = Int(clamping: min(most, max(0, chunk.size)))
    if let bytes = chunk.bytes { return Array(bytes.prefix(count)) }
    return try store.bytes(at: chunk.offset, count: count)
  }

  func setChunk(_ id: ChunkID, index: Int, _ bytes: [UInt8]) throws(SoundFileError) {
    let isDone = try change(id) { chunks, matches in
      let new = Chunk(id, bytes)
      if matches.indices.contains(index) {
        chunks[matches[index]] = new
      } else {
        guard index == matches.count else { return false }
        chunks.append(new)
      }
      return true
    }
    guard isDone else {
      throw SoundFileError(.notSupported("there is no chunk '\(id)' before \(index)"), path: path)
    }
  }

  func removeChunk(_ id: ChunkID, index: Int) throws(SoundFileError) -> Bool {
    try change(id) { chunks, matches in
      guard matches.indices.contains(index) else { return false }
      chunks.remove(at: matches[index])
      return true
    }
  }

  private func change(
    _ id: ChunkID, _ body: (inout [Chunk], [Int]) -> Bool
  ) throws(SoundFileError) -> Bool {
    guard let changing else {
      throw SoundFileError(
        store.isWritable
          ? .notSupported("files of packets cannot be changed once they are made")
          : .notForWriting, path: path)
    }
    guard !Self.structural.contains(id), !ChunkID.fillers.contains(id) else {
      throw SoundFileError(.notSupported("the chunk '\(id)' goes with the sound"), path: path)
    }
    var isDone = false
    changing { chunks in
      let matches = chunks.indices.filter { chunks[$0].id == id }
      isDone = body(&chunks, matches)
    }
    return isDone
  }
}
