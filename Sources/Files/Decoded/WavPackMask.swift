/// WavPack files of more than two channels without a channel mask, which libavformat and libavcodec refuse.
enum WavPackMask {
  /// Returns the file with a mask in each block that lacks one, which does not give the channels' roles; nil if the
  /// first block has all that it needs. Blocks.
  static func added(to store: any ByteStore) throws(SoundFileError) -> (any ByteStore)? {
    let total = try store.byteCount()
    var patches: [(offset: Int64, bytes: [UInt8])] = []
    var place: Int64 = 0
    while let head = try store.bytes(at: place, count: 32), head.starts(with: "wvpk".utf8) {
      let size = 8 + Int64(Bytes(head).unsigned(at: 4, bytes: 4, bigEndian: false))
      // The first of several blocks describes the channels of all.
      if head[25] & 0x18 == 0x08, size <= min(1 << 20, total - place),
        let block = try store.bytes(at: place, count: Int(size)), let field = field(in: block)
      {
        let channels = block[field + 2]
        guard (1...8).contains(channels) else {
          throw SoundFileError(
            .unsupportedEncoding("WavPack with \(channels) channels and no channel mask"),
            path: store.name)
        }
        // The number of channels and a byte of padding become the number and the mask.
        let mask = UInt8((1 << Int(channels)) - 1)
        patches.append((place + Int64(field), [block[field] & ~0x40, 1, channels, mask]))
      }
      if patches.isEmpty { return nil }
      place += max(32, size)
    }
    return patches.isEmpty ? nil : RepairedStore(store, patches)
  }

  /// Returns where the field of the channels begins that gives only their number; nil if there is none.
  private static func field(in block: [UInt8]) -> Int? {
    var at = 32
    while at + 4 <= block.count {
      // The size is in words, and counts a byte of padding if the first byte says so.
      let isLong = block[at] & 0x80 != 0
      let words =
        isLong
        ? Bytes(block).unsigned(at: at + 1, bytes: 3, bigEndian: false) : UInt64(block[at + 1])
      if block[at] & 0x7F == 0x4D, !isLong, words == 1 { return at }
      at += (isLong ? 4 : 2) + 2 * Int(words)
    }
    return nil
  }
}
