import Codecs
import RealTime
import Synchronization

/// A file of packets that is being written, from its first packet to its last. A lock admits one
/// caller at a time.
final class PacketOutputFile: MediaFile {
  private struct Box: @unchecked Sendable {
    let writer: PacketFileWriter
  }
  private let box: Mutex<Box>
  private let packetFormat: PacketFormat
  let container: Container
  let store: any ByteStore
  let reservation = Reservation()

  init(_ writer: PacketFileWriter, _ store: any ByteStore) {
    packetFormat = writer.format
    container = writer.container
    box = Mutex(Box(writer: writer))
    self.store = store
  }

  deinit { try? close() }

  private func with<Result: Sendable, Failure: Error>(
    _ body: (PacketFileWriter) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try box.withLock { box throws(Failure) in try body(box.writer) }
  }

  var format: StreamFormat { .packets(packetFormat) }
  var pcm: SoundFile? { nil }
  var chunked: (any ChunkedFile)? {
    guard container == .caf else { return nil }
    return CAFPacketChunks(
      store: store, sampleRate: packetFormat.sampleRate, stored: [],
      changing: { change in self.with { change(&$0.chunks) } })
  }
  var takesPackets: Bool { true }

  func close() throws(SoundFileError) {
    try with { file throws(SoundFileError) in try file.close() }
  }
  func checkpoint() throws(SoundFileError) {
    try with { file throws(SoundFileError) in try file.checkpoint() }
  }
  func optimize() throws(SoundFileError) {
    try with { file throws(SoundFileError) in try file.optimize() }
  }
  var isOptimized: Bool { with { $0.isOptimized } }

  private var cannotRead: SoundFileError {
    SoundFileError(
      .notSupported("files of packets can be read when they are complete"), path: path)
  }

  var packetCount: Int64 { with { $0.packetCount } }
  var byteCount: Int64 { with { $0.byteCount } }
  var maximumPacketBytes: Int { with { $0.maximumPacketBytes } }
  var frameStarts: [Int64]? {
    get throws(SoundFileError) {
      if packetFormat.framesPerPacket == 0 { throw cannotRead }
      return nil
    }
  }
  var byteStarts: [Int64]? {
    get throws(SoundFileError) {
      if packetFormat.bytesPerPacket == 0 { throw cannotRead }
      return nil
    }
  }
  var dataOffset: Int64 { get throws(SoundFileError) { throw cannotRead } }

  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    throw cannotRead
  }
  func readBytes(at position: Int64, into buffer: UnsafeMutableRawBufferPointer)
    throws(SoundFileError) -> Int
  {
    throw cannotRead
  }

  func writePackets(at packet: Int64, from buffer: UnsafeRawBufferPointer, extents: [PacketExtent])
    throws(SoundFileError)
  {
    let path = path
    try with { file throws(SoundFileError) in
      guard packet == file.packetCount else {
        throw SoundFileError(
          .notSupported("packet \(file.packetCount) comes next, not \(packet)"), path: path)
      }
      try unsafe file.append(buffer, extents)
    }
  }
  func writeBytes(at position: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    throw SoundFileError(.notSupported("packets are written as packets"), path: path)
  }

  var frameCount: Int64 { with { $0.validFrames } }
  var duration: Double { Double(frameCount) / packetFormat.sampleRate }
  var bitRate: Double { duration > 0 ? Double(byteCount) * 8 / duration : 0 }
  var sourceBits: Int { packetFormat.bitsPerSample }
  var channelRoles: [ChannelRole]? { with { $0.channelRoles } }

  func setChannelLayout(words: [UInt32], mask: UInt32?, roles: [ChannelRole]?)
    throws(SoundFileError)
  {
    guard let roles else {
      throw SoundFileError(.notSupported("the file cannot store this channel layout"), path: path)
    }
    with { $0.channelRoles = roles }
  }

  var warning: String? { nil }
  var cookie: [UInt8] { with { $0.cookie } }
  func setCookie(_ cookie: [UInt8]) throws(SoundFileError) { with { $0.cookie = cookie } }
  var packetTable: PacketTable? { with { $0.fittingTable } }
  func setPacketTable(_ table: PacketTable) throws(SoundFileError) {
    with { $0.packetTable = table }
  }
  func tags() throws(SoundFileError) -> [String: String]? { with { $0.tags } }
  func setTags(_ tags: [String: String]) throws(SoundFileError) { with { $0.tags = tags } }
}
