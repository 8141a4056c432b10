package import Codecs
package import RealTime
import Synchronization

extension SoundFile {
  /// Limit on the bytes of chunks after the sound in a writable file: they are held in memory while
  /// the file is open.
  private static var mostEndBytes: Int64 { 64 << 20 }
  /// Limit on the bytes of silence that are written out.
  private static var mostSilentBytes: Int64 { 4 << 30 }

  /// Returns true if a container can hold samples of this format.
  package static func canHold(_ format: PCMFormat, in container: Container) -> Bool {
    PCMHead.canHold(format, in: container)
  }

  /// Creates a file without frames in a store, which should be empty. The header is written with
  /// the first sound, or at the first checkpoint. Blocks.
  ///
  /// - Parameter dataAlignment: The sound begins at a multiple of this many bytes, in containers
  ///   that can fill the space before it.
  package static func create(
    in store: any ByteStore, container: Container, format: PCMFormat, dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> SoundFile {
    try checkFormat(format, container, path: store.name)
    let grammar = container.grammar
    var state = State(
      container: container, grammar: grammar, isBigEndian: grammar?.isBigEndian ?? true,
      soundOffset: 0, dataOffset: 0, dataBytes: 0, before: [], after: [])
    state.hasHead = false
    state.hasOldSizes = true
    state.dataAlignment = dataAlignment
    return SoundFile(store, format, state)
  }

  /// Creates a file. Blocks.
  package static func create(
    path: String, container: Container, format: PCMFormat, isReplacing: Bool,
    dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> SoundFile {
    // Check the format before an existing file is truncated.
    try checkFormat(format, container, path: path)
    return try create(
      in: FileStore(creating: path, isReplacing: isReplacing), container: container,
      format: format, dataAlignment: dataAlignment)
  }

  private static func checkFormat(
    _ format: PCMFormat, _ container: Container, path: String
  ) throws(SoundFileError) {
    guard canHold(format, in: container) else {
      throw SoundFileError(
        .unwritable("\(format.words) in \(container) files"), path: path)
    }
  }

  /// Writes bytes of the sound, over existing ones or after the end. A gap between the end and
  /// `position` becomes silence. Blocks.
  ///
  /// If the disk is full, the complete frames that were written are kept.
  package func writeBytes(
    at position: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    try change { state throws(SoundFileError) in
      let (end, isOver) = position.addingReportingOverflow(Int64(buffer.count))
      guard position >= 0, !isOver, end <= state.mostDataBytes else {
        throw SoundFileError(.tooLong, path: path)
      }
      guard unsafe !buffer.isEmpty else { return }
      try writeHead(&state)
      let old = state.dataBytes
      if end > old, !state.after.isEmpty { state.hasOldEnd = true }
      if position > old { try fill(&state, from: old, to: position) }
      do throws(SoundFileError) {
        try unsafe store.write(at: state.dataOffset + position, from: buffer)
      } catch {
        let there = ((try? store.byteCount()) ?? 0) - state.dataOffset
        let whole = there / Int64(format.bytesPerFrame) * Int64(format.bytesPerFrame)
        state.dataBytes = max(old, min(end, whole))
        if state.dataBytes > old { state.hasOldSizes = true }
        throw error
      }
      if end > old {
        state.dataBytes = end
        state.hasOldSizes = true
      }
      state.bytesSinceCheckpoint += Int64(buffer.count)
      let second = Int64(format.sampleRate) * Int64(format.bytesPerFrame)
      if !state.defersSizes || state.bytesSinceCheckpoint >= second { try writeSizes(&state) }
    }
  }

  /// True if sizes in the header are updated only at a checkpoint, after the next second of sound,
  /// or on closing. If false, each write updates them.
  package var defersSizes: Bool {
    get { state.withLock { $0.defersSizes } }
    set { state.withLock { $0.defersSizes = newValue } }
  }

  /// Updates the header, so that all sound can be read even if the process is killed. Blocks.
  package func checkpoint() throws(SoundFileError) {
    guard store.isWritable else { return }
    try change { state throws(SoundFileError) in
      try writeHead(&state)
      if state.hasOldSizes { try writeSizes(&state) }
    }
  }

  /// Sets the channel layout in the form that CAF and AIFF files store. `words` holds a tag, a
  /// bitmap, the number of channel descriptions, and five words for each description. Blocks.
  ///
  /// - Parameter mask: The channel mask that WAVE files store; nil if the layout has none.
  package func setChannelLayout(
    words: [UInt32], mask: UInt32?
  ) throws(SoundFileError) {
    let bytes = words.flatMap { [UInt8]($0, count: 4, bigEndian: true) }
    switch container {
    case .caf: try setChunk("chan", bytes)
    case .aiff, .aifc: try setChunk("CHAN", bytes)
    case .wave, .rf64, .wave64:
      guard let mask, mask < 1 << 18 else { throw noLayout }
      try change { state throws(SoundFileError) in
        if state.hasHead {
          // Only extensible formats have a channel mask.
          guard let grammar = state.grammar,
            let chunk = state.before.first(where: { $0.id == "fmt " }),
            chunk.size >= 40, !grammar.isBigEndian,
            try store.bytes(at: chunk.offset, count: 2) == [0xFE, 0xFF]
          else { throw noLayout }
          try store.write([UInt8](mask, count: 4, bigEndian: false), at: chunk.offset + 20)
        }
        state.channelMask = mask
      }
    default: throw noLayout
    }
  }

  /// Returns the channel layout in the form that `setChannelLayout` takes; nil if the file has
  /// none. Blocks.
  package func channelLayoutWords() throws(SoundFileError) -> [UInt32]? {
    let id: ChunkID = container == .caf ? "chan" : "CHAN"
    guard container == .caf || container == .aiff || container == .aifc,
      let chunk = try chunk(id, most: 1 << 16), chunk.count >= 12
    else { return nil }
    let bytes = Bytes(chunk)
    return (0..<chunk.count / 4).map {
      UInt32(bytes.unsigned(at: 4 * $0, bytes: 4, bigEndian: true))
    }
  }

  private var noLayout: SoundFileError {
    SoundFileError(.notSupported("the file cannot store this channel layout"), path: path)
  }

  /// The channel mask set since a WAVE file was opened.
  package var channelMask: UInt32? { state.withLock { $0.channelMask } }

  /// Completes the file. Later writes fail, and later reads return nothing. Blocks.
  package func close() throws(SoundFileError) {
    try state.withLock { state throws(SoundFileError) in
      guard !state.isClosed else { return }
      state.isClosed = true
      guard store.isWritable else { return }
      try writeHead(&state)
      try writeEnd(&state)
    }
  }

  /// Completes the file and moves everything after the sound before it. If the process is killed,
  /// the file has either the old or the new order. Blocks.
  package func optimize() throws(SoundFileError) {
    try change { state throws(SoundFileError) in
      try writeHead(&state)
      try writeEnd(&state)
      guard let grammar = state.grammar, !state.after.isEmpty else { return }
      let order = ChunkOrder(
        grammar: grammar, soundOffset: state.soundOffset, soundBytes: state.soundChunkBytes,
        after: state.after)
      var new = state
      try store.replaceContents { copy throws(SoundFileError) in
        let moved = try order.write(store, to: copy)
        new.dataOffset += moved.soundOffset - new.soundOffset
        new.soundOffset = moved.soundOffset
        new.before += moved.chunks
        new.after = []
        try writeSizes(&new, total: moved.end, to: copy)
      }
      new.moves += 1
      state = new
    }
  }

  /// True if nothing comes after the sound.
  package var isOptimized: Bool { state.withLock { $0.after.isEmpty } }

  /// Runs `body` with the lock held, after checking that the file can be written.
  func change(
    _ body: (inout State) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    guard store.isWritable else { throw SoundFileError(.notForWriting, path: path) }
    try state.withLock { state throws(SoundFileError) in
      guard !state.isClosed else { throw SoundFileError(.notForWriting, path: path) }
      try body(&state)
    }
  }

  // MARK: The header

  func writeHead(_ state: inout State) throws(SoundFileError) {
    guard !state.hasHead else { return }
    var bytes = PCMHead.start(state.container, format)
    if let grammar = state.grammar {
      let chunks =
        PCMHead.chunks(state.container, format, channelMask: state.channelMask) + state.before
      var placed: [Chunk] = []
      func append(_ chunk: Chunk) {
        guard let content = chunk.bytes else { return }
        let offset = Int64(bytes.count) + grammar.headBytes
        placed.append(Chunk(chunk.id, offset: offset, size: chunk.size))
        bytes += grammar.chunk(chunk.id, content)
      }
      chunks.forEach(append)
      let (id, soundBytes) = PCMHead.soundStart(state.container)
      let unaligned = Int64(bytes.count) + grammar.headBytes + Int64(soundBytes)
      if unaligned % state.dataAlignment != 0 {
        let least = unaligned + grammar.headBytes
        let aligned = (least / state.dataAlignment + 1) * state.dataAlignment
        let room = (aligned - least) / grammar.alignment * grammar.alignment
        append(Chunk(grammar.filler, [UInt8](repeating: 0, count: Int(room))))
      }
      let size: Int64 = store.isStream ? -1 : 0
      bytes += grammar.head(id, size: size) + [UInt8](repeating: 0, count: soundBytes)
      state.before = placed
    }
    // The size of all that follows, in WAVE files, and that of the sound, in NeXT/Sun files.
    if store.isStream, [.wave, .next].contains(state.container) {
      let field = state.container == .wave ? 4..<8 : 8..<12
      bytes.replaceSubrange(field, with: [UInt8](repeating: 0xFF, count: 4))
    }
    try store.write(bytes, at: 0)
    state.dataOffset = Int64(bytes.count)
    state.soundOffset = state.dataOffset - Int64(PCMHead.soundStart(state.container).bytes)
    state.hasHead = true
    try writeSizes(&state)
  }

  /// Updates all sizes in the header. Chunks after the sound count only if they are already in
  /// place in the file.
  private func writeSizes(_ state: inout State) throws(SoundFileError) {
    // A stream's header is gone.
    guard !store.isStream else { return state.hasOldSizes = false }
    let end = state.dataOffset + state.dataBytes
    let padded = end + state.padBytes
    let tail = state.hasOldEnd ? 0 : state.endBytes
    try writeSizes(&state, total: padded + tail, to: store)
    state.bytesSinceCheckpoint = 0
    // Writes the padding, so that the file is as long as its header says.
    if padded > end, tail == 0 {
      try store.write([UInt8](repeating: 0, count: Int(padded - end)), at: end)
    }
    try (store as? FileStore)?.checkPresence()
  }

  private func writeSizes(
    _ state: inout State, total: Int64, to store: any ByteStore
  ) throws(SoundFileError) {
    let isBigEndian = state.isBigEndian
    func put(_ number: Int64, _ bytes: Int, at offset: Int64) throws(SoundFileError) {
      try store.write([UInt8](number, count: bytes, bigEndian: isBigEndian), at: offset)
    }
    func chunk(_ id: ChunkID) -> Chunk? { state.before.first { $0.id == id } }
    let frames = state.dataBytes / Int64(format.bytesPerFrame)
    let wordLimit = Int64(UInt32.max)
    switch state.container {
    case .wave where total - 8 > wordLimit, .rf64:
      // Writes 64-bit sizes, and sets the 32-bit fields to their maximum.
      let sizes = state.container == .wave ? state.before.first : chunk("ds64")
      guard let sizes, sizes.size >= 24 else { break }
      if state.container == .wave {
        try store.write(ChunkID("ds64").bytes, at: sizes.offset - 8)
        state.before[0].id = "ds64"
      }
      try put(total - 8, 8, at: sizes.offset)
      try put(state.dataBytes, 8, at: sizes.offset + 8)
      try put(frames, 8, at: sizes.offset + 16)
      if let fact = chunk("fact"), fact.size >= 4 {
        try put(min(frames, wordLimit), 4, at: fact.offset)
      }
      try put(wordLimit, 4, at: state.dataOffset - 4)
      try store.write(ChunkID("RF64").bytes + [0xFF, 0xFF, 0xFF, 0xFF], at: 0)
      state.container = .rf64
    case .wave:
      if let fact = chunk("fact"), fact.size >= 4 { try put(frames, 4, at: fact.offset) }
      try put(state.dataBytes, 4, at: state.dataOffset - 4)
      try put(total - 8, 4, at: 4)
    case .wave64:
      try put(state.dataBytes + 24, 8, at: state.dataOffset - 8)
      try put(total, 8, at: 16)
    case .aiff, .aifc:
      // The 'COMM' chunk may come after the sound.
      if let common = chunk("COMM") {
        try put(frames, 4, at: common.offset + 2)
      } else if let index = state.after.firstIndex(where: { $0.id == "COMM" }) {
        state.after[index].bytes?
          .replaceSubrange(2..<6, with: [UInt8](frames, count: 4, bigEndian: true))
        state.hasOldEnd = true
      }
      try put(state.soundChunkBytes, 4, at: state.soundOffset - 4)
      try put(total - 8, 4, at: 4)
    case .caf: try put(state.soundChunkBytes, 8, at: state.soundOffset - 8)
    default:
      // All ones mean that the length is unknown.
      try put(min(state.dataBytes, wordLimit), 4, at: 8)
    }
    state.hasOldSizes = false
  }

  // MARK: After the sound

  /// Writes the chunks after the sound, and truncates the file behind them.
  private func writeEnd(_ state: inout State) throws(SoundFileError) {
    guard state.hasOldEnd || state.hasOldSizes, !store.isStream else { return }
    try writeSizes(&state)
    guard state.hasOldEnd else { return }
    let end = state.dataOffset + state.dataBytes
    var bytes: [UInt8] = []
    if let grammar = state.grammar {
      bytes = [UInt8](repeating: 0, count: Int(state.padBytes))
      var position = end + Int64(bytes.count)
      for index in state.after.indices {
        guard let content = state.after[index].bytes else { continue }
        bytes += grammar.chunk(state.after[index].id, content)
        state.after[index].offset = position + grammar.headBytes
        position += grammar.extent(Int64(content.count))
      }
    }
    do throws(SoundFileError) {
      try store.write(bytes, at: end)
      try store.setByteCount(end + Int64(bytes.count))
      try writeSizes(&state, total: end + Int64(bytes.count), to: store)
      state.hasOldEnd = false
    } catch {
      // The sound is more important than the chunks after it.
      try? store.setByteCount(end)
      throw error
    }
  }

  /// Reads the chunks after the sound into memory, so that they can be moved.
  static func loadEnd(_ state: inout State, _ store: any ByteStore) throws(SoundFileError) {
    let total = state.after.reduce(Int64(0)) { $0 + $1.size }
    guard total <= mostEndBytes else {
      throw SoundFileError(
        .notSupported("there are \(total) bytes after the sound, too many to write it"),
        path: store.name)
    }
    for index in state.after.indices {
      let chunk = state.after[index]
      guard let bytes = try store.bytes(at: chunk.offset, count: Int(chunk.size)) else {
        throw SoundFileError(.truncated, path: store.name)
      }
      state.after[index].bytes = bytes
    }
  }

  /// Writes silence from the end of the sound up to `end`.
  private func fill(
    _ state: inout State, from start: Int64, to end: Int64
  ) throws(SoundFileError) {
    if format.kind == .unsignedInteger {
      // Zeros can be a hole in the file, but unsigned silence occupies disk space.
      guard end - start <= Self.mostSilentBytes else {
        throw SoundFileError(
          .notSupported("there would be \(end - start) bytes of silence before the sound"),
          path: path)
      }
      try store.setByteCount(state.dataOffset + start)
      let block = [UInt8](repeating: 0x80, count: 1 << 16)
      var position = start
      while position < end {
        let count = min(Int64(block.count), end - position)
        try store.write(Array(block.prefix(Int(count))), at: state.dataOffset + position)
        position += count
      }
    } else {
      // Truncating removes the chunks after the sound; extending fills the gap with zeros.
      try store.setByteCount(state.dataOffset + start)
      try store.setByteCount(state.dataOffset + end)
    }
    state.dataBytes = end
    state.hasOldSizes = true
  }
}

extension SoundFile.State {
  /// Maximum bytes of sound in the container.
  fileprivate var mostDataBytes: Int64 {
    let others = max(dataOffset, 1 << 16) + endBytes
    return switch container {
    case .aiff, .aifc: Int64(UInt32.max) - others
    case .wave:
      // A file written by Cuejack has reserved space for 64-bit sizes.
      hasRoomForLongSizes ? .max / 4 : Int64(UInt32.max) - others
    default: .max / 4
    }
  }

  private var hasRoomForLongSizes: Bool {
    guard hasHead else { return true }
    guard let first = before.first, let grammar else { return false }
    return first.id == "JUNK" && first.size >= Int64(PCMHead.sizesBytes)
      && first.offset == grammar.start + grammar.headBytes && !grammar.isBigEndian
  }

  /// Bytes of padding between the sound and the next chunk.
  fileprivate var padBytes: Int64 {
    // libsndfile reads padding at the end of a Wave64 file as sound.
    guard let grammar, grammar.alignment <= 2 || !after.isEmpty else { return 0 }
    return grammar.padded(dataBytes) - dataBytes
  }

  /// Bytes of all chunks after the sound, with headers and padding.
  var endBytes: Int64 {
    guard let grammar else { return 0 }
    return after.reduce(0) { $0 + grammar.extent($1.size) }
  }

  /// Bytes of the sound chunk, without its header.
  fileprivate var soundChunkBytes: Int64 { dataOffset + dataBytes - soundOffset }
}

extension StreamFormat {
  /// Description of the format.
  package var words: String {
    switch self {
    case .pcm(let format): format.words
    case .packets(let format):
      "\(format.codec) in \(format.channels) channels at \(format.sampleRate) Hz"
    }
  }
}

extension PCMFormat {
  /// Description of the format: "24-bit signed integers, big-endian, in 2 channels at 44100 Hz".
  package var words: String {
    let kind =
      switch kind {
      case .signedInteger: "signed integers"
      case .unsignedInteger: "unsigned integers"
      case .float: "floats"
      }
    let room = bitsPerSample == 8 * bytesPerSample ? "" : " in \(bytesPerSample) bytes"
    let order = bytesPerSample == 1 ? "" : isBigEndian ? ", big-endian," : ", little-endian,"
    return "\(bitsPerSample)-bit \(kind)\(room)\(order) in \(channels) channels at \(sampleRate) Hz"
  }
}
