import Glibc

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

  /// Returns the first offset of a byte, at or behind another offset; nil if there is none.
  func first(_ byte: UInt8, from start: Int) -> Int? {
    unsafe withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, start < bytes.count,
        let found = unsafe memchr(base + start, Int32(byte), bytes.count - start)
      else { return nil }
      return unsafe UnsafeRawPointer(found) - base
    }
  }

  /// True if all bytes are 0.
  var isZero: Bool {
    unsafe withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, bytes.count > 0 else { return true }
      return unsafe bytes[0] == 0 && memcmp(base, base + 1, bytes.count - 1) == 0
    }
  }
}
