import CSndfile
import Glibc
package import RealTime
import Synchronization

/// A file of linear PCM that is open for reading.
///
/// Samples are read as they stand in the file, so that playing them is bit exact. Any thread may
/// call; reads of one file wait for each other, and block on the disk: no call is real time.
@safe
package final class SoundFile: Sendable {
  package let path: String
  package let container: Container
  package let format: PCMFormat
  /// Frames that can be read.
  package let frames: Int64
  /// Bytes of sound that can be read.
  package var byteCount: Int64 { frames * Int64(format.bytesPerFrame) }
  /// Bytes in the file.
  package let fileByteCount: Int64
  /// Seconds.
  package var duration: Double { Double(frames) / format.sampleRate }
  /// What each channel is for, if the file says so.
  package let channelRoles: [ChannelRole]?
  /// Frames that the head promises; more than `frames` if the file was cut short.
  package let promisedFrames: Int64

  /// True if the file has fewer frames than its head says.
  package var isTruncated: Bool { promisedFrames > frames }
  /// One line on a file that was cut short, else nil.
  package var warning: String? {
    isTruncated
      ? "\(path): the file is cut short: \(frames) of \(promisedFrames) frames are there" : nil
  }

  /// libsndfile's handle, which may be used while its lock is held, and the file it reads from.
  @safe
  private struct Reader: ~Copyable, @unchecked Sendable {
    let handle: OpaquePointer
    let source: FileSource

    deinit { unsafe sf_close(handle) }
  }
  private let reader: Mutex<Reader>

  /// Opens a file. Blocks.
  package init(path: String) throws(SoundFileError) {
    let source = try FileSource(path: path)
    let finding = FileHead.find(in: source)
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
    if let head, let promised = head.dataBytes {
      source.apparentByteCount = max(source.byteCount, head.dataOffset &+ promised)
    }
    source.correction = head?.correction

    var callbacks = FileSource.callbacks
    var info = SF_INFO()
    let opened = unsafe sf_open_virtual(
      &callbacks, Int32(SFM_READ), &info, Unmanaged.passUnretained(source).toOpaque())
    guard let handle = unsafe opened else {
      guard head != nil else { throw SoundFileError(.notASoundFile, path: path) }
      throw SoundFileError(.damaged(unsafe String(cString: sf_strerror(nil))), path: path)
    }
    let reader = unsafe Reader(handle: handle, source: source)
    guard let head else {
      let name = Self.name(of: info.format & Int32(SF_FORMAT_TYPEMASK))
      throw SoundFileError(.unsupportedContainer(name), path: path)
    }
    let swapped = unsafe sf_command(handle, Int32(SFC_RAW_DATA_NEEDS_ENDSWAP), nil, 0) != 0
    guard let format = Self.format(info, rate: head.sampleRate, swapped: swapped) else {
      let coding = info.format & Int32(SF_FORMAT_SUBMASK)
      throw SoundFileError(.unsupportedEncoding(Self.name(of: coding)), path: path)
    }
    guard format.layout != nil else {
      let words = "\(info.channels) channels at \(info.samplerate) Hz"
      throw SoundFileError(.unsupportedEncoding(words), path: path)
    }

    let bytesPerFrame = Int64(format.bytesPerFrame)
    let present = max(0, source.byteCount - head.dataOffset) / bytesPerFrame
    let frames = max(0, min(Int64(info.frames), present))
    // Only a length that the head states can promise more than there is.
    let promised = head.dataBytes.map { max(frames, $0 / bytesPerFrame) } ?? frames
    guard frames > 0 || promised == 0 else { throw SoundFileError(.truncated, path: path) }
    self.frames = frames
    promisedFrames = promised
    self.path = path
    self.format = format
    container = head.container
    fileByteCount = source.byteCount
    channelRoles = unsafe Self.channelRoles(of: handle, channels: format.channels)
    self.reader = Mutex(reader)
  }

  /// Reads up to `count` frames from `frame` on, as many as there are and as fit, and returns how
  /// many; 0 at the end. Blocks.
  package func readRaw(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames, count > 0 else { return 0 }
    let bytesPerFrame = format.bytesPerFrame
    let wanted = min(count, buffer.count / bytesPerFrame, Int(frames - frame))
    guard wanted > 0 else { return 0 }
    let path = path
    return try reader.withLock { reader throws(SoundFileError) in
      guard unsafe sf_seek(reader.handle, frame, SEEK_SET) == frame else {
        throw unsafe SoundFileError(
          .damaged(String(cString: sf_strerror(reader.handle))), path: path)
      }
      let bytes = unsafe sf_read_raw(
        reader.handle, buffer.baseAddress, Int64(wanted * bytesPerFrame))
      guard bytes >= 0 else { throw SoundFileError(.system(EIO), path: path) }
      return Int(bytes) / bytesPerFrame
    }
  }

  // MARK: What libsndfile says, in our terms

  private static func format(_ info: SF_INFO, rate: Double?, swapped: Bool) -> PCMFormat? {
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
      isBigEndian: bits > 8 && swapped == (1.littleEndian == 1))
  }

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
