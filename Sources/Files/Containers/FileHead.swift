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
  private init(next start: Bytes) {
    container = .next
    isBigEndian = start.name(at: 0) == ".snd"
    dataOffset = Int64(start.unsigned(at: 4, bytes: 4, bigEndian: isBigEndian))
    let size = Int64(start.unsigned(at: 8, bytes: 4, bigEndian: isBigEndian))
    dataBytes = size == 0xFFFF_FFFF ? nil : size
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
      case ("BW64", _): return .foreign("BW64")
      case ("wvpk", _): return .foreign("WavPack")
      default: return .unknown
      }
    }
    // Only stream files may have ID3 tags before them.
    let isTagged = start.name(at: 0).hasPrefix("ID3")
    let isKnown = container.holdsPCM || isStream && (container == .flac || container.isMPEG4)
    guard isKnown, !isTagged else { return .foreign(container.description) }
    let grammar: ChunkGrammar? =
      switch container {
      case .wave: .riff(bigEndian: start.name(at: 0) == "RIFX")
      case .rf64: .riff(bigEndian: false)
      case .wave64: .wave64
      case .aiff, .aifc: .aiff
      case .caf: .caf
      default: nil
      }
    var head = FileHead(container: container, grammar: grammar)
    let hasSound =
      switch container {
      case .next:
        try store.bytes(at: 0, count: 24).map { head = FileHead(next: Bytes($0)) } != nil
      case .flac: try head.readFLAC(store)
      case _ where container.isMPEG4: try head.readMPEG4(store, total)
      default: try head.readChunks(store, total, start, isStream: isStream)
      }
    return hasSound ? .head(head) : .cutShort
  }

  // MARK: Chunks

  /// Reads all chunks; returns false if the sound or its format is missing.
  private mutating func readChunks(
    _ store: any ByteStore, _ total: Int64, _ start: Bytes, isStream: Bool
  ) throws(SoundFileError) -> Bool {
    guard let grammar else { return false }
    var hasFormat = false
    var longDataBytes: Int64?
    var offset = grammar.start
    for _ in 0..<(isStream ? Self.mostStreamChunks : ChunkGrammar.mostChunks) {
      guard var chunk = try grammar.chunk(at: offset, in: store) else { break }
      if dataOffset == 0, let skipped = try readSoundHead(chunk, store, total, start) {
        soundOffset = chunk.offset
        dataOffset = chunk.offset + skipped
        if dataBytes == .max { dataBytes = longDataBytes }
        beginsWithFormat = hasFormat
        if isStream { return true }
        guard let dataBytes, dataBytes <= total else { break }
        chunk.size = dataBytes + skipped
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
    }
    // AIFF's COMM chunk may come after the sound. For other containers libsndfile reports a missing
    // format.
    guard hasFormat || container != .aiff && container != .aifc, dataOffset > 0 else {
      return false
    }
    if container == .rf64 || container == .wave64 { shown = try plainHead(store, grammar) }
    return true
  }

  /// Builds a header with only the format and the sound chunk. libsndfile mishandles RF64 files
  /// after chunks of odd size. It also reads every extensible format in Wave64 as integers, so the
  /// header gets the plain format tag.
  private func plainHead(
    _ store: any ByteStore, _ grammar: ChunkGrammar
  ) throws(SoundFileError) -> [UInt8]? {
    guard var head = try store.bytes(at: 0, count: Int(grammar.start)),
      let sound = try store.bytes(
        at: soundOffset - grammar.headBytes,
        count: Int(dataOffset - soundOffset + grammar.headBytes))
    else { return nil }
    for chunk in before where chunk.id == "ds64" || chunk.id == "fmt " {
      guard chunk.size <= 1 << 16,
        var bytes = try store.bytes(at: chunk.offset, count: Int(chunk.size))
      else { return nil }
      if container == .wave64, chunk.id == "fmt ", bytes.count >= 26, bytes[0...1] == [0xFE, 0xFF] {
        bytes.replaceSubrange(0...1, with: bytes[24...25])
      }
      head += grammar.chunk(chunk.id, bytes)
    }
    return head + sound
  }

  /// Stores the size of the sound if `chunk` is the sound chunk. `.max` means that the 'ds64' chunk
  /// gives the size.
  ///
  /// - Returns: Bytes before the sound in the chunk; nil if it is not the sound chunk.
  private mutating func readSoundHead(
    _ chunk: Chunk, _ store: any ByteStore, _ total: Int64, _ start: Bytes
  ) throws(SoundFileError) -> Int64? {
    switch (container, chunk.id) {
    case (.wave, "data"), (.rf64, "data"):
      let isBigEndian = isBigEndian
      let whole = Int64(start.unsigned(at: 4, bytes: 4, bigEndian: isBigEndian))
      dataBytes =
        switch chunk.size {
        case 0xFFFF_FFFF: container == .rf64 ? .max : nil
        // Written to a pipe: the writer did not know the length.
        case 0x7FFF_F000...0x7FFF_FFFF: nil
        // The writer stopped before it stored the length.
        case 0 where whole + 8 <= chunk.offset: nil
        default: chunk.size
        }
      return 0
    case (.wave64, "data"):
      dataBytes = max(0, chunk.size)
      return 0
    case (.aiff, "SSND"), (.aifc, "SSND"):
      guard let skip = try store.bytes(at: chunk.offset, count: 8).map(Bytes.init) else {
        return nil
      }
      let skipped = 8 + Int64(skip.unsigned(at: 0, bytes: 4, bigEndian: true))
      dataBytes = chunk.size == 0 ? nil : max(0, chunk.size - skipped)
      return skipped
    case (.caf, "data"):
      // A four-byte edit count precedes the sound.
      guard try store.bytes(at: chunk.offset, count: 4) != nil else { return nil }
      dataBytes = chunk.size < 4 ? nil : chunk.size - 4
      return 4
    default: return nil
    }
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
      guard let sizes = try start(atLeast: 24) else { return false }
      longDataBytes = Int64(clamping: sizes.unsigned(at: 8, bytes: 8, bigEndian: false))
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
