/// A color with 8 bits each of red, green and blue.
package struct PictureColor: Sendable, Hashable {
  package let red, green, blue: UInt8

  /// Creates a color from its hexadecimal digits, such as 0xFF8000.
  package init(_ digits: UInt32) {
    red = UInt8(truncatingIfNeeded: digits >> 16)
    green = UInt8(truncatingIfNeeded: digits >> 8)
    blue = UInt8(truncatingIfNeeded: digits)
  }

  /// The color in CSS and in Graphviz.
  package var css: String {
    "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  package static let paper = PictureColor(0xFFFFFF)
  package static let ink = PictureColor(0x1F2933)
  package static let faint = PictureColor(0x7B8794)
  package static let rule = PictureColor(0xD9DEE3)
}
