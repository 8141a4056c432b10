import RealTime

extension MediaFile {
  /// Says what the channels are for, as many as the file has. Where the kind of file has no place for that,
  /// or says so by itself, nothing is done.
  package func setChannelRoles(_ roles: [ChannelRole]) throws(SoundFileError) {
    // One or two channels of WAVE files are these.
    let isUsual = roles == [.mono] || roles == [.left, .right]
    if isUsual, [.wave, .rf64, .wave64].contains(container) { return }
    do throws(SoundFileError) {
      try setChannelLayout(
        words: CAFLayout.words(roles), mask: CAFLayout.speakers(roles), roles: roles)
    } catch {
      guard case .notSupported = error.kind else { throw error }
    }
  }

  /// What the channels of the file's linear PCM, or of its decoded packets, are for; nil if the file does
  /// not say.
  package var decodedChannelRoles: [ChannelRole]? {
    pcm == nil ? channelRoles.map(CAFLayout.decoded) : channelRoles
  }

  /// The tag of Core Audio's layouts that the file names; nil if it names none.
  package var channelLayoutTag: UInt32? {
    get throws(SoundFileError) {
      guard let file = chunked else { return nil }
      let id: ChunkID = container == .caf ? "chan" : "CHAN"
      guard let bytes = try file.chunk(id, index: 0, most: 4), bytes.count == 4 else { return nil }
      return UInt32(bytes.big(at: 0, bytes: 4))
    }
  }
}

extension SoundFile {
  /// What the channels are for, by the file's chunks; nil if they do not say. libsndfile does not know all
  /// layouts.
  var chunkRoles: [ChannelRole]? {
    let roles: [ChannelRole]?
    switch container {
    case .caf: roles = CAFLayout.roles(content("chan"), channels: format.channels)
    case .aiff, .aifc: roles = CAFLayout.roles(content("CHAN"), channels: format.channels)
    case .wave, .rf64, .wave64:
      // The mask has a place in extensible formats.
      let bytes = content("fmt ")
      guard Array(bytes.prefix(2)) == [0xFE, 0xFF] else { return nil }
      let mask = Bytes(bytes).unsigned(at: 20, bytes: 4, bigEndian: false)
      roles = CAFLayout.roles(speakers: UInt32(mask))
    default: roles = nil
    }
    return roles?.count == format.channels ? roles : nil
  }

  private func content(_ id: ChunkID) -> [UInt8] { (try? chunk(id, most: 1 << 16)) ?? [] }
}
