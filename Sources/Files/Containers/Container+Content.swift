extension Container {
  /// Detects the container from a file's first bytes; nil if they match none. Blocks.
  package init?(contentOf store: any ByteStore) throws(SoundFileError) {
    let total = try store.byteCount()
    func start(at offset: Int64) throws(SoundFileError) -> [UInt8] {
      let count = Int(min(max(0, total - offset), 12))
      let start = try store.bytes(at: offset, count: count) ?? []
      // Wave64's ids are longer than those of all others.
      guard start.name(at: 0) == "riff" else { return start }
      return try store.bytes(at: offset, count: 28) ?? start
    }
    self.init(start: try start(at: ID3Tag.end(in: store)))
  }

  /// Detects the container from its first 12 bytes, or 28 for Wave64; nil if they match none.
  init?(start: [UInt8]) {
    guard let kind = Self.kind(start) else { return nil }
    self = kind
  }

  /// How files begin; the longest first, since one may be the beginning of another.
  private static let starts = allCases.flatMap { container in
    container.starts.map { (bytes: Array($0.utf8), container: container) }
  }.sorted { $0.bytes.count > $1.bytes.count }

  private static func kind(_ start: [UInt8]) -> Container? {
    let any = UInt8(ascii: "?")
    let found = starts.first { known in
      start.count >= known.bytes.count
        && zip(start, known.bytes).allSatisfy { $0 == $1 || $1 == any }
    }
    if let found { return found.container }
    guard start.count >= 4 else { return nil }
    if start[0] == 0x0B, start[1] == 0x77 { return .ac3 }
    guard start[0] == 0xFF, start[1] & 0xE0 == 0xE0 else { return nil }
    // MPEG audio frames: the layer bits are 0 for AAC in ADTS, and 1 to 3 for layers III, II and I.
    switch start[1] & 0x06 {
    case 0x00: return start[1] & 0xF0 == 0xF0 ? .adts : nil
    case 0x02: return .mp3
    case 0x04: return .mp2
    default: return .mp1
    }
  }
}
