/// A decoder and encoder of texts in files, whose character encoding the file often does not give.
///
/// A text that is valid UTF-8 is UTF-8. Any other text is in the encoding that programs of the file
/// type's time wrote.
package enum FileText {
  /// A character encoding with one byte per character, ASCII in its lower half.
  package enum Encoding: Sendable {
    /// Windows-1252, a superset of ISO 8859-1: RIFF files, ID3v1 and everything else.
    case windows
    /// Mac OS Roman: AIFF files.
    case macintosh

    /// The characters of the bytes 0x80 to 0xFF.
    fileprivate var upperHalf: [Unicode.Scalar] {
      switch self {
      case .windows: Self.windowsUpperHalf
      case .macintosh: Self.macintoshUpperHalf
      }
    }

    /// Bytes without a character, such as 0x81, stay control characters.
    private static let windowsUpperHalf: [Unicode.Scalar] =
      Array("€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)
      + (0xA0...0xFF).map { Unicode.Scalar(UInt8($0)) }

    private static let macintoshUpperHalf: [Unicode.Scalar] = Array(
      ("ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø"
        + "¿¡¬√ƒ≈∆«»…\u{A0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{F8FF}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ")
        .unicodeScalars)
  }

  /// Decodes a text.
  package static func decoded(
    _ bytes: some Sequence<UInt8>, else encoding: Encoding = .windows
  ) -> String {
    let bytes = Array(bytes)
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = String.UnicodeScalarView()
    for byte in bytes {
      text.append(byte < 0x80 ? Unicode.Scalar(byte) : encoding.upperHalf[Int(byte) - 0x80])
    }
    return String(text)
  }

  /// Encodes a text for a field of `most` bytes: as UTF-8 or, if only Windows-1252 fits, as that. A text
  /// that is too long is cut behind a character.
  package static func encoded(_ text: String, most: Int) -> [UInt8] {
    if text.utf8.count <= most { return Array(text.utf8) }
    let upperHalf = Encoding.windows.upperHalf
    let short = text.unicodeScalars.compactMap { scalar -> UInt8? in
      if scalar.isASCII { return UInt8(scalar.value) }
      return upperHalf.firstIndex(of: scalar).map { UInt8($0 + 0x80) }
    }
    if short.count == text.unicodeScalars.count, short.count <= most { return short }
    var bytes: [UInt8] = []
    for character in text {
      guard bytes.count + character.utf8.count <= most else { break }
      bytes += character.utf8
    }
    return bytes
  }
}
