import Codecs

/// The metadata blocks at the start of a FLAC stream (RFC 9639, section 8).
struct FLACHead {
  let info: FLACStreamInfo
  /// Where the first frame begins. Behind a damaged head, it has to be searched from here on.
  let soundOffset: Int64
  /// The Vorbis comments by their names in lower case. The values of one name are divided by semicolons.
  private let comments: [String: String]

  /// The block type of Vorbis comments.
  private static let commentType: UInt8 = 4
  private static let maskName = "waveformatextensible_channel_mask"
  /// libavformat's names, which `InfoKeys` knows, for names that differ.
  private static let names = [
    "albumartist": "album_artist", "tracknumber": "track", "discnumber": "disc",
    "description": "comment",
  ]

  /// Reads the head of the stream whose name is at an offset; nil if STREAMINFO does not follow. Blocks.
  init?(_ store: any ByteStore, at offset: Int64) throws(SoundFileError) {
    guard
      let info = try store.bytes(at: offset, count: FLACStreamInfo.bytes).flatMap({
        FLACStreamInfo($0)
      })
    else { return nil }
    self.info = info
    var comments: [String: String] = [:]
    var end = offset + 4
    var firstFrame: Int64?
    for _ in 0..<FileHead.mostStreamChunks {
      guard let block = try store.bytes(at: end, count: 4) else { break }
      let count = Int(block.big(at: 1, bytes: 3))
      if block[0] & 0x7F == Self.commentType, let list = try store.bytes(at: end + 4, count: count)
      {
        Self.add(list, to: &comments)
      }
      end += 4 + Int64(count)
      guard block[0] & 0x80 != 0 else { continue }
      let start = try store.bytes(at: end, count: Int(min(16, max(0, store.byteCount() - end))))
      if let start, case .head = FLACScanner.Head.read(start, at: 0) { firstFrame = end }
      break
    }
    soundOffset = firstFrame ?? offset + Int64(FLACStreamInfo.bytes)
    self.comments = comments
  }

  /// Reads the list of a block: the writer's name, and lines of a name and a value. Numbers are little-endian.
  private static func add(_ list: [UInt8], to comments: inout [String: String]) {
    let bytes = Bytes(list)
    func length(at offset: Int) -> Int {
      Int(bytes.unsigned(at: offset, bytes: 4, bigEndian: false))
    }
    var place = 4 + length(at: 0)
    let count = length(at: place)
    place += 4
    for _ in 0..<count {
      guard place + 4 <= list.count, case let line = length(at: place),
        line <= list.count - place - 4
      else { return }
      let text = bytes.slice(at: place + 4, count: line)
      place += 4 + line
      guard let mark = text.firstIndex(of: UInt8(ascii: "=")), mark > 0, mark < text.count - 1
      else { continue }
      let name = FileText.decoded(text[..<mark]).lowercased()
      let value = FileText.decoded(text[(mark + 1)...])
      let known = names[name] ?? name
      comments[known] = comments[known].map { "\($0);\(value)" } ?? value
    }
  }

  /// The comments by libavformat's names, except the channel mask.
  var metadata: [String: String] { comments.filter { $0.key != Self.maskName } }

  /// The roles of the channels: those of the channel mask among the comments, else those that FLAC has for the number of
  /// channels.
  var channelRoles: [ChannelRole]? {
    if let text = comments[Self.maskName]?.lowercased(),
      let mask = text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text),
      mask.nonzeroBitCount == info.channels,
      case let roles = CAFLayout.roles(speakers: mask), roles.count == info.channels
    {
      return roles
    }
    if info.channels == 1 { return [.mono] }
    let usual: [UInt32] = [0x4, 0x3, 0x7, 0x33, 0x607, 0x60F, 0x70F, 0x63F]
    return CAFLayout.roles(speakers: usual[info.channels - 1])
  }
}
