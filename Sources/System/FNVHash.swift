/// The 64-bit FNV-1a hash, which is the same in every process: tells damaged and changed data, not data that somebody
/// has made to match.
package struct FNVHash: Equatable, Sendable {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  package init(_ bytes: some Sequence<UInt8>) { add(bytes) }

  package mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  /// Adds the bytes of a number, the least significant one first.
  package mutating func add(_ number: UInt64) {
    unsafe withUnsafeBytes(of: number.littleEndian) { unsafe add($0) }
  }

  /// The hash in 16 hexadecimal digits.
  package var text: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
