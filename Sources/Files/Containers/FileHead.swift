/// Header information that libsndfile does not report: the container, the positions of the sound
/// and of the other chunks, and the length of the sound. The same parser serves complete files and
/// streams that arrive in pieces.
struct FileHead {
  var container: Container
  /// The chunk layout; nil if the container has no chunks.
  var grammar: ChunkGrammar?
  /// True if numbers in the header and in chunks are big-endian.
  var isBigEndian: Bool
  /// Offset of the sound chunk's content, and of the sound within it.
  var soundOffset: Int64 = 0
  var dataOffset: Int64 = 0
  /// Bytes of sound; nil if the sound extends to the end of the file.
  var dataBytes: Int64?
  /// The chunks before and after the sound, as far as they are present.
  var before: [Chunk] = []
  var after: [Chunk] = []
  /// The last chunk, if the file ends within it, with the bytes that are present.
  private(set) var cut: Chunk?
  /// Frames per second, where the header stores it as a floating-point number.
  var sampleRate: Double?
  /// Significant bits of a sample, if they are fewer than its bytes hold.
  var bitsPerSample: Int?
  /// The codec's identifier in the file if the sound is not linear PCM.
  var coding: String?
  /// True if the format comes before the sound.
  private(set) var beginsWithFormat = true
  /// True if all packets have the same bytes and frames.
  private(set) var hasEqualPackets = true
  /// A substitute header that libsndfile reads correctly, in place of everything before the sound.
  var shown: [UInt8]?
  /// The second sound chunk of a file that should have one only.
  var secondSound: Chunk? {
    let id: ChunkID = container == .aiff || container == .aifc ? "SSND" : "data"
    return after.first { $0.id == id }
  }

  /// The result of reading a file's first bytes.
  enum Finding {
    case head(FileHead)
    /// A supported container that ends before its sound begins.
    case cutShort
    /// A known file type that this reader does not handle.
    case foreign(String)
    case unknown
  }

  /// Limit on the number of chunks before the sound of a stream, whose header is parsed again
  /// whenever more of it has arrived.
  static let mostStreamChunks = 1000

  private init(container: Container, grammar: ChunkGrammar?) {
    self.container = container
    self.grammar = grammar
    isBigEndian = grammar?.isBigEndian ?? true
  }

  /// Creates the header of a NeXT/Sun file: one header, then the sound.
  private init(next start: Bytes, total: Int64) {
    container = .next
    isBigEndian = start.name(at: 0) == ".snd"
    dataOffset = Int64(start.unsigned(at: 4, bytes: 4, bigEndian: isBigEndian))
    let claimed = Int64(start.unsigned(at: 8, bytes: 4, bigEndian: isBigEndian))
    let present = total - dataOffset
    // Nothing follows the sound, so a size that has lost its high bits means the whole rest.
    let isOpen = claimed == 0 || Self.isOpen(claimed, present) || present - claimed >= 1 << 32
    dataBytes = isOpen ? nil : claimed
  }

  /// Reads the header. Blocks.
  ///
  /// - Parameter isStream: True to stop where the sound begins. Containers of packets count then,
  ///   too.
  static func find(
    in store: any ByteStore, isStream: Bool = false
  ) throws(SoundFileError) -> Finding {
    let total = try store.byteCount()
    let start = Bytes(try store.bytes(at: 0, count: Int(min(total, 12))) ?? [])
    guard let container = try Container(contentOf: store) else {
      switch (start.name(at: 0), start.name(at: 8)) {
      case ("RIFF", ""), ("RIFX", ""), ("RF64", ""), ("FORM", ""): return .cutShort
      case ("riff", _) where total < 28: return .cutShort
      case ("BW64", ""): return .cutShort
      default: return try LibavType(contentOf: store).map { .foreign($0.name) } ?? .unknown
      }
    }
    let isKnown = container.holdsPCM || isStream && (container == .flac || container.isMPEG4)
    guard isKnown, ID3Tag.byteCount(start.slice(at: 0, count: 12)) == nil else {
      return .foreign(container.description)
    }
    let grammar =
      start.name(at: 0) == "RIFX" ? .riff(bigEndian: true) : container.grammar
    var head = FileHead(container: container, grammar: grammar)
    let hasSound =
      switch container {
      case .next:
        try store.bytes(at: 0, count: 24).map { head = FileHead(next: Bytes($0), total: total) }
          != nil
      case .flac: try head.readFLAC(store)
      case _ where container.isMPEG4: try head.readMPEG4(store, total)
      default: try head.readChunks(store, total, isStream: isStream)
      }
    return hasSound ? .head(head) : .cutShort
  }

  // MARK: Chunks

  /// Reads all chunks; returns false if the sound or its format is missing.
  private mutating func readChunks(
    _ store: any ByteStore, _ total: Int64, isStream: Bool
  ) throws(SoundFileError) -> Bool {
    guard let grammar else { return false }
    var hasFormat = false
    var longDataBytes: Int64?
    var isCorrected = false
    var offset = grammar.start
    for _ in 0..<(isStream ? Self.mostStreamChunks : ChunkGrammar.mostChunks) {
      guard var chunk = try grammar.chunk(at: offset, in: store) else { break }
      // Another file begins behind this one.
      if dataOffset > 0, ["RIFF", "RIFX", "RF64", "BW64", "FORM"].contains(chunk.id) {
        isCorrected = true
        break
      }
      if dataOffset == 0, let sound = try readSoundHead(chunk, store, longDataBytes) {
        soundOffset = chunk.offset
        dataOffset = chunk.offset + sound.skipped
        dataBytes = try soundBytes(
          claimed: sound.bytes, field: chunk.size, store, isStream ? nil : total)
        beginsWithFormat = hasFormat
        if isStream { return true }
        isCorrected = dataBytes != sound.bytes
        guard let dataBytes, dataBytes <= total else { break }
        chunk.size = dataBytes + sound.skipped
      } else {
        guard try readFormat(chunk, store, &longDataBytes, &hasFormat) else { return false }
        if dataOffset == 0 { before.append(chunk) } else { after.append(chunk) }
      }
      guard let end = grammar.end(of: chunk) else { break }
      offset = end
    }
    // The last chunk may be truncated, or may not be a chunk at all.
    if let last = after.last, last.size < 0 || last.size > total - last.offset {
      after.removeLast()
      cut = Chunk(last.id, offset: last.offset, size: max(0, total - last.offset))
    }
    // AIFF's COMM chunk may come after the sound. For other containers libsndfile reports a missing
    // format.
    guard hasFormat || container != .aiff && container != .aifc, dataOffset > 0 else {
      return false
    }
    if container == .rf64 || container == .wave64 || isCorrected || secondSound != nil {
      shown = try plainHead(store, grammar, dataBytes ?? max(0, total - dataOffset))
    }
    return true
  }

  /// Builds a header with only the format and the sound chunk, whose size is `bytes`. libsndfile
  /// takes sizes at their word, reads the last of several sound chunks, and mishandles RF64 files
  /// after chunks of odd size. It also reads every extensible format in Wave64 as integers, so the
  /// header gets the plain format tag.
  private func plainHead(
    _ store: any ByteStore, _ grammar: ChunkGrammar, _ bytes: Int64
  ) throws(SoundFileError) -> [UInt8]? {
    let skipped = dataOffset - soundOffset
    guard var head = try store.bytes(at: 0, count: Int(grammar.start)), skipped <= 1 << 16,
      let name = try store.bytes(at: soundOffset - grammar.headBytes, count: 4),
      let start = try store.bytes(at: soundOffset, count: Int(skipped))
    else { return nil }
    if container == .rf64 {
      head.replaceSubrange(0..<4, with: ChunkID("RF64").bytes)
      // libsndfile insists on this chunk. Only the size of the sound counts.
      let sizes = [[0], [bytes], [0]].flatMap {
        $0.flatMap { [UInt8]($0, count: 8, bigEndian: false) }
      }
      head += grammar.chunk("ds64", sizes + [0, 0, 0, 0])
    }
    let formats: Set<ChunkID> = ["fmt ", "COMM", "FVER", "desc"]
    // The format of an AIFF file may follow its sound.
    for chunk in before + after where formats.contains(chunk.id) {
      guard chunk.size <= 1 << 16,
        var content = try store.bytes(at: chunk.offset, count: Int(chunk.size))
      else { return nil }
      if container == .wave64, chunk.id == "fmt ", content.count >= 26,
        content[0...1] == [0xFE, 0xFF]
      {
        content.replaceSubrange(0...1, with: content[24...25])
      }
      head += grammar.chunk(chunk.id, content)
    }
    let size = bytes + skipped
    head += grammar.head(
      ChunkID(Bytes(name), at: 0),
      size: container == .rf64
        ? 0xFFFF_FFFF : grammar.sizeBytes == 4 ? min(size, 0xFFFF_0000) : size)
    if container != .caf, container != .rf64 {
      let whole = Int64(head.count) + size
      let field = container == .wave64 ? 16..<24 : 4..<8
      head.replaceSubrange(
        field,
        with: [UInt8](
          field.count == 4 ? min(whole - 8, 0xFFFF_FFF0) : whole, count: field.count,
          bigEndian: grammar.isBigEndian))
    }
    return head + start
  }

  /// Returns the sound's size according to its chunk, without the bytes before the sound in the
  /// chunk, and the number of these; nil if `chunk` is not the sound chunk. The size is unchecked.
  private func readSoundHead(
    _ chunk: Chunk, _ store: any ByteStore, _ longDataBytes: Int64?
  ) throws(SoundFileError) -> (bytes: Int64, skipped: Int64)? {
    switch (container, chunk.id) {
    case (.rf64, "data") where chunk.size == 0xFFFF_FFFF: return (longDataBytes ?? -1, 0)
    case (.wave, "data"), (.rf64, "data"), (.wave64, "data"): return (chunk.size, 0)
    case (.aiff, "SSND"), (.aifc, "SSND"):
      guard let skip = try store.bytes(at: chunk.offset, count: 8).map(Bytes.init) else {
        return nil
      }
      let skipped = 8 + Int64(skip.unsigned(at: 0, bytes: 4, bigEndian: true))
      return (chunk.size - skipped, skipped)
    case (.caf, "data"):
      // A four-byte edit count precedes the sound.
      guard try store.bytes(at: chunk.offset, count: 4) != nil else { return nil }
      return (chunk.size &- 4, 4)
    default: return nil
    }
  }

  /// Returns the bytes of the sound at `dataOffset`; nil if it extends to the end of the file.
  ///
  /// Sizes in headers are hints: programs that cannot go back to the header leave them open, and
  /// those of 32 bits lose their high bits beyond 4 GiB.
  ///
  /// - Parameters:
  ///   - claimed: The size according to the header; at most 0 if it was left open.
  ///   - field: The size field of the sound chunk.
  ///   - total: Size of the file; nil for a stream, which is still arriving.
  private func soundBytes(
    claimed: Int64, field: Int64, _ store: any ByteStore, _ total: Int64?
  ) throws(SoundFileError) -> Int64? {
    guard claimed < 1 << 60 else { return nil }
    guard let total else {
      if claimed <= 0 { return claimed == 0 && !hasEqualPackets ? 0 : nil }
      let isOpen = grammar?.sizeBytes == 4 && container != .rf64 && Self.isOpen(field, 0)
      return isOpen ? nil : claimed
    }
    let present = max(0, total - dataOffset)
    guard claimed > 0 else { return try hasChunks(at: dataOffset, store, total) ? 0 : nil }
    guard let grammar, grammar.sizeBytes == 4, container != .rf64 else { return claimed }
    if Self.isOpen(field, present) { return nil }
    guard present - claimed >= 1 << 32,
      try !hasChunks(at: dataOffset + grammar.padded(claimed), store, total)
    else { return claimed }
    return claimed + (present - claimed) & ~0xFFFF_FFFF
  }

  /// Returns true if a 32-bit size is one that programs write before they know the size, and the
  /// file has fewer bytes.
  private static func isOpen(_ size: Int64, _ present: Int64) -> Bool {
    size == 0xFFFF_FFFF
      || size > present && (0x7FFF_0000...0x8000_0000 ~= size || size >= 0xFFFF_0000)
  }

  /// Returns true if the file consists of chunks from `start` to its end, and there is at least one.
  private func hasChunks(
    at start: Int64, _ store: any ByteStore, _ total: Int64
  ) throws(SoundFileError) -> Bool {
    guard let grammar else { return false }
    var offset = start
    for _ in 0..<Self.mostStreamChunks {
      guard offset + grammar.headBytes <= total else { break }
      guard let chunk = try grammar.chunk(at: offset, in: store),
        chunk.id.bytes.allSatisfy({ 0x20...0x7E ~= $0 }), let end = grammar.end(of: chunk),
        chunk.offset + chunk.size <= total
      else { return false }
      offset = end
    }
    return offset > start
  }

  /// Reads the chunks that describe the format; returns false if one of them is too short.
  private mutating func readFormat(
    _ chunk: Chunk, _ store: any ByteStore, _ longDataBytes: inout Int64?, _ hasFormat: inout Bool
  ) throws(SoundFileError) -> Bool {
    func start(atLeast least: Int64) throws(SoundFileError) -> Bytes? {
      guard chunk.size >= least else { return nil }
      return try store.bytes(at: chunk.offset, count: Int(min(chunk.size, 40))).map(Bytes.init)
    }
    switch (container, chunk.id) {
    case (.rf64, "ds64"):
      longDataBytes = try start(atLeast: 24).map {
        Int64(truncatingIfNeeded: $0.unsigned(at: 8, bytes: 8, bigEndian: false))
      }
    case (.wave, "fmt "), (.rf64, "fmt "), (.wave64, "fmt "):
      guard let format = try start(atLeast: 16) else { return false }
      hasFormat = true
      let isBigEndian = isBigEndian
      coding = Self.waveCoding(format, bigEndian: isBigEndian)
      if format.unsigned(at: 0, bytes: 2, bigEndian: isBigEndian) == 0xFFFE, format.count >= 26 {
        bitsPerSample = Int(format.unsigned(at: 18, bytes: 2, bigEndian: isBigEndian))
      }
    case (.aiff, "COMM"), (.aifc, "COMM"):
      guard let format = try start(atLeast: 18) else { return false }
      hasFormat = true
      bitsPerSample = Int(format.unsigned(at: 6, bytes: 2, bigEndian: true))
      sampleRate = format.extended(at: 8)
      if container == .aifc { coding = Self.aifcCoding(format.name(at: 18)) }
    case (.caf, "desc"):
      guard let format = try start(atLeast: 32) else { return false }
      hasFormat = true
      sampleRate = format.double(at: 0)
      let name = format.name(at: 8)
      if name != "lpcm" { coding = "'\(name)'" }
      hasEqualPackets = [16, 20].allSatisfy {
        format.unsigned(at: $0, bytes: 4, bigEndian: true) > 0
      }
    default: break
    }
    return true
  }

  // MARK: Containers of packets

  /// Reads the metadata blocks of a FLAC file. The sound follows the last one.
  private mutating func readFLAC(_ store: any ByteStore) throws(SoundFileError) -> Bool {
    var offset: Int64 = 4
    for _ in 0..<Self.mostStreamChunks {
      guard let block = try store.bytes(at: offset, count: 4) else { return false }
      offset += 4 + Int64(block.big(at: 1, bytes: 3))
      if block[0] & 0x80 != 0 {
        dataOffset = offset
        return true
      }
    }
    return false
  }

  /// Reads the top-level boxes of an MPEG-4 file, whose tables give the packets' positions.
  private mutating func readMPEG4(
    _ store: any ByteStore, _ total: Int64
  ) throws(SoundFileError) -> Bool {
    beginsWithFormat = false
    var offset: Int64 = 0
    for _ in 0..<Self.mostStreamChunks {
      guard let box = try MPEG4Box(at: offset, in: store, end: total) else { return false }
      switch box.name {
      case "moov": beginsWithFormat = true
      case "mdat":
        dataOffset = box.body
        dataBytes = box.isOpen ? nil : box.end - box.body
        return true
      default: break
      }
      offset = box.end
    }
    return false
  }

  // MARK: Codecs

  private static func waveCoding(_ format: Bytes, bigEndian: Bool) -> String? {
    var tag = format.unsigned(at: 0, bytes: 2, bigEndian: bigEndian)
    if tag == 0xFFFE, format.count >= 26 {
      tag = format.unsigned(at: 24, bytes: 2, bigEndian: bigEndian)
    }
    return tag == 1 || tag == 3 ? nil : "WAVE format \(tag)"
  }

  private static func aifcCoding(_ name: String) -> String? {
    switch name {
    case "NONE", "twos", "sowt", "raw ", "in24", "in32", "42ni", "42n1", "23ni": nil
    case "fl32", "FL32", "fl64", "FL64": nil
    default: "'\(name)'"
    }
  }
}
