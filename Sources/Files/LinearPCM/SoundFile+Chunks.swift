import RealTime
import Synchronization

extension SoundFile: ChunkedFile {
  /// The chunks that define the file's format and sound. They change only with the sound.
  private static let structural: Set<ChunkID> = [
    "fmt ", "data", "fact", "ds64", "COMM", "SSND", "FVER", "desc",
  ]

  /// True if the container has chunks.
  package var hasChunks: Bool { state.withLock { $0.grammar != nil } }

  package var sampleRate: Double { format.sampleRate }
  package var hasBigEndianChunks: Bool { state.withLock { $0.isBigEndian } }

  package var chunkIDs: [ChunkID] {
    state.withLock { state in
      guard state.grammar != nil else { return [] }
      let sound = PCMHead.soundStart(state.container).id
      return (state.before.map(\.id) + [sound] + state.after.map(\.id))
        .filter { !ChunkID.fillers.contains($0) }
    }
  }

  package func chunkSizes(_ id: ChunkID) -> [Int64] {
    state.withLock { $0.chunks(id).map(\.size) }
  }

  package func chunk(
    _ id: ChunkID, index: Int = 0, most: Int64 = .max
  ) throws(SoundFileError) -> [UInt8]? {
    // The lock keeps the chunk in place while it is read.
    try state.withLock { state throws(SoundFileError) in
      let chunks = state.chunks(id)
      guard chunks.indices.contains(index) else { return nil }
      let chunk = chunks[index]
      let count = Int(clamping: min(most, chunk.size))
      if let bytes = chunk.bytes { return Array(bytes.prefix(count)) }
      return try store.bytes(at: chunk.offset, count: count)
    }
  }

  /// Replaces or adds a chunk. A new chunk goes before the sound if there is space, else after it.
  package func setChunk(
    _ id: ChunkID, index: Int = 0, _ bytes: [UInt8]
  ) throws(SoundFileError) {
    try checkChunk(id)
    try change { state throws(SoundFileError) in
      let locations = state.locations(of: id)
      guard index >= 0, index <= locations.count else {
        throw SoundFileError(
          .notSupported("there are \(locations.count) chunks '\(id)', and none \(index)"),
          path: path)
      }
      let new = Chunk(id, bytes)
      guard index < locations.count else { return try add(new, to: &state) }
      switch locations[index] {
      case .before(let position) where state.hasHead:
        let old = state.before[position]
        if old.size == new.size {
          try store.write(bytes, at: old.offset)
        } else {
          try clear(position, in: &state)
          try add(new, to: &state)
        }
      case .before(let position): state.before[position] = new
      case .after(let position):
        state.after[position] = new
        state.hasOldEnd = true
      }
    }
  }

  package func removeChunk(_ id: ChunkID, index: Int = 0) throws(SoundFileError) -> Bool {
    try checkChunk(id)
    var isThere = false
    try change { state throws(SoundFileError) in
      let locations = state.locations(of: id)
      guard locations.indices.contains(index) else { return }
      isThere = true
      switch locations[index] {
      case .before(let position) where state.hasHead: try clear(position, in: &state)
      case .before(let position): state.before.remove(at: position)
      case .after(let position):
        state.after.remove(at: position)
        state.hasOldEnd = true
      }
    }
    return isThere
  }

  private func checkChunk(_ id: ChunkID) throws(SoundFileError) {
    guard hasChunks else {
      throw SoundFileError(.notSupported("\(container) files have no chunks"), path: path)
    }
    guard !Self.structural.contains(id), !ChunkID.fillers.contains(id) else {
      throw SoundFileError(.notSupported("the chunk '\(id)' goes with the sound"), path: path)
    }
  }

  /// Turns a chunk before the sound into a filler.
  private func clear(_ position: Int, in state: inout State) throws(SoundFileError) {
    guard let grammar = state.grammar else { return }
    let old = state.before[position]
    try store.write(
      grammar.head(grammar.filler, size: old.size), at: old.offset - grammar.headBytes)
    state.before[position].id = grammar.filler
  }

  private func add(_ new: Chunk, to state: inout State) throws(SoundFileError) {
    guard let grammar = state.grammar, let bytes = new.bytes else { return }
    guard state.hasHead else {
      state.before.append(new)
      return
    }
    let needed = grammar.extent(new.size)
    let isLongForm = state.container == .wave
    // In WAVE files the first filler is reserved for the 64-bit sizes.
    for position in state.before.indices.dropFirst(isLongForm ? 1 : 0) {
      let old = state.before[position]
      guard ChunkID.fillers.contains(old.id) else { continue }
      let rest = grammar.extent(old.size) - needed
      guard rest == 0 || rest >= grammar.headBytes else { continue }
      let start = old.offset - grammar.headBytes
      if rest > 0 {
        let size = rest - grammar.headBytes
        try store.write(grammar.head(grammar.filler, size: size), at: start + needed)
        state.before.insert(
          Chunk(grammar.filler, offset: start + needed + grammar.headBytes, size: size),
          at: position + 1)
      }
      try store.write(grammar.chunk(new.id, bytes), at: start)
      state.before[position] = Chunk(new.id, offset: old.offset, size: new.size)
      return
    }
    state.after.append(new)
    state.hasOldEnd = true
  }
}

extension SoundFile.State {
  fileprivate enum Location {
    case before(Int)
    case after(Int)
  }

  fileprivate func chunks(_ id: ChunkID) -> [Chunk] { (before + after).filter { $0.id == id } }

  /// Returns the positions of the chunks with an id.
  fileprivate func locations(of id: ChunkID) -> [Location] {
    before.indices.filter { before[$0].id == id }.map(Location.before)
      + after.indices.filter { after[$0].id == id }.map(Location.after)
  }
}
