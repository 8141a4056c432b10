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

  /// Returns the packet table for packets that decode to `frames` frames; nil if the tag has no
  /// padding.
  func table(of frames: Int64) -> PacketTable? {
    padding.map { padding in
      PacketTable(
        priming: padding.start + Self.decoderDelay, valid: nil,
        remainder: max(0, padding.end - Self.decoderDelay), of: frames)
    }
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

  /// Returns the frames that the first frame of a file promises, and their packet table if it has padding; nil
  /// if it holds sound. Blocks.
  static func promises(
    in store: any ByteStore
  ) throws(SoundFileError) -> (frames: Int64, table: PacketTable?)? {
    let start = try ID3Tag.end(in: store)
    let count = Int(min(Int64(FrameKind.mpeg.maximumPacketBytes), try store.byteCount() - start))
    guard let bytes = try store.bytes(at: start, count: count), count >= FrameKind.mpeg.headBytes,
      let head = FrameKind.mpeg.head(bytes, at: 0),
      let about = MPEGInformation(bytes, at: 0, head), let packets = about.packets
    else { return nil }
    let frames = packets * Int64(head.frames)
    let table = about.table(of: frames)
    return (table?.validFrames ?? frames, table)
  }
}
