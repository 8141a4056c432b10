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

/// The pages of an Ogg file in order. Bytes outside pages and damaged pages are skipped.
struct OggPages {
  private let store: any ByteStore
  private var offset: Int64 = 0
  /// Bytes before the latest page that belong to no valid page.
  private(set) var skippedBytes: Int64 = 0
  /// Number of false page headers found.
  private var mistakes = 0

  /// Limit on false page headers, for damaged data that is full of them.
  private static let mostMistakes = 10_000

  init(_ store: any ByteStore) { self.store = store }

  /// True if a page begins where the last one ended, and the file ends within it.
  var isCut: Bool {
    get throws(SoundFileError) {
      let total = try store.byteCount()
      guard let head = try store.bytes(at: offset, count: OggPage.headBytes),
        head.starts(with: "OggS".utf8)
      else { return false }
      let laces = try store.bytes(at: offset + Int64(head.count), count: Int(head[26])) ?? []
      let bytes = laces.reduce(OggPage.headBytes + Int(head[26])) { $0 + Int($1) }
      return laces.isEmpty || offset + Int64(bytes) > total
    }
  }

  /// Returns the next page; nil at the end.
  mutating func next() throws(SoundFileError) -> OggPage? {
    var position = offset
    while true {
      if let page = try OggPage(at: position, in: store) {
        skippedBytes += position - offset
        offset = position + Int64(page.bytes.count)
        return page
      }
      mistakes += 1
      guard mistakes < Self.mostMistakes, let next = try beginning(from: position + 1) else {
        return nil
      }
      position = next
    }
  }

  /// Returns the first possible start of a page at or after an offset; nil if there is none.
  private func beginning(from offset: Int64) throws(SoundFileError) -> Int64? {
    let name = Array("OggS".utf8)
    let total = try store.byteCount()
    var start = offset
    while total - start >= OggPage.headBytes {
      let count = Int(min(total - start, 1 << 16))
      guard let block = try store.bytes(at: start, count: count) else { return nil }
      for i in 0...count - name.count
      where block[i] == name[0] && block[i + 1] == name[1] && block[i..<i + 4].elementsEqual(name) {
        return start + Int64(i)
      }
      // The capture pattern may span two blocks.
      start += Int64(count - name.count + 1)
    }
    return nil
  }
}
