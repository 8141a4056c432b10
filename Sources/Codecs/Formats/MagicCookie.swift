import Timeline

/// The setup data of a decoder, needed before the first packet. Apple calls it a magic cookie,
/// libavcodec extradata.
///
/// Each codec's cookie has several forms:
///
/// - AAC: an AudioSpecificConfig, bare or in an ES descriptor, which in turn is bare or in an
///   'esds' atom.
/// - Apple Lossless: the 24 bytes of its configuration, bare or in an 'alac' atom. A 'frma' atom
///   may come before, and a channel layout after it.
/// - FLAC: a STREAMINFO block, bare, after 'fLaC', or in a 'dfLa' atom.
/// - Opus: an 'OpusHead' or a 'dOps' atom.
/// - Vorbis: its three headers, as libavcodec packs them.
package enum MagicCookie {
  /// Returns the form that Apple's programs expect, and that files store.
  ///
  /// - Parameters:
  ///   - extradata: Cookie in libavcodec's form.
  ///   - bitRate: Bits per second, for the ES descriptor of AAC; 0 if unknown.
  /// - Returns: Empty if the codec has no cookie.
  package static func appleCookie(_ codec: Codec, extradata: [UInt8], bitRate: Int = 0)
    -> [UInt8]
  {
    switch codec {
    case .aac, .aacHE, .aacHEv2:
      guard let config = try? audioSpecificConfig(extradata), !config.isEmpty else { return [] }
      return elementaryStreamDescriptor(config, bitRate: bitRate)
    case .alac:
      guard let config = try? losslessConfig(extradata) else { return [] }
      let channels = Int(config[9])
      guard channels > 2, channels < losslessLayouts.count else { return config }
      return config
        + atom(
          "chan", bigEndian(0) + bigEndian(losslessLayouts[channels]) + bigEndian(0) + bigEndian(0))
    case .flac:
      guard let info = try? streamInfo(extradata) else { return [] }
      return atom("dfLa", bigEndian(0) + bigEndian(0x8000_0000 | UInt32(info.count)) + info)
    case .opus: return (try? opusHead(extradata)) ?? []
    case .vorbis: return extradata
    default: return []
    }
  }

  /// Returns the form that libavcodec expects.
  ///
  /// - Returns: Empty if the codec needs no cookie.
  package static func extradata(_ codec: Codec, cookie: [UInt8]) throws(CodecError) -> [UInt8] {
    guard !cookie.isEmpty else { return [] }
    switch codec {
    case .aac, .aacHE, .aacHEv2: return try audioSpecificConfig(cookie)
    case .alac: return atom("alac", bigEndian(0) + (try losslessConfig(cookie)))
    case .flac: return try streamInfo(cookie)
    case .opus: return try opusHead(cookie)
    case .vorbis: return cookie
    default: return []
    }
  }

  /// Merges a format and a cookie. The cookie takes precedence. For AAC without a cookie, one is
  /// made from the rate and channels.
  package static func described(_ format: PacketFormat, _ cookie: [UInt8]) throws(CodecError)
    -> (format: PacketFormat, extradata: [UInt8])
  {
    var format = format
    var extradata = try extradata(format.codec, cookie: cookie)
    switch format.codec {
    case .aac, .aacHE, .aacHEv2:
      if extradata.isEmpty {
        guard format.sampleRate > 0, format.channels > 0 else { break }
        let isHE = format.codec != .aac
        extradata =
          AudioSpecificConfig.lowComplexity(
            sampleRate: isHE ? format.sampleRate / 2 : format.sampleRate,
            channels: format.codec == .aacHEv2 ? 1 : format.channels) ?? []
      } else if let config = AudioSpecificConfig(extradata) {
        config.describe(&format)
      }
      if format.framesPerPacket == 0 { format.framesPerPacket = format.codec == .aac ? 1024 : 2048 }
    case .alac:
      guard extradata.count == 36 else {
        throw CodecError(.badCookie("Apple Lossless needs one of 24 bytes"))
      }
      let config = extradata[12...]
      format.framesPerPacket = Int(number(config.prefix(4)))
      format.bitsPerSample = Int(config[17])
      format.channels = Int(config[21])
      format.sampleRate = Double(number(config.suffix(4)))
      guard (1...1 << 16).contains(format.framesPerPacket),
        [16, 20, 24, 32].contains(format.bitsPerSample), (1...8).contains(format.channels),
        (1...1_000_000).contains(format.sampleRate)
      else {
        throw CodecError(
          .badCookie(
            "\(format.framesPerPacket) frames to a packet, \(format.bitsPerSample) bits,"
              + " \(format.channels) channels, \(Int(format.sampleRate)) Hz"))
      }
    case .flac:
      guard extradata.count == 34 else { break }
      let shortest = Int(number(extradata[0..<2]))
      let longest = Int(number(extradata[2..<4]))
      let word = number(extradata[10..<14])
      if shortest == longest { format.framesPerPacket = longest }
      if word >> 12 > 0 { format.sampleRate = Double(word >> 12) }
      format.channels = Int(word >> 9 & 7) + 1
      format.bitsPerSample = (Int(word >> 4 & 31) + 1)
    case .opus:
      // The decoded sound always has this rate, whatever the encoder's input was.
      if format.sampleRate > 0, format.sampleRate < 48000 {
        let frames = Double(format.framesPerPacket) * 48000 / format.sampleRate
        format.framesPerPacket = Int(held: min(frames, 0x1p20).rounded())
      }
      format.sampleRate = 48000
      if extradata.count > 9 { format.channels = Int(extradata[9]) }
    case .vorbis:
      guard !extradata.isEmpty else {
        throw CodecError(.badCookie("Vorbis needs its three headers"))
      }
      // The sizes of the headers come before the first header.
      let signature = [1] + Array("vorbis".utf8)
      for start in 0..<min(1024, max(0, extradata.count - 15))
      where extradata[start] == 1 && Array(extradata[start..<start + 7]) == signature {
        format.channels = Int(extradata[start + 11])
        format.sampleRate = Double(
          number(Array(extradata[start + 12..<start + 16].reversed())[...]))
        break
      }
    default: break
    }
    guard format.channels <= 64 else {
      throw CodecError(.badCookie("it has \(format.channels) channels"))
    }
    guard format.sampleRate <= 1_000_000 else {
      throw CodecError(.badCookie("it has \(format.sampleRate) frames per second"))
    }
    return (format, extradata)
  }
}

// MARK: AAC

extension MagicCookie {
  /// Returns the AudioSpecificConfig of a cookie.
  package static func audioSpecificConfig(_ cookie: [UInt8]) throws(CodecError) -> [UInt8] {
    var bytes = contents(of: "esds", in: cookie[...]) ?? cookie[...]
    // Version and flags of the atom.
    if bytes.count > 4, number(bytes.prefix(4)) == 0 { bytes = bytes.dropFirst(4) }
    guard let first = bytes.first else { throw CodecError(.badCookie("it is empty")) }
    if first != 3 {
      guard bytes.count >= 2, first >> 3 != 0 else {
        throw CodecError(.badCookie("it is no AudioSpecificConfig"))
      }
      return Array(bytes)
    }
    guard var stream = descriptor(3, in: &bytes), stream.count >= 3 else {
      throw CodecError(.badCookie("its ES descriptor is damaged"))
    }
    let flags = stream[stream.startIndex + 2]
    stream = stream.dropFirst(3)
    if flags & 0x80 != 0 { stream = stream.dropFirst(2) }
    if flags & 0x40 != 0 { stream = stream.dropFirst(1 + Int(stream.first ?? 0)) }
    if flags & 0x20 != 0 { stream = stream.dropFirst(2) }
    guard var decoder = descriptor(4, in: &stream), decoder.count >= 13 else {
      throw CodecError(.badCookie("its decoder configuration is damaged"))
    }
    decoder = decoder.dropFirst(13)
    guard let config = descriptor(5, in: &decoder), config.count >= 2 else {
      throw CodecError(.badCookie("it has no AudioSpecificConfig"))
    }
    return Array(config)
  }

  /// Removes a descriptor from the front.
  ///
  /// - Returns: Its contents as far as present; nil if the tag is another.
  private static func descriptor(_ tag: UInt8, in bytes: inout ArraySlice<UInt8>)
    -> ArraySlice<UInt8>?
  {
    guard bytes.first == tag else { return nil }
    bytes = bytes.dropFirst()
    var length = 0
    for _ in 0..<4 {
      guard let byte = bytes.popFirst() else { return nil }
      length = length << 7 | Int(byte & 0x7F)
      if byte & 0x80 == 0 { break }
    }
    let contents = bytes.prefix(length)
    bytes = bytes.dropFirst(length)
    return contents
  }

  /// Returns an ES descriptor around an AudioSpecificConfig, with four-byte lengths as Apple writes
  /// them.
  private static func elementaryStreamDescriptor(_ config: [UInt8], bitRate: Int) -> [UInt8] {
    func tagged(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
      let length = contents.count
      return [
        tag, UInt8(length >> 21 & 0x7F) | 0x80, UInt8(length >> 14 & 0x7F) | 0x80,
        UInt8(length >> 7 & 0x7F) | 0x80, UInt8(length & 0x7F),
      ] + contents
    }
    let rate = bigEndian(UInt32(clamping: bitRate))
    // MPEG-4 audio, audio stream, and a decoder buffer of 6144 bytes.
    let head: [UInt8] = [0x40, 0x15, 0x00, 0x18, 0x00] + rate + rate
    return tagged(
      3, [0, 0, 0] + tagged(4, head + tagged(5, config)) + tagged(6, [2]))
  }
}

// MARK: Other codecs

extension MagicCookie {
  /// kALACChannelLayoutTag_… values by number of channels.
  private static let losslessLayouts: [UInt32] = [
    0, 100 << 16 | 1, 101 << 16 | 2, 113 << 16 | 3, 116 << 16 | 4, 120 << 16 | 5, 124 << 16 | 6,
    142 << 16 | 7, 127 << 16 | 8,
  ]

  /// Returns the 24 bytes of Apple Lossless's configuration.
  private static func losslessConfig(_ cookie: [UInt8]) throws(CodecError) -> [UInt8] {
    var bytes = cookie[...]
    if let atom = contents(of: "alac", in: bytes), atom.count >= 28 {
      // Version and flags of the atom.
      bytes = atom.dropFirst(4)
    }
    // Version 0 is the only one defined.
    guard bytes.count >= 24, bytes[bytes.startIndex + 4] == 0 else {
      throw CodecError(.badCookie("\(cookie.count) bytes are none of Apple Lossless's"))
    }
    return Array(bytes.prefix(24))
  }

  /// Returns the contents of FLAC's STREAMINFO block.
  private static func streamInfo(_ cookie: [UInt8]) throws(CodecError) -> [UInt8] {
    var bytes = cookie[...]
    if let atom = contents(of: "dfLa", in: bytes) { bytes = atom.dropFirst(4) }
    if bytes.starts(with: Array("fLaC".utf8)) { bytes = bytes.dropFirst(4) }
    // A block header of type 0 with length 34.
    if bytes.count >= 38, number(bytes.prefix(4)) & 0x7FFF_FFFF == 34 { bytes = bytes.dropFirst(4) }
    guard bytes.count >= 34 else {
      throw CodecError(.badCookie("\(cookie.count) bytes are no STREAMINFO of FLAC"))
    }
    return Array(bytes.prefix(34))
  }

  /// Returns the 'OpusHead' packet, as stored in Ogg files.
  private static func opusHead(_ cookie: [UInt8]) throws(CodecError) -> [UInt8] {
    let signature = Array("OpusHead".utf8)
    if cookie.count >= 19, cookie.starts(with: signature) { return cookie }
    guard let box = contents(of: "dOps", in: cookie[...]).map(Array.init), box.count >= 11,
      box[0] == 0
    else { throw CodecError(.badCookie("\(cookie.count) bytes are no head of Opus")) }
    // The same fields in big-endian order.
    return signature
      + [
        1, box[1], box[3], box[2], box[7], box[6], box[5], box[4], box[9], box[8], box[10],
      ] + box[11...]
  }
}

// MARK: Atoms

extension MagicCookie {
  /// Returns the contents of the first atom of a type, in a sequence of atoms or in a 'wave' atom
  /// among them.
  private static func contents(of type: String, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var rest = bytes
    while rest.count >= 8 {
      let size = Int(number(rest.prefix(4)))
      guard size >= 8, size <= rest.count else { return nil }
      let found = rest.dropFirst(4).prefix(4)
      let contents = rest.prefix(size).dropFirst(8)
      if found.elementsEqual(type.utf8) { return contents }
      if found.elementsEqual("wave".utf8) { return self.contents(of: type, in: contents) }
      rest = rest.dropFirst(size)
    }
    return nil
  }

  private static func atom(_ type: String, _ contents: [UInt8]) -> [UInt8] {
    bigEndian(UInt32(8 + contents.count)) + Array(type.utf8) + contents
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}
