import CSndfile
import Glibc
package import RealTime
import Synchronization

/// A file of linear PCM that is open.
///
/// Samples are read and written as they stand in the file, so that playing and recording are bit
/// exact. Any thread may call; writes of one file wait for each other, and all calls may block: none
/// is real time.
package final class SoundFile: Sendable {
  package let store: any ByteStore
  package let format: PCMFormat
  /// What each channel is for, if the file said so when it was opened.
  package let channelRoles: [ChannelRole]?
  /// Frames that the head promised when the file was opened; more than were there if it was cut
  /// short.
  package let promisedFrames: Int64
  private let framesAtFirst: Int64
  /// Significant bits of a sample of the sound that the file holds, as it says itself.
  package let sourceBits: Int

  let state: Mutex<State>

  /// What writing changes.
  struct State: Sendable {
    var container: Container
    let grammar: ChunkGrammar?
    /// The order of bytes of numbers in the head, and in chunks.
    let isBigEndian: Bool
    /// Where the content of the chunk of sound begins, and the sound in it.
    var soundOffset: Int64
    var dataOffset: Int64
    /// Bytes of sound.
    var dataBytes: Int64
    /// The other chunks; until the head is written, what it is to hold.
    var before: [Chunk]
    var after: [Chunk]
    /// False for a new file that has no byte yet.
    var hasHead = true
    /// The sound begins at a multiple of so many bytes.
    var dataAlignment: Int64 = 1
    /// The channels that a new file's head names, for the kinds that have a mask of speakers.
    var channelMask: UInt32?
    /// The sizes in the head are not those of the sound.
    var hasOldSizes = false
    /// What comes after the sound is not in the file, or not where it belongs.
    var hasOldEnd = false
    var bytesSinceCheckpoint: Int64 = 0
    /// Sizes in the head wait for a checkpoint, the next second of sound or the end.
    var defersSizes = true
    /// How often what is in the file was moved to other places.
    var moves = 0
    var isClosed = false
  }

  package var path: String { store.name }
  package var container: Container { state.withLock { $0.container } }
  /// Frames that can be read.
  package var frames: Int64 { byteCount / Int64(format.bytesPerFrame) }
  /// Bytes of sound that can be read.
  package var byteCount: Int64 { state.withLock { $0.dataBytes } }
  /// Bytes before the sound.
  package var dataOffset: Int64 { state.withLock { $0.dataOffset } }
  /// Seconds.
  package var duration: Double { Double(frames) / format.sampleRate }

  /// True if the file had fewer frames than its head said.
  package var isTruncated: Bool { promisedFrames > framesAtFirst }
  /// One line on a file that was cut short, else nil.
  package var warning: String? {
    isTruncated
      ? "\(path): the file is cut short: \(framesAtFirst) of \(promisedFrames) frames are there"
      : nil
  }

  /// Opens a file for reading. Blocks.
  package convenience init(path: String) throws(SoundFileError) {
    try self.init(FileStore(path: path))
  }

  /// Opens a file for reading, and for writing if its store takes that. Blocks.
  package init(_ store: any ByteStore) throws(SoundFileError) {
    let path = store.name
    let total = try store.byteCount()
    let finding = try FileHead.find(in: store)
    let head: FileHead? =
      switch finding {
      case .head(let head): head
      case .cutShort: throw SoundFileError(.truncated, path: path)
      case .foreign(let name): throw SoundFileError(.unsupportedContainer(name), path: path)
      case .unknown: nil
      }
    if let coding = head?.coding {
      throw SoundFileError(.unsupportedEncoding(coding), path: path)
    }
    let promisedBytes = head.flatMap { head in head.dataBytes.map { head.dataOffset &+ $0 } }
    let source = FileSource(
      store, byteCount: max(total, promisedBytes ?? 0), head: head?.shown,
      soundOffset: head?.dataOffset ?? 0)
    let facts: Facts
    do throws(Facts.Failure) {
      facts = try Facts(source)
    } catch {
      throw SoundFileError(
        head == nil ? .notASoundFile : .damaged(error.reason), path: path)
    }
    guard let head else {
      throw SoundFileError(.unsupportedContainer(facts.containerName), path: path)
    }
    guard let format = facts.format(rate: head.sampleRate) else {
      throw SoundFileError(.unsupportedEncoding(facts.codingName), path: path)
    }
    guard format.layout != nil else {
      let words = "\(format.channels) channels at \(format.sampleRate) Hz"
      throw SoundFileError(.unsupportedEncoding(words), path: path)
    }

    let bytesPerFrame = Int64(format.bytesPerFrame)
    let present = max(0, total - head.dataOffset) / bytesPerFrame
    // Only a length that the head states can promise more than there is.
    let promised = head.dataBytes.map { $0 / bytesPerFrame }
    let frames = min(promised ?? facts.frames, present)
    guard frames > 0 || promised ?? 0 == 0, head.dataOffset <= total else {
      throw SoundFileError(.truncated, path: path)
    }
    self.store = store
    self.format = format
    channelRoles = facts.channelRoles
    promisedFrames = max(frames, promised ?? frames)
    framesAtFirst = frames
    sourceBits = min(head.bitsPerSample ?? format.bitsPerSample, format.bitsPerSample)
    var state = State(
      container: head.container, grammar: head.grammar, isBigEndian: head.isBigEndian,
      soundOffset: head.soundOffset, dataOffset: head.dataOffset, dataBytes: frames * bytesPerFrame,
      before: head.before, after: head.after)
    if store.isWritable { try Self.loadEnd(&state, store) }
    self.state = Mutex(state)
  }

  /// A new file; nothing is written yet.
  init(_ store: any ByteStore, _ format: PCMFormat, _ state: State) {
    self.store = store
    self.format = format
    channelRoles = nil
    promisedFrames = 0
    framesAtFirst = 0
    sourceBits = format.bitsPerSample
    self.state = Mutex(state)
  }

  deinit { try? close() }

  /// Reads up to `count` frames from `frame` on, as many as there are and as fit, and returns how
  /// many; 0 at the end. Blocks.
  package func readRaw(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    let bytesPerFrame = format.bytesPerFrame
    guard frame >= 0, frame < frames, count > 0 else { return 0 }
    let wanted = min(count, buffer.count / bytesPerFrame)
    let bytes = try unsafe readBytes(
      at: frame * Int64(bytesPerFrame),
      into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(wanted * bytesPerFrame)]))
    return bytes / bytesPerFrame
  }

  /// Reads bytes of the sound, as many as there are and as fit, and returns how many. Blocks.
  package func readBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    while true {
      let (offset, total, isClosed, moves) = state.withLock {
        ($0.dataOffset, $0.dataBytes, $0.isClosed, $0.moves)
      }
      guard !isClosed, position >= 0, position < total else { return 0 }
      let wanted = min(buffer.count, Int(clamping: total - position))
      let count = try unsafe store.read(
        at: offset + position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
      // The sound may have been moved meanwhile.
      if state.withLock({ $0.moves }) == moves { return count }
    }
  }
}

/// What libsndfile says of a file, in our terms.
private struct Facts {
  struct Failure: Error { let reason: String }

  private let info: SF_INFO
  private let isSwapped: Bool
  let channelRoles: [ChannelRole]?

  init(_ source: FileSource) throws(Failure) {
    var callbacks = FileSource.callbacks
    var info = SF_INFO()
    let opened = unsafe withExtendedLifetime(source) {
      unsafe sf_open_virtual(
        &callbacks, Int32(SFM_READ), &info, Unmanaged.passUnretained(source).toOpaque())
    }
    guard let handle = unsafe opened else {
      throw Failure(reason: unsafe String(cString: sf_strerror(nil)))
    }
    isSwapped = unsafe sf_command(handle, Int32(SFC_RAW_DATA_NEEDS_ENDSWAP), nil, 0) != 0
    channelRoles = unsafe Self.channelRoles(of: handle, channels: Int(info.channels))
    self.info = info
    withExtendedLifetime(source) { _ = unsafe sf_close(handle) }
  }

  var frames: Int64 { max(0, info.frames) }

  func format(rate: Double?) -> PCMFormat? {
    let kind: PCMFormat.Kind
    let bits: Int
    switch Int(info.format) & SF_FORMAT_SUBMASK {
    case SF_FORMAT_PCM_S8: (kind, bits) = (.signedInteger, 8)
    case SF_FORMAT_PCM_U8: (kind, bits) = (.unsignedInteger, 8)
    case SF_FORMAT_PCM_16: (kind, bits) = (.signedInteger, 16)
    case SF_FORMAT_PCM_24: (kind, bits) = (.signedInteger, 24)
    case SF_FORMAT_PCM_32: (kind, bits) = (.signedInteger, 32)
    case SF_FORMAT_FLOAT: (kind, bits) = (.float, 32)
    case SF_FORMAT_DOUBLE: (kind, bits) = (.float, 64)
    default: return nil
    }
    // libsndfile rounds the rate; the head's own counts if it is the same but for that.
    let whole = Double(info.samplerate)
    let exact = rate.flatMap { abs($0 - whole) < 1 ? $0 : nil }
    return PCMFormat(
      sampleRate: exact ?? whole, channels: Int(info.channels), kind: kind, bitsPerSample: bits,
      isBigEndian: bits > 8 && isSwapped == (1.littleEndian == 1))
  }

  var containerName: String { Self.name(of: info.format & Int32(SF_FORMAT_TYPEMASK)) }
  var codingName: String { Self.name(of: info.format & Int32(SF_FORMAT_SUBMASK)) }

  private static func name(of format: Int32) -> String {
    var info = unsafe SF_FORMAT_INFO()
    unsafe info.format = format
    let failed = unsafe sf_command(
      nil, Int32(SFC_GET_FORMAT_INFO), &info, Int32(MemoryLayout<SF_FORMAT_INFO>.size))
    guard failed == 0, let name = unsafe info.name else { return "format \(format)" }
    return unsafe String(cString: name)
  }

  private static func channelRoles(of handle: OpaquePointer, channels: Int) -> [ChannelRole]? {
    var map = [Int32](repeating: 0, count: channels)
    let known = unsafe map.withUnsafeMutableBytes { bytes in
      unsafe sf_command(
        handle, Int32(SFC_GET_CHANNEL_MAP_INFO), bytes.baseAddress, Int32(bytes.count))
    }
    guard known != 0 else { return nil }
    let roles = map.compactMap { ChannelRole(libsndfile: Int($0)) }
    return roles.count == channels ? roles : nil
  }
}
