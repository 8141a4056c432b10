import Codecs

/// The properties of a file being written.
struct PacketFileFacts {
  var cookie: [UInt8]
  /// The cookie in libavcodec's form.
  var extradata: [UInt8]
  var table: PacketTable
  var tags: [String: String]
  var channelRoles: [ChannelRole]?
  var bitRate: Int
  var chunks: [Chunk]
}
