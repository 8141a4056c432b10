import Codecs

/// The header of a frame, in a stream that consists only of frames.
struct FrameHead: Equatable {
  /// Bytes of the frame, including its header.
  var bytes: Int
  /// Bytes at the frame's start that are not part of the packet.
  var headBytes = 0
  /// Header bits that are the same in all frames of a stream.
  var kind: UInt32
  var codec: Codec
  var sampleRate: Double
  /// 0 if the header does not give it.
  var channels: Int
  /// Audio frames.
  var frames: Int
  /// Bits per second; 0 if the header does not give it.
  var bitRate = 0

  /// Offset of the information (Xing or Info) tag in an MPEG Layer III frame without sound: after
  /// the header and the side information.
  var informationOffset: Int {
    switch (frames == 1152, channels == 2) {
    case (true, true): 4 + 32
    case (true, false), (false, true): 4 + 17
    case (false, false): 4 + 9
    }
  }
}
