import CFFmpeg
package import Codecs
import Synchronization
import Timeline

/// A file of packets that is open for reading.
///
/// Any thread; calls may block on the store, so none is real-time safe. The packets are those of
/// the file's first audio stream, as libavformat delivers them, with three exceptions:
///
/// - The frames of FLAC files and of MPEG audio are found by their headers.
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
  /// Further metadata by libavformat's names.
  package let otherTags: [String: String]
  private let store: any ByteStore
  private let claimedBitRate: Int

  @safe
  private struct State: ~Copyable, @unchecked Sendable {
    var source: PacketSource
    /// The scanner for the remaining packets; nil if all are listed.
    var scanner: PacketScanner?
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
    let opened = try PacketFileOpening(store, container).open()
    self.store = store
    self.container = container
    format = opened.source.format
    cookie = opened.source.cookie
    channelRoles = opened.source.channelRoles
    tags = opened.source.tags
    otherTags = opened.source.otherTags
    claimedBitRate = opened.source.claimedBitRate
    state = Mutex(State(source: opened.source, scanner: opened.scanner))
  }

  /// The chunks of a CAF file, except its sound, in the file's order.
  var chunks: [Chunk] { state.withLock { $0.source.chunks } }

  // MARK: What is known once all packets are listed

  /// One line about a damaged or only partly readable file; nil if it is intact.
  package var warning: String? {
    state.withLock { $0.source.damage }.map { "\(store.name): \($0)" }
  }

  /// True if frames of unknown number are lost with bytes that are none.
  var lacksUnknownFrames: Bool { state.withLock { $0.source.lacksUnknownFrames } }

  /// One line about sound whose form changes; nil if it does not.
  package var notice: String? {
    state.withLock { $0.source.notice }.map { "\(store.name): \($0)" }
  }

  /// True if no packet is missing, and the cookie is sufficient for decoding from any packet.
  package var hasPlainPackets: Bool {
    state.withLock { $0.source.setups.isEmpty && !$0.source.hasSpecialPackets }
  }

  /// Fails if the file promises sound or is damaged but has no packet, or libavcodec cannot decode them, as older
  /// versions cannot decode FLAC of 32 bits. Blocks.
  func requirePackets() throws(SoundFileError) {
    try extend(to: 1)
    let isPromised = state.withLock {
      $0.source.index.count == 0
        && ($0.source.promisedFrames ?? 0 > 0 || $0.source.damage != nil)
    }
    if isPromised { throw SoundFileError(.truncated, path: store.name) }
    guard format.codec == .flac, format.bitsPerSample > 24, let bytes = try packetBytes(of: 0)
    else { return }
    var packet = [UInt8](repeating: 0, count: bytes)
    var extents: [PacketExtent] = []
    let read = unsafe packet.withUnsafeMutableBytes { buffer in
      Result { () throws(SoundFileError) in
        try unsafe readPackets(from: 0, count: 1, into: buffer, extents: &extents)
      }
    }
    let decoder = try? PacketDecoder(format, cookie: cookie)
    let isDecoded = unsafe packet.withUnsafeBytes { unsafe (try? decoder?.decode($0)) != nil }
    guard try read.get() == 0 || isDecoded else {
      let words = "\(format.bitsPerSample)-bit \(format.codec)"
      throw SoundFileError(.unsupportedEncoding(words), path: store.name)
    }
  }

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
      let opened = try PacketFileOpening(store, container).open()
      state.source = opened.source
      state.scanner = opened.scanner
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
      try completed().frames(each: format.framesPerPacket)
    }
  }

  /// Counts of the valid, priming and remainder frames; nil if the file gives none, and all are
  /// valid.
  package var packetTable: PacketTable? {
    get throws(SoundFileError) {
      _ = try completed()
      return state.withLock { $0.source.table }
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
      return rate < 1e15 ? Int(held: rate.rounded()) : 0
    }
  }

  /// The packets found so far.
  var listedPackets: PacketIndex { state.withLock { $0.source.index } }

  /// True if frames are listed with each packet.
  var hasListedFrames: Bool {
    get throws(SoundFileError) {
      let index = try completed()
      return format.framesPerPacket == 0 || index.frames > 0
    }
  }

  private func completed() throws(SoundFileError) -> PacketIndex {
    try extend(to: .max)
    return state.withLock { $0.source.index }
  }

  /// Scans until `count` packets are listed, or all.
  private func extend(to count: Int64) throws(SoundFileError) {
    try state.withLock { state throws(SoundFileError) in
      guard let scanner = state.scanner else { return }
      while state.source.index.count < count, try scanner.step(&state.source.index) {}
      guard scanner.isAtEnd else { return }
      state.scanner = nil
      try state.source.finish(scanner, store)
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
      while packet < state.source.index.count, extents.count < count {
        let bytes = state.source.index.bytes(of: packet)
        guard bytes <= room - used else { break }
        extents.append(
          PacketExtent(
            offset: used, bytes: bytes, frames: state.source.index.frames(of: packet),
            trim: state.source.index.trims[packet] ?? PacketTrim()))
        for piece in state.source.index.pieces(of: packet) {
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
    state.withLock { $0.source.setups.last { $0.upperBound <= packet } } ?? 0..<0
  }

  /// Returns the bytes of packet number `packet`; nil if it does not exist.
  package func packetBytes(of packet: Int64) throws(SoundFileError) -> Int? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    return state.withLock {
      $0.source.index.count > packet ? $0.source.index.bytes(of: packet) : nil
    }
  }

  /// Returns the file offset of packet number `packet`; nil if it does not exist.
  package func packetOffset(of packet: Int64) throws(SoundFileError) -> Int64? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    return state.withLock {
      $0.source.index.count > packet ? $0.source.index.pieces(of: packet).first?.offset : nil
    }
  }

  /// Returns the frames of packet number `packet`; nil if it does not exist.
  package func packetFrames(of packet: Int64) throws(SoundFileError) -> Int? {
    guard packet >= 0, packet < .max else { return nil }
    try extend(to: packet + 1)
    let common = format.framesPerPacket
    return state.withLock {
      guard $0.source.index.count > packet else { return nil }
      let index = $0.source.index
      return index.frames > 0 ? index.frames(of: packet) : common
    }
  }
}
