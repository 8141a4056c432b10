import CFFmpeg

extension Codec {
  /// Returns the order of the channels in a packet, as numbers of the decoded channels, which are in the order
  /// of WAVE files; nil if it is that order. For the codec's usual layout of this many channels.
  package func codedOrder(channels: Int) -> [Int]? {
    let orders: [Int: [Int]] =
      switch self {
      case .aac, .aacHE, .aacHEv2:
        [
          3: [2, 0, 1], 4: [2, 0, 1, 3], 5: [2, 0, 1, 3, 4], 6: [2, 0, 1, 4, 5, 3],
          8: [2, 0, 1, 6, 7, 4, 5, 3],
        ]
      case .alac:
        [
          3: [2, 0, 1], 4: [2, 0, 1, 3], 5: [2, 0, 1, 3, 4], 6: [2, 0, 1, 4, 5, 3],
          7: [2, 0, 1, 4, 5, 6, 3], 8: [2, 6, 7, 0, 1, 4, 5, 3],
        ]
      case .vorbis, .opus:
        [
          3: [0, 2, 1], 5: [0, 2, 1, 3, 4], 6: [0, 2, 1, 4, 5, 3], 7: [0, 2, 1, 5, 6, 4, 3],
          8: [0, 2, 1, 6, 7, 4, 5, 3],
        ]
      default: [:]
      }
    return orders[channels]
  }
}

extension AVChannelLayout {
  /// The layout as a channel mask of WAVE files; nil if it has no such mask.
  var waveMask: UInt32? {
    guard unsafe order == AV_CHANNEL_ORDER_NATIVE else { return nil }
    return unsafe u.mask < 1 << 18 ? UInt32(u.mask) : nil
  }
}
