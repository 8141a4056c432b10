import Codecs

/// Packets in a buffer, and the number of frames to trim after decoding.
struct Packets {
  let extents: [PacketExtent]
  let trimmedAtStart: Int
  let trimmedAtEnd: Int

  /// The number of frames in the packets, as far as it is known before decoding.
  var expectedFrames: Int { extents.reduce(0) { $0 + $1.frames } }
}
