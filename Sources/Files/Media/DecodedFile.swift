import Codecs
import RealTime
import Synchronization

/// A file that libsndfile reads and decodes: of a type or in an encoding that neither Cuejack's own
/// code nor libavformat reads.
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
  /// True if libsndfile does not know the number of frames.
  private let isEstimated: Bool
  private let storedRoles: [ChannelRole]?
  private let storedTags: [String: String]
  /// Protected by `lock`.
  private let decoder: Decoder
  private let lock = Mutex(())

  /// Limit on the number of frames, so that positions in bytes fit into 64 bits.
  private static var mostFrames: Int64 { 1 << 48 }

  /// Opens a file; returns nil if libsndfile cannot read it. Blocks.
  ///
  /// - Parameter container: The container according to the first bytes; nil if they match none.
  init?(_ store: any ByteStore, container: Container?) {
    guard let handle = Decoder.open(store) else { return nil }
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
    decoder = Decoder(store, handle)
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
  /// libsndfile does not report where the sound is.
  var dataOffset: Int64 { 0 }

  func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    guard packet >= 0, packet < claimedFrames, count > 0 else { return 0 }
    let bytesPerFrame = pcmFormat.bytesPerFrame
    let wanted = Int(min(Int64(min(count, buffer.count / bytesPerFrame)), claimedFrames - packet))
    return lock.withLock { _ in unsafe decoder.read(wanted, at: packet, into: buffer) }
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
      let frames = counted ?? lock.withLock { _ in decoder.count(most: claimedFrames) }
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

  var warning: String? { nil }
  var cookie: [UInt8] { [] }
  var packetTable: PacketTable? { nil }
  func tags() -> [String: String]? { storedTags }
}

/// The decoder of a file, and the frame that it returns next. One thread at a time.
@safe
private final class Decoder: @unchecked Sendable {
  private let store: any ByteStore
  private var handle: SndfileHandle
  private var position: Int64 = 0
  private let bytesPerFrame: Int
  private let memory = GrowingMemory()

  private static var framesAtOnce: Int { 4096 }

  init(_ store: any ByteStore, _ handle: SndfileHandle) {
    self.store = store
    self.handle = handle
    bytesPerFrame = handle.decodedFormat.bytesPerFrame
  }

  /// Opens a file; returns nil if libsndfile cannot read it.
  static func open(_ store: any ByteStore) -> SndfileHandle? {
    guard let total = try? store.byteCount() else { return nil }
    var head: FileHead?
    if case .head(let found)? = try? FileHead.find(in: store) { head = found }
    let source = FileSource(store, total, head?.shown == nil ? nil : head)
    do throws(SndfileHandle.Failure) {
      return try SndfileHandle(source)
    } catch {
      // A pipe has been read already.
      guard let file = store as? FileStore, file.isPlain, !PipedFile.isPipe(file.name),
        let handle = try? SndfileHandle(path: file.name), !handle.isGuessedFromExtension
      else { return nil }
      return handle
    }
  }

  /// Reads `count` frames starting at `frame`. Returns their number, which is less at the end.
  func read(_ count: Int, at frame: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard move(to: frame) else { return 0 }
    var done = 0
    while done < count {
      // libsndfile needs aligned memory, which the buffer may not be.
      let part = decode(min(Self.framesAtOnce, count - done))
      guard part > 0 else { break }
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(done * bytesPerFrame)...])
        .copyMemory(from: .init(rebasing: memory.bytes[..<(part * bytesPerFrame)]))
      done += part
    }
    return done
  }

  /// Returns the number of frames up to the end of the sound, but at most `most`.
  func count(most: Int64) -> Int64 {
    guard move(to: 0) else { return 0 }
    while position < most, decode(Self.framesAtOnce) > 0 {}
    return min(position, most)
  }

  /// Decodes the next frames into `memory`. Returns their number.
  private func decode(_ count: Int) -> Int {
    memory.reserve(Self.framesAtOnce * bytesPerFrame)
    let done = unsafe handle.read(into: .init(rebasing: memory.bytes[..<(count * bytesPerFrame)]))
    position += Int64(done)
    return done
  }

  /// Moves to a frame; returns false if it cannot be reached. In encodings in which libsndfile
  /// cannot seek, decodes everything before the frame.
  private func move(to frame: Int64) -> Bool {
    if position == frame { return true }
    if handle.seek(to: frame) {
      position = frame
      return true
    }
    guard let handle = Self.open(store), handle.decodedFormat == self.handle.decodedFormat else {
      return false
    }
    self.handle = handle
    position = 0
    while position < frame {
      guard decode(Int(min(frame - position, Int64(Self.framesAtOnce)))) > 0 else { return false }
    }
    return true
  }
}
