/// A parser that determines the extent of a file's header while the file arrives in pieces.
struct StreamHead {
  enum Finding: Equatable {
    /// The header requires this many bytes from the start.
    case needs(Int)
    /// The offset where the sound begins. `dataBytes` is nil if the header does not give its
    /// length.
    case found(Container, dataOffset: Int, dataBytes: Int64?)
    /// A tag of this many bytes; another file start follows.
    case tag(bytes: Int)
    /// A stream of frames without a file header.
    case frames
    case failed(StreamFailure)
  }

  /// Limit on the bytes of a header, so that a crafted stream cannot fill the memory.
  static let maximumBytes = 16 << 20
  /// Limit on the number of chunks in a header.
  private static let maximumChunks = 1000

  /// Parses the first bytes of a file.
  static func find(in bytes: [UInt8]) -> Finding {
    let head = Self(bytes: bytes)
    guard bytes.count >= 12 else { return .needs(12) }
    if let size = ID3Tag.byteCount(bytes) { return .tag(bytes: size) }
    switch (head.name(0), head.name(8)) {
    case ("RIFF", "WAVE"), ("RIFX", "WAVE"), ("RF64", "WAVE"): return head.wave()
    case ("FORM", "AIFF"): return head.aiff(.aiff)
    case ("FORM", "AIFC"): return head.aiff(.aifc)
    case ("caff", _): return head.caf()
    case (".snd", _): return head.next(isBigEndian: true)
    case ("dns.", _): return head.next(isBigEndian: false)
    case ("fLaC", _): return head.flac()
    case (_, _) where head.name(4) == "ftyp": return head.mpeg4()
    default: return .frames
    }
  }

  private let bytes: [UInt8]

  private func name(_ offset: Int) -> String {
    String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  private func number(_ offset: Int, _ count: Int, isBigEndian: Bool = true) -> Int64 {
    let slice = bytes[offset..<offset + count]
    let value =
      isBigEndian
      ? slice.reduce(0) { $0 << 8 | UInt64($1) }
      : slice.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: value)
  }

  /// Returns `needs`, or a failure if the header would become too long.
  private func needs(_ count: Int64) -> Finding {
    count <= Self.maximumBytes ? .needs(Int(count)) : .failed(.damaged("its head is too long"))
  }

  /// Visits one chunk after another. `chunk` returns the result, or nil to continue.
  private func chunks(
    from start: Int64, headBytes: Int, size: (Int) -> Int64, padding: Int64,
    _ chunk: (_ name: String, _ at: Int, _ size: Int64) -> Finding?
  ) -> Finding {
    var offset = start
    for _ in 0..<Self.maximumChunks {
      guard offset + Int64(headBytes) <= bytes.count else {
        return needs(offset + Int64(headBytes))
      }
      let size = size(Int(offset))
      if let finding = chunk(name(Int(offset)), Int(offset) + headBytes, size) { return finding }
      guard size >= 0, size <= Self.maximumBytes else { return needs(.max) }
      offset += Int64(headBytes) + size + size % padding
    }
    return .failed(.damaged("its head has too many parts"))
  }

  private func wave() -> Finding {
    let container: Container = name(0) == "RF64" ? .rf64 : .wave
    let isBigEndian = name(0) == "RIFX"
    var longSize: Int64?
    var hasFormat = false
    return chunks(
      from: 12, headBytes: 8, size: { number($0 + 4, 4, isBigEndian: isBigEndian) }, padding: 2
    ) { name, at, size in
      switch name {
      case "fmt ":
        guard size >= 16 else { return .failed(.damaged("its format is cut short")) }
        hasFormat = true
      case "ds64":
        guard bytes.count >= at + 16 else { return .needs(at + 16) }
        longSize = number(at + 8, 8, isBigEndian: false)
      case "data":
        guard hasFormat else { return .failed(.notOptimized) }
        let isOpen = size == 0 || (0x7FFF_F000...0x7FFF_FFFF).contains(size)
        let told = size == 0xFFFF_FFFF ? longSize : isOpen ? nil : size
        return .found(container, dataOffset: at, dataBytes: told.flatMap { $0 < 0 ? nil : $0 })
      default: break
      }
      return nil
    }
  }

  private func aiff(_ container: Container) -> Finding {
    var hasFormat = false
    return chunks(from: 12, headBytes: 8, size: { number($0 + 4, 4) }, padding: 2) {
      name, at, size in
      switch name {
      case "COMM": hasFormat = true
      case "SSND":
        guard hasFormat else { return .failed(.notOptimized) }
        guard bytes.count >= at + 8 else { return .needs(at + 8) }
        let skipped = number(at, 4)
        let offset = Int64(at) + 8 + skipped
        guard offset <= bytes.count else { return needs(offset) }
        return .found(
          container, dataOffset: Int(offset),
          dataBytes: size == 0 ? nil : max(0, size - 8 - skipped))
      default: break
      }
      return nil
    }
  }

  private func caf() -> Finding {
    var format: Int?
    var hasTable = false
    return chunks(from: 8, headBytes: 12, size: { number($0 + 4, 8) }, padding: 1) {
      name, at, size in
      switch name {
      case "desc":
        guard size >= 32 else { return .failed(.damaged("its format is cut short")) }
        format = at
      case "pakt": hasTable = true
      case "data":
        // Packets of varying size or length need a packet table.
        guard let format, hasTable || number(format + 16, 4) > 0 && number(format + 20, 4) > 0
        else { return .failed(.notOptimized) }
        // A four-byte edit count precedes the sound.
        guard bytes.count >= at + 4 else { return .needs(at + 4) }
        return .found(.caf, dataOffset: at + 4, dataBytes: size < 4 ? nil : size - 4)
      default: break
      }
      return nil
    }
  }

  private func next(isBigEndian: Bool) -> Finding {
    let offset = number(4, 4, isBigEndian: isBigEndian)
    let size = number(8, 4, isBigEndian: isBigEndian)
    guard offset >= 24 else { return .failed(.damaged("its head is cut short")) }
    guard offset <= bytes.count else { return needs(offset) }
    return .found(
      .next, dataOffset: Int(offset), dataBytes: size == 0xFFFF_FFFF || size == 0 ? nil : size)
  }

  private func flac() -> Finding {
    var isLast = false
    return chunks(
      from: 4, headBytes: 4, size: { number($0 + 1, 3) }, padding: 1
    ) { _, at, size in
      if isLast { return .found(.flac, dataOffset: at - 4, dataBytes: nil) }
      isLast = bytes[at - 4] & 0x80 != 0
      return nil
    }
  }

  /// Parses MPEG-4 boxes. The tables give the packets' positions; the header ends with the header
  /// of the 'mdat' box.
  private func mpeg4() -> Finding {
    var hasTables = false
    var offset: Int64 = 0
    for _ in 0..<Self.maximumChunks {
      guard offset + 16 <= bytes.count else { return needs(offset + 16) }
      let at = Int(offset)
      var size = number(at, 4)
      var headBytes = 8
      if size == 1 {
        size = number(at + 8, 8)
        headBytes = 16
      }
      switch name(at + 4) {
      case "moov": hasTables = true
      case "mdat":
        guard hasTables else { return .failed(.notOptimized) }
        return .found(
          .mp4, dataOffset: at + headBytes,
          dataBytes: size < headBytes ? nil : size - Int64(headBytes))
      default: break
      }
      guard size >= headBytes, size <= Self.maximumBytes else { return needs(.max) }
      offset += size
    }
    return .failed(.damaged("its head has too many parts"))
  }
}
