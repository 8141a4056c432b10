/// What a file's head says that libsndfile does not tell: its kind, where its sound lies and how
/// long that should be.
struct FileHead {
  var container: Container
  /// Bytes from the start of the file.
  var dataOffset: Int64
  /// Bytes of sound, or nil if the head leaves that to the file's length.
  var dataBytes: Int64?
  /// Frames per second where the head has them as a fraction.
  var sampleRate: Double?
  /// The name of a coding that is not linear PCM.
  var coding: String?
  /// What libsndfile has to be shown in place of the file's own bytes, to read it right.
  var correction: FileSource.Correction?

  /// What the first bytes of a file tell.
  enum Finding {
    case head(FileHead)
    /// One of our kinds, but it ends before its sound begins.
    case cutShort
    /// Known by its first bytes, but not one of our kinds.
    case foreign(String)
    case unknown
  }

  /// Reads the head. Blocks.
  static func find(in source: FileSource) -> Finding {
    let start = Bytes(source.bytes(at: 0, count: Int(min(source.byteCount, 40))) ?? [])
    let head: FileHead?
    switch (start.name(at: 0), start.name(at: 8)) {
    case ("RIFF", "WAVE"): head = riff(source, .wave, bigEndian: false)
    case ("RIFX", "WAVE"): head = riff(source, .wave, bigEndian: true)
    case ("RF64", "WAVE"): head = riff(source, .rf64, bigEndian: false)
    case ("FORM", "AIFF"): head = aiff(source, .aiff)
    case ("FORM", "AIFC"): head = aiff(source, .aifc)
    case ("caff", _): head = caf(source)
    case (".snd", _): head = next(start, bigEndian: true)
    case ("dns.", _): head = next(start, bigEndian: false)
    case ("riff", _) where start.name(at: 24) == "wave": head = wave64(source)
    case ("RIFF", ""), ("RIFX", ""), ("RF64", ""), ("FORM", ""): return .cutShort
    case ("riff", _) where start.count < 28: return .cutShort
    default: return foreignName(start).map(Finding.foreign) ?? .unknown
    }
    return head.map(Finding.head) ?? .cutShort
  }

  private static func foreignName(_ start: Bytes) -> String? {
    switch (start.name(at: 0), start.name(at: 4)) {
    case ("fLaC", _): return "FLAC"
    case ("OggS", _): return "Ogg"
    case ("BW64", _): return "BW64"
    case ("wvpk", _): return "WavPack"
    case ("#!AM", _): return "AMR"
    case (_, "ftyp"): return "MPEG-4"
    case (let name, _) where name.hasPrefix("ID3"): return "MP3"
    default: break
    }
    guard start.count >= 4, start[0] == 0xFF, start[1] & 0xE0 == 0xE0 else { return nil }
    // MPEG frames: layer 0 is AAC's, the other three are MPEG audio's own.
    switch start[1] & 0x06 {
    case 0x00: return start[1] & 0xF0 == 0xF0 ? "AAC" : nil
    case 0x02: return "MP3"
    case 0x04: return "MP2"
    default: return "MP1"
    }
  }

  // MARK: One function for each family

  /// WAVE and RF64: chunks with a name and 32 bits of size.
  private static func riff(
    _ source: FileSource, _ container: Container, bigEndian: Bool
  ) -> FileHead? {
    var head = FileHead(container: container, dataOffset: 0)
    var longDataBytes: Int64?
    var offset: Int64 = 12
    while let chunk = source.bytes(at: offset, count: 8).map(Bytes.init) {
      let size = Int64(chunk.unsigned(at: 4, bytes: 4, bigEndian: bigEndian))
      switch chunk.name(at: 0) {
      case "ds64":
        guard let sizes = source.bytes(at: offset + 16, count: 8).map(Bytes.init) else {
          return nil
        }
        longDataBytes = Int64(
          clamping: sizes.unsigned(at: 0, bytes: 8, bigEndian: false))
      case "fmt ":
        guard let format = chunkBytes(source, at: offset + 8, size: size, atLeast: 16) else {
          return nil
        }
        head.coding = waveCoding(format, bigEndian: bigEndian)
      case "data":
        head.dataOffset = offset + 8
        head.dataBytes =
          switch size {
          case 0xFFFF_FFFF: longDataBytes
          // Written to a pipe: the length was not known. 0 is left to libsndfile.
          case 0x7FFF_F000...0x7FFF_FFFF, 0: nil
          default: size
          }
        return head
      default: break
      }
      offset += 8 + size + size % 2
    }
    return nil
  }

  /// Wave64: chunks with a GUID and 64 bits of size that count themselves.
  private static func wave64(_ source: FileSource) -> FileHead? {
    var head = FileHead(container: .wave64, dataOffset: 0)
    var offset: Int64 = 40
    while let chunk = source.bytes(at: offset, count: 24).map(Bytes.init) {
      let size = Int64(clamping: chunk.unsigned(at: 16, bytes: 8, bigEndian: false))
      guard size >= 24, size < Int64.max / 2 else { return nil }
      switch chunk.name(at: 0) {
      case "fmt ":
        guard let format = chunkBytes(source, at: offset + 24, size: size - 24, atLeast: 16) else {
          return nil
        }
        head.coding = waveCoding(format, bigEndian: false)
        // libsndfile takes all extensible formats in Wave64 for integers: show it the plain tag.
        if format.unsigned(at: 0, bytes: 2, bigEndian: false) == 0xFFFE, format.count >= 26 {
          head.correction = FileSource.Correction(
            offset: offset + 24, bytes: [format[24], format[25]])
        }
      case "data":
        head.dataOffset = offset + 24
        head.dataBytes = size - 24
        return head
      default: break
      }
      offset = offset &+ (size + 7) / 8 * 8
    }
    return nil
  }

  /// AIFF and AIFF-C. The two chunks may come in either order.
  private static func aiff(_ source: FileSource, _ container: Container) -> FileHead? {
    var head = FileHead(container: container, dataOffset: 0)
    var hasFormat = false
    var offset: Int64 = 12
    while let chunk = source.bytes(at: offset, count: 8).map(Bytes.init) {
      let size = Int64(chunk.unsigned(at: 4, bytes: 4, bigEndian: true))
      switch chunk.name(at: 0) {
      case "COMM":
        guard let format = chunkBytes(source, at: offset + 8, size: size, atLeast: 18) else {
          return nil
        }
        hasFormat = true
        head.sampleRate = format.extended(at: 8)
        if container == .aifc { head.coding = aifcCoding(format.name(at: 18)) }
      case "SSND":
        guard let skip = source.bytes(at: offset + 8, count: 8).map(Bytes.init) else { return nil }
        let skipped = Int64(skip.unsigned(at: 0, bytes: 4, bigEndian: true))
        head.dataOffset = offset + 16 + skipped
        head.dataBytes = size == 0 ? nil : max(0, size - 8 - skipped)
      default: break
      }
      if hasFormat, head.dataOffset > 0 { return head }
      offset += 8 + size + size % 2
    }
    return nil
  }

  /// CAF: chunks with a name and 64 bits of size; the last may leave its size open.
  private static func caf(_ source: FileSource) -> FileHead? {
    var head = FileHead(container: .caf, dataOffset: 0)
    var offset: Int64 = 8
    while let chunk = source.bytes(at: offset, count: 12).map(Bytes.init) {
      let size = Int64(bitPattern: chunk.unsigned(at: 4, bytes: 8, bigEndian: true))
      switch chunk.name(at: 0) {
      case "desc":
        guard let format = source.bytes(at: offset + 12, count: 32).map(Bytes.init) else {
          return nil
        }
        head.sampleRate = Double(bitPattern: format.unsigned(at: 0, bytes: 8, bigEndian: true))
        let name = format.name(at: 8)
        if name != "lpcm" { head.coding = codingName(name) }
      case "data":
        // The sound follows four bytes that count edits.
        guard source.bytes(at: offset + 12, count: 4) != nil else { return nil }
        head.dataOffset = offset + 16
        head.dataBytes = size < 4 ? nil : size - 4
        return head
      default: break
      }
      guard size >= 0, size < Int64.max / 2 else { return nil }
      offset = offset &+ 12 &+ size
    }
    return nil
  }

  /// NeXT and Sun files: one head, then the sound.
  private static func next(_ start: Bytes, bigEndian: Bool) -> FileHead? {
    guard start.count >= 24 else { return nil }
    let size = Int64(start.unsigned(at: 8, bytes: 4, bigEndian: bigEndian))
    return FileHead(
      container: .next, dataOffset: Int64(start.unsigned(at: 4, bytes: 4, bigEndian: bigEndian)),
      dataBytes: size == 0xFFFF_FFFF ? nil : size)
  }

  private static func chunkBytes(
    _ source: FileSource, at offset: Int64, size: Int64, atLeast least: Int64
  ) -> Bytes? {
    guard size >= least else { return nil }
    return source.bytes(at: offset, count: Int(min(size, 40))).map(Bytes.init)
  }

  // MARK: Names

  private static func waveCoding(_ format: Bytes, bigEndian: Bool) -> String? {
    var tag = format.unsigned(at: 0, bytes: 2, bigEndian: bigEndian)
    if tag == 0xFFFE, format.count >= 26 {
      tag = format.unsigned(at: 24, bytes: 2, bigEndian: bigEndian)
    }
    switch tag {
    case 0x0001, 0x0003: return nil
    case 0x0002: return "Microsoft ADPCM"
    case 0x0006: return "A-law"
    case 0x0007: return "µ-law"
    case 0x0011: return "IMA ADPCM"
    case 0x0031: return "GSM 6.10"
    case 0x0050: return "MP2"
    case 0x0055: return "MP3"
    case 0x00FF, 0x1600, 0x1602, 0x1610: return "AAC"
    case 0x0092, 0x2000: return "AC-3"
    default: return "WAVE format \(tag)"
    }
  }

  private static func aifcCoding(_ name: String) -> String? {
    switch name {
    case "NONE", "twos", "sowt", "raw ", "in24", "in32", "42ni", "23ni": nil
    case "fl32", "FL32", "fl64", "FL64": nil
    default: codingName(name)
    }
  }

  private static func codingName(_ name: String) -> String {
    switch name {
    case "ulaw", "ULAW": "µ-law"
    case "alaw", "ALAW": "A-law"
    case "alac": "Apple Lossless"
    case "aac ": "AAC"
    case "ima4": "IMA ADPCM"
    case "GSM ", "agsm": "GSM 6.10"
    case ".mp3": "MP3"
    default: "'\(name)'"
    }
  }
}

/// Numbers and names out of a file's bytes.
private struct Bytes {
  private let bytes: [UInt8]
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var count: Int { bytes.count }
  subscript(index: Int) -> UInt8 { bytes[index] }

  /// Four characters, or "" if they are not all there.
  func name(at offset: Int) -> String {
    guard offset + 4 <= bytes.count else { return "" }
    return String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  func unsigned(at offset: Int, bytes count: Int, bigEndian: Bool) -> UInt64 {
    guard offset + count <= bytes.count else { return 0 }
    let slice = bytes[offset..<offset + count]
    return bigEndian
      ? slice.reduce(0) { $0 << 8 | UInt64($1) }
      : slice.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// A number with 16 bits of sign and exponent and 64 bits of mantissa.
  func extended(at offset: Int) -> Double? {
    guard offset + 10 <= bytes.count else { return nil }
    let exponent = Int(unsigned(at: offset, bytes: 2, bigEndian: true))
    let mantissa = unsigned(at: offset + 2, bytes: 8, bigEndian: true)
    guard exponent < 0x7FFF, mantissa != 0 else { return nil }
    return Double(sign: .plus, exponent: exponent - 16383 - 63, significand: Double(mantissa))
  }
}
