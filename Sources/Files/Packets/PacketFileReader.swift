import CFFmpeg
package import Codecs
import Synchronization
import Timeline

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
  /// libavformat's names of further metadata.
  package let otherTags: [String]
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
    let opened = try PacketFileOpening(store, container).open()
    self.store = store
    self.container = container
    format = opened.source.format
    cookie = opened.source.cookie
    channelRoles = opened.source.channelRoles
    tags = opened.source.tags
    otherTags = opened.source.otherTags
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
      let opened = try PacketFileOpening(store, container).open()
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
      return rate < 1e15 ? Int(held: rate.rounded()) : 0
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
