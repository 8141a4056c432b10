extension [UInt8] {
  /// Returns an unsigned big-endian number; 0 if its bytes are not all present.
  func big(at offset: Int, bytes count: Int) -> UInt64 {
    Bytes(self).unsigned(at: offset, bytes: count, bigEndian: true)
  }

  /// Returns four characters; "" if they are not all present.
  func name(at offset: Int) -> String { Bytes(self).name(at: offset) }

  /// Appends a number in big-endian byte order.
  mutating func append<Number: FixedWidthInteger>(big number: Number) {
    self += [UInt8](number, count: Number.bitWidth / 8, bigEndian: true)
  }
}
