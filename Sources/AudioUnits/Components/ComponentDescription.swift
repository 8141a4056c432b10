/// Numbers that identify a component: four characters each, in a big-endian number.
package struct ComponentDescription: Hashable, Sendable {
  package let type: UInt32
  package let subtype: UInt32
  package let manufacturer: UInt32

  package init(type: UInt32, subtype: UInt32, manufacturer: UInt32) {
    self.type = type
    self.subtype = subtype
    self.manufacturer = manufacturer
  }

  /// - Precondition: Four ASCII characters each.
  package init(_ type: String, _ subtype: String, _ manufacturer: String = "appl") {
    self.init(
      type: Self.code(type), subtype: Self.code(subtype), manufacturer: Self.code(manufacturer))
  }

  /// Returns true if `other` is this component. 0 in this description stands for anything.
  package func matches(_ other: ComponentDescription) -> Bool {
    (type == 0 || type == other.type) && (subtype == 0 || subtype == other.subtype)
      && (manufacturer == 0 || manufacturer == other.manufacturer)
  }

  /// Type, subtype and manufacturer as programs write them.
  package var characters: String {
    [type, subtype, manufacturer].map { code in
      let bytes = (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * $0)) }
      return "'\(String(decoding: bytes, as: UTF8.self))'"
    }.joined(separator: " ")
  }

  /// Returns the number of four characters.
  static func code(_ text: String) -> UInt32 { text.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
}
