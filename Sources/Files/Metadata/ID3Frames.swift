/// A parser of the text frames of an ID3v2 tag, versions 2.2 to 2.4. WAVE and AIFF files hold such tags in
/// a chunk.
enum ID3Frames {
  /// Text frames by the keys of info dictionaries. A frame of version 2.2 has three letters.
  private static let keys: [(ids: [String], key: String)] = [
    (["TIT2", "TT2"], "title"), (["TPE1", "TP1"], "artist"), (["TALB", "TAL"], "album"),
    (["TCOM", "TCM"], "composer"), (["TCON", "TCO"], "genre"), (["COMM", "COM"], "comments"),
    (["TCOP", "TCR"], "copyright"), (["TDRC", "TYER", "TYE"], "year"),
    (["TRCK", "TRK"], "track number"), (["TBPM", "TBP"], "tempo"),
    (["TKEY", "TKE"], "key signature"), (["TEXT", "TXT"], "lyricist"),
    (["TIT3", "TT3"], "subtitle"), (["TSRC", "TRC"], "ISRC"),
    (["TSSE", "TSS"], "encoding application"),
  ]

  /// Returns the texts of a tag by the keys of info dictionaries.
  static func tags(_ tag: [UInt8]) -> [String: String] {
    var tags: [String: String] = [:]
    forEach(of: tag) { id, content in
      if let key = keys.first(where: { $0.ids.contains(id) })?.key, tags[key] == nil,
        let text = text(content, hasDescription: id.hasPrefix("COM")), !text.isEmpty
      {
        tags[key] = text
      }
    }
    return tags
  }

  /// Returns the texts of a tag that have names of their own (TXXX), by these names in lower case.
  static func others(_ tag: [UInt8]) -> [String: String] {
    var tags: [String: String] = [:]
    forEach(of: tag) { id, content in
      guard id == "TXXX" || id == "TXX", let values = values(content.dropFirst(), content.first),
        values.count > 1
      else { return }
      tags[values[0].lowercased()] = values[1]
    }
    return tags
  }

  /// Calls `visit` with the id and the content of each frame of a tag.
  private static func forEach(of tag: [UInt8], _ visit: (String, [UInt8]) -> Void) {
    guard let count = ID3Tag.byteCount(tag), tag.count > ID3Tag.headBytes else { return }
    let version = tag[3]
    let flags = tag[5]
    var body = Array(tag[ID3Tag.headBytes..<min(tag.count, count)])
    if flags & 0x80 != 0, version < 4 { body = synchronized(body) }
    let idBytes = version == 2 ? 3 : 4
    let headBytes = version == 2 ? 6 : 10
    var offset = 0
    if flags & 0x40 != 0, version > 2 {
      // The extended header. In version 2.4 its size includes itself.
      offset = version == 3 ? 4 + Int(body.big(at: 0, bytes: 4)) : size(body, 0, version)
    }
    while offset + headBytes <= body.count, body[offset] != 0 {
      let id = String(decoding: body[offset..<offset + idBytes], as: UTF8.self)
      let length = size(body, offset + idBytes, version)
      let start = offset + headBytes
      guard length > 0, length <= body.count - start else { break }
      var content = Array(body[start..<start + length])
      if version == 4 {
        if body[offset + 9] & 0x02 != 0 { content = synchronized(content) }
        // The content's length precedes it.
        if body[offset + 9] & 0x01 != 0 { content = Array(content.dropFirst(4)) }
      }
      visit(id, content)
      offset = start + length
    }
  }

  /// Reads a frame's size. In version 2.4 each byte holds seven bits.
  private static func size(_ bytes: [UInt8], _ offset: Int, _ version: UInt8) -> Int {
    guard offset + 4 <= bytes.count else { return 0 }
    switch version {
    case 2: return Int(bytes.big(at: offset, bytes: 3))
    case 4: return bytes[offset..<offset + 4].reduce(0) { $0 << 7 | Int($1 & 0x7F) }
    default: return Int(bytes.big(at: offset, bytes: 4))
    }
  }

  /// Removes the zero bytes that keep a tag from looking like an MPEG frame.
  private static func synchronized(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for byte in bytes where byte != 0 || result.last != 0xFF { result.append(byte) }
    return result
  }

  /// Decodes a frame's text. Several values are joined by semicolons.
  ///
  /// - Parameter hasDescription: True if a language and a description precede the text.
  private static func text(_ content: [UInt8], hasDescription: Bool) -> String? {
    guard let values = values(content.dropFirst(hasDescription ? 4 : 1), content.first) else {
      return nil
    }
    guard hasDescription else {
      return values.filter { !$0.isEmpty }.joined(separator: ";")
    }
    // Descriptions that programs use for figures of their own are no comments.
    guard values.count > 1, !values[0].hasPrefix("iTun") else { return nil }
    return values[1]
  }

  /// Decodes the texts of a frame, which zeros separate.
  ///
  /// - Parameter encoding: The frame's first byte; nil if the frame is empty.
  private static func values(_ bytes: ArraySlice<UInt8>, _ encoding: UInt8?) -> [String]? {
    guard let encoding else { return nil }
    let text: String
    switch encoding {
    case 1, 2:
      // Each value may have a byte order mark of its own.
      var isBig = true
      var units: [UInt16] = []
      var rest = bytes
      while rest.count >= 2 {
        let pair = Array(rest.prefix(2))
        rest = rest.dropFirst(2)
        switch (encoding, pair) {
        case (1, [0xFF, 0xFE]): isBig = false
        case (1, [0xFE, 0xFF]): isBig = true
        default: units.append(UInt16(pair[isBig ? 0 : 1]) << 8 | UInt16(pair[isBig ? 1 : 0]))
        }
      }
      text = String(decoding: units, as: UTF16.self)
    default: text = FileText.decoded(bytes)
    }
    return text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
  }
}
