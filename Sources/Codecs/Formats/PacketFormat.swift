/// The format of a stream of packets.
package struct PacketFormat: Hashable, Sendable {
  package var codec: Codec
  /// Frames per second of the decoded sound; 0 if not yet known.
  package var sampleRate: Double
  /// 0 if not yet known.
  package var channels: Int
  /// Decoded frames of each packet; 0 if they vary or are not yet known.
  package var framesPerPacket: Int
  /// Bytes of each packet; 0 if they vary.
  package var bytesPerPacket: Int
  /// Significant bits of a sample for lossless codecs (16, 20, 24 or 32); else 0.
  package var bitsPerSample: Int

  package init(
    codec: Codec, sampleRate: Double, channels: Int, framesPerPacket: Int = 0,
    bytesPerPacket: Int = 0, bitsPerSample: Int = 0
  ) {
    self.codec = codec
    self.sampleRate = sampleRate
    self.channels = channels
    self.framesPerPacket = framesPerPacket
    self.bytesPerPacket = bytesPerPacket
    self.bitsPerSample = bitsPerSample
  }
}
