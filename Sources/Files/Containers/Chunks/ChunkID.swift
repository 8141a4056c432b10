/// The id of a chunk: four characters, as a big-endian number.
package struct ChunkID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  package let code: UInt32

  package init(_ code: UInt32) { self.code = code }

  package init(stringLiteral name: StaticString) {
    var code: UInt32 = 0
    for index in 0..<4 {
      code =
        code << 8 | UInt32(unsafe index < name.utf8CodeUnitCount ? name.utf8Start[index] : 0x20)
    }
    self.code = code
  }

  init(_ bytes: Bytes, at offset: Int) {
    code = UInt32(bytes.unsigned(at: offset, bytes: 4, bigEndian: true))
  }

  var bytes: [UInt8] { [UInt8](code, count: 4, bigEndian: true) }

  package var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Chunks that only fill space.
  static let fillers: Set<ChunkID> = ["JUNK", "junk", "FLLR", "free", "PAD ", "filr"]
}
