/// A family of containers that have the same chunks.
private enum ChunkFamily {
  case wave, aiff, caf
}

/// Copying of chunks from file to file.
extension ChunkedFile {
  private var family: ChunkFamily? {
    switch container {
    case .wave, .rf64: .wave
    case .aiff, .aifc: .aiff
    case .caf: .caf
    default: nil
    }
  }

  /// Chunks that describe the sound. A new file has its own.
  private static var soundChunks: Set<ChunkID> {
    [
      "fmt ", "data", "fact", "ds64", "PEAK", "levl", "COMM", "SSND", "FVER", "CHAN", "desc",
      "kuki",
      "pakt", "chan", "peak", "ovvw", "edct",
    ]
  }

  /// Chunks that `setTags`, `setMarkers` and `setRegions` write in their own form, and 'bext'.
  private static var translatedChunks: Set<ChunkID> {
    [
      "bext", "LIST", "cue ", "smpl", "ID3 ", "id3 ", "NAME", "AUTH", "(c) ", "ANNO", "MARK",
      "info",
      "mark", "regn", "strg",
    ]
  }

  /// Chunks that belong neither to the sound nor to tags, markers, regions and broadcast metadata.
  package var otherChunks: [ChunkID] {
    chunkIDs.filter { !Self.soundChunks.contains($0) && !Self.translatedChunks.contains($0) }
  }

  /// Copies the chunks of another file of the same family, except 'bext' and those that describe the
  /// sound. Texts of a 'LIST' chunk of type INFO become UTF-8. Copies nothing between families. Blocks.
  ///
  /// - Returns: The chunks that this file has no place for.
  package func copyChunks(of other: any ChunkedFile) throws(SoundFileError) -> [ChunkID] {
    guard family != nil, family == other.family, hasBigEndianChunks == other.hasBigEndianChunks
    else { return other.otherChunks }
    var seen: [ChunkID: Int] = [:]
    for id in other.chunkIDs where !Self.soundChunks.contains(id) {
      let index = seen[id, default: 0]
      seen[id] = index + 1
      guard id != "bext", var bytes = try other.chunk(id, index: index, most: mostTagBytes) else {
        continue
      }
      if id == "LIST", bytes.starts(with: ChunkID("INFO").bytes) {
        let wave = WaveChunks(isBigEndian: hasBigEndianChunks)
        bytes = wave.list(
          "INFO",
          wave.list(bytes).map { ($0.id, Array(Bytes($0.bytes).text(at: 0).utf8) + [0]) })
      }
      try setChunk(id, index: index, bytes)
    }
    return []
  }
}
