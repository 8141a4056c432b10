import Codecs

/// What libavformat does not tell of an MPEG-4 file: how much of its sound is to be heard, and whether
/// its tables can be true at all.
struct MPEG4File {
  /// True if the packets lie in fragments, each with a table of its own.
  private(set) var isFragmented = false
  /// Which part of the sound is to be heard, in units of the file's own; nil for all.
  private(set) var edit: Edit?
  /// Where the file has the length of what is heard, in bytes of the file.
  private(set) var lengthPlaces: [Range<Int64>] = []
  /// Units per second of `edit`'s start, and of the packets' times.
  private(set) var timescale: Int64 = 0
  /// Length of the packets' times.
  private(set) var duration: Int64 = 0
  /// Units per second of `edit`'s length.
  private(set) var movieTimescale: Int64 = 0

  struct Edit {
    /// In units of the packets' times.
    var start: Int64
    /// How much of it other edits had before they were joined, in the same units.
    var joined: Int64 = 0
    /// How much is heard behind that, in units of the movie; 0 for all that there is.
    var length: Int64
  }

  private let store: any ByteStore
  private let total: Int64
  private var promisedPackets: Int64 = 0
  private var isSound = false
  private var hasSound = false
  private var pending: (edits: [Edit], timescale: Int64, duration: Int64) = ([], 0, 0)
  private var edits: [Edit] = []
  private var boxes = 0

  /// Looks through a file's boxes, from a place on. Blocks.
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
    while end - offset >= 8, let head = try store.bytes(at: offset, count: 8) {
      boxes += 1
      guard boxes < 1 << 20 else { throw damaged("it has too many boxes") }
      var size = Int64(head.big(at: 0, bytes: 4))
      var body = offset + 8
      if size == 1 {
        guard let long = try store.bytes(at: body, count: 8) else { return }
        size = Int64(clamping: long.big(at: 0, bytes: 8))
        body += 8
      }
      if size == 0 { size = end - offset }
      guard size >= body - offset else { return }
      let next = size > end - offset ? end : offset + size
      try visit(head.name(at: 4), body, next, depth: depth)
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
      if name == "trak" { (isSound, pending) = (false, ([], 0, 0)) }
      try walk(body, end, depth: depth + 1)
      if name == "trak", isSound, !hasSound {
        hasSound = true
        (edits, timescale, duration) = pending
      }
    case "mvhd":
      let times = try times(body)
      if movieTimescale == 0 { movieTimescale = times.scale }
      lengthPlaces.append(times.lengthPlace)
    case "tkhd":
      guard let head = try store.bytes(at: body, count: 1) else { return }
      lengthPlaces.append(head[0] == 1 ? body + 28..<body + 36 : body + 20..<body + 24)
    case "mdhd":
      let times = try times(body)
      pending.timescale = times.scale
      pending.duration = times.length
    case "hdlr":
      // A track's handler; those of metadata come elsewhere.
      if let bytes = try store.bytes(at: body, count: 12), bytes.name(at: 8) == "soun" {
        isSound = true
      }
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

  /// Refuses tables that are longer than their box, or than the file could hold packets.
  private mutating func promise(_ packets: Int64, _ room: Int64) throws(SoundFileError) {
    promisedPackets += packets
    guard packets <= room, promisedPackets <= min(total, PacketIndex.maximumCount) else {
      throw damaged("its tables promise \(promisedPackets) packets")
    }
  }

  private func times(
    _ body: Int64
  ) throws(SoundFileError) -> (scale: Int64, length: Int64, lengthPlace: Range<Int64>) {
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

  /// The edits of a list. Those that are empty have a negative start.
  private mutating func edits(_ body: Int64, _ end: Int64) throws(SoundFileError) -> [Edit] {
    guard let head = try store.bytes(at: body, count: 8) else { return [] }
    let isLong = head[0] == 1
    let width: Int64 = isLong ? 20 : 12
    let count = min(Int64(head.big(at: 4, bytes: 4)), (end - body - 8) / width)
    guard count <= Self.mostEdits else { throw damaged("it has \(count) edits") }
    var edits: [Edit] = []
    for i in 0..<max(0, count) {
      let place = body + 8 + i * width
      guard let bytes = try store.bytes(at: place, count: Int(width)) else { return edits }
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
      lengthPlaces.append(place..<place + (isLong ? 8 : 4))
    }
    return edits
  }
  private static var mostEdits: Int64 { 1 << 14 }

  /// One edit for all. The silence before the sound and behind it is left out.
  private func joined(_ edits: [Edit]) throws(SoundFileError) -> Edit? {
    guard let first = edits.firstIndex(where: { $0.start >= 0 }),
      let last = edits.lastIndex(where: { $0.start >= 0 })
    else { return nil }
    var whole = edits[first]
    for next in edits[first...last].dropFirst() {
      let scale = movieTimescale > 0 ? Double(timescale) / Double(movieTimescale) : 0
      let end = Double(whole.start) + Double(whole.joined) + Double(whole.length) * scale
      // Lengths are rounded to the movie's units.
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

  /// Which frames are sound.
  ///
  /// - Parameters:
  ///   - frames: Frames of all packets.
  ///   - spanned: Frames that the packets' times span, the last one's length included.
  ///   - gapless: What iTunes wrote into a comment of the name iTunSMPB, if it did.
  func table(
    frames: Int64, spanned: Int64, sampleRate: Double, gapless: String?
  ) -> PacketTable? {
    // Wild times tell nothing.
    let spanned = spanned > 0 ? min(spanned, frames) : frames
    func scaled(_ units: Int64, _ scale: Int64) -> Int64 {
      let frames = scale > 0 ? (Double(units) * sampleRate / Double(scale)).rounded() : 0
      return frames.magnitude < 1e15 ? Int64(frames) : 0
    }
    if let numbers = gapless?.split(separator: " ").map({ Int64($0, radix: 16) }),
      numbers.count >= 4, let priming = numbers[1], let remainder = numbers[2],
      let valid = numbers[3], priming >= 0, remainder >= 0, valid > 0,
      // The comment may count less than it pads.
      valid <= frames, priming <= frames - valid
    {
      return PacketTable(priming: priming, valid: valid, of: frames)
    }
    guard let edit else {
      return spanned < frames ? PacketTable(priming: 0, valid: spanned, of: frames) : nil
    }
    let priming = scaled(edit.start, timescale)
    // Packets' times tell exactly what an edit in coarse units tells roughly.
    let byTimes = spanned - priming
    let byEdit =
      edit.length == 0
      ? byTimes : scaled(edit.joined, timescale) + scaled(edit.length, movieTimescale)
    let tick = movieTimescale > 0 ? sampleRate / Double(movieTimescale) : 0
    let valid = tick > 1 && abs(Double(byTimes - byEdit)) <= tick ? byTimes : byEdit
    return PacketTable(priming: priming, valid: valid, of: frames)
  }
}
