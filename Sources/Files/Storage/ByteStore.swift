/// The random-access storage of a sound file.
///
/// Any thread; calls may block. Errors name the store.
package protocol ByteStore: AnyObject, Sendable {
  /// Name of the store in messages: the path of a file.
  var name: String { get }
  /// False if `write` and `setByteCount` always fail.
  var isWritable: Bool { get }
  /// True if bytes are written in order only, and later corrections are lost.
  var isStream: Bool { get }
  /// Returns the size of the store in bytes.
  func byteCount() throws(SoundFileError) -> Int64
  /// Reads bytes starting at `offset` until the buffer is full or the store ends.
  ///
  /// - Returns: Number of bytes read. It is less than the buffer's size only at the end of the
  ///   store.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
    -> Int
  /// Writes all bytes starting at `offset`. The store grows as needed.
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError)
  /// Truncates the store, or extends it with zeros.
  func setByteCount(_ count: Int64) throws(SoundFileError)
  /// Waits until everything written is on permanent storage, as far as the system reports it.
  func synchronize() throws(SoundFileError)
  /// Returns the first part of a range that is in no hole; its empty end if there is none.
  func nextData(in range: Range<Int64>) -> Range<Int64>
  /// Bytes of tags in the file before the store's first byte.
  var startOffset: Int64 { get }
}

extension ByteStore {
  package var startOffset: Int64 { 0 }
  package var isStream: Bool { false }

  package func nextData(in range: Range<Int64>) -> Range<Int64> { range }

  /// Returns `count` bytes starting at an offset, or nil if the store does not have them all.
  package func bytes(at offset: Int64, count: Int) throws(SoundFileError) -> [UInt8]? {
    let total = try byteCount()
    guard count >= 0, offset >= 0, offset <= total, Int64(count) <= total - offset else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: count)
    let done = unsafe bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SoundFileError) in try unsafe read(at: offset, into: buffer) }
    }
    return try done.get() == count ? bytes : nil
  }

  /// Copies a byte range of another store to `offset`, where this one has nothing yet, and returns the end of
  /// the copy. Holes stay holes. Fails if the other store lacks part of the range.
  func copy(
    _ part: Range<Int64>, of other: any ByteStore, to offset: Int64
  ) throws(SoundFileError) -> Int64 {
    guard try part.upperBound <= other.byteCount() else {
      throw SoundFileError(.truncated, path: other.name)
    }
    var rest = part
    while !rest.isEmpty {
      let data = other.nextData(in: rest)
      rest = data.upperBound..<part.upperBound
      var position = data.lowerBound
      while position < data.upperBound {
        let count = Int(min(1 << 20, data.upperBound - position))
        guard let block = try other.bytes(at: position, count: count) else {
          throw SoundFileError(.truncated, path: other.name)
        }
        try write(block, at: offset + position - part.lowerBound)
        position += Int64(count)
      }
    }
    let end = offset + Int64(part.count)
    if try byteCount() < end { try setByteCount(end) }
    return end
  }

  /// Replaces the store's contents atomically: see `FileStore.replaceContents`. Other stores
  /// refuse, because they cannot do so safely if the process is killed.
  func replaceContents(
    _ write: (FileStore) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    try optimizable().replaceContents(write)
  }

  /// Returns the store as a regular writable file, whose contents can be replaced; fails for other
  /// stores.
  @discardableResult
  func optimizable() throws(SoundFileError) -> FileStore {
    guard isWritable else { throw SoundFileError(.notForWriting, path: name) }
    guard let file = self as? FileStore, file.isPlain else {
      throw SoundFileError(.notSupported("only a plain file can be optimized"), path: name)
    }
    return file
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(SoundFileError) {
    let done = unsafe bytes.withUnsafeBytes { buffer in
      Result { () throws(SoundFileError) in try unsafe write(at: offset, from: buffer) }
    }
    try done.get()
  }
}
