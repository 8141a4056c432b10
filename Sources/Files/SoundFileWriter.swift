import CSndfile
import Glibc
package import RealTime

/// A file of linear PCM that is being written. One thread at a time; every call may block on the disk.
@safe
package final class SoundFileWriter {
  package let path: String
  package let container: Container
  /// Sample kind, bits, channels and rate of the file.
  package let format: PCMFormat

  private let descriptor: CInt
  private var handle: OpaquePointer?
  /// True if the file is a plain one, which can be taken away if it does not get complete.
  private let isPlain: Bool

  /// Samples that are written at a time, at the most.
  private static var samplesAtOnce: Int { 8192 }
  private var words: [Int32] = []

  /// The encodings that can be written: signed integers of 16, 24 and 32 bits, and 32-bit floats.
  ///
  /// - Parameters:
  ///   - container: Floats in `aiff` make an AIFF-C file.
  ///   - isReplacing: False to fail if the file exists.
  package init(
    path: String, container: Container, format: PCMFormat, isReplacing: Bool
  ) throws(SoundFileError) {
    self.path = path
    self.container = container
    self.format = format
    var info = SF_INFO()
    info.samplerate = Int32(format.sampleRate.rounded())
    info.channels = Int32(format.channels)
    info.format = Int32(Self.type(container) | Self.coding(format))
    guard unsafe sf_format_check(&info) != 0 else {
      throw SoundFileError(
        .unsupportedEncoding("\(container) of \(format.channels) channels"), path: path)
    }
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | (isReplacing ? O_TRUNC : O_EXCL)
    descriptor = unsafe open(path, flags, 0o666)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: path) }
    var status = stat()
    isPlain = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    unsafe handle = sf_open_fd(descriptor, Int32(SFM_WRITE), &info, 0)
    if unsafe handle == nil {
      let error = failure
      discard()
      throw error
    }
  }

  deinit {
    if unsafe handle != nil { discard() }
  }

  /// Appends frames: interleaved floats. Integers are the nearest to their samples (of two that are as
  /// near the even one), clipped at full scale.
  ///
  /// - Returns: How many samples were clipped.
  package func write(_ samples: UnsafeMutableBufferPointer<Float>) throws(SoundFileError) -> Int {
    guard format.kind != .float else {
      let count = unsafe sf_write_float(handle, samples.baseAddress, Int64(samples.count))
      if count != samples.count { throw failure }
      return 0
    }
    // In the high bits, from where libsndfile takes as many as the file has.
    let aligned = PCMFormat(
      sampleRate: 1, channels: 1, kind: .signedInteger, bitsPerSample: format.bitsPerSample,
      bytesPerSample: 4, isHighAligned: true)
    guard let layout = aligned.layout else { return 0 }
    if words.isEmpty { words = [Int32](repeating: 0, count: Self.samplesAtOnce) }
    let scale = Double(sign: .plus, exponent: format.bitsPerSample - 1, significand: 1)
    var clipped = 0
    for first in stride(from: 0, to: samples.count, by: Self.samplesAtOnce) {
      let count = min(Self.samplesAtOnce, samples.count - first)
      for i in first..<first + count {
        let value = unsafe (Double(samples[i]) * scale).rounded(.toNearestOrEven)
        if value > scale - 1 || value < -scale { clipped += 1 }
      }
      guard var plane = samples.baseAddress else { break }
      unsafe plane += first
      let handle = unsafe handle
      let written = unsafe words.withUnsafeMutableBytes { words in
        unsafe layout.store(
          from: &plane, at: 0, frames: count, to: words.baseAddress!, planeFrames: 0)
        return unsafe sf_write_int(
          handle, words.baseAddress?.assumingMemoryBound(to: Int32.self), Int64(count))
      }
      if written != count { throw failure }
    }
    return clipped
  }

  /// Completes the file; when this returns it is on the disk, as far as the system tells.
  package func close() throws(SoundFileError) {
    guard let handle = unsafe handle else { return }
    unsafe sf_write_sync(handle)
    errno = 0
    let status = unsafe sf_close(handle)
    unsafe self.handle = nil
    // Some systems tell of a full disk only now. What cannot be synced is no plain file.
    let code = status != 0 ? max(errno, 1) : fsync(descriptor) != 0 && isPlain ? errno : 0
    if code == 0 && Glibc.close(descriptor) == 0 { return }
    let error = SoundFileError(writing: code == 0 ? errno : code, path: path)
    if isPlain { unsafe unlink(path) }
    throw error
  }

  /// Gives the file up and takes away what was written of it.
  package func discard() {
    if let handle = unsafe handle { unsafe sf_close(handle) }
    unsafe handle = nil
    _ = Glibc.close(descriptor)
    if isPlain { unsafe unlink(path) }
  }

  /// What the latest call of libsndfile says.
  private var failure: SoundFileError {
    let code = errno
    return SoundFileError(writing: code == 0 ? EIO : code, path: path)
  }

  private static func type(_ container: Container) -> Int {
    switch container {
    case .aiff, .aifc: SF_FORMAT_AIFF
    case .caf: SF_FORMAT_CAF
    case .wave: SF_FORMAT_WAV
    case .rf64: SF_FORMAT_RF64
    case .wave64: SF_FORMAT_W64
    default: SF_FORMAT_AU
    }
  }

  private static func coding(_ format: PCMFormat) -> Int {
    switch (format.kind, format.bitsPerSample) {
    case (.float, _): SF_FORMAT_FLOAT
    case (_, ...16): SF_FORMAT_PCM_16
    case (_, ...24): SF_FORMAT_PCM_24
    default: SF_FORMAT_PCM_32
    }
  }
}
