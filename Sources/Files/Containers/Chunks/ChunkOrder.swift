/// A chunked file that has chunks after its sound.
struct ChunkOrder {
  let grammar: ChunkGrammar
  /// Offset of the sound chunk's content.
  let soundOffset: Int64
  /// Bytes of the sound chunk's content.
  let soundBytes: Int64
  /// The chunks after the sound chunk.
  let after: [Chunk]

  /// Writes the file to an empty store, with all chunks before the sound. Sizes in the file header
  /// stay unchanged. Blocks.
  ///
  /// - Returns: The new positions of the moved chunks and of the sound chunk's content, and the end
  ///   of the file.
  func write(
    _ store: any ByteStore, to new: any ByteStore
  ) throws(SoundFileError) -> (chunks: [Chunk], soundOffset: Int64, end: Int64) {
    let soundHead = soundOffset - grammar.headBytes
    var end = try new.copy(0..<soundHead, of: store, to: 0)
    var moved: [Chunk] = []
    for chunk in after {
      moved.append(Chunk(chunk.id, offset: end + grammar.headBytes, size: chunk.size))
      let head = chunk.offset - grammar.headBytes
      end = try new.copy(head..<chunk.offset + chunk.size, of: store, to: end)
      end = try pad(chunk.size, in: new, at: end)
    }
    let position = end + grammar.headBytes
    end = try new.copy(soundHead..<soundOffset + soundBytes, of: store, to: end)
    // libsndfile reads padding at the end of a Wave64 file as sound.
    if grammar.alignment <= 2 { end = try pad(soundBytes, in: new, at: end) }
    return (moved, position, end)
  }

  private func pad(
    _ size: Int64, in store: any ByteStore, at end: Int64
  ) throws(SoundFileError) -> Int64 {
    let count = grammar.padded(size) - size
    try store.write([UInt8](repeating: 0, count: Int(count)), at: end)
    return end + count
  }
}
