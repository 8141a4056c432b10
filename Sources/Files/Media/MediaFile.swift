package import Codecs
import RealTime
import Synchronization

/// An open sound file, for reading, writing or both. It holds linear PCM or packets of a codec.
///
/// A packet of linear PCM is one frame. Any thread may call; all calls may block.
package protocol MediaFile: AnyObject, Sendable {
  var store: any ByteStore { get }
  var container: Container { get }
  /// Name of the container.
  var containerName: String { get }
  /// Name of the encoding that is decoded to the linear PCM of `format`; nil for sound that
  /// is stored as `format` says.
  var coding: String? { get }
  var format: StreamFormat { get }
  /// The file as linear PCM, with its chunks; nil if it holds packets, or is decoded.
  var pcm: SoundFile? { get }
  /// The file's chunks; nil if its container has none.
  var chunked: (any ChunkedFile)? { get }
  /// True for a file of packets that is being written.
  var takesPackets: Bool { get }
  var reservation: Reservation { get }

  /// Completes a written file. Later reads return nothing, and later writes fail.
  func close() throws(SoundFileError)
  /// Updates the file's header, so that everything written so far can be read even if the process
  /// is killed.
  func checkpoint() throws(SoundFileError)
  /// Rewrites the file so that nothing comes after its sound. A file being written is rewritten
  /// when it is closed. If the process is killed, the file has either the old or the new order.
  /// Only regular files support this. Blocks.
  func optimize() throws(SoundFileError)
  /// True if nothing comes after the sound that belongs before it, now or after the file is closed.
  /// Blocks.
  var isOptimized: Bool { get throws(SoundFileError) }

  // MARK: Packets

  var packetCount: Int64 { get throws(SoundFileError) }
  /// Bytes of all packets.
  var byteCount: Int64 { get throws(SoundFileError) }
  /// Bytes of the largest packet.
  var maximumPacketBytes: Int { get throws(SoundFileError) }
  /// Start of each packet in the sound, in frames and in bytes, with the totals at the end; nil if
  /// all packets have the same size.
  var frameStarts: [Int64]? { get throws(SoundFileError) }
  var byteStarts: [Int64]? { get throws(SoundFileError) }
  /// Offset of the sound in the file.
  var dataOffset: Int64 { get throws(SoundFileError) }
  /// True if the packets can be copied to another file unchanged.
  var hasPlainPackets: Bool { get }
  /// Returns the setup packets for a packet: see `PacketFileReader.setupPackets(for:)`.
  func setupPackets(for packet: Int64) -> Range<Int64>

  /// Reads consecutive packets starting at `packet`, up to `count`, as many as exist and fit.
  ///
  /// - Parameter extents: Receives the position of each packet in `buffer`. Empty for linear PCM.
  /// - Returns: Number of packets; 0 at the end.
  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int
  /// Reads bytes of the sound until the buffer is full or the sound ends. Returns the number read.
  func readBytes(at position: Int64, into buffer: UnsafeMutableRawBufferPointer)
    throws(SoundFileError) -> Int
  /// Writes packets; `packet` is the number of the first. Linear PCM can be written at any frame,
  /// while packets of a codec can only be appended.
  ///
  /// - Parameter extents: Positions of the packets in `buffer`. Ignored for linear PCM, for which
  ///   all complete frames in the buffer are written.
  func writePackets(at packet: Int64, from buffer: UnsafeRawBufferPointer, extents: [PacketExtent])
    throws(SoundFileError)
  /// Writes bytes of the sound. Only linear PCM supports this.
  func writeBytes(at position: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError)

  // MARK: Properties

  /// Valid frames. Blocks: where the file does not tell the number, its sound is decoded.
  var frameCount: Int64 { get throws(SoundFileError) }
  /// Valid frames, as far as they are known without decoding.
  var length: SoundLength { get throws(SoundFileError) }
  /// Duration in seconds.
  var duration: Double { get throws(SoundFileError) }
  /// Bits per second.
  var bitRate: Double { get throws(SoundFileError) }
  /// Significant bits of a sample of the sound, before any encoding; 0 if the file does not give
  /// them.
  var sourceBits: Int { get }
  /// Roles of the channels; nil if the file does not give them.
  var channelRoles: [ChannelRole]? { get }
  /// Sets the channel layout: see `SoundFile.setChannelLayout(words:mask:)`.
  func setChannelLayout(words: [UInt32], mask: UInt32?, roles: [ChannelRole]?)
    throws(SoundFileError)
  /// One line about a truncated or damaged file; nil if it is intact. Known once `frameCount` has been
  /// read.
  var warning: String? { get }
  /// The sound of a file of linear PCM that could not be decoded so far. Silence is in its place.
  var missing: MissingSound { get }
  /// True if damage took frames of unknown number. Known with `warning`.
  var lacksUnknownFrames: Bool { get }
  /// One line about what is unusual about the sound, but no damage; nil if nothing is.
  var notice: String? { get }
  /// The decoder's magic cookie; empty if the decoder needs none.
  var cookie: [UInt8] { get }
  func setCookie(_ cookie: [UInt8]) throws(SoundFileError)
  /// Counts of the valid, priming and remainder frames; nil if the file does not give them.
  var packetTable: PacketTable? { get throws(SoundFileError) }
  func setPacketTable(_ table: PacketTable) throws(SoundFileError)
  /// Returns the file's metadata by the keys of info dictionaries; nil if the container cannot
  /// store any.
  func tags() throws(SoundFileError) -> [String: String]?
  func setTags(_ tags: [String: String]) throws(SoundFileError)
  /// Further tags, which have no key in info dictionaries, by the container's own names.
  var otherTags: [String: String] { get }
}

/// Seconds of sound that the app intends to write. Any thread.
package final class Reservation: Sendable {
  fileprivate let seconds = Mutex(0.0)
}

extension MediaFile {
  package var path: String { store.name }
  package var isWritable: Bool { store.isWritable }

  /// True if sizes in the header are updated only at a checkpoint, after the next second of sound,
  /// or on closing.
  package var defersSizes: Bool {
    get { pcm?.defersSizes ?? true }
    set { pcm?.defersSizes = newValue }
  }

  /// Size of the file in bytes. Blocks.
  package var fileBytes: Int64 {
    get throws(SoundFileError) { try store.byteCount() + store.startOffset }
  }

  package var containerName: String { container.description }
  package var otherTags: [String: String] { [:] }
  package var coding: String? { nil }
  package var notice: String? { nil }
  package var missing: MissingSound { MissingSound() }
  package var lacksUnknownFrames: Bool { false }
  package var length: SoundLength { get throws(SoundFileError) { .exact(try frameCount) } }
  package var hasPlainPackets: Bool { true }
  package func setupPackets(for packet: Int64) -> Range<Int64> { 0..<0 }

  /// Seconds of sound that the app intends to write; 0 if not set.
  package var reservedDuration: Double {
    get { reservation.seconds.withLock { $0 } }
    set { reservation.seconds.withLock { $0 = newValue } }
  }

  /// True until the first data is written.
  package var takesReservation: Bool { isWritable && (try? byteCount) == 0 }

  /// The file's ID3 tag; nil if there is none. Blocks.
  package var id3Tag: [UInt8]? {
    get throws(SoundFileError) {
      if let file = pcm, let tag = try file.id3Chunk() { return tag }
      if let tagged = store as? TaggedStore { return try tagged.tags }
      guard container.passesOverTags else { return nil }
      let head = try store.bytes(at: 0, count: ID3Tag.headBytes) ?? []
      return try ID3Tag.byteCount(head).flatMap { size throws(SoundFileError) in
        try store.bytes(at: 0, count: size)
      }
    }
  }

  /// Returns true if the file stores a tag, given by its key of info dictionaries.
  package func keepsTag(_ key: String) -> Bool {
    chunked?.keepsTag(key) ?? (!container.holdsPCM && InfoKeys.keeps(key, in: container))
  }

  // MARK: Packets, frames and bytes

  /// Returns the first frame of a packet. Frames include priming.
  package func frame(ofPacket packet: Int64) throws(SoundFileError) -> Int64 {
    start(of: packet, try frameStarts, each: framesPerPacket)
  }

  /// Returns the packet that contains a frame, and the number of the packet's frames before it.
  package func packet(atFrame frame: Int64) throws(SoundFileError) -> (packet: Int64, offset: Int) {
    find(frame, try frameStarts, each: framesPerPacket)
  }

  /// Returns the offset of a packet's first byte in the sound.
  package func byte(ofPacket packet: Int64) throws(SoundFileError) -> Int64 {
    start(of: packet, try byteStarts, each: bytesPerPacket)
  }

  /// Returns the packet that contains a byte of the sound, and the number of the packet's bytes
  /// before it.
  package func packet(atByte byte: Int64) throws(SoundFileError) -> (packet: Int64, offset: Int) {
    find(byte, try byteStarts, each: bytesPerPacket)
  }

  private var framesPerPacket: Int64 {
    if case .packets(let format) = format { Int64(max(1, format.framesPerPacket)) } else { 1 }
  }

  private var bytesPerPacket: Int64 {
    switch format {
    case .pcm(let format): Int64(format.bytesPerFrame)
    case .packets(let format): Int64(max(1, format.bytesPerPacket))
    }
  }
}

/// Returns the start of a packet in frames or bytes.
///
/// - Parameters:
///   - starts: Start of each packet and the total; nil if all packets have the same size.
///   - size: That size.
private func start(of packet: Int64, _ starts: [Int64]?, each size: Int64) -> Int64 {
  guard let starts else { return packet.multipliedReportingOverflow(by: size).partialValue }
  return starts[Int(clamping: min(max(0, packet), Int64(starts.count - 1)))]
}

/// Returns the packet that contains a position, and the distance from its start. The parameters are
/// those of `start(of:_:each:)`.
private func find(_ position: Int64, _ starts: [Int64]?, each size: Int64)
  -> (packet: Int64, offset: Int)
{
  guard let starts else { return (position / size, Int(position % size)) }
  var low = 0
  var high = starts.count - 1
  while high - low > 1 {
    let middle = (low + high) / 2
    if starts[middle] <= position { low = middle } else { high = middle }
  }
  if let end = starts.last, position >= end { low = starts.count - 1 }
  return (Int64(low), Int(clamping: max(0, position - starts[low])))
}
