/// A store some of whose bytes are replaced for readers.
final class RepairedStore: ReadOnlyStore {
  private let whole: any ByteStore
  /// Offsets in ascending order, and what is there instead of the store's bytes.
  private let patches: [(offset: Int64, bytes: [UInt8])]

  init(_ whole: any ByteStore, _ patches: [(offset: Int64, bytes: [UInt8])]) {
    self.whole = whole
    self.patches = patches
  }

  var name: String { whole.name }
  var startOffset: Int64 { whole.startOffset }
  func byteCount() throws(SoundFileError) -> Int64 { try whole.byteCount() }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
    -> Int
  {
    let count = try unsafe whole.read(at: offset, into: buffer)
    let end = offset + Int64(count)
    // The patch before the first one at the offset may reach behind it.
    var (low, high) = (0, patches.count)
    while low < high {
      let middle = (low + high) / 2
      if patches[middle].offset < offset { low = middle + 1 } else { high = middle }
    }
    for patch in patches[max(0, low - 1)...].prefix(while: { $0.offset < end }) {
      for (index, byte) in patch.bytes.enumerated() {
        let place = patch.offset + Int64(index) - offset
        if 0..<Int64(count) ~= place { unsafe buffer[Int(place)] = byte }
      }
    }
    return count
  }
}
