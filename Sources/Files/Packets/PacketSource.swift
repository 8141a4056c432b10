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
  /// Further metadata by libavformat's names.
  var otherTags: [String: String] = [:]
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
  /// True if the packets cannot be copied to another file: missing ones are listed, without bytes, the
  /// format changes, or it is a free format, whose padding no writer stores.
  var hasSpecialPackets = false
  /// True if frames of unknown number are lost with bytes that are none.
  var lacksUnknownFrames = false
  /// A description of the file's damage.
  var damage: String?
  /// A description of what is unusual about the sound, but no damage.
  var notice: String?
  /// Valid frames according to the header; nil if it does not give them exactly.
  var promisedFrames: Int64?
  /// The tag of an MPEG stream's first frame; nil if there is none.
  var information: MPEGInformation?

  /// Frames that all packets decode to.
  var frames: Int64 { index.frames(each: format.framesPerPacket) }

  /// Sets the format's frames per packet, if all packets have the same number.
  mutating func findCommonFrames() {
    guard format.framesPerPacket == 0, let frames = index.commonFrames else { return }
    format.framesPerPacket = frames
    index.forgetFrames()
  }

  /// Completes the description once `scanner` has listed all packets.
  mutating func finish(_ scanner: PacketScanner, _ store: any ByteStore) throws(SoundFileError) {
    hasSpecialPackets =
      scanner.missingFrames > 0 || format.framesPerPacket > 0 && index.frames > 0
      || scanner.hasFreeFormat
    notice = scanner.change
    setups = scanner.setups
    table = table ?? information?.table(of: frames, each: format.framesPerPacket)
    try measureLastPacket(store)
    damage = scanner.damage
    lacksUnknownFrames = scanner.damagedBytes > 0 && format.codec != .flac
    tellEnd()
    damage = damage ?? scanner.cut
  }

  /// Lossless encoders end with a shorter packet. Some containers count it in full.
  mutating func measureLastPacket(_ store: any ByteStore) throws(SoundFileError) {
    let each = format.framesPerPacket
    guard format.codec.isLossless, each > 0, index.count > 0, index.frames == 0,
      let piece = index.pieces(of: index.count - 1).first,
      let start = try store.bytes(
        at: piece.offset, count: min(piece.bytes, PacketFrames.tellingBytes))
    else { return }
    let own = format.codec == .alac ? PacketFrames.alac(start) : PacketFrames.flac(start)
    guard own > 0, own < each else { return }
    let priming = table?.primingFrames ?? 0
    let present = max(0, frames - Int64(each - own) - Int64(priming))
    table = PacketTable(
      priming: Int64(priming), valid: min(table?.validFrames ?? present, present), of: frames)
  }

  /// Describes a file that has fewer frames than its header promises.
  private mutating func tellEnd() {
    guard let promisedFrames, case let valid = table?.validFrames ?? frames,
      // Encoders do not agree on whether a packet without sound counts.
      promisedFrames > valid + (format.codec.isLossless ? 0 : Int64(format.framesPerPacket))
    else { return }
    damage = damage ?? "the file is cut short: \(valid) of \(promisedFrames) frames are there"
  }
}
