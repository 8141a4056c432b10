import Codecs

/// The properties of a file of packets, as found on opening.
struct PacketSource: Sendable {
  var container: Container
  var format: PacketFormat
  /// The magic cookie in Apple's form.
  var cookie: [UInt8] = []
  var channelRoles: [ChannelRole]?
  /// Metadata by the keys of Core Audio's info dictionaries.
  var tags: [String: String] = [:]
  /// libavformat's names of further metadata.
  var otherTags: [String] = []
  /// Bits per second according to the file; 0 if it gives none.
  var claimedBitRate = 0
  /// The packets known so far.
  var index = PacketIndex()
  /// The packet table; nil if the file gives none.
  var table: PacketTable?
  /// The chunks of a CAF file, except its sound.
  var chunks: [Chunk] = []
  /// Ranges of header packets, at which the decoder starts a new stream.
  var setups: [Range<Int64>] = []
  /// True if missing packets are in the list, without bytes.
  var hasMissingPackets = false
  /// A description of the file's damage.
  var damage: String?

  /// Frames that all packets decode to.
  var frames: Int64 {
    format.framesPerPacket > 0
      ? index.count * Int64(format.framesPerPacket) : index.frames
  }

  /// Sets the format's frames per packet, if all packets have the same number.
  mutating func findCommonFrames() {
    guard format.framesPerPacket == 0, let frames = index.commonFrames else { return }
    format.framesPerPacket = frames
    index.forgetFrames()
  }
}
