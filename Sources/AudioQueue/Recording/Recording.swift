package import Codecs

/// A recorded buffer as the app receives it.
package struct Recording: Sendable {
  package let buffer: UInt32
  /// The number of frames in the buffer; 0 if it was handed back empty.
  package let frames: Int
  package let bytes: Int
  /// Offsets and sizes of the packets, if they vary in size.
  package let packets: [PacketExtent]
  /// Frames, at the queue's rate, from the beginning of the run to the buffer's first frame.
  package let startFrame: Int64
  /// Time of the first frame in nanoseconds of CLOCK_MONOTONIC.
  package let hostTime: UInt64
}
