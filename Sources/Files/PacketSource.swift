import Codecs

/// What a file of packets is found to be when it is opened.
struct PacketSource: Sendable {
  var container: Container
  var format: PacketFormat
  /// In the form of Apple's programs.
  var cookie: [UInt8] = []
  var channelRoles: [ChannelRole]?
  /// By the keys of Core Audio's info dictionaries.
  var tags: [String: String] = [:]
  /// Bits per second that the file claims; 0 if it does not.
  var claimedBitRate = 0
  /// Where packets are known to lie.
  var index = PacketIndex()
  /// Which frames are sound, if the file says.
  var table: PacketTable?
  /// The chunks of a CAF file but for its sound.
  var chunks: [Chunk] = []
  /// Packets that have a decoder begin anew.
  var setups: [Range<Int64>] = []
  /// Packets that are missing stand in the list, without bytes.
  var hasMissingPackets = false
  /// What is wrong with the file.
  var damage: String?

  /// Frames that all packets decode to.
  var frames: Int64 {
    format.framesPerPacket > 0
      ? index.count * Int64(format.framesPerPacket) : index.frames
  }

  /// Tells of the frames of all packets in the format, if they turn out to be as many in each.
  mutating func findCommonFrames() {
    guard format.framesPerPacket == 0, let frames = index.commonFrames else { return }
    format.framesPerPacket = frames
    index.forgetFrames()
  }
}
