package import Codecs

/// A writer of a file of packets, from the first packet to the last.
///
/// One thread at a time; every call may block on the store. The file's properties (`cookie`,
/// `packetTable` …) are used at the first packet and again on closing, because encoders know some
/// of them only at the end.
///
/// If the process is killed, the file remains readable up to the latest `checkpoint`. Containers
/// that need a packet table lose at most the last second even without a checkpoint.
package final class PacketFileWriter {
  package let container: Container
  package let format: PacketFormat
  /// The magic cookie, in any form that `MagicCookie` reads.
  package var cookie: [UInt8] = []
  /// Counts of the valid, priming and remainder frames; nil if all frames are valid. The priming is
  /// used at the first packet, the rest on closing. Counts that exceed the packets' frames are
  /// reduced. 0 valid frames stand for all that are neither priming nor remainder.
  package var packetTable: PacketTable?
  /// Metadata by the keys of Core Audio's info dictionaries. Written before the first packet, and
  /// in MPEG-4 and CAF files again on closing.
  package var tags: [String: String] = [:]
  /// Roles of the channels; used at the first packet.
  package var channelRoles: [ChannelRole]?
  /// Bits per second, for containers that store it; 0 if unknown.
  package var bitRate = 0
  /// Additional chunks of a CAF file. Their bytes must be in memory.
  var chunks: [Chunk] = []

  /// Packets written.
  package private(set) var packetCount: Int64 = 0
  /// Bytes of all packets.
  package private(set) var byteCount: Int64 = 0
  /// Bytes of the largest packet.
  package private(set) var maximumPacketBytes = 0
  /// Frames that all packets decode to.
  package private(set) var frameCount: Int64 = 0

  private let store: any ByteStore
  private var body: (any PacketFileBody)?
  private var frames: (([UInt8]) -> Int)?
  private var isClosed = false
  private var isOptimizing = false

  /// Returns true if Cuejack can write packets of a format in a container.
  package static func canWrite(_ format: PacketFormat, in container: Container) -> Bool {
    guard format.sampleRate >= 1, format.sampleRate <= 1_000_000, (1...64).contains(format.channels)
    else { return false }
    return container.isWritable && container.codecs.contains(format.codec)
      && format.channels <= container.mostChannels
  }

  /// Creates a writer on a store, which should be empty. Nothing is written before the first
  /// packet.
  package init(
    _ store: any ByteStore, container: Container, format: PacketFormat
  ) throws(SoundFileError) {
    guard Self.canWrite(format, in: container) else {
      throw SoundFileError(
        .unsupportedEncoding("\(format.codec.name) in \(container) files"), path: store.name)
    }
    self.store = store
    self.container = container
    self.format = format
  }

  /// Appends packets.
  ///
  /// - Parameter extents: Positions of the packets in `bytes`. Their frames count only if the
  ///   format lets them vary and the packets do not contain them (as Opus and Vorbis do).
  package func append(
    _ bytes: UnsafeRawBufferPointer, _ extents: [PacketExtent]
  ) throws(SoundFileError) {
    guard !isClosed else { throw SoundFileError(.notForWriting, path: store.name) }
    let body = try begun()
    // The bytes to write in one call, and the frames of their first packet.
    var run = 0..<0
    var told = 0
    for extent in extents {
      guard extent.bytes > 0, extent.offset >= 0, extent.offset <= bytes.count,
        extent.bytes <= bytes.count - extent.offset,
        format.bytesPerPacket == 0 || extent.bytes == format.bytesPerPacket
      else {
        throw SoundFileError(
          .cannotWrite("a packet of \(extent.bytes) bytes does not fit in"), path: store.name)
      }
      if !body.takesRuns || run.upperBound != extent.offset || run.count >= 1 << 14 {
        try unsafe put(bytes, run, frames: told, body)
        run = extent.offset..<extent.offset
        told = extent.frames
      }
      run = run.lowerBound..<extent.offset + extent.bytes
    }
    try unsafe put(bytes, run, frames: told, body)
  }

  /// Writes one packet, or several of one size.
  private func put(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, frames told: Int,
    _ body: any PacketFileBody
  ) throws(SoundFileError) {
    guard !range.isEmpty else { return }
    let run = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
    let packets = format.bytesPerPacket > 0 ? run.count / format.bytesPerPacket : 1
    let count: Int
    if format.framesPerPacket > 0 {
      count = packets * format.framesPerPacket
    } else if let frames {
      count = unsafe frames(Array(run))
    } else {
      count = told
      guard count > 0 else {
        throw SoundFileError(.cannotWrite("a packet has no frames"), path: store.name)
      }
    }
    try unsafe body.append(run, packets: packets, frames: count)
    packetCount += Int64(packets)
    byteCount += Int64(run.count)
    frameCount += Int64(count)
    maximumPacketBytes = max(maximumPacketBytes, run.count / packets)
  }

  /// Waits until everything so far is safe: from then on it survives a kill and, as far as the
  /// system reports it, a power failure.
  package func checkpoint() throws(SoundFileError) {
    guard !isClosed else { return }
    try begun().checkpoint(facts())
    try store.synchronize()
  }

  /// Completes the file. Later calls do nothing, except that `append` fails.
  package func close() throws(SoundFileError) {
    guard !isClosed else { return }
    isClosed = true
    defer { body = nil }
    try begun().finish(facts())
    if isOptimizing { try PacketFileOrder.optimize(store, container) }
    try store.synchronize()
  }

  /// Requests that on closing everything that belongs before the packets is moved there. If the
  /// process is killed, the file has either the old or the new order. Fails if the store is not a
  /// regular file.
  package func optimize() throws(SoundFileError) {
    guard !isOptimized else { return }
    try store.optimizable()
    isOptimizing = true
  }

  /// False if the packet table will come after the packets.
  package var isOptimized: Bool {
    if isOptimizing { return true }
    return !container.isMPEG4 && !(container == .caf && CAFBody.isListed(format))
  }

  /// Returns the container's body writer, which is created at the first packet.
  private func begun() throws(SoundFileError) -> any PacketFileBody {
    if let body { return body }
    let facts = try facts()
    frames = PacketFrames.counter(format.codec, facts.extradata)
    let new: any PacketFileBody =
      switch container.structure {
      case .caf: try CAFBody(store, format, facts)
      case .mpeg4: try MPEG4Body(store, container, format, facts)
      default: try StreamBody(store, container, format, facts)
      }
    body = new
    return new
  }

  private func facts() throws(SoundFileError) -> PacketFileFacts {
    let extradata: [UInt8]
    do throws(CodecError) {
      extradata = try MagicCookie.extradata(format.codec, cookie: cookie)
    } catch {
      throw SoundFileError(.cannotWrite(error.reason), path: store.name)
    }
    return PacketFileFacts(
      cookie: cookie, extradata: extradata, table: fittingTable, tags: tags,
      channelRoles: channelRoles, bitRate: bitRate, chunks: chunks)
  }

  /// Valid frames among the packets written.
  package var validFrames: Int64 { fittingTable.validFrames }

  /// The packet table, fitted to the packets written so far.
  package var fittingTable: PacketTable {
    guard let packetTable else { return PacketTable(priming: 0, valid: nil, of: frameCount) }
    // Before the first packet, the priming must be passed on unchanged.
    guard packetCount > 0 else { return packetTable }
    return PacketTable(
      priming: Int64(packetTable.primingFrames),
      // The table may have been set before the frames were known.
      valid: packetTable.validFrames > 0 ? packetTable.validFrames : nil,
      remainder: Int64(packetTable.remainderFrames), of: frameCount)
  }
}
