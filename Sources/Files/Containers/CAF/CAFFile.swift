import Codecs
import Timeline

/// A parser of Core Audio Format files. libavformat's CAF demuxer does not report how many frames
/// are valid, and lacks many codecs.
enum CAFFile {
  /// The codecs' four-character names, as in Core Audio's kAudioFormat… constants.
  static let codecNames: [(name: String, codec: Codec)] = [
    ("aac ", .aac), ("aach", .aacHE), ("aacp", .aacHEv2), ("alac", .alac), ("flac", .flac),
    ("opus", .opus), (".mp1", .mp1), (".mp2", .mp2), (".mp3", .mp3), ("ima4", .ima4),
    ("ms\u{0}\u{11}", .msIMA), ("ulaw", .ulaw), ("alaw", .alaw), ("ms\u{0}1", .gsm),
    ("agsm", .gsm), ("ac-3", .ac3), ("ec-3", .eac3), ("samr", .amrNarrow), ("sawb", .amrWide),
    ("vorb", .vorbis),
  ]

  /// Returns the four-character name of a format's codec.
  static func name(of format: PacketFormat) -> String {
    if format.codec == .gsm, format.bytesPerPacket == 33 { return "agsm" }
    return codecNames.first { $0.codec == format.codec }?.name ?? "    "
  }

  /// Reads the chunks and the packet table of a file. Blocks.
  static func open(_ store: any ByteStore) throws(SoundFileError) -> PacketSource {
    guard case .head(let head) = try FileHead.find(in: store) else {
      throw SoundFileError(.truncated, path: store.name)
    }
    let chunks = head.before + head.after
    func contents(_ id: ChunkID, atMost limit: Int64) throws(SoundFileError) -> [UInt8] {
      guard let chunk = chunks.first(where: { $0.id == id }) else { return [] }
      guard chunk.size <= limit,
        let bytes = try store.bytes(at: chunk.offset, count: Int(chunk.size))
      else { throw SoundFileError(.damaged("its chunk '\(id)' is cut short"), path: store.name) }
      return bytes
    }
    var source = try describe(contents("desc", atMost: 1 << 10), store)
    source.cookie = try contents("kuki", atMost: 1 << 20)
    source.tags = InfoKeys.coreAudioTags(CAFChunks.tags(try contents("info", atMost: 1 << 20)))
    source.channelRoles = CAFLayout.roles(
      try contents("chan", atMost: 1 << 16), channels: source.format.channels)
    source.chunks = chunks
    var table = try contents("pakt", atMost: 1 << 28)
    if table.isEmpty, let cut = head.cut, cut.id == "pakt", cut.size <= 1 << 28 {
      table = try store.bytes(at: cut.offset, count: Int(cut.size)) ?? []
    }
    let start = try store.bytes(at: head.dataOffset, count: 16) ?? []
    let isCounted = try correct(&source.format, table, start, store)
    let present = try max(0, store.byteCount() - head.dataOffset)
    try list(
      &source, table, head.dataOffset, min(head.dataBytes ?? present, present), store)
    if !isCounted { source.table = nil }
    return source
  }

  /// Corrects known errors of other writers: ffmpeg sets FLAC's frames per packet to 0 (variable) or
  /// to an average, but lists no frames in the packet table.
  ///
  /// - Returns: False if the counts in the packet table are wrong, too.
  private static func correct(
    _ format: inout PacketFormat, _ table: [UInt8], _ start: [UInt8], _ store: any ByteStore
  ) throws(SoundFileError) -> Bool {
    let most = 1 << 20
    let isOpen = format.framesPerPacket == 0 && format.bytesPerPacket == 0
    let numbers = UInt64(table.dropFirst(24).count { $0 & 0x80 == 0 })
    let own = format.codec == .flac ? PacketFrames.flac(start) : 0
    let isWrong = own > 0 && format.framesPerPacket > 0 && own != format.framesPerPacket
    if isWrong || own > 0 && isOpen && numbers == table.big(at: 0, bytes: 8) {
      format.framesPerPacket = own
    }
    guard format.bytesPerPacket <= most, format.framesPerPacket <= most else {
      throw SoundFileError(
        .damaged("packets of \(format.bytesPerPacket) bytes, \(format.framesPerPacket) frames"),
        path: store.name)
    }
    return !isWrong
  }

  private static func describe(
    _ bytes: [UInt8], _ store: any ByteStore
  ) throws(SoundFileError) -> PacketSource {
    guard bytes.count >= 32 else { throw SoundFileError(.truncated, path: store.name) }
    let rate = Double(bitPattern: bytes.big(at: 0, bytes: 8))
    let name = bytes.name(at: 8)
    guard let codec = codecNames.first(where: { $0.name == name })?.codec else {
      throw SoundFileError(.unsupportedEncoding("'\(name)'"), path: store.name)
    }
    let channels = bytes.big(at: 24, bytes: 4)
    if let error = SoundFileError.tooMany(channels: Int(channels), path: store.name) { throw error }
    guard rate.isFinite, rate >= 1, rate <= 10_000_000, channels >= 1, channels <= 64 else {
      throw SoundFileError(
        .unsupportedEncoding("\(channels) channels at \(rate) Hz"), path: store.name)
    }
    let bytesPerPacket = bytes.big(at: 16, bytes: 4)
    let framesPerPacket = bytes.big(at: 20, bytes: 4)
    let flags = bytes.big(at: 12, bytes: 4)
    let bits =
      codec == .alac || codec == .flac
      ? [1: 16, 2: 20, 3: 24, 4: 32][flags] ?? Int(clamping: bytes.big(at: 28, bytes: 4)) : 0
    return PacketSource(
      container: .caf,
      format: PacketFormat(
        codec: codec, sampleRate: rate, channels: Int(channels),
        framesPerPacket: Int(framesPerPacket), bytesPerPacket: Int(bytesPerPacket),
        bitsPerSample: min(bits, 32)))
  }

  /// Fills the index from the packet table, with only those packets that are present in the file.
  private static func list(
    _ source: inout PacketSource, _ table: [UInt8], _ dataOffset: Int64, _ dataBytes: Int64,
    _ store: any ByteStore
  ) throws(SoundFileError) {
    let format = source.format
    if format.bytesPerPacket > 0, format.framesPerPacket > 0 {
      let size = format.bytesPerPacket
      let count = dataBytes / Int64(size)
      guard !count.multipliedReportingOverflow(by: Int64(format.framesPerPacket)).overflow else {
        throw SoundFileError(.damaged("it has too many packets"), path: store.name)
      }
      source.index = PacketIndex(offset: dataOffset, bytes: size, count: count)
    } else {
      guard table.count >= 24 else {
        if dataBytes == 0 { return }
        let isCut = try dataOffset + dataBytes >= store.byteCount()
        throw SoundFileError(
          .damaged("there is no packet table\(isCut ? ": the file is cut before it" : "")"),
          path: store.name)
      }
      let promised = Int64(bitPattern: table.big(at: 0, bytes: 8))
      // A table that is cut lists fewer packets.
      let most = min(PacketIndex.maximumCount, Int64(table.count - 24))
      var isComplete = 0...most ~= promised
      var position = 24
      func number() -> Int64? {
        var value: Int64 = 0
        while position < table.count, value < 1 << 40 {
          let byte = table[position]
          position += 1
          value = value << 7 | Int64(byte & 0x7F)
          if byte & 0x80 == 0 { return value }
        }
        return nil
      }
      var start: Int64 = 0
      for _ in 0..<(isComplete ? promised : most) {
        let bytes = format.bytesPerPacket > 0 ? Int64(format.bytesPerPacket) : number()
        let frames = format.framesPerPacket > 0 ? 0 : number()
        guard let bytes, let frames, bytes <= dataBytes - start, bytes <= 1 << 30 else {
          isComplete = false
          break
        }
        // ffmpeg lists empty packets.
        guard bytes > 0 else { continue }
        source.index.append(
          [PacketIndex.Piece(offset: dataOffset + start, bytes: Int(bytes))], frames: frames)
        start += bytes
      }
      if !isComplete {
        let priming = Int64(Int32(truncatingIfNeeded: table.big(at: 16, bytes: 4)))
        let end = exactClock(Double(max(0, source.frames - priming)) / format.sampleRate)
        source.damage = "the file is cut short at \(end): \(source.index.count) packets are there"
      }
    }
    guard table.count >= 24 else { return }
    let valid = Int64(bitPattern: table.big(at: 8, bytes: 8))
    let priming = Int64(Int32(truncatingIfNeeded: table.big(at: 16, bytes: 4)))
    let remainder = Int64(Int32(truncatingIfNeeded: table.big(at: 20, bytes: 4)))
    source.table = PacketTable(
      priming: priming, valid: valid >= 0 ? valid : nil, remainder: remainder, of: source.frames)
  }
}

extension PacketTable {
  /// Creates a table that fits the frames present: counts in the file that are too large are
  /// reduced.
  ///
  /// - Parameters:
  ///   - valid: Valid frames; nil for all frames that are neither priming nor remainder.
  ///   - frames: Frames of all packets.
  init(priming: Int64, valid: Int64?, remainder: Int64 = 0, of frames: Int64) {
    let priming = max(0, min(priming, frames, Int64(Int32.max)))
    let rest = frames - priming
    let valid = max(0, min(valid ?? rest - max(0, remainder), rest))
    self.init(
      validFrames: valid, primingFrames: Int(priming),
      remainderFrames: Int(min(rest - valid, Int64(Int32.max))))
  }
}
