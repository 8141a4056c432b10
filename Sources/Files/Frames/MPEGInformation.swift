import Codecs
import RealTime
import Timeline

extension Codec {
  var isMPEGAudio: Bool { self == .mp1 || self == .mp2 || self == .mp3 }
}

/// The Xing, Info or VBRI tag, which the first frame of an MPEG stream may hold instead of sound.
struct MPEGInformation {
  /// Packets after that frame; nil if the tag does not count them.
  var packets: Int64?
  /// Bytes of these packets; nil if the tag does not give them.
  var bytes: Int64?
  /// Frames that the encoder added before and after the sound.
  private var padding: (start: Int64, end: Int64)?

  /// Frames by which a decoder delays its output.
  private static let decoderDelay: Int64 = 529

  /// Returns the packet table for packets that decode to `frames` frames, `each` in a packet; nil if the tag has no
  /// padding.
  func table(of frames: Int64, each: Int) -> PacketTable? {
    padding.map { padding in
      // Other frames are lost or joined.
      let isWhole = packets.map { $0 * Int64(each) == frames } ?? false
      return PacketTable(
        priming: padding.start + Self.decoderDelay, valid: nil,
        remainder: isWhole ? max(0, padding.end - Self.decoderDelay) : 0, of: frames)
    }
  }

  /// Frames of the sound; nil if the tag does not count its packets.
  func promisedFrames(each: Int) -> Int64? {
    guard let packets, packets > 0, case let frames = packets * Int64(each) else { return nil }
    return table(of: frames, each: each)?.validFrames ?? frames
  }

  /// Parses the tag; nil if the frame at the offset holds sound.
  init?(_ frame: [UInt8], at offset: Int, _ head: FrameHead) {
    guard head.codec == .mp3 else { return nil }
    let position = offset + head.informationOffset
    guard frame.count >= offset + head.bytes else { return nil }
    switch frame.name(at: position) {
    case "Xing", "Info":
      // Each bit stands for a field that follows: packets, bytes, seek table, quality.
      let flags = frame.big(at: position + 4, bytes: 4)
      var next = position + 8
      func field(_ bit: UInt64, _ size: Int) -> Int64? {
        guard flags & bit != 0 else { return nil }
        defer { next += size }
        return Int64(frame.big(at: next, bytes: 4))
      }
      packets = field(1, 4)
      // The count includes this frame.
      bytes = field(2, 4).map { max(0, $0 - Int64(head.bytes)) }
      _ = field(4, 100)
      _ = field(8, 4)
      if ["LAME", "Lavf", "Lavc"].contains(frame.name(at: next)) {
        let both = Int64(frame.big(at: next + 21, bytes: 3))
        padding = (both >> 12, both & 0xFFF)
      }
    default:
      guard frame.name(at: offset + 4 + 32) == "VBRI" else { return nil }
      bytes = max(0, Int64(frame.big(at: offset + 46, bytes: 4)) - Int64(head.bytes))
      packets = Int64(frame.big(at: offset + 50, bytes: 4))
    }
  }
}
