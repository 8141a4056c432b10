/// The file behind the tags that some programs put before it, as a reader of its container sees it.
final class TaggedStore: ByteStore {
  private let whole: any ByteStore
  let startOffset: Int64

  /// - Parameter start: Where the tags end in `whole`.
  init(_ whole: any ByteStore, from start: Int64) {
    self.whole = whole
    startOffset = whole.startOffset + start
  }

  /// The tags. Blocks.
  var tags: [UInt8]? {
    get throws(SoundFileError) { try whole.bytes(at: 0, count: Int(clamping: startOffset)) }
  }

  var name: String { whole.name }
  var isWritable: Bool { whole.isWritable }
  func byteCount() throws(SoundFileError) -> Int64 { try whole.byteCount() - startOffset }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
    -> Int
  {
    guard offset >= 0, offset <= .max - startOffset else { return 0 }
    return try unsafe whole.read(at: offset + startOffset, into: buffer)
  }

  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    try unsafe whole.write(at: offset + startOffset, from: buffer)
  }

  func setByteCount(_ count: Int64) throws(SoundFileError) {
    try whole.setByteCount(count + startOffset)
  }

  func synchronize() throws(SoundFileError) { try whole.synchronize() }
}

extension ByteStore {
  /// Returns the file behind the tags that stand before it; the store itself if there are none. Blocks.
  func behindTags() throws(SoundFileError) -> any ByteStore {
    let start = try ID3Tag.end(in: self)
    return start > 0 ? TaggedStore(self, from: start) : self
  }
}
