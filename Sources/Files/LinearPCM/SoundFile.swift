import Glibc
package import RealTime
import Synchronization

/// An open file of linear PCM.
///
/// Samples are read and written exactly as they are in the file, so playback and recording are bit
/// exact. Any thread may call. Writes to one file wait for each other. All calls may block, so none
/// is real-time safe.
package final class SoundFile: Sendable {
  package let store: any ByteStore
  package let format: PCMFormat
  /// Roles of the channels according to libsndfile on opening; nil if the file does not give them.
  package let channelRoles: [ChannelRole]?
  /// Number of frames according to the header on opening. A truncated file has fewer.
  package let promisedFrames: Int64
  private let framesAtFirst: Int64
  /// Frames of a second sound chunk, which is not read.
  private let framesLeftOut: Int64
  /// Significant bits of a sample according to the file.
  package let sourceBits: Int

  let state: Mutex<State>

  /// The state that writing changes.
  struct State: Sendable {
    var container: Container
    let grammar: ChunkGrammar?
    /// True if numbers in the header and in chunks are big-endian.
    let isBigEndian: Bool
    /// Offset of the sound chunk's content, and of the sound within it.
    var soundOffset: Int64
    var dataOffset: Int64
    /// Bytes of sound.
    var dataBytes: Int64
    /// The other chunks, before and after the sound. Until the header is written, `before` holds
    /// the chunks to write.
    var before: [Chunk]
    var after: [Chunk]
    /// False for a new file whose header is not written yet.
    var hasHead = true
    /// The sound begins at a multiple of this many bytes.
    var dataAlignment: Int64 = 1
    /// The channel mask of a new file, for containers that store one.
    var channelMask: UInt32?
    /// True if the header's sizes differ from the sound's.
    var hasOldSizes = false
    /// True if the chunks after the sound are missing from the file or misplaced.
    var hasOldEnd = false
    var bytesSinceCheckpoint: Int64 = 0
    /// True if sizes are updated only at a checkpoint, after the next second of sound, or on
    /// closing.
    var defersSizes = true
    /// How often the file's contents have been rearranged.
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
  /// Duration in seconds.
  package var duration: Double { Double(frames) / format.sampleRate }

  /// True if the file had fewer frames than its header said.
  package var isTruncated: Bool { promisedFrames > framesAtFirst }
  /// One line about a truncated file; nil if it is complete.
  package var warning: String? {
    if isTruncated {
      return
        "\(path): the file is cut short: \(framesAtFirst) of \(promisedFrames) frames are there"
    }
    guard framesLeftOut > 0 else { return nil }
    return "\(path): only its first sound chunk is read: \(framesLeftOut) frames are left out"
  }

  /// Opens a file for reading. Blocks.
  package convenience init(path: String) throws(SoundFileError) {
    try self.init(FileStore(path: path))
  }

  /// Opens a file for reading, and for writing if its store is writable. Blocks.
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
    let handle: SndfileHandle
    do throws(SndfileHandle.Failure) {
      handle = try SndfileHandle(FileSource(store, total, head))
    } catch {
      throw SoundFileError(
        head == nil ? .notASoundFile : .damaged(error.reason), path: path)
    }
    guard let head else {
      throw SoundFileError(.unsupportedContainer(handle.containerName), path: path)
    }
    guard let format = handle.storedFormat(rate: head.sampleRate) else {
      throw SoundFileError(.unsupportedEncoding(handle.codingName), path: path)
    }
    if let error = SoundFileError.tooMany(channels: format.channels, path: path) { throw error }
    guard format.layout != nil else {
      let words = "\(format.channels) channels at \(format.sampleRate) Hz"
      throw SoundFileError(.unsupportedEncoding(words), path: path)
    }

    let bytesPerFrame = Int64(format.bytesPerFrame)
    let present = max(0, total - head.dataOffset) / bytesPerFrame
    // Only an explicit length in the header can exceed the frames present.
    let promised = head.dataBytes.map { $0 / bytesPerFrame }
    let frames = min(promised ?? present, present)
    guard frames > 0 || promised ?? 0 == 0, head.dataOffset <= total else {
      throw SoundFileError(.truncated, path: path)
    }
    self.store = store
    self.format = format
    channelRoles = handle.channelRoles
    promisedFrames = max(frames, promised ?? frames)
    framesAtFirst = frames
    framesLeftOut = (head.secondSound?.size ?? 0) / bytesPerFrame
    sourceBits = min(head.bitsPerSample ?? format.bitsPerSample, format.bitsPerSample)
    var state = State(
      container: head.container, grammar: head.grammar, isBigEndian: head.isBigEndian,
      soundOffset: head.soundOffset, dataOffset: head.dataOffset, dataBytes: frames * bytesPerFrame,
      before: head.before, after: head.after)
    if store.isWritable { try Self.loadEnd(&state, store) }
    self.state = Mutex(state)
  }

  /// Creates a new file; nothing is written yet.
  init(_ store: any ByteStore, _ format: PCMFormat, _ state: State) {
    self.store = store
    self.format = format
    channelRoles = nil
    promisedFrames = 0
    framesAtFirst = 0
    framesLeftOut = 0
    sourceBits = format.bitsPerSample
    self.state = Mutex(state)
  }

  deinit { try? close() }

  /// Reads up to `count` frames starting at `frame`, as many as exist and fit. Blocks.
  ///
  /// - Returns: Number of frames; 0 at the end.
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

  /// Reads bytes of the sound until the buffer is full or the sound ends. Returns the number read.
  /// Blocks.
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
      // `optimize()` may have moved the sound in the meantime.
      if state.withLock({ $0.moves }) == moves { return count }
    }
  }
}
