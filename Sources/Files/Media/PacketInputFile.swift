import Codecs
import RealTime
import Synchronization

/// A file of packets that is being read.
final class PacketInputFile: ReadOnlyMediaFile {
  private let file: PacketFileReader
  let store: any ByteStore
  let reservation = Reservation()

  /// Start of each packet in frames and bytes, with the totals at the end.
  private struct Starts: Sendable {
    var frames: [Int64] = [0]
    var bytes: [Int64] = [0]
  }
  /// Nil until first needed.
  private let starts = Mutex<Starts?>(nil)

  init(_ file: PacketFileReader, _ store: any ByteStore) {
    self.file = file
    self.store = store
  }

  var container: Container { file.container }
  var format: StreamFormat { .packets(file.format) }
  var pcm: SoundFile? { nil }
  var chunked: (any ChunkedFile)? {
    guard file.container == .caf else { return nil }
    return CAFPacketChunks(
      store: store, sampleRate: file.format.sampleRate, stored: file.chunks, changing: nil)
  }
  var takesPackets: Bool { false }

  func close() throws(SoundFileError) {}
  func checkpoint() throws(SoundFileError) {}
  func optimize() throws(SoundFileError) { try file.optimize() }
  var isOptimized: Bool { get throws(SoundFileError) { try file.isOptimized } }

  var packetCount: Int64 { get throws(SoundFileError) { try file.packetCount } }
  var byteCount: Int64 { get throws(SoundFileError) { try file.byteCount } }
  var maximumPacketBytes: Int { get throws(SoundFileError) { try file.maximumPacketBytes } }
  var frameStarts: [Int64]? {
    get throws(SoundFileError) {
      try file.hasListedFrames ? allStarts().frames : nil
    }
  }
  var byteStarts: [Int64]? {
    get throws(SoundFileError) { file.format.bytesPerPacket == 0 ? try allStarts().bytes : nil }
  }
  var dataOffset: Int64 {
    get throws(SoundFileError) { try (file.packetOffset(of: 0) ?? 0) + store.startOffset }
  }
  var hasPlainPackets: Bool { file.hasPlainPackets }
  func setupPackets(for packet: Int64) -> Range<Int64> { file.setupPackets(for: packet) }

  private func allStarts() throws(SoundFileError) -> Starts {
    if let starts = starts.withLock({ $0 }) { return starts }
    let count = try file.packetCount
    var all = Starts()
    for packet in 0..<count {
      let frames = try file.packetFrames(of: packet) ?? 0
      let bytes = try file.packetBytes(of: packet) ?? 0
      all.frames.append((all.frames.last ?? 0) + Int64(frames))
      all.bytes.append((all.bytes.last ?? 0) + Int64(bytes))
    }
    starts.withLock { $0 = all }
    return all
  }

  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    return try unsafe file.readPackets(
      from: packet, count: count, into: buffer, extents: &extents)
  }

  /// Reads as if all packets were stored contiguously, starting at position 0.
  func readBytes(at position: Int64, into buffer: UnsafeMutableRawBufferPointer)
    throws(SoundFileError) -> Int
  {
    guard position >= 0, position < (try byteCount), buffer.count > 0 else { return 0 }
    var (packet, skipped) = try packet(atByte: position)
    var done = 0
    let most = try maximumPacketBytes
    var memory = [UInt8](repeating: 0, count: max(most, 1 << 16))
    while done < buffer.count {
      var extents: [PacketExtent] = []
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          try unsafe readPackets(
            from: packet, count: memory.count, into: memory, extents: &extents)
        }
      }
      let count = try result.get()
      guard count > 0, let last = extents.last else { break }
      let bytes = min(last.offset + last.bytes - skipped, buffer.count - done)
      for index in 0..<max(0, bytes) { unsafe buffer[done + index] = memory[skipped + index] }
      done += max(0, bytes)
      packet += Int64(count)
      skipped = 0
    }
    return done
  }

  var refusal: String { "files of packets cannot be changed once they are made" }

  var frameCount: Int64 { get throws(SoundFileError) { try file.validFrames } }
  var duration: Double { get throws(SoundFileError) { try file.duration } }
  var bitRate: Double { get throws(SoundFileError) { Double(try file.bitRate) } }
  var sourceBits: Int { file.format.bitsPerSample }
  var channelRoles: [ChannelRole]? { file.channelRoles }

  var warning: String? { file.warning }
  var lacksUnknownFrames: Bool { file.lacksUnknownFrames }
  var notice: String? { file.notice }
  var cookie: [UInt8] { file.cookie }
  var packetTable: PacketTable? { get throws(SoundFileError) { try file.packetTable } }
  func tags() throws(SoundFileError) -> [String: String]? { file.tags }
  var otherTags: [String: String] { file.otherTags }
}
