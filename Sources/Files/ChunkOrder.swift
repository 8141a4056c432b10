/// A file of chunks, some of which come after the sound.
struct ChunkOrder {
  let grammar: ChunkGrammar
  /// Where the content of the chunk of sound begins.
  let soundOffset: Int64
  /// Bytes of that.
  let soundBytes: Int64
  /// The chunks behind it.
  let after: [Chunk]

  /// Writes the file to an empty store, with all chunks before the sound. Sizes in its head stay as they
  /// are. Blocks.
  ///
  /// - Returns: Where the moved chunks and the chunk of sound lie now, and where the file ends.
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
    let place = end + grammar.headBytes
    end = try new.copy(soundHead..<soundOffset + soundBytes, of: store, to: end)
    // libsndfile takes what pads the end of a Wave64 file for sound.
    if grammar.alignment <= 2 { end = try pad(soundBytes, in: new, at: end) }
    return (moved, place, end)
  }

  private func pad(
    _ size: Int64, in store: any ByteStore, at end: Int64
  ) throws(SoundFileError) -> Int64 {
    let count = grammar.padded(size) - size
    try store.write([UInt8](repeating: 0, count: Int(count)), at: end)
    return end + count
  }
}
