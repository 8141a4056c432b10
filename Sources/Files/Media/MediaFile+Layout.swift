import Codecs
import RealTime

extension MediaFile {
  /// Sets the channels' roles, one for each channel of the file. Does nothing if the container
  /// cannot store them or implies them.
  package func setChannelRoles(_ roles: [ChannelRole]) throws(SoundFileError) {
    // In WAVE files one or two channels have these roles anyway.
    let isUsual = roles == [.mono] || roles == [.left, .right]
    if isUsual, [.wave, .rf64, .wave64].contains(container) { return }
    do throws(SoundFileError) {
      try setChannelLayout(
        words: CAFLayout.words(roles), mask: CAFLayout.speakers(roles), roles: roles)
    } catch {
      guard case .notSupported = error.kind else { throw error }
    }
  }

  /// The channels' roles, in the order of the linear PCM or of the decoded packets; nil if the file
  /// does not give them.
  package var decodedChannelRoles: [ChannelRole]? {
    switch format {
    case .pcm: channelRoles
    case .packets: channelRoles.map(CAFLayout.decoded)
    }
  }

  /// The Core Audio layout tag stored in the file; nil if there is none. Blocks.
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
  /// The channels' roles according to the file's chunks; nil if they do not give them. libsndfile
  /// does not know all layouts.
  var chunkRoles: [ChannelRole]? {
    let roles: [ChannelRole]?
    switch container {
    case .caf: roles = CAFLayout.roles(content("chan"), channels: format.channels)
    case .aiff, .aifc: roles = CAFLayout.roles(content("CHAN"), channels: format.channels)
    case .wave, .rf64, .wave64:
      // Only extensible formats have a channel mask.
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
