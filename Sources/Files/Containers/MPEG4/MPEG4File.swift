import Codecs

/// A parser of the MPEG-4 boxes that libavformat does not report. It reads the edit list, and
/// checks the lengths of the tables against the file's size.
struct MPEG4File {
  /// True if the packets lie in fragments, each with its own table.
  private(set) var isFragmented = false
  /// True if a box is larger than the rest of the file.
  private(set) var isCut = false
  /// The part of the sound that is played; nil for all.
  private(set) var edit: Edit?
  /// Byte ranges in the file that store the played length.
  private(set) var lengthFields: [Range<Int64>] = []
  /// Units per second of the track's media: of `edit`'s start and of the packets' times.
  private(set) var timescale: Int64 = 0
  /// Duration of the media, in `timescale` units.
  private(set) var duration: Int64 = 0
  /// Units per second of the movie: of `edit`'s length.
  private(set) var movieTimescale: Int64 = 0
  /// Content of the 'chan' box of the sample entry, in the form of a CAF 'chan' chunk; empty if there is none.
  private(set) var layout: [UInt8] = []

  struct Edit {
    /// In media units (`timescale`).
    var start: Int64
    /// Total length of the earlier edits that were joined into this one, in media units.
    var joined: Int64 = 0
    /// Length played after the joined part, in movie units; 0 for everything that remains.
    var length: Int64
  }

  private let store: any ByteStore
  private let total: Int64
  private var promisedPackets: Int64 = 0
  private var isSound = false
  private var hasSound = false
  private var pending: (edits: [Edit], timescale: Int64, duration: Int64, layout: [UInt8]) =
    ([], 0, 0, [])
  private var edits: [Edit] = []
  private var boxes = 0

  /// Parses a file's boxes, starting at an offset. Blocks.
  init(_ store: any ByteStore, from start: Int64 = 0) throws(SoundFileError) {
    self.store = store
    total = try store.byteCount()
    try walk(start, total, depth: 0)
    edit = try joined(edits)
  }

  private mutating func walk(
    _ start: Int64, _ end: Int64, depth: Int
  ) throws(SoundFileError) {
    var offset = start
    while let box = try MPEG4Box(at: offset, in: store, end: end) {
      boxes += 1
      guard boxes < 1 << 20 else { throw damaged("it has too many boxes") }
      if depth == 0, box.end > end { isCut = true }
      let next = min(box.end, end)
      try visit(box.name, box.body, next, depth: depth)
      offset = next
    }
  }

  private mutating func visit(
    _ name: String, _ body: Int64, _ end: Int64, depth: Int
  ) throws(SoundFileError) {
    switch name {
    case "moof", "mvex":
      isFragmented = true
      fallthrough
    case "moov", "trak", "mdia", "minf", "stbl", "edts", "traf":
      guard depth < 8 else { return }
      if name == "trak" { (isSound, pending) = (false, ([], 0, 0, [])) }
      try walk(body, end, depth: depth + 1)
      if name == "trak", isSound, !hasSound {
        hasSound = true
        (edits, timescale, duration, layout) = pending
      }
    case "mvhd":
      let times = try times(body)
      if movieTimescale == 0 { movieTimescale = times.scale }
      lengthFields.append(times.lengthField)
    case "tkhd":
      guard let head = try store.bytes(at: body, count: 1) else { return }
      lengthFields.append(head[0] == 1 ? body + 28..<body + 36 : body + 20..<body + 24)
    case "mdhd":
      let times = try times(body)
      pending.timescale = times.scale
      pending.duration = times.length
    case "hdlr":
      // Only a track's handler counts; handlers of metadata are in other boxes.
      if let bytes = try store.bytes(at: body, count: 12), bytes.name(at: 8) == "soun" {
        isSound = true
      }
    case "stsd": pending.layout = try layout(body + 8, end)
    case "elst": pending.edits = try edits(body, end)
    case "stsz":
      guard let bytes = try store.bytes(at: body, count: 12) else { return }
      try promise(
        Int64(bytes.big(at: 8, bytes: 4)),
        bytes.big(at: 4, bytes: 4) == 0 ? (end - body - 12) / 4 : total)
    case "stz2":
      guard let bytes = try store.bytes(at: body, count: 12) else { return }
      try promise(Int64(bytes.big(at: 8, bytes: 4)), (end - body - 12) * 2)
    case "trun":
      guard let bytes = try store.bytes(at: body, count: 8) else { return }
      let flags = bytes.big(at: 1, bytes: 3)
      let each = Int64((flags >> 8 & 15).nonzeroBitCount * 4)
      try promise(Int64(bytes.big(at: 4, bytes: 4)), each == 0 ? total : (end - body - 8) / each)
    default: break
    }
  }

  /// Refuses tables that are longer than their box, or list more packets than the file can hold.
  private mutating func promise(_ packets: Int64, _ room: Int64) throws(SoundFileError) {
    promisedPackets += packets
    guard packets <= room, promisedPackets <= min(total, PacketIndex.maximumCount) else {
      throw damaged("its tables promise \(promisedPackets) packets")
    }
  }

  private func times(
    _ body: Int64
  ) throws(SoundFileError) -> (scale: Int64, length: Int64, lengthField: Range<Int64>) {
    guard let bytes = try store.bytes(at: body, count: 20) else { return (0, 0, body..<body) }
    guard bytes[0] == 1 else {
      return (
        Int64(bytes.big(at: 12, bytes: 4)), Int64(bytes.big(at: 16, bytes: 4)),
        body + 16..<body + 20
      )
    }
    guard let long = try store.bytes(at: body, count: 32) else { return (0, 0, body..<body) }
    return (
      Int64(long.big(at: 20, bytes: 4)), Int64(clamping: long.big(at: 24, bytes: 8)),
      body + 24..<body + 32
    )
  }

  /// Reads the channel layout of the first sample entry.
  private func layout(_ start: Int64, _ end: Int64) throws(SoundFileError) -> [UInt8] {
    guard let entry = try MPEG4Box(at: start, in: store, end: end),
      let head = try store.bytes(at: entry.body, count: 10)
    else { return [] }
    // The boxes of the entry follow fields whose number depends on the version.
    let fields: Int64 = [28, 44, 64][min(2, Int(head.big(at: 8, bytes: 2)))]
    var offset = entry.body + fields
    while let box = try MPEG4Box(at: offset, in: store, end: min(entry.end, end)) {
      if box.name == "chan", box.end - box.body <= 1 << 16 {
        return try store.bytes(at: box.body + 4, count: Int(max(0, box.end - box.body - 4))) ?? []
      }
      offset = box.end
    }
    return []
  }

  /// Reads the edits of an edit list. An empty edit has a negative start.
  private mutating func edits(_ body: Int64, _ end: Int64) throws(SoundFileError) -> [Edit] {
    guard let head = try store.bytes(at: body, count: 8) else { return [] }
    let isLong = head[0] == 1
    let width: Int64 = isLong ? 20 : 12
    let count = min(Int64(head.big(at: 4, bytes: 4)), (end - body - 8) / width)
    guard count <= Self.mostEdits else { throw damaged("it has \(count) edits") }
    var edits: [Edit] = []
    for i in 0..<max(0, count) {
      let position = body + 8 + i * width
      guard let bytes = try store.bytes(at: position, count: Int(width)) else { return edits }
      if isLong {
        edits.append(
          Edit(
            start: Int64(bitPattern: bytes.big(at: 8, bytes: 8)),
            length: Int64(clamping: bytes.big(at: 0, bytes: 8))))
      } else {
        edits.append(
          Edit(
            start: Int64(Int32(truncatingIfNeeded: bytes.big(at: 4, bytes: 4))),
            length: Int64(bytes.big(at: 0, bytes: 4))))
      }
      lengthFields.append(position..<position + (isLong ? 8 : 4))
    }
    return edits
  }
  private static var mostEdits: Int64 { 1 << 14 }

  /// Joins the edits into one. Empty edits before and after the sound are dropped.
  private func joined(_ edits: [Edit]) throws(SoundFileError) -> Edit? {
    guard let first = edits.firstIndex(where: { $0.start >= 0 }),
      let last = edits.lastIndex(where: { $0.start >= 0 })
    else { return nil }
    var whole = edits[first]
    for next in edits[first...last].dropFirst() {
      let scale = movieTimescale > 0 ? Double(timescale) / Double(movieTimescale) : 0
      let end = Double(whole.start) + Double(whole.joined) + Double(whole.length) * scale
      // Lengths are rounded to movie units.
      guard whole.length > 0, next.start >= whole.start, abs(Double(next.start) - end) <= scale + 1
      else {
        throw SoundFileError(
          .notSupported("its edits join parts of the sound that do not follow one another"),
          path: store.name)
      }
      whole.joined = next.start - whole.start
      whole.length = next.length
    }
    return whole
  }

  private func damaged(_ detail: String) -> SoundFileError {
    SoundFileError(.damaged(detail), path: store.name)
  }

  /// Returns which frames are valid, priming and remainder; nil if all are valid.
  ///
  /// - Parameters:
  ///   - frames: Frames of all packets.
  ///   - spanned: Frames spanned by the packets' times, including the last packet's duration.
  ///   - gapless: Content of the iTunSMPB comment that iTunes writes; nil if there is none.
  func table(
    frames: Int64, spanned: Int64, sampleRate: Double, gapless: String?
  ) -> PacketTable? {
    // Implausible times are ignored.
    let spanned = spanned > 0 ? min(spanned, frames) : frames
    func scaled(_ units: Int64, _ scale: Int64) -> Int64 {
      let frames = scale > 0 ? (Double(units) * sampleRate / Double(scale)).rounded() : 0
      return frames.magnitude < 1e15 ? Int64(frames) : 0
    }
    if let numbers = gapless?.split(separator: " ").map({ Int64($0, radix: 16) }),
      numbers.count >= 4, let priming = numbers[1], let remainder = numbers[2],
      let valid = numbers[3], priming >= 0, remainder >= 0, valid > 0,
      // The comment may count fewer frames than the packets have.
      valid <= frames, priming <= frames - valid
    {
      return PacketTable(priming: priming, valid: valid, of: frames)
    }
    guard let edit else {
      return spanned < frames ? PacketTable(priming: 0, valid: spanned, of: frames) : nil
    }
    let priming = scaled(edit.start, timescale)
    // The packets' times are exact, while an edit in coarse units is rounded.
    let byTimes = spanned - priming
    let byEdit =
      edit.length == 0
      ? byTimes : scaled(edit.joined, timescale) + scaled(edit.length, movieTimescale)
    let tick = movieTimescale > 0 ? sampleRate / Double(movieTimescale) : 0
    let valid = tick > 1 && abs(Double(byTimes - byEdit)) <= tick ? byTimes : byEdit
    return PacketTable(priming: priming, valid: valid, of: frames)
  }
}
