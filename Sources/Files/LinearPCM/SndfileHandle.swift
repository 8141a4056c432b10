import CSndfile
import Glibc
import RealTime

/// A file that libsndfile has open for reading. One thread at a time; every call may block.
@safe
final class SndfileHandle {
  /// The reason why libsndfile cannot open a file, in its own words.
  struct Failure: Error {
    let reason: String

    /// Takes the reason from libsndfile's latest attempt to open a file.
    fileprivate init() {
      reason = unsafe String(cString: sf_strerror(nil))
    }
  }

  private let handle: OpaquePointer
  /// The file that the handle's callbacks read; nil if libsndfile opened a path.
  private let source: FileSource?
  private let info: SF_INFO

  /// Opens a file through virtual I/O.
  init(_ source: FileSource) throws(Failure) {
    var callbacks = FileSource.callbacks
    var info = SF_INFO()
    let opened = unsafe withExtendedLifetime(source) {
      unsafe sf_open_virtual(
        &callbacks, Int32(SFM_READ), &info, Unmanaged.passUnretained(source).toOpaque())
    }
    guard let opened = unsafe opened else { throw Failure() }
    unsafe handle = opened
    self.source = source
    self.info = info
  }

  /// Opens a path, for types that virtual I/O cannot open: Sound Designer II has its header in a
  /// second file, and files without a header are known by their extension.
  init(path: String) throws(Failure) {
    var info = SF_INFO()
    guard let opened = unsafe sf_open(path, Int32(SFM_READ), &info) else { throw Failure() }
    unsafe handle = opened
    source = nil
    self.info = info
  }

  deinit { withExtendedLifetime(source) { _ = unsafe sf_close(handle) } }

  // MARK: Properties

  /// Number of frames according to libsndfile.
  var frames: Int64 { max(0, info.frames) }
  /// Frames per second. libsndfile rounds fractions.
  var sampleRate: Double { Double(info.samplerate) }
  var channels: Int { Int(info.channels) }
  private var subtype: Int { Int(info.format) & SF_FORMAT_SUBMASK }

  /// libsndfile's names of the file type and of the encoding.
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

  /// True for sound without a header in µ-law. libsndfile takes any file called `.au` or `.snd` for
  /// it.
  var isGuessedFromExtension: Bool {
    Int(info.format) & SF_FORMAT_TYPEMASK == SF_FORMAT_RAW && subtype == SF_FORMAT_ULAW
  }

  /// True if `frames` is an estimate: for MPEG audio libsndfile computes it from the size of the file.
  var isEstimated: Bool { Int(info.format) & SF_FORMAT_TYPEMASK == SF_FORMAT_MPEG }

  /// Roles of the channels; nil if the file does not give them.
  var channelRoles: [ChannelRole]? {
    var map = [Int32](repeating: 0, count: channels)
    let known = unsafe map.withUnsafeMutableBytes { bytes in
      unsafe sf_command(
        handle, Int32(SFC_GET_CHANNEL_MAP_INFO), bytes.baseAddress, Int32(bytes.count))
    }
    guard known != 0 else { return nil }
    let roles = map.compactMap { ChannelRole(libsndfile: Int($0)) }
    return roles.count == channels ? roles : nil
  }

  /// The file's texts by the keys of info dictionaries.
  var tags: [String: String] {
    let keys: [(Int, String)] = [
      (SF_STR_TITLE, "title"), (SF_STR_ARTIST, "artist"), (SF_STR_ALBUM, "album"),
      (SF_STR_COMMENT, "comments"), (SF_STR_COPYRIGHT, "copyright"), (SF_STR_DATE, "year"),
      (SF_STR_GENRE, "genre"), (SF_STR_TRACKNUMBER, "track number"),
      (SF_STR_SOFTWARE, "encoding application"),
    ]
    var tags: [String: String] = [:]
    for (id, key) in keys {
      if let text = unsafe sf_get_string(handle, Int32(id)) {
        tags[key] = unsafe FileText.decoded(
          UnsafeRawBufferPointer(start: text, count: strlen(text)))
      }
    }
    return tags
  }

  // MARK: Formats

  /// The format of the samples as they are in the file; nil if they are not linear PCM.
  ///
  /// - Parameter rate: The file's exact sample rate, if it is known.
  func storedFormat(rate: Double?) -> PCMFormat? {
    let (kind, bits): (PCMFormat.Kind, Int)
    switch subtype {
    case SF_FORMAT_PCM_S8: (kind, bits) = (.signedInteger, 8)
    case SF_FORMAT_PCM_U8: (kind, bits) = (.unsignedInteger, 8)
    case SF_FORMAT_PCM_16: (kind, bits) = (.signedInteger, 16)
    case SF_FORMAT_PCM_24: (kind, bits) = (.signedInteger, 24)
    case SF_FORMAT_PCM_32: (kind, bits) = (.signedInteger, 32)
    case SF_FORMAT_FLOAT: (kind, bits) = (.float, 32)
    case SF_FORMAT_DOUBLE: (kind, bits) = (.float, 64)
    default: return nil
    }
    // libsndfile rounds the rate. The header's own rate is used if it differs only by that.
    let exact = rate.flatMap { abs($0 - sampleRate) < 1 ? $0 : nil }
    let isSwapped = unsafe sf_command(handle, Int32(SFC_RAW_DATA_NEEDS_ENDSWAP), nil, 0) != 0
    return PCMFormat(
      sampleRate: exact ?? sampleRate, channels: channels, kind: kind, bitsPerSample: bits,
      isBigEndian: bits > 8 && isSwapped == (1.littleEndian == 1))
  }

  /// The format of the samples that `read` returns. It keeps all bits of the file's samples:
  /// integers are in the high bits of 16 or 32.
  var decodedFormat: PCMFormat {
    let bits: Int? =
      switch subtype {
      case SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8, SF_FORMAT_DPCM_8: 8
      case SF_FORMAT_DWVW_12: 12
      case SF_FORMAT_PCM_16, SF_FORMAT_DPCM_16, SF_FORMAT_DWVW_16, SF_FORMAT_ALAC_16,
        SF_FORMAT_ULAW, SF_FORMAT_ALAW, SF_FORMAT_IMA_ADPCM, SF_FORMAT_MS_ADPCM, SF_FORMAT_GSM610,
        SF_FORMAT_VOX_ADPCM, SF_FORMAT_NMS_ADPCM_16, SF_FORMAT_NMS_ADPCM_24, SF_FORMAT_NMS_ADPCM_32,
        SF_FORMAT_G721_32, SF_FORMAT_G723_24, SF_FORMAT_G723_40:
        16
      case SF_FORMAT_ALAC_20: 20
      case SF_FORMAT_PCM_24, SF_FORMAT_ALAC_24, SF_FORMAT_DWVW_24, SF_FORMAT_DWVW_N: 24
      case SF_FORMAT_PCM_32, SF_FORMAT_ALAC_32: 32
      default: nil
      }
    let isBigEndian = 1.littleEndian != 1
    guard let bits else {
      return PCMFormat(
        sampleRate: sampleRate, channels: channels, kind: .float,
        bitsPerSample: subtype == SF_FORMAT_DOUBLE ? 64 : 32, isBigEndian: isBigEndian)
    }
    let bytes = bits <= 16 ? 2 : 4
    return PCMFormat(
      sampleRate: sampleRate, channels: channels, kind: .signedInteger, bitsPerSample: bits,
      bytesPerSample: bytes, isBigEndian: isBigEndian, isHighAligned: bits < 8 * bytes)
  }

  // MARK: Sound

  /// Moves to a frame; returns false if libsndfile cannot seek there in this encoding.
  func seek(to frame: Int64) -> Bool { unsafe sf_seek(handle, frame, SEEK_SET) == frame }

  /// Reads the next frames in `decodedFormat`, as many as exist and fit. Returns their number.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let format = decodedFormat
    guard let start = buffer.baseAddress else { return 0 }
    let count = Int64(buffer.count / format.bytesPerFrame)
    let done =
      switch (format.kind, format.bytesPerSample) {
      case (.float, 4):
        unsafe sf_readf_float(handle, start.assumingMemoryBound(to: Float.self), count)
      case (.float, _):
        unsafe sf_readf_double(handle, start.assumingMemoryBound(to: Double.self), count)
      case (_, 2): unsafe sf_readf_short(handle, start.assumingMemoryBound(to: Int16.self), count)
      case (_, _): unsafe sf_readf_int(handle, start.assumingMemoryBound(to: Int32.self), count)
      }
    return Int(max(0, done))
  }
}
