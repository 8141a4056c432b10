import RealTime
import Timeline

/// A builder of the headers of linear PCM files.
enum PCMHead {
  /// Returns true if a container can describe samples of this format.
  static func canHold(_ format: PCMFormat, in container: Container) -> Bool {
    let bytes = format.bytesPerSample
    guard format.layout != nil, format.bitsPerSample <= 8 * bytes else { return false }
    let isFull = format.bitsPerSample == 8 * bytes
    // Samples with unused bits must be high-aligned, and use as few bytes as possible.
    let isTidy = isFull || (format.isHighAligned && (format.bitsPerSample + 7) / 8 == bytes)
    let isByte = bytes == 1
    switch (container, format.kind) {
    case (.wave, .float), (.rf64, .float), (.wave64, .float): return !format.isBigEndian
    case (.wave, let kind), (.rf64, let kind), (.wave64, let kind):
      return isTidy && !format.isBigEndian && (kind == .unsignedInteger) == isByte
    case (.aiff, .signedInteger): return isTidy && (isByte || format.isBigEndian)
    case (.aifc, .signedInteger):
      return isTidy && (isByte || format.isBigEndian || (isFull && bytes == 2))
    case (.aifc, .unsignedInteger): return isByte && isFull
    case (.aifc, .float): return format.isBigEndian
    case (.caf, .signedInteger): return isFull
    case (.caf, .float): return true
    case (.next, .signedInteger): return isFull && (isByte || format.isBigEndian)
    case (.next, .float): return format.isBigEndian
    default: return false
    }
  }

  /// Returns the bytes before the first chunk. Sizes in them are set later.
  static func start(_ container: Container, _ format: PCMFormat) -> [UInt8] {
    let none: [UInt8] = [0, 0, 0, 0]
    switch container {
    case .wave, .rf64:
      let id: ChunkID = container == .rf64 ? "RF64" : "RIFF"
      return id.bytes + none + ChunkID("WAVE").bytes
    case .aiff: return ChunkID("FORM").bytes + none + ChunkID("AIFF").bytes
    case .aifc: return ChunkID("FORM").bytes + none + ChunkID("AIFC").bytes
    case .caf: return ChunkID("caff").bytes + [0, 1, 0, 0]
    case .wave64:
      let riff: [UInt8] = [
        0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0x00, 0x00,
      ]
      return ChunkID("riff").bytes + riff + none + none + ChunkID("wave").bytes
        + ChunkGrammar.guidTail
    default: return next(format)
    }
  }

  /// Returns the chunks that describe the format.
  static func chunks(
    _ container: Container, _ format: PCMFormat, channelMask: UInt32?
  ) -> [Chunk] {
    switch container {
    case .wave, .rf64, .wave64:
      var chunks = [Chunk("fmt ", waveFormat(format, channelMask: channelMask))]
      // Reserved space for 64-bit sizes, needed if the file exceeds 4 GiB.
      if container != .wave64 {
        let room = [UInt8](repeating: 0, count: sizesBytes)
        chunks.insert(Chunk(container == .rf64 ? "ds64" : "JUNK", room), at: 0)
      }
      // All formats except plain integer PCM need the number of frames. RF64 has it in 'ds64'.
      let isPlain = chunks.contains { $0.id == "fmt " && $0.size == 16 }
      if container == .wave, !isPlain { chunks.append(Chunk("fact", [0, 0, 0, 0])) }
      return chunks
    case .aiff, .aifc:
      let isAIFC = container == .aifc
      let version: [UInt8] = [0xA2, 0x80, 0x51, 0x40]
      return (isAIFC ? [Chunk("FVER", version)] : []) + [Chunk("COMM", common(format, isAIFC))]
    case .caf: return [Chunk("desc", description(format))]
    default: return []
    }
  }

  /// Bytes of the 'ds64' chunk's content.
  static var sizesBytes: Int { 28 }

  /// Returns the id of the sound chunk, and the number of bytes in it before the sound.
  static func soundStart(_ container: Container) -> (id: ChunkID, bytes: Int) {
    switch container {
    case .aiff, .aifc: ("SSND", 8)
    case .caf: ("data", 4)
    default: ("data", 0)
    }
  }

  // MARK: Headers of each container family

  private static func waveFormat(_ format: PCMFormat, channelMask: UInt32?) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      [UInt8](value, count: count, bigEndian: false)
    }
    let isFull = format.bitsPerSample == 8 * format.bytesPerSample
    let tag = format.kind == .float ? 3 : 1
    let isExtensible = format.channels > 2 || !isFull || channelMask != nil
    let rate = Int(held: format.sampleRate.rounded())
    let plain =
      number(isExtensible ? 0xFFFE : tag, 2) + number(format.channels, 2) + number(rate, 4)
      + number(rate * format.bytesPerFrame, 4) + number(format.bytesPerFrame, 2)
      + number(8 * format.bytesPerSample, 2)
    guard isExtensible else { return plain + (format.kind == .float ? [0, 0] : []) }
    let guid: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
    return plain + number(22, 2) + number(format.bitsPerSample, 2)
      + number(Int(channelMask ?? 0), 4) + number(tag, 2) + guid
  }

  private static func common(_ format: PCMFormat, _ isAIFC: Bool) -> [UInt8] {
    let plain =
      [UInt8](format.channels, count: 2, bigEndian: true) + [0, 0, 0, 0]
      + [UInt8](format.bitsPerSample, count: 2, bigEndian: true)
      + [UInt8](extended: format.sampleRate)
    guard isAIFC else { return plain }
    let (id, words): (ChunkID, String) =
      switch (format.kind, format.bytesPerSample) {
      case (.float, 4): ("fl32", "32-bit float")
      case (.float, _): ("fl64", "64-bit float")
      case (.unsignedInteger, _): ("raw ", "unsigned")
      case (.signedInteger, 2) where !format.isBigEndian: ("sowt", "little-endian")
      case (.signedInteger, _): ("NONE", "not compressed")
      }
    let name = [UInt8(words.utf8.count)] + Array(words.utf8)
    return plain + id.bytes + name + (name.count % 2 == 0 ? [] : [0])
  }

  private static func description(_ format: PCMFormat) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [UInt8](value, count: 4, bigEndian: true) }
    let isLittleEndian = !format.isBigEndian && format.bytesPerSample > 1
    let flags = (format.kind == .float ? 1 : 0) | (isLittleEndian ? 2 : 0)
    return [UInt8](bigEndian: format.sampleRate) + ChunkID("lpcm").bytes + number(flags)
      + number(format.bytesPerFrame) + number(1) + number(format.channels)
      + number(format.bitsPerSample)
  }

  private static func next(_ format: PCMFormat) -> [UInt8] {
    let coding =
      switch (format.kind, format.bytesPerSample) {
      case (.float, 4): 6
      case (.float, _): 7
      case (_, let bytes): bytes + 1
      }
    let numbers = [28, 0, coding, Int(held: format.sampleRate.rounded()), format.channels, 0]
    return ChunkID(".snd").bytes
      + numbers.flatMap { [UInt8]($0, count: 4, bigEndian: true) }
  }
}
