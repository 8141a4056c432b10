import Codecs

/// A file that can be read but not changed: its sound is in a form that is written in one pass only.
protocol ReadOnlyMediaFile: MediaFile {
  /// The reason why nothing is written to a file that is open for writing.
  var refusal: String { get }
}

extension ReadOnlyMediaFile {
  private var cannotChange: SoundFileError {
    SoundFileError(store.isWritable ? .notSupported(refusal) : .notForWriting, path: path)
  }

  func writePackets(at packet: Int64, from buffer: UnsafeRawBufferPointer, extents: [PacketExtent])
    throws(SoundFileError)
  {
    throw cannotChange
  }
  func writeBytes(at position: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    throw cannotChange
  }

  func setChannelLayout(words: [UInt32], mask: UInt32?, roles: [ChannelRole]?)
    throws(SoundFileError)
  {
    throw cannotChange
  }

  func setCookie(_ cookie: [UInt8]) throws(SoundFileError) { throw cannotChange }
  func setPacketTable(_ table: PacketTable) throws(SoundFileError) { throw cannotChange }
  func setTags(_ tags: [String: String]) throws(SoundFileError) { throw cannotChange }
}
