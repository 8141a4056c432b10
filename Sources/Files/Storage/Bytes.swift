/// A reader of numbers and ids in a file's bytes.
struct Bytes {
  private let bytes: [UInt8]
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var count: Int { bytes.count }
  subscript(index: Int) -> UInt8 { bytes[index] }

  /// Returns four characters, or "" if they are not all present.
  func name(at offset: Int) -> String {
    guard offset >= 0, offset <= bytes.count, 4 <= bytes.count - offset else { return "" }
    return String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  /// Returns an unsigned number; 0 if its bytes are not all present.
  func unsigned(at offset: Int, bytes count: Int, bigEndian: Bool) -> UInt64 {
    guard offset >= 0, offset <= bytes.count, count <= bytes.count - offset else { return 0 }
    let slice = bytes[offset..<offset + count]
    return bigEndian
      ? slice.reduce(0) { $0 << 8 | UInt64($1) }
      : slice.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  func double(at offset: Int) -> Double {
    Double(bitPattern: unsigned(at: offset, bytes: 8, bigEndian: true))
  }

  /// Returns up to `count` bytes: fewer if the data ends earlier.
  func slice(at offset: Int, count: Int) -> [UInt8] {
    guard offset >= 0, offset <= bytes.count, count > 0 else { return [] }
    return Array(bytes[offset..<offset + min(count, bytes.count - offset)])
  }

  /// Returns the text up to a zero byte or the end of the data.
  ///
  /// - Parameter encoding: Its encoding if it is not UTF-8.
  func text(
    at offset: Int, count: Int = .max, else encoding: FileText.Encoding = .windows
  ) -> String {
    FileText.decoded(slice(at: offset, count: count).prefix { $0 != 0 }, else: encoding)
  }

  /// Returns an 80-bit extended float: 16 bits of sign and exponent, 64 bits of mantissa. Nil if it
  /// is not all present, or is not positive and finite.
  func extended(at offset: Int) -> Double? {
    guard offset + 10 <= bytes.count else { return nil }
    let exponent = Int(unsigned(at: offset, bytes: 2, bigEndian: true))
    let mantissa = unsigned(at: offset + 2, bytes: 8, bigEndian: true)
    guard exponent < 0x7FFF, mantissa != 0 else { return nil }
    return Double(sign: .plus, exponent: exponent - 16383 - 63, significand: Double(mantissa))
  }
}

extension [UInt8] {
  /// Creates the low `count` bytes of a number.
  init(_ number: some BinaryInteger, count: Int, bigEndian: Bool) {
    let bits = UInt64(truncatingIfNeeded: number)
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * $0)) }
    self = bigEndian ? bytes.reversed() : bytes
  }

  init(bigEndian number: Double) { self.init(number.bitPattern, count: 8, bigEndian: true) }

  /// Creates an 80-bit extended float from a positive number: 16 bits of exponent, 64 bits of
  /// mantissa.
  init(extended number: Double) {
    let exponent = Int(number.exponent)
    let mantissa = UInt64(Double(sign: .plus, exponent: 63, significand: number.significand))
    self =
      [UInt8](exponent + 16383, count: 2, bigEndian: true)
      + [UInt8](mantissa, count: 8, bigEndian: true)
  }
}
