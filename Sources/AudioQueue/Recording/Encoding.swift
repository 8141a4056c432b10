import Codecs

/// A snapshot of an encoder's properties, readable without waiting for the encoder.
struct Encoding: Sendable {
  let format: PacketFormat
  let options: PacketEncoder.Options
  let bitRate: Int
  let maximumPacketBytes: Int
  /// The decoder configuration (magic cookie).
  let cookie: [UInt8]
  let table: PacketTable

  init(_ encoder: PacketEncoder, _ options: PacketEncoder.Options, soundFrames: Int64) {
    self.options = options
    format = encoder.format
    bitRate = encoder.bitRate
    maximumPacketBytes = encoder.maximumPacketBytes
    cookie = encoder.cookie
    table = PacketTable(
      validFrames: soundFrames, primingFrames: encoder.primingFrames,
      remainderFrames: encoder.remainderFrames)
  }
}
