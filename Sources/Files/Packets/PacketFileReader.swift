import CFFmpeg
package import Codecs
import Synchronization

/// A file of packets that is open for reading.
///
/// Any thread; calls may block on the store, so none is real-time safe. The packets are those of
/// the file's first audio stream, as libavformat delivers them, with two exceptions:
///
/// - AAC packets of ADTS files come without their ADTS headers, as in MPEG-4 files. The cookie is
///   made from the first header.
/// - If all packets of a codec have one size (µ-law, IMA4, GSM …), they are the codec's own
///   packets. libavformat reads larger blocks.
///
/// If a file has no packet table, counts are computed on first use.
@safe
package final class PacketFileReader: Sendable {
  package let container: Container
  package let format: PacketFormat
  /// The decoder's magic cookie in Apple's form; empty if the codec needs none.
  package let cookie: [UInt8]
  /// Roles of the channels; nil if the file does not give them.
  package let channelRoles: [ChannelRole]?
  /// The file's metadata by the keys of Core Audio's info dictionaries.
  package let tags: [String: String]
  /// One line about a damaged or only partly readable file; nil if it is intact.
  package let warning: String?

  /// True if no packet is missing, and the cookie is sufficient for decoding from any packet.
  package let hasPlainPackets: Bool

  private let setups: [Range<Int64>]
  private let store: any ByteStore
  private let claimedBitRate: Int

  @safe
  private struct State: ~Copyable, @unchecked Sendable {
    var index: PacketIndex
    var table: PacketTable?
    /// The scanner for the remaining packets; nil if all are listed.
    var scanner: PacketScanner?
    /// Valid frames according to the header.
    var promisedFrames: Int64?
    /// The chunks of a CAF file, except its sound.
    var chunks: [Chunk]
    /// How often the file's contents have been rearranged.
    var moves = 0
  }
  private let state: Mutex<State>

  /// Opens a file. Blocks.
  ///
  /// - Parameter hint: The container to assume if the first bytes match none.
  package init(_ store: any ByteStore, container hint: Container? = nil) throws(SoundFileError) {
    guard try store.byteCount() > 0 else { throw SoundFileError(.empty, path: store.name) }
    guard let container = try Container(contentOf: store) ?? hint else {
      throw SoundFileError(.notASoundFile, path: store.name)
    }
    let opened = try Opening(store, container).open()
    self.store = store
    self.container = container
    format = opened.source.format
    cookie = opened.source.cookie
    channelRoles = opened.source.channelRoles
    tags = opened.source.tags
    setups = opened.source.setups
    hasPlainPackets = setups.isEmpty && !opened.source.hasMissingPackets
    warning = opened.source.damage.map { "\(store.name): \($0)" }
    claimedBitRate = opened.source.claimedBitRate
    state = Mutex(
      State(
        index: opened.source.index, table: opened.source.table, scanner: opened.scanner,
        promisedFrames: opened.promisedFrames, chunks: opened.source.chunks))
  }

  /// The chunks of a CAF file, except its sound, in the file's order.
  var chunks: [Chunk] { state.withLock { $0.chunks } }

  // MARK: Rearranging

  /// True if nothing comes after the packets that belongs before them. Blocks.
  package var isOptimized: Bool {
    get throws(SoundFileError) { try PacketFileOrder.isOptimized(store, container) }
  }

  /// Moves everything that follows the packets before them. If the process is killed, the file has
  /// either the old or the new order. Blocks.
  package func optimize() throws(SoundFileError) {
    guard store.isWritable else { throw SoundFileError(.notForWriting, path: store.name) }
    try state.withLock { state throws(SoundFileError) in
      guard try !PacketFileOrder.isOptimized(store, container) else { return }
      try PacketFileOrder.optimize(store, container)
      let opened = try Opening(store, container).open()
      state.index = opened.source.index
      state.scanner = opened.scanner
      state.chunks = opened.source.chunks
      state.moves += 1
    }
  }

  // MARK: Counts that may require a scan

  /// Packets in the file.
  package var packetCount: Int64 {
    get throws(SoundFileError) { try completed().count }
  }

  /// Bytes of the largest packet.
  package var maximumPacketBytes: Int {
    get throws(SoundFileError) { try completed().maximumBytes }
  }

  /// Bytes of all packets.
  package var byteCount: Int64 {
    get throws(SoundFileError) { try completed().byteCount }
  }

  /// Frames that all packets decode to, including priming and remainder.
  package var frameCount: Int64 {
    get throws(SoundFileError) {
      let index = try completed()
      return format.framesPerPacket > 0 ? index.count * Int64(format.framesPerPacket) : index.frames
    }
  }

  /// Counts of the valid, priming and remainder frames; nil if the file gives none, and all are
  /// valid.
  package var packetTable: PacketTable? {
    get throws(SoundFileError) {
      _ = try completed()
      return state.withLock { $0.table }
    }
  }

  /// Valid frames.
  package var validFrames: Int64 {
    get throws(SoundFileError) {
      if let table = try packetTable { return table.validFrames }
      return try frameCount
    }
  }

  /// Duration of the valid frames in seconds.
  package var duration: Double {
    get throws(SoundFileError) {
      format.sampleRate > 0 ? Double(try validFrames) / format.sampleRate : 0
    }
  }

  /// Bits per second.
  package var bitRate: Int {
    get throws(SoundFileError) {
      if claimedBitRate > 0 { return claimedBitRate }
      let seconds = try duration
      guard seconds > 0 else { return 0 }
      let rate = Double(try byteCount) * 8 / seconds
      return rate < 1e15 ? Int(rate.rounded()) : 0
    }
  }

  /// The packets found so far.
  var listedPackets: PacketIndex { state.withLock { $0.index } }

  private func completed() throws(SoundFileError) -> PacketIndex {
    try extend(to: .max)
    return state.withLock { $0.index }
  }

  /// Scans until `count` packets are listed, or all.
  private func extend(to count: Int64) throws(SoundFileError) {
    let format = format
    try state.withLock { state throws(SoundFileError) in
      guard let scanner = state.scanner else { return }
      while state.index.count < count, try scanner.step(&state.index) {}
      guard scanner.isAtEnd else { return }
      state.scanner = nil
      guard state.table == nil else { return }
      let frames =
        format.framesPerPacket > 0
        ? state.index.count * Int64(format.framesPerPacket) : state.index.frames
      if scanner.skippedFrames > 0 || scanner.discardedFrames > 0 {
        state.table = PacketTable(
          priming: Int64(scanner.skippedFrames), valid: nil,
          remainder: Int64(scanner.discardedFrames), of: frames)
      } else if let promised = state.promisedFrames, promised > 0, promised < frames {
        state.table = PacketTable(priming: 0, valid: promised, of: frames)
      }
    }
  }

  // MARK: Packets

  /// Reads consecutive complete packets starting at number `first` (0 is the file's first). It
  /// reads up to `count`, as many as exist and fit.
  ///
  /// - Parameters:
  ///   - buffer: Receives the packets without gaps.
  ///   - extents: Receives each packet's position in `buffer`, with its frames if they vary in the
  ///     format.
  /// - Returns: Number of packets read: 0 at the end, or if the first packet does not fit
  ///   (`packetBytes` gives its size).
  package func readPackets(
    from first: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents.removeAll(keepingCapacity: true)
    guard first >= 0, count > 0 else { return 0 }
    let last = first.addingReportingOverflow(Int64(count))
    try extend(to: last.overflow ? .max : last.partialValue)
    while true {
      let (pieces, moves) = pieces(from: first, count: count, room: buffer.count, &extents)
      let failure = unsafe read(pieces, into: buffer)
      // `optimize()` may have moved the packets in the meantime.
      guard state.withLock({ $0.moves }) == moves else { continue }
      if let failure { throw failure }
      return extents.count
    }
  }

  /// Returns the file positions of as many packets as fit.
  private func pieces(
    from first: Int64, count: Int, room: Int, _ extents: inout [PacketExtent]
  ) -> (pieces: [PacketIndex.Piece], moves: Int) {
    extents.removeAll(keepingCapacity: true)
    return state.withLock { state in
      var pieces: [PacketIndex.Piece] = []
      var used = 0
      var packet = first
      while packet < state.index.count, extents.count < count {
        let bytes = state.index.bytes(of: packet)
        guard bytes <= room - used else { break }
        extents.append(
          PacketExtent(offset: used, bytes: bytes, frames: state.index.frames(of: packet)))
        for piece in state.index.pieces(of: packet) {
          // Adjacent packets are read with one call.
          if let before = pieces.last, before.offset + Int64(before.bytes) == piece.offset {
            pieces[pieces.count - 1].bytes += piece.bytes
          } else {
            pieces.append(piece)
          }
        }
        used += bytes
        packet += 1
      }
      return (pieces, state.moves)
    }
  }

  /// Reads pieces into a buffer without gaps. Returns the error if one fails.
  private func read(
    _ pieces: [PacketIndex.Piece], into buffer: UnsafeMutableRawBufferPointer
  ) -> SoundFileError? {
    var used = 0
    for piece in pieces {
      let room = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[used..<used + piece.bytes])
      do throws(SoundFileError) {
        guard try unsafe store.read(at: piece.offset, into: room) == piece.bytes else {
          return SoundFileError(.truncated, path: store.name)
        }
      } catch {
        return error
      }
      used += piece.bytes
    }
    return nil
  }

  /// Returns the header packets that the decoder needs before `packet`; an empty range if the
  /// cookie is sufficient.
  package func setupPackets(for packet: Int64) -> Range<Int64> {
    setups.last { $0.upperBound <= packet } ?? 0..<0
  }

  /// Returns the bytes of packet number `packet`; nil if it does not exist.
  package func packetBytes(of packet: Int64) throws(SoundFileError) -> Int? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    return state.withLock { $0.index.count > packet ? $0.index.bytes(of: packet) : nil }
  }

  /// Returns the file offset of packet number `packet`; nil if it does not exist.
  package func packetOffset(of packet: Int64) throws(SoundFileError) -> Int64? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    return state.withLock {
      $0.index.count > packet ? $0.index.pieces(of: packet).first?.offset : nil
    }
  }

  /// Returns the frames of packet number `packet`; nil if it does not exist.
  package func packetFrames(of packet: Int64) throws(SoundFileError) -> Int? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    let common = format.framesPerPacket
    return state.withLock {
      guard $0.index.count > packet else { return nil }
      return common > 0 ? common : $0.index.frames(of: packet)
    }
  }
}

/// The opening of a file of packets, with the reader that its container needs.
private struct Opening {
  struct Opened {
    var source: PacketSource
    var scanner: PacketScanner?
    var promisedFrames: Int64?
  }

  let store: any ByteStore
  let container: Container

  init(_ store: any ByteStore, _ container: Container) {
    self.store = store
    self.container = container
  }

  func open() throws(SoundFileError) -> Opened {
    switch container {
    case .caf: return Opened(source: try CAFFile.open(store))
    case .m4a, .m4b, .mp4, .threeGP, .threeGP2: return try openMPEG4()
    case .ogg: return try openOgg()
    case .wave, .rf64, .wave64, .aiff, .aifc, .next: return try openChunked()
    case .adts, .mp3, .mp2, .mp1, .ac3, .flac, .amr: return try openStream()
    }
  }

  /// Returns libavformat's demuxer name for the container.
  private func name() throws(SoundFileError) -> String {
    switch container {
    case .aiff, .aifc: return "aiff"
    case .caf: return "caf"
    case .wave, .rf64: return "wav"
    case .wave64: return "w64"
    case .next: return "au"
    case .m4a, .m4b, .mp4, .threeGP, .threeGP2: return "mp4"
    case .adts: return "aac"
    case .mp3, .mp2, .mp1: return "mp3"
    case .ac3:
      // AC-3 and Enhanced AC-3 differ in the header's version field.
      let head = try store.bytes(at: 0, count: 6)
      return head.map { $0[5] >> 3 > 10 } == true ? "eac3" : "ac3"
    case .flac: return "flac"
    case .ogg: return "ogg"
    case .amr: return "amr"
    }
  }

  private func describe(_ demuxer: Demuxer) throws(SoundFileError) -> PacketSource {
    guard let codec = demuxer.codec else {
      throw SoundFileError(.unsupportedEncoding(demuxer.codecName), path: store.name)
    }
    let rate = demuxer.sampleRate
    guard rate >= 1, rate <= 10_000_000, (1...64).contains(demuxer.channels) else {
      throw SoundFileError(
        .damaged("\(demuxer.channels) channels at \(rate) Hz"), path: store.name)
    }
    var format = PacketFormat(codec: codec, sampleRate: rate, channels: demuxer.channels)
    switch codec {
    case .ulaw, .alaw:
      format.bytesPerPacket = format.channels
      format.framesPerPacket = 1
    case .ima4:
      format.bytesPerPacket = 34 * format.channels
      format.framesPerPacket = 64
    case .msIMA:
      let channels = format.channels
      let block = demuxer.blockBytes
      guard block > 4 * channels, block <= 1 << 20 else {
        throw SoundFileError(.damaged("packets of \(block) bytes"), path: store.name)
      }
      format.bytesPerPacket = block
      format.framesPerPacket = (block - 4 * channels) * 2 / channels + 1
    case .gsm:
      let isPlain = demuxer.blockBytes == 33
      format.bytesPerPacket = isPlain ? 33 : 65
      format.framesPerPacket = isPlain ? 160 : 320
    case .aac: format.framesPerPacket = demuxer.frameSize == 960 ? 960 : 1024
    case .aacHE, .aacHEv2: format.framesPerPacket = 2048
    case .alac:
      format.framesPerPacket = demuxer.frameSize > 0 ? demuxer.frameSize : 4096
      format.bitsPerSample = demuxer.bitsPerSample
    case .flac:
      let info = demuxer.extradata
      let (shortest, longest) = (info.big(at: 0, bytes: 2), info.big(at: 2, bytes: 2))
      format.framesPerPacket = shortest == longest ? Int(shortest) : 0
      format.bitsPerSample = Int(info.big(at: 12, bytes: 2) >> 4 & 31) + 1
    case .opus, .vorbis: break
    case .mp1, .mp2, .mp3, .ac3, .eac3, .amrNarrow, .amrWide:
      format.framesPerPacket = codec.framesPerPacket(sampleRate: rate, channels: format.channels)
    }
    return PacketSource(
      container: container, format: format,
      cookie: MagicCookie.appleCookie(
        codec, extradata: demuxer.extradata, bitRate: demuxer.bitRate),
      channelRoles: demuxer.channelRoles, tags: InfoKeys.tags(demuxer.metadata),
      claimedBitRate: demuxer.bitRate)
  }

  // MARK: Opening each container family

  private func openMPEG4() throws(SoundFileError) -> Opened {
    let file = try MPEG4File(store)
    // libavformat's own edit list handling drops packets that a decoder needs, and some sound.
    let demuxer = try Demuxer(store, name: name(), options: ["ignore_editlist": "1"])
    var source = try describe(demuxer)
    let format = source.format
    let spanned: Int64
    if file.isFragmented {
      let scanner = try PacketScanner(
        store, demuxer, .told, isRegular: format.framesPerPacket > 0,
        frames: PacketFrames.counter(format.codec, demuxer.extradata))
      while try scanner.step(&source.index) {}
      spanned = min(scanner.spannedFrames, demuxer.promisedFrames ?? .max)
    } else {
      let count =
        format.framesPerPacket == 0
        ? PacketFrames.counter(format.codec, demuxer.extradata) : nil
      let total = try store.byteCount()
      for entry in demuxer.table() {
        // Entries beyond the end of a truncated file are dropped.
        guard entry.bytes > 0, entry.offset >= 0, entry.offset <= total - Int64(entry.bytes) else {
          break
        }
        var frames: Int64 = 0
        if format.framesPerPacket == 0 {
          // A packet's own bytes are more reliable than its duration: the last packet's may be
          // shortened.
          let start =
            try count == nil
            ? nil
            : store.bytes(
              at: entry.offset, count: min(entry.bytes, PacketFrames.tellingBytes))
          frames = count.flatMap { count in start.map { Int64(count($0)) } } ?? entry.frames
        }
        source.index.append(
          [PacketIndex.Piece(offset: entry.offset, bytes: entry.bytes)], frames: frames)
      }
      let scale = Double(max(1, file.timescale))
      let frames = (Double(file.duration) * format.sampleRate / scale).rounded()
      spanned = frames < 1e15 ? Int64(frames) : 0
    }
    source.findCommonFrames()
    source.table = file.table(
      frames: source.frames, spanned: spanned, sampleRate: format.sampleRate,
      gapless: demuxer.metadata["itunsmpb"])
    return Opened(source: source)
  }

  private func openOgg() throws(SoundFileError) -> Opened {
    let demuxer = try Demuxer(store, name: name())
    var source = try describe(demuxer)
    let codec = source.format.codec
    var scanner = OggScanner(store, codec, sampleRate: source.format.sampleRate)
    guard try scanner.scan() else {
      throw SoundFileError(.unsupportedEncoding(demuxer.codecName), path: store.name)
    }
    source.index = scanner.index
    source.setups = scanner.setups
    source.hasMissingPackets = scanner.missingFrames > 0
    let frames = scanner.index.frames
    // Chained streams and gaps may break the constant packet length that the first header declares.
    let length = source.format.framesPerPacket
    if length > 0, source.index.isRegular(frames: length) {
      source.index.forgetFrames()
    } else {
      source.format.framesPerPacket = 0
      source.findCommonFrames()
    }
    source.table = PacketTable(
      priming: scanner.primingFrames,
      valid: frames - scanner.primingFrames - scanner.remainderFrames, of: source.frames)
    if let offset = scanner.otherSoundOffset {
      source.damage = "it is read up to byte \(offset): sound of another format follows"
    } else if scanner.skippedBytes > 0 || scanner.missingFrames > 0 {
      source.damage =
        "the file is damaged: \(scanner.missingFrames) frames are missing, "
        + "and \(scanner.skippedBytes) bytes belong to nothing"
    }
    return Opened(source: source)
  }

  /// Opens files that consist only of packets, which have to be searched for.
  private func openStream() throws(SoundFileError) -> Opened {
    let demuxer = try Demuxer(store, name: name())
    var source = try describe(demuxer)
    var headBytes: ([UInt8]) -> Int = { _ in 0 }
    if container == .adts {
      source.cookie = try ADTS.cookie(of: store, Demuxer(store, name: name()), source.format.codec)
      headBytes = { $0.count > 1 && $0[1] & 1 == 0 ? 9 : 7 }
    }
    let scanner = try PacketScanner(
      store, demuxer, container == .adts || container == .amr ? .told : .searched,
      isRegular: source.format.framesPerPacket > 0, headBytes: headBytes)
    return Opened(
      source: source, scanner: scanner,
      promisedFrames: container == .flac ? demuxer.promisedFrames : nil)
  }

  /// Opens chunked files, in which one chunk holds the sound.
  private func openChunked() throws(SoundFileError) -> Opened {
    let demuxer = try Demuxer(store, name: name())
    var source = try describe(demuxer)
    let size = source.format.bytesPerPacket
    guard size > 0 else {
      return Opened(
        source: source,
        scanner: try PacketScanner(
          store, demuxer, .searched, isRegular: source.format.framesPerPacket > 0))
    }
    guard case .head(let head) = try FileHead.find(in: store) else {
      throw SoundFileError(.truncated, path: store.name)
    }
    let present = try max(0, store.byteCount() - head.dataOffset)
    let count = min(head.dataBytes ?? present, present) / Int64(size)
    source.index = PacketIndex(offset: head.dataOffset, bytes: size, count: count)
    let (frames, isTooMany) = count.multipliedReportingOverflow(
      by: Int64(source.format.framesPerPacket))
    guard !isTooMany else {
      throw SoundFileError(.damaged("it has too many packets"), path: store.name)
    }
    if let promised = demuxer.promisedFrames, promised > 0, promised < frames,
      source.format.framesPerPacket > 1
    {
      source.table = PacketTable(priming: 0, valid: promised, of: frames)
    }
    return Opened(source: source)
  }
}

/// A converter of ADTS frame headers to cookies.
private enum ADTS {
  /// Returns the cookie that an MPEG-4 file would have for the stream.
  static func cookie(
    of store: any ByteStore, _ demuxer: Demuxer, _ codec: Codec
  ) throws(SoundFileError) -> [UInt8] {
    guard let first = try unsafe demuxer.next(), let config = unsafe configuration(first.bytes)
    else {
      throw SoundFileError(.damaged("its first frame tells no configuration"), path: store.name)
    }
    return MagicCookie.appleCookie(codec, extradata: config, bitRate: demuxer.bitRate)
  }

  private static func configuration(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let kind = unsafe av_bsf_get_by_name("aac_adtstoasc") else { return nil }
    var filter: UnsafeMutablePointer<AVBSFContext>?
    guard unsafe av_bsf_alloc(kind, &filter) >= 0, let working = unsafe filter else { return nil }
    defer { unsafe av_bsf_free(&filter) }
    unsafe working.pointee.par_in.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe working.pointee.par_in.pointee.codec_id = AV_CODEC_ID_AAC
    var packet = unsafe av_packet_alloc()
    defer { unsafe av_packet_free(&packet) }
    guard unsafe av_bsf_init(working) >= 0, let packet = unsafe packet,
      unsafe av_new_packet(packet, Int32(clamping: frame.count)) >= 0,
      let source = frame.baseAddress
    else { return nil }
    unsafe packet.pointee.data.update(
      from: source.assumingMemoryBound(to: UInt8.self), count: frame.count)
    guard unsafe av_bsf_send_packet(working, packet) >= 0,
      unsafe av_bsf_receive_packet(working, packet) >= 0
    else { return nil }
    var count = 0
    guard
      let bytes = unsafe av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count),
      count > 0
    else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  }
}
