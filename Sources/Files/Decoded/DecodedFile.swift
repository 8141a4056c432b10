import Codecs
import RealTime
import Synchronization

/// A file that libsndfile or libavcodec reads and decodes: of a type or in an encoding without a Core Audio
/// format id.
///
/// It holds linear PCM in the CPU's byte order, with all bits that the encoding has.
final class DecodedFile: ReadOnlyMediaFile {
  let store: any ByteStore
  let container: Container
  let containerName: String
  let coding: String?
  let reservation = Reservation()
  private let pcmFormat: PCMFormat
  private let claimedFrames: Int64
  /// The frames that were counted while decoding; nil until then.
  private let counted = Mutex<Int64?>(nil)
  /// True if the library does not know the number of frames.
  private let isEstimated: Bool
  private let storedRoles: [ChannelRole]?
  private let storedTags: [String: String]
  let otherTags: [String: String]
  private let damage: String?
  /// Protected by `lock`.
  private let source: any DecodedSource
  private let lock = Mutex(())

  /// Limit on the number of frames, so that positions in bytes fit into 64 bits.
  private static var mostFrames: Int64 { 1 << 48 }

  /// Opens a file with libsndfile; returns nil if it cannot read the file. Blocks.
  ///
  /// - Parameter container: The container according to the first bytes; nil if they match none.
  init?(_ store: any ByteStore, container: Container?) {
    guard let handle = SndfileSource.open(store) else { return nil }
    let format = handle.decodedFormat
    guard format.layout != nil else { return nil }
    self.store = store
    self.container = container ?? .other
    containerName = container?.description ?? handle.containerName
    coding = handle.storedFormat(rate: nil) == nil ? handle.codingName : nil
    pcmFormat = format
    claimedFrames = min(handle.frames, Self.mostFrames)
    isEstimated = handle.isEstimated || handle.frames > Self.mostFrames
    storedRoles = handle.channelRoles
    storedTags = handle.tags
    otherTags = [:]
    damage = nil
    source = SndfileSource(store, handle)
  }

  /// Opens a file with libavformat; returns nil if it is of no type that `LibavType` lists. Blocks.
  init?(_ store: any ByteStore) throws(SoundFileError) {
    guard let type = try LibavType(contentOf: store) else { return nil }
    let store = try store.behindTags()
    let masked = type == .wavPack ? try WavPackMask.added(to: store) : nil
    let source = try LibavSource(masked ?? store, type)
    self.store = store
    container = .other
    containerName = type.name
    coding = type.name
    pcmFormat = source.format
    claimedFrames = min(source.frames, Self.mostFrames)
    isEstimated = false
    storedRoles = masked == nil ? source.channelRoles : nil
    storedTags = InfoKeys.tags(source.metadata)
    otherTags = InfoKeys.others(source.metadata)
    damage = source.damage
    self.source = source
  }

  var format: StreamFormat { .pcm(pcmFormat) }
  var pcm: SoundFile? { nil }
  var chunked: (any ChunkedFile)? { nil }
  var takesPackets: Bool { false }

  func close() {}
  func checkpoint() {}
  func optimize() throws(SoundFileError) { try store.optimizable() }
  var isOptimized: Bool { true }

  // MARK: Packets

  var packetCount: Int64 { frameCount }
  var byteCount: Int64 { frameCount * Int64(pcmFormat.bytesPerFrame) }
  var maximumPacketBytes: Int { pcmFormat.bytesPerFrame }
  var frameStarts: [Int64]? { nil }
  var byteStarts: [Int64]? { nil }
  /// The libraries do not report where the sound is.
  var dataOffset: Int64 { 0 }

  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    guard packet >= 0, packet < claimedFrames, count > 0 else { return 0 }
    let bytesPerFrame = pcmFormat.bytesPerFrame
    let wanted = Int(min(Int64(min(count, buffer.count / bytesPerFrame)), claimedFrames - packet))
    return lock.withLock { _ in unsafe source.read(wanted, at: packet, into: buffer) }
  }

  func readBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard position >= 0, position < byteCount, buffer.count > 0 else { return 0 }
    let size = Int64(pcmFormat.bytesPerFrame)
    var extents: [PacketExtent] = []
    guard position % size != 0 || buffer.count % Int(size) != 0 else {
      return try unsafe readPackets(
        from: position / size, count: .max, into: buffer, extents: &extents) * Int(size)
    }
    // The bytes begin or end within a frame.
    let skipped = Int(position % size)
    var frames = [UInt8](repeating: 0, count: skipped + buffer.count + Int(size))
    let result = unsafe frames.withUnsafeMutableBytes { memory in
      Result { () throws(SoundFileError) in
        try unsafe readPackets(
          from: position / size, count: .max, into: memory, extents: &extents)
      }
    }
    let part = frames[skipped..<max(skipped, try result.get() * Int(size))].prefix(buffer.count)
    unsafe buffer.copyBytes(from: part)
    return part.count
  }

  var refusal: String { "\(containerName) files can be read but not changed" }

  // MARK: Properties

  var frameCount: Int64 {
    guard isEstimated else { return claimedFrames }
    return counted.withLock { counted in
      let frames = counted ?? lock.withLock { _ in source.count(most: claimedFrames) }
      counted = frames
      return frames
    }
  }
  var length: SoundLength {
    if !isEstimated { return .exact(claimedFrames) }
    if let counted = counted.withLock({ $0 }) { return .exact(counted) }
    return claimedFrames < Self.mostFrames ? .estimated(claimedFrames) : .unknown
  }
  var duration: Double { Double(frameCount) / pcmFormat.sampleRate }
  /// Bits per second of the file, including its header.
  var bitRate: Double {
    let bytes = (try? store.byteCount()) ?? 0
    return claimedFrames > 0 ? Double(8 * bytes) * pcmFormat.sampleRate / Double(claimedFrames) : 0
  }
  var sourceBits: Int { coding == nil ? pcmFormat.bitsPerSample : 0 }
  var channelRoles: [ChannelRole]? { storedRoles }

  var warning: String? { damage.map { "\(store.name): \($0)" } }
  var missing: MissingSound { lock.withLock { _ in source.missing } }
  var cookie: [UInt8] { [] }
  var packetTable: PacketTable? { nil }
  func tags() -> [String: String]? { storedTags }
}
