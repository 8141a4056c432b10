import CFFmpeg

/// A page of an Ogg file that is whole: its check sum comes out.
struct OggPage {
  /// Where it begins in the file.
  let offset: Int64
  /// All of it, with its head.
  let bytes: [UInt8]

  /// Bytes of a head but for the list of sizes at its end.
  static let headBytes = 27
  /// Bytes that no page exceeds.
  static let maximumBytes = headBytes + 255 + 255 * 255

  /// The first packet goes on where one on the page before left off.
  var isContinuation: Bool { bytes[5] & 1 != 0 }
  /// A logical stream begins.
  var isFirst: Bool { bytes[5] & 2 != 0 }
  /// A logical stream ends.
  var isLast: Bool { bytes[5] & 4 != 0 }
  /// Frames from the stream's start to the end of the last packet that ends here; nil if the page does
  /// not tell, or tells more than can be.
  var granule: Int64? {
    let granule = number(at: 6, bytes: 8)
    return granule < 1 << 60 ? Int64(granule) : nil
  }
  /// The name of the logical stream.
  var serial: UInt32 { UInt32(number(at: 14, bytes: 4)) }
  /// The page's number in its logical stream.
  var sequence: UInt32 { UInt32(number(at: 18, bytes: 4)) }
  /// Sizes of the packets' parts: one below 255 ends a packet.
  var lacing: ArraySlice<UInt8> { bytes[Self.headBytes..<bodyStart] }
  /// Where the packets begin in `bytes`.
  var bodyStart: Int { Self.headBytes + Int(bytes[26]) }

  private func number(at offset: Int, bytes count: Int) -> UInt64 {
    Bytes(bytes).unsigned(at: offset, bytes: count, bigEndian: false)
  }

  /// The page at an offset; nil if there is none that is whole.
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

  /// Where a page's check sum stands.
  static let sum = 22..<26

  /// The check sum of a page, whatever stands in its place.
  static func checkSum(_ page: [UInt8]) -> [UInt8] {
    var page = page
    page.replaceSubrange(sum, with: [0, 0, 0, 0])
    let value = unsafe av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0, page, page.count)
    return [UInt8](value, count: 4, bigEndian: true)
  }
}

/// The pages of an Ogg file, one after another. What is no page, or a damaged one, is passed over.
struct OggPages {
  private let store: any ByteStore
  private var offset: Int64 = 0
  /// Bytes before the latest page that belong to none.
  private(set) var skippedBytes: Int64 = 0
  /// How often something looked like a page and was none.
  private var mistakes = 0

  /// Rubbish that looks like pages is not looked at without end.
  private static let mostMistakes = 10_000

  init(_ store: any ByteStore) { self.store = store }

  /// The next page; nil at the end.
  mutating func next() throws(SoundFileError) -> OggPage? {
    var place = offset
    while true {
      if let page = try OggPage(at: place, in: store) {
        skippedBytes += place - offset
        offset = place + Int64(page.bytes.count)
        return page
      }
      mistakes += 1
      guard mistakes < Self.mostMistakes, let next = try beginning(from: place + 1) else {
        return nil
      }
      place = next
    }
  }

  /// Where a page may begin, from an offset on.
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
      // A name may lie across two blocks.
      start += Int64(count - name.count + 1)
    }
    return nil
  }
}
