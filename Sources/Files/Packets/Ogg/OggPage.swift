import CFFmpeg
import Codecs

/// A complete page of an Ogg file, with a valid CRC.
struct OggPage {
  /// Offset of the page in the file.
  let offset: Int64
  /// The complete page with its header.
  let bytes: [UInt8]

  /// Bytes of a page header without the segment table at its end.
  static let headBytes = 27
  /// Upper limit of a page's size in bytes.
  static let maximumBytes = headBytes + 255 + 255 * 255

  /// True if the first packet continues one from the previous page.
  var isContinuation: Bool { bytes[5] & 1 != 0 }
  /// True for the first page of a logical stream.
  var isFirst: Bool { bytes[5] & 2 != 0 }
  /// True for the last page of a logical stream.
  var isLast: Bool { bytes[5] & 4 != 0 }
  /// Frames from the stream's start to the end of the last packet completed on this page. Nil if
  /// the page has no such time, or an implausible one.
  var granule: Int64? {
    let granule = number(at: 6, bytes: 8)
    return granule < 1 << 60 ? Int64(granule) : nil
  }
  /// Serial number of the logical stream.
  var serial: UInt32 { UInt32(number(at: 14, bytes: 4)) }
  /// The page's number in its logical stream.
  var sequence: UInt32 { UInt32(number(at: 18, bytes: 4)) }
  /// The segment sizes: one below 255 ends a packet.
  var lacing: ArraySlice<UInt8> { bytes[Self.headBytes..<bodyStart] }
  /// Offset of the page's body in `bytes`.
  var bodyStart: Int { Self.headBytes + Int(bytes[26]) }

  private func number(at offset: Int, bytes count: Int) -> UInt64 {
    Bytes(bytes).unsigned(at: offset, bytes: count, bigEndian: false)
  }

  /// Reads the page at an offset; nil if there is no complete and valid one.
  init?(at offset: Int64, in store: any ByteStore) throws(SoundFileError) {
    guard let head = try store.bytes(at: offset, count: Self.headBytes),
      head.starts(with: "OggS".utf8), head[4] == 0,
      let lacing = try store.bytes(at: offset + Int64(Self.headBytes), count: Int(head[26])),
      let bytes = try store.bytes(
        at: offset, count: lacing.reduce(Self.headBytes + lacing.count) { $0 + Int($1) })
    else { return nil }
    self.offset = offset
    self.bytes = bytes
    guard Array(bytes[Self.sum]) == Self.checkSum(bytes) else { return nil }
  }

  /// Position of the CRC in a page.
  static let sum = 22..<26

  /// Returns the CRC of a page, computed with zeros in the CRC field.
  static func checkSum(_ page: [UInt8]) -> [UInt8] {
    var page = page
    page.replaceSubrange(sum, with: [0, 0, 0, 0])
    let value = unsafe ffmpeg.av_crc(ffmpeg.av_crc_get_table(AV_CRC_32_IEEE), 0, page, page.count)
    return [UInt8](value, count: 4, bigEndian: true)
  }
}
