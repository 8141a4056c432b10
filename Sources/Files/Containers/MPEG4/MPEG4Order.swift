/// The order of the top-level boxes of an MPEG-4 file. A reader that streams the file needs its
/// 'moov' box before the sound.
struct MPEG4Order {
  private let store: any ByteStore
  private var boxes: [(name: String, range: Range<Int64>)] = []

  private static var mostTableBytes: Int64 { 1 << 28 }

  /// Reads the headers of the top-level boxes. Blocks.
  init(_ store: any ByteStore) throws(SoundFileError) {
    self.store = store
    let total = try store.byteCount()
    var offset: Int64 = 0
    while boxes.count < 1 << 20, let box = try MPEG4Box(at: offset, in: store, end: total),
      box.end <= total
    {
      boxes.append((box.name, offset..<box.end))
      offset = box.end
    }
  }

  /// True if the 'moov' box comes before the sound.
  var isOptimized: Bool { misplacedTable == nil }

  /// The 'moov' box's range and the offset where it belongs; nil if it is already there.
  private var misplacedTable: (range: Range<Int64>, start: Int64)? {
    guard let table = boxes.first(where: { $0.name == "moov" })?.range,
      let sound = boxes.first(where: { $0.name == "mdat" })?.range,
      sound.lowerBound < table.lowerBound
    else { return nil }
    return (table, sound.lowerBound)
  }

  /// Moves the 'moov' box before the sound. If the process is killed, the file has either the old
  /// or the new order. Blocks.
  ///
  /// - Parameter mostShortOffset: The largest file offset for which tables of 32-bit offsets are
  ///   kept.
  func optimize(mostShortOffset: Int64 = Int64(UInt32.max)) throws(SoundFileError) {
    guard let (range, start) = misplacedTable else { return }
    // These boxes hold file offsets as well.
    if let other = boxes.first(where: { ["moof", "sidx", "mfra", "meta"].contains($0.name) }) {
      throw refusal("a file with a box '\(other.name)' cannot be optimized")
    }
    guard range.count <= Self.mostTableBytes,
      let table = try store.bytes(at: range.lowerBound, count: range.count)
    else { throw refusal("a table of \(range.count) bytes is too long to be moved") }
    let total = try store.byteCount()
    let isWide = total + 2 * Int64(range.count) > mostShortOffset
    // The first pass computes the length, the second one the content.
    let room = Int64(try rewritten(table, 0..<table.count, depth: 0, isWide) { $0 }.count)
    let moved = try rewritten(table, 0..<table.count, depth: 0, isWide) { offset in
      // Offsets beyond the end of the file refer to nothing in it.
      if offset < start || offset >= total { return offset }
      return offset < range.lowerBound ? offset + room : offset - Int64(range.count) + room
    }
    try store.replaceContents { new throws(SoundFileError) in
      var end = try new.copy(0..<start, of: store, to: 0)
      try new.write(moved, at: end)
      end = try new.copy(start..<range.lowerBound, of: store, to: end + room)
      _ = try new.copy(range.upperBound..<total, of: store, to: end)
    }
  }

  /// Copies boxes, with the chunk offsets in them changed by `move`.
  ///
  /// - Parameter isWide: True to write 64-bit offsets.
  private func rewritten(
    _ bytes: [UInt8], _ range: Range<Int>, depth: Int, _ isWide: Bool, _ move: (Int64) -> Int64
  ) throws(SoundFileError) -> [UInt8] {
    var result: [UInt8] = []
    var offset = range.lowerBound
    while range.upperBound - offset >= 8 {
      let name = bytes.name(at: offset + 4)
      var size = Int(bytes.big(at: offset, bytes: 4))
      var head = 8
      if size == 1 {
        size = Int(clamping: bytes.big(at: offset + 8, bytes: 8))
        head = 16
      }
      if size == 0 { size = range.upperBound - offset }
      guard size >= head, size <= range.upperBound - offset else {
        throw SoundFileError(.damaged("its box '\(name)' has no end"), path: store.name)
      }
      let content = offset + head..<offset + size
      switch name {
      case "moov", "trak", "mdia", "minf", "stbl":
        guard depth < 8 else { throw refusal("its boxes lie too deep in each other") }
        result += Self.box(
          name, try rewritten(bytes, content, depth: depth + 1, isWide, move))
      case "stco", "co64":
        let width = name == "stco" ? 4 : 8
        let count = Int(bytes.big(at: content.lowerBound + 4, bytes: 4))
        guard content.count >= 8, count <= (content.count - 8) / width else {
          throw SoundFileError(
            .damaged("its tables promise \(count) offsets"), path: store.name)
        }
        let newWidth = isWide ? 8 : width
        var offsets = Array(bytes[content.prefix(8)])
        for index in 0..<count {
          let offset = bytes.big(at: content.lowerBound + 8 + index * width, bytes: width)
          offsets += [UInt8](move(Int64(clamping: offset)), count: newWidth, bigEndian: true)
        }
        result += Self.box(newWidth == 8 ? "co64" : "stco", offsets)
      case "saio", "iloc", "cmov", "rmra":
        throw refusal("a file with a box '\(name)' cannot be optimized")
      default: result += bytes[offset..<offset + size]
      }
      offset += size
    }
    return result + bytes[offset..<range.upperBound]
  }

  private static func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
    [UInt8](content.count + 8, count: 4, bigEndian: true) + Array(name.utf8) + content
  }

  private func refusal(_ reason: String) -> SoundFileError {
    SoundFileError(.notSupported(reason), path: store.name)
  }
}
