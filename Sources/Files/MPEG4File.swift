import Codecs

/// What libavformat does not tell of an MPEG-4 file: how much of its sound is to be heard, and whether
/// its tables can be true at all.
struct MPEG4File {
  /// True if the packets lie in fragments, each with a table of its own.
  private(set) var isFragmented = false
  /// Frames of sound, in units of the file's own.
  private(set) var edit: Edit?
  /// Units per second of `edit`'s start, and of the packets' times.
  private(set) var timescale: Int64 = 0
  /// Length of the packets' times.
  private(set) var duration: Int64 = 0
  /// Units per second of `edit`'s length.
  private(set) var movieTimescale: Int64 = 0

  struct Edit {
    var start: Int64
    /// 0 for all that there is.
    var length: Int64
  }

  private let store: any ByteStore
  private let total: Int64
  private var promisedPackets: Int64 = 0
  private var isSound = false
  private var hasSound = false
  private var pending: (edit: Edit?, timescale: Int64, duration: Int64) = (nil, 0, 0)
  private var boxes = 0

  /// Looks through a file's boxes. Blocks.
  init(_ store: any ByteStore) throws(SoundFileError) {
    self.store = store
    total = try store.byteCount()
    try walk(0, total, depth: 0)
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
      if name == "trak" { (isSound, pending) = (false, (nil, 0, 0)) }
      try walk(body, end, depth: depth + 1)
      if name == "trak", isSound, !hasSound {
        hasSound = true
        (edit, timescale, duration) = pending
      }
    case "mvhd":
      let (_, scale, _) = try times(body)
      if movieTimescale == 0 { movieTimescale = scale }
    case "mdhd":
      let (_, scale, length) = try times(body)
      pending.timescale = scale
      pending.duration = length
    case "hdlr":
      // A track's handler; those of metadata come elsewhere.
      if let bytes = try store.bytes(at: body, count: 12), bytes.name(at: 8) == "soun" {
        isSound = true
      }
    case "elst": pending.edit = try edit(body, end)
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
  ) throws(SoundFileError) -> (version: UInt8, scale: Int64, length: Int64) {
    guard let bytes = try store.bytes(at: body, count: 20) else { return (0, 0, 0) }
    guard bytes[0] == 1 else {
      return (0, Int64(bytes.big(at: 12, bytes: 4)), Int64(bytes.big(at: 16, bytes: 4)))
    }
    guard let long = try store.bytes(at: body, count: 32) else { return (1, 0, 0) }
    return (1, Int64(long.big(at: 20, bytes: 4)), Int64(clamping: long.big(at: 24, bytes: 8)))
  }

  /// The first edit that is not empty.
  private func edit(_ body: Int64, _ end: Int64) throws(SoundFileError) -> Edit? {
    guard let head = try store.bytes(at: body, count: 8) else { return nil }
    let isLong = head[0] == 1
    let width: Int64 = isLong ? 20 : 12
    let count = min(Int64(head.big(at: 4, bytes: 4)), (end - body - 8) / width, 16)
    for i in 0..<max(0, count) {
      guard let bytes = try store.bytes(at: body + 8 + i * width, count: Int(width)) else {
        return nil
      }
      let length: Int64
      let start: Int64
      if isLong {
        length = Int64(clamping: bytes.big(at: 0, bytes: 8))
        start = Int64(bitPattern: bytes.big(at: 8, bytes: 8))
      } else {
        length = Int64(bytes.big(at: 0, bytes: 4))
        start = Int64(Int32(truncatingIfNeeded: bytes.big(at: 4, bytes: 4)))
      }
      if start >= 0 { return Edit(start: start, length: length) }
    }
    return nil
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
    let byEdit = edit.length == 0 ? byTimes : scaled(edit.length, movieTimescale)
    let tick = movieTimescale > 0 ? sampleRate / Double(movieTimescale) : 0
    let valid = tick > 1 && abs(Double(byTimes - byEdit)) <= tick ? byTimes : byEdit
    return PacketTable(priming: priming, valid: valid, of: frames)
  }
}
