/// The table of a fragment: the box 'moof'.
struct MPEG4FragmentTable {
  private struct Run {
    /// Where the number of packets is, and the number.
    var countOffset: Int
    var count: Int
    /// The packets' sizes; empty if all have the size `each`, which is 0 if the table does not tell it.
    var sizes: [Int] = []
    var each = 0

    /// Returns how many of the first packets fit, and takes their bytes off.
    func fitting(_ left: inout Int) -> Int {
      guard sizes.isEmpty else {
        return sizes.prefix { size in
          left -= size
          return left >= 0
        }.count
      }
      let fitting = min(count, max(0, left) / max(1, each))
      left = fitting == count ? left - count * each : -1
      return fitting
    }
  }

  private let byteCount: Int64
  private var runs: [Run] = []
  /// Where the offset in the file is from which packets count, if the table has one, and its value.
  private var bases: [(offset: Int, value: Int64)] = []

  static var maximumBytes: Int64 { 1 << 24 }

  /// Parses a table; nil if it is damaged.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 8, let parts = Self.boxes(bytes, 8..<bytes.count),
      parts.contains(where: { $0.name == "mfhd" }), parts.contains(where: { $0.name == "traf" })
    else { return nil }
    byteCount = Int64(bytes.count)
    for part in parts where part.name == "traf" {
      guard let boxes = Self.boxes(bytes, part.body), boxes.first?.name == "tfhd" else {
        return nil
      }
      var size = 0
      for box in boxes where box.body.count >= 8 {
        let flags = bytes.big(at: box.body.lowerBound + 1, bytes: 3)
        let start = box.body.lowerBound + 8
        switch box.name {
        case "tfhd":
          // Optional fields, in this order: offset of the packets, description, duration, size.
          var next = start
          if flags & 1 != 0, box.body.count >= 16 {
            bases.append((start, Int64(bitPattern: bytes.big(at: start, bytes: 8))))
            next += 8
          }
          for (flag, isSize) in [(2, false), (8, false), (16, true)] where flags & UInt64(flag) != 0
          {
            if isSize, next + 4 <= box.body.upperBound { size = Int(bytes.big(at: next, bytes: 4)) }
            next += 4
          }
        case "trun":
          guard let run = Self.run(bytes, box.body, flags, size) else { return nil }
          runs.append(run)
        default: break
        }
      }
    }
  }

  private static func run(
    _ bytes: [UInt8], _ body: Range<Int>, _ flags: UInt64, _ size: Int
  ) -> Run? {
    let count = Int(bytes.big(at: body.lowerBound + 4, bytes: 4))
    let head = 8 + (flags & 0x5).nonzeroBitCount * 4
    let each = (flags & 0xF00).nonzeroBitCount * 4
    guard count <= Int(PacketIndex.maximumCount), body.count >= head + count * each else {
      return nil
    }
    var run = Run(countOffset: body.lowerBound + 4, count: count, each: size)
    if flags & 0x200 != 0 {
      let first = body.lowerBound + head + (flags & 0x100 != 0 ? 4 : 0)
      run.sizes = (0..<count).map { Int(bytes.big(at: first + $0 * each, bytes: 4)) }
    }
    return run
  }

  /// Returns names and contents of the boxes that fill a part; nil if they do not.
  private static func boxes(
    _ bytes: [UInt8], _ part: Range<Int>
  ) -> [(name: String, body: Range<Int>)]? {
    var boxes: [(name: String, body: Range<Int>)] = []
    var offset = part.lowerBound
    while offset < part.upperBound {
      guard part.upperBound - offset >= 8, case let size = Int(bytes.big(at: offset, bytes: 4)),
        size >= 8, size <= part.upperBound - offset
      else { return nil }
      boxes.append((bytes.name(at: offset + 4), offset + 8..<offset + size))
      offset += size
    }
    return boxes
  }

  /// Returns offsets in the table and bytes to put there, so that it lists only packets that fit.
  ///
  /// - Parameters:
  ///   - place: Offset of the table in the file.
  ///   - end: Where the fragment ends in the file.
  ///   - room: Bytes for packets.
  ///   - isShifted: True if bytes may be missing or added before the table.
  func changes(
    at place: Int64, end: Int64, room: Int64, isShifted: Bool
  ) -> [(offset: Int, bytes: [UInt8])] {
    var changes: [(offset: Int, bytes: [UInt8])] = []
    var left = Int(clamping: room)
    for run in runs {
      let fitting = run.fitting(&left)
      if fitting < run.count {
        changes.append((run.countOffset, [UInt8](fitting, count: 4, bigEndian: true)))
      }
    }
    for base in bases where isShifted && !isUsual(base.value, place, end, room) {
      changes.append((base.offset, [UInt8](place, count: 8, bigEndian: true)))
    }
    return changes
  }

  /// True if offsets count from the table, or from the packets.
  func hasUsualBases(at place: Int64, end: Int64, room: Int64) -> Bool {
    !bases.isEmpty && bases.allSatisfy { isUsual($0.value, place, end, room) }
  }

  private func isUsual(_ base: Int64, _ place: Int64, _ end: Int64, _ room: Int64) -> Bool {
    [place, place + byteCount, end - room].contains(base)
  }

  /// Returns where tables may begin in some bytes, relative to the first one.
  static func candidates(in bytes: ArraySlice<UInt8>) -> [Int] {
    guard bytes.count >= 8 else { return [] }
    let name = ChunkID("moof").bytes
    return (bytes.startIndex...bytes.endIndex - 8).filter {
      bytes[$0 + 4] == name[0] && bytes[$0 + 4..<$0 + 8].elementsEqual(name)
    }.map { $0 - bytes.startIndex }
  }
}
