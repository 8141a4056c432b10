/// A file type that libavformat reads, and Core Audio has no id for.
enum LibavType: String, CaseIterable {
  case wavPack = "wvpk"
  case trueAudio = "TTA1"
  case musepack8 = "MPCK"
  case musepack7 = "MP+"
  case monkeysAudio = "MAC "

  /// Detects the type from a file's first bytes behind tags; nil if they match none. Blocks.
  init?(contentOf store: any ByteStore) throws(SoundFileError) {
    guard let start = try store.bytes(at: ID3Tag.end(in: store), count: 4) else { return nil }
    self.init(start: start)
  }

  /// Detects the type from its first four bytes; nil if they match none.
  init?(start: [UInt8]) {
    guard let type = Self.allCases.first(where: { start.starts(with: $0.rawValue.utf8) }) else {
      return nil
    }
    self = type
  }

  var name: String {
    switch self {
    case .wavPack: "WavPack"
    case .trueAudio: "TTA"
    case .musepack8, .musepack7: "Musepack"
    case .monkeysAudio: "Monkey's Audio"
    }
  }

  /// File name extensions without the dot.
  var extensions: [String] {
    switch self {
    case .wavPack: ["wv"]
    case .trueAudio: ["tta"]
    case .musepack8, .musepack7: ["mpc", "mpp", "mp+"]
    case .monkeysAudio: ["ape"]
    }
  }

  /// Name of libavformat's demuxer.
  var demuxer: String {
    switch self {
    case .wavPack: "wv"
    case .trueAudio: "tta"
    case .musepack8: "mpc8"
    case .musepack7: "mpc"
    case .monkeysAudio: "ape"
    }
  }

  /// True if packets are found by their offsets, otherwise by their times.
  var isSoughtByOffset: Bool { self == .wavPack || self == .musepack8 }

  private var isMusepack: Bool { self == .musepack7 || self == .musepack8 }

  /// Frames by which the decoder delays the sound: those of Musepack's synthesis filter.
  var delay: Int64 { isMusepack ? 481 : 0 }

  /// Number of earlier packets that a decoder needs: scale factors refer to those of earlier frames.
  var packetsBefore: Int { self == .musepack7 ? 32 : self == .musepack8 ? 1 : 0 }

  /// Returns where another file begins behind the last packet and tags; nil if none does. Blocks.
  func otherSound(
    in store: any ByteStore, from end: Int64
  ) throws(SoundFileError) -> Int64? {
    var place = end
    // WavPack may end with blocks without frames, for a checksum for example.
    while self == .wavPack, let head = try store.bytes(at: place, count: 32),
      LibavType(start: head) == self, head[20..<24].allSatisfy({ $0 == 0 })
    {
      place += 8 + Int64(Bytes(head).unsigned(at: 4, bytes: 4, bigEndian: false))
    }
    // Musepack has packets without sound: two letters and a size, which counts them.
    while self == .musepack8, let head = try store.bytes(at: place, count: 4),
      ["SE", "ST", "CT"].contains(where: { head.starts(with: $0.utf8) }), head[2] & 0x7F > 2
    {
      place +=
        head[2] < 0x80 ? Int64(head[2]) : Int64(head[2] & 0x7F) << 7 | Int64(head[3] & 0x7F)
    }
    place = try ID3Tag.endOfTags(in: store, from: place)
    guard case let count = try Int(max(0, min(28, store.byteCount() - place))), count >= 12,
      let start = try store.bytes(at: place, count: count),
      Container(start: start) != nil || LibavType(start: start) != nil
    else { return nil }
    return place
  }

  /// Reads the frames of a Musepack file of version 8, whose packets libavformat counts in full, and of the silence
  /// that a cut left before them.
  static func musepackFrames(
    _ store: any ByteStore
  ) throws(SoundFileError) -> (sound: Int64, silence: Int64)? {
    let head = try store.bytes(at: 0, count: Int(min(64, store.byteCount()))) ?? []
    var at = 4
    // Numbers have seven bits in each byte; all bytes but the last have the highest bit.
    func number() -> Int64? {
      var value: Int64 = 0
      for byte in head.dropFirst(at).prefix(9) {
        value = value << 7 | Int64(byte & 0x7F)
        at += 1
        if byte < 0x80 { return value }
      }
      return nil
    }
    guard head.count > 16, head[4...].starts(with: "SH".utf8) else { return nil }
    at += 2
    guard number() != nil else { return nil }
    // The checksum and the version precede the frames and the silence before them.
    at += 5
    guard let frames = number(), let silence = number(), frames > silence, frames < 1 << 48 else {
      return nil
    }
    return (frames - silence, silence)
  }
}
