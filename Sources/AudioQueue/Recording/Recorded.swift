import Codecs

/// The content of an app's buffer after recording.
struct Recorded {
  let frames: Int
  let bytes: Int
  /// Offsets and sizes of the packets; empty for linear PCM.
  let packets: [PacketExtent]
  /// The first frame in the run, at the queue's rate.
  let startFrame: Int64
}
