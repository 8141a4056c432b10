extension [UInt8] {
  /// An unsigned number whose most significant byte comes first; 0 if it is not all there.
  func big(at offset: Int, bytes count: Int) -> UInt64 {
    Bytes(self).unsigned(at: offset, bytes: count, bigEndian: true)
  }

  /// Four characters; "" if they are not all there.
  func name(at offset: Int) -> String { Bytes(self).name(at: offset) }

  /// Appends a number, its most significant byte first.
  mutating func append<Number: FixedWidthInteger>(big number: Number) {
    self += [UInt8](number, count: Number.bitWidth / 8, bigEndian: true)
  }
}
