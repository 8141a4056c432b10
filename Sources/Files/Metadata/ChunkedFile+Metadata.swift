import Timeline

/// A file whose chunks can be read and changed, apart from its sound. An index distinguishes chunks
/// with the same id.
package protocol ChunkedFile: Sendable {
  var path: String { get }
  var container: Container { get }
  /// Frames per second.
  var sampleRate: Double { get }
  /// True if numbers in chunks are big-endian.
  var hasBigEndianChunks: Bool { get }
  /// The ids of all chunks that are not fillers, in the order of the file.
  var chunkIDs: [ChunkID] { get }
  /// Returns the size in bytes of each chunk with an id.
  func chunkSizes(_ id: ChunkID) -> [Int64]
  /// Returns a chunk's content, at most `most` bytes of it; nil if there is none. Blocks.
  func chunk(_ id: ChunkID, index: Int, most: Int64) throws(SoundFileError) -> [UInt8]?
  /// Replaces a chunk, or adds one if `index` is the number of existing chunks. Blocks.
  func setChunk(_ id: ChunkID, index: Int, _ bytes: [UInt8]) throws(SoundFileError)
  /// Removes a chunk; returns false if there is none. Blocks.
  func removeChunk(_ id: ChunkID, index: Int) throws(SoundFileError) -> Bool
}

/// A file's metadata: tags, markers and regions from its chunks.
extension ChunkedFile {
  private var wave: WaveChunks { WaveChunks(isBigEndian: hasBigEndianChunks) }

  /// Limit on the size of a metadata chunk.
  private var mostChunkBytes: Int64 { 16 << 20 }

  private func content(_ id: ChunkID) throws(SoundFileError) -> [UInt8] {
    try chunk(id, index: 0, most: mostChunkBytes) ?? []
  }

  /// Replaces a chunk that holds only metadata; removes it if `bytes` is empty.
  private func put(_ id: ChunkID, index: Int = 0, _ bytes: [UInt8]) throws(SoundFileError) {
    if bytes.isEmpty {
      _ = try removeChunk(id, index: index)
    } else {
      try setChunk(id, index: index, bytes)
    }
  }

  /// Returns the 'LIST' chunk of a type and its index. If there is none, the index is the number of
  /// lists.
  private func list(_ kind: ChunkID) throws(SoundFileError) -> (index: Int, bytes: [UInt8]) {
    let count = chunkSizes("LIST").count
    for index in 0..<count {
      let bytes = try chunk("LIST", index: index, most: mostChunkBytes) ?? []
      if Array(bytes.prefix(4)) == kind.bytes { return (index, bytes) }
    }
    return (count, [])
  }

  // MARK: Tags

  /// Returns the file's metadata by the keys of info dictionaries; nil if the container cannot
  /// store any. An ID3 tag in a chunk gives the tags that no other chunk has. Blocks.
  package func tags() throws(SoundFileError) -> [String: String]? {
    let own: [String: String]
    switch container {
    case .wave, .rf64: own = wave.tags(try list("INFO").bytes)
    case .caf: return CAFChunks.tags(try content("info"))
    case .aiff, .aifc:
      var tags: [String: String] = [:]
      for (id, key) in aiffTags {
        // There may be several annotations.
        for index in chunkSizes(id).indices {
          guard let bytes = try chunk(id, index: index, most: mostChunkBytes) else { continue }
          let text = Bytes(bytes).text(at: 0, else: .macintosh)
          tags[key] = tags[key].map { "\($0)\n\(text)" } ?? text
        }
      }
      own = tags
    default: return nil
    }
    return ID3Frames.tags(try id3Chunk() ?? []).merging(own) { $1 }
  }

  /// Returns the ID3 tag that a chunk holds; nil if there is none. Blocks.
  package func id3Chunk() throws(SoundFileError) -> [UInt8]? {
    if let tag = try chunk("ID3 ", index: 0, most: mostTagBytes) { return tag }
    return try chunk("id3 ", index: 0, most: mostTagBytes)
  }

  /// Returns true if the container stores a tag, given by its key of info dictionaries.
  func keepsTag(_ key: String) -> Bool {
    switch container {
    case .wave, .rf64: WaveChunks.tagNames.contains { $0.key == key }
    case .aiff, .aifc: aiffTags.contains { $0.key == key }
    default: container == .caf
    }
  }

  /// Replaces all tags. Tags that the container cannot store are left out. Blocks.
  package func setTags(_ tags: [String: String]) throws(SoundFileError) {
    switch container {
    case .wave, .rf64:
      try put("LIST", index: list("INFO").index, wave.chunk(tags: tags))
    case .caf: try put("info", tags.isEmpty ? [] : CAFChunks.chunk(tags: tags))
    case .aiff, .aifc:
      for (id, key) in aiffTags {
        for index in chunkSizes(id).indices.dropFirst().reversed() {
          _ = try removeChunk(id, index: index)
        }
        try put(id, tags[key].map { Array($0.utf8) } ?? [])
      }
    default: throw lacking("tags")
    }
  }

  // MARK: Markers and regions

  /// Returns the markers; nil if the container cannot store any. Blocks.
  package func markers() throws(SoundFileError) -> MediaMarkers? {
    switch container {
    case .wave, .rf64:
      return wave.markers(try cueChunks())
    case .caf:
      return CAFChunks.markers(
        try content("mark"), names: CAFChunks.names(try content("strg")))
    case .aiff, .aifc: return Self.markers(try content("MARK"))
    default: return nil
    }
  }

  /// Returns the regions; nil if the container cannot store any. Blocks.
  package func regions() throws(SoundFileError) -> MediaRegions? {
    switch container {
    case .wave, .rf64: return wave.regions(try cueChunks())
    case .caf:
      return CAFChunks.regions(
        try content("regn"), names: CAFChunks.names(try content("strg")))
    default: return nil
    }
  }

  /// Replaces all markers. Blocks.
  package func setMarkers(_ list: MediaMarkers) throws(SoundFileError) {
    switch container {
    case .wave, .rf64: try put(wave.set(list.markers, in: cueChunks()))
    case .caf:
      try put("mark", list.markers.isEmpty ? [] : CAFChunks.chunk(list))
      try putNames(list, regions())
    case .aiff, .aifc: try put("MARK", Self.chunk(list, path: path))
    default: throw lacking("markers")
    }
  }

  /// Replaces all regions. Blocks.
  package func setRegions(_ list: MediaRegions) throws(SoundFileError) {
    switch container {
    case .wave, .rf64:
      try put(wave.set(list.regions, in: cueChunks(), sampleRate: sampleRate))
    case .caf:
      try put("regn", list.regions.isEmpty ? [] : CAFChunks.chunk(list))
      try putNames(markers(), list)
    default: throw lacking("regions")
    }
  }

  private func lacking(_ what: String) -> SoundFileError {
    SoundFileError(.notSupported("\(container) files have no \(what)"), path: path)
  }

  private func cueChunks() throws(SoundFileError) -> WaveChunks.CueChunks {
    WaveChunks.CueChunks(
      cue: try content("cue "), notes: try list("adtl").bytes, sampler: try content("smpl"))
  }

  private func put(_ chunks: WaveChunks.CueChunks) throws(SoundFileError) {
    try put("cue ", chunks.cue)
    try put("LIST", index: list("adtl").index, chunks.notes)
    try put("smpl", chunks.sampler)
  }

  /// Writes CAF's 'strg' chunk, which stores the names by the ids of markers and regions.
  private func putNames(
    _ markers: MediaMarkers?, _ regions: MediaRegions?
  ) throws(SoundFileError) {
    var names: [UInt32: String] = [:]
    for region in regions?.regions ?? [] {
      for marker in region.markers { names[UInt32(bitPattern: marker.id)] = marker.name }
      if let name = region.name { names[region.id] = name }
    }
    for marker in markers?.markers ?? [] {
      if let name = marker.name { names[UInt32(bitPattern: marker.id)] = name }
    }
    try put("strg", names.isEmpty ? [] : CAFChunks.chunk(names: names))
  }

  // MARK: AIFF markers

  private static func markers(_ chunk: [UInt8]) -> MediaMarkers {
    let bytes = Bytes(chunk)
    var result = MediaMarkers(markers: [])
    var offset = 2
    for _ in 0..<bytes.unsigned(at: 0, bytes: 2, bigEndian: true) {
      guard chunk.count - offset >= 7 else { break }
      let length = Int(chunk[offset + 6])
      result.markers.append(
        MediaMarker(
          position: Double(bytes.unsigned(at: offset + 2, bytes: 4, bigEndian: true)),
          name: bytes.text(at: offset + 7, count: length, else: .macintosh),
          id: Int32(
            Int16(
              truncatingIfNeeded: bytes.unsigned(at: offset, bytes: 2, bigEndian: true)))))
      // A name with its length byte occupies an even number of bytes.
      offset += 6 + (length + 2) / 2 * 2
    }
    return result
  }

  private static func chunk(_ list: MediaMarkers, path: String) throws(SoundFileError) -> [UInt8] {
    guard !list.markers.isEmpty else { return [] }
    guard list.markers.count <= UInt16.max else {
      throw SoundFileError(.notSupported("AIFF files have room for 65535 markers"), path: path)
    }
    return [UInt8](list.markers.count, count: 2, bigEndian: true)
      + list.markers.flatMap { marker -> [UInt8] in
        let name = FileText.encoded(marker.name ?? "", most: 255)
        let position = marker.position.isFinite ? marker.position.rounded() : 0
        return [UInt8](marker.id, count: 2, bigEndian: true)
          + [UInt8](
            Int64(UInt32(held: position)), count: 4, bigEndian: true)
          + [UInt8(name.count)] + name + (name.count % 2 == 0 ? [0] : [])
      }
  }
}

let mostTagBytes: Int64 = 256 << 20

private let aiffTags: [(id: ChunkID, key: String)] = [
  ("NAME", "title"), ("AUTH", "artist"), ("(c) ", "copyright"), ("ANNO", "comments"),
]
