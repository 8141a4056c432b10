/// Numbers and names out of a file's bytes: 0 and "" for what is not all there.
extension [UInt8] {
  /// An unsigned number whose most significant byte comes first.
  func big(at offset: Int, bytes count: Int) -> UInt64 {
    guard offset >= 0, offset <= self.count, count <= self.count - offset else { return 0 }
    return self[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Four characters.
  func name(at offset: Int) -> String {
    guard offset >= 0, offset <= self.count, 4 <= self.count - offset else { return "" }
    return String(self[offset..<offset + 4].map { Character(UnicodeScalar($0)) })
  }

  /// Appends a number, its most significant byte first.
  mutating func append<Number: FixedWidthInteger>(big number: Number) {
    for byte in 0..<Number.bitWidth / 8 {
      append(UInt8(truncatingIfNeeded: number >> (Number.bitWidth - 8 - 8 * byte)))
    }
  }

  /// Appends four characters of Latin 1.
  mutating func append(name: String) {
    for scalar in name.unicodeScalars { append(UInt8(truncatingIfNeeded: scalar.value)) }
  }
}
