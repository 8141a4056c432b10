extension MediaFile {
  /// The embedded cover picture as a complete JPEG or PNG file; nil if there is none. Blocks.
  package var artwork: [UInt8]? {
    get throws(SoundFileError) {
      guard !takesPackets, let name = container.nameWithArtwork else { return nil }
      return try Demuxer(store, name: name).picture
    }
  }
}

extension Container {
  /// libavformat's demuxer name, for the containers in which libavformat finds pictures.
  fileprivate var nameWithArtwork: String? {
    switch self {
    case .aiff, .aifc: "aiff"
    case .wave, .rf64: "wav"
    case .m4a, .m4b, .mp4, .threeGP, .threeGP2: "mp4"
    case .adts: "aac"
    case .mp3, .mp2, .mp1: "mp3"
    case .flac: "flac"
    case .ogg: "ogg"
    case .caf, .wave64, .next, .ac3, .amr, .other: nil
    }
  }
}
