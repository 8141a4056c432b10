/// A store that cannot be written.
protocol ReadOnlyStore: ByteStore {}

extension ReadOnlyStore {
  var isWritable: Bool { false }
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }
  func setByteCount(_ count: Int64) throws(SoundFileError) {
    throw SoundFileError(.notForWriting, path: name)
  }
  func synchronize() {}
}
