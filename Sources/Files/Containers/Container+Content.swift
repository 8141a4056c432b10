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

  private static func kind(_ start: [UInt8]) -> Container? {
    switch (start.name(at: 0), start.name(at: 4), start.name(at: 8)) {
    case ("RIFF", _, "WAVE"), ("RIFX", _, "WAVE"): return .wave
    // BW64 is RF64 with other chunks for object-based sound.
    case ("RF64", _, "WAVE"), ("BW64", _, "WAVE"): return .rf64
    case ("riff", _, _) where start.name(at: 24) == "wave": return .wave64
    case ("FORM", _, "AIFF"): return .aiff
    case ("FORM", _, "AIFC"): return .aifc
    case ("caff", _, _): return .caf
    case (".snd", _, _), ("dns.", _, _): return .next
    case ("fLaC", _, _): return .flac
    case ("OggS", _, _): return .ogg
    case ("#!AM", let rest, _) where rest.hasPrefix("R"): return .amr
    case (_, "ftyp", let brand):
      switch brand {
      case "M4A ", "M4P ": return .m4a
      case "M4B ": return .m4b
      case _ where brand.hasPrefix("3gp"): return .threeGP
      case _ where brand.hasPrefix("3g2"): return .threeGP2
      default: return .mp4
      }
    case (_, "moov", _), (_, "mdat", _), (_, "wide", _): return .mp4
    default: break
    }
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

  /// True if libavformat's demuxer passes over ID3 tags before the file, and reads them.
  var passesOverTags: Bool {
    switch self {
    case .adts, .mp3, .mp2, .mp1, .ac3, .flac, .amr: true
    default: false
    }
  }

  /// True if the file consists of frames, each with a header, that can be found in the middle of a stream.
  var isMadeOfFrames: Bool { [.adts, .mp3, .mp2, .mp1, .ac3].contains(self) }
}
