extension MediaFile {
  /// The embedded cover picture as a complete JPEG or PNG file; nil if there is none. Blocks.
  package var artwork: [UInt8]? {
    get throws(SoundFileError) {
      guard !takesPackets, container.hasPictures else { return nil }
      return try Demuxer(store, name: container.demuxer).picture
    }
  }
}
