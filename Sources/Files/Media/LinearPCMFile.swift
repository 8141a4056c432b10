import Codecs
import RealTime

/// A file of linear PCM, which can be read and written at any frame.
final class LinearPCMFile: MediaFile {
  private let file: SoundFile
  let store: any ByteStore
  let reservation = Reservation()

  init(_ file: SoundFile, _ store: any ByteStore) {
    self.file = file
    self.store = store
  }

  var container: Container { file.container }
  var format: StreamFormat { .pcm(file.format) }
  var pcm: SoundFile? { file }
  var chunked: (any ChunkedFile)? { file.hasChunks ? file : nil }
  var takesPackets: Bool { false }

  func close() throws(SoundFileError) { try file.close() }
  func checkpoint() throws(SoundFileError) { try file.checkpoint() }
  func optimize() throws(SoundFileError) { try file.optimize() }
  var isOptimized: Bool { file.isOptimized }

  var packetCount: Int64 { file.frames }
  var byteCount: Int64 { file.byteCount }
  var maximumPacketBytes: Int { file.format.bytesPerFrame }
  var frameStarts: [Int64]? { nil }
  var byteStarts: [Int64]? { nil }
  var dataOffset: Int64 { file.dataOffset + store.startOffset }

  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    return try unsafe file.readRaw(startingAt: packet, frames: count, into: buffer)
  }

  func readBytes(at position: Int64, into buffer: UnsafeMutableRawBufferPointer)
    throws(SoundFileError) -> Int
  {
    try unsafe file.readBytes(at: position, into: buffer)
  }

  func writePackets(at packet: Int64, from buffer: UnsafeRawBufferPointer, extents: [PacketExtent])
    throws(SoundFileError)
  {
    let bytesPerFrame = file.format.bytesPerFrame
    let (position, isOver) = packet.multipliedReportingOverflow(by: Int64(bytesPerFrame))
    guard !isOver else { throw SoundFileError(.tooLong, path: path) }
    let whole = buffer.count / bytesPerFrame * bytesPerFrame
    try unsafe file.writeBytes(at: position, from: .init(rebasing: buffer[..<whole]))
  }

  func writeBytes(at position: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    try unsafe file.writeBytes(at: position, from: buffer)
  }

  var frameCount: Int64 { file.frames }
  var duration: Double { file.duration }
  var bitRate: Double { file.format.sampleRate * Double(8 * file.format.bytesPerFrame) }
  var sourceBits: Int { file.sourceBits }
  var channelRoles: [ChannelRole]? { file.channelRoles ?? file.chunkRoles }

  func setChannelLayout(words: [UInt32], mask: UInt32?, roles: [ChannelRole]?)
    throws(SoundFileError)
  {
    try file.setChannelLayout(words: words, mask: mask)
  }

  var warning: String? { file.warning }
  var cookie: [UInt8] { [] }
  func setCookie(_ cookie: [UInt8]) throws(SoundFileError) {
    throw SoundFileError(.notSupported("linear PCM has no magic cookie"), path: path)
  }
  var packetTable: PacketTable? { nil }
  func setPacketTable(_ table: PacketTable) throws(SoundFileError) {
    throw SoundFileError(.notSupported("linear PCM has no packet table"), path: path)
  }
  func tags() throws(SoundFileError) -> [String: String]? { try file.tags() }
  func setTags(_ tags: [String: String]) throws(SoundFileError) { try file.setTags(tags) }
}
