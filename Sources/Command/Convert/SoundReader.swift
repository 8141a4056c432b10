import Codecs
import Files
import RealTime
import Synchronization

/// A reader of a sound file's frames from any position: linear PCM as stored, packets decoded to
/// floats. Priming and remainder are left out.
///
/// Any thread. Reads of one file wait for each other and block on the disk, so none is real-time
/// safe.
final class SoundReader: Sendable {
  let path: String
  let file: any MediaFile
  /// The format of the frames that `read` returns.
  let format: PCMFormat
  /// Frames that can be read.
  let frames: Int64
  /// True if the file is truncated or damaged.
  var isTruncated: Bool { file.warning != nil }
  /// Decoder state, protected by `lock`; nil for linear PCM.
  private let decoding: Decoding?
  private let lock = Mutex(())

  /// The decoder of a file's packets, and the next frame that it outputs.
  private final class Decoding: @unchecked Sendable {
    let reader: MediaReader
    let converter: StreamConverter
    var next: Int64 = 0
    init(_ file: any MediaFile, to format: PCMFormat) throws(SoundFileError) {
      reader = MediaReader(file)
      converter = try file.decoder(to: format, StreamConverter.Options())
    }
  }

  /// Opens a file. Blocks.
  init(path: String) throws(SoundFileError) {
    let file = try MediaFiles.open(path: path, decodesOthers: true)
    self.path = path
    self.file = file
    frames = try file.frameCount
    if case .pcm(let format) = file.format {
      self.format = format
      decoding = nil
      return
    }
    format = file.format.decoded
    decoding = try Decoding(file, to: format)
  }

  /// Returns the frames between two times in seconds; to the end if the second one is nil.
  func part(from start: Double, to end: Double?) -> Range<Int64> {
    func frame(_ seconds: Double) -> Int64 {
      min(frames, Int64((seconds * format.sampleRate).rounded()))
    }
    let first = frame(start)
    return first..<max(first, end.map(frame) ?? frames)
  }

  /// Reads up to `count` frames starting at `frame`, as many as exist and fit. Blocks.
  ///
  /// - Returns: Number of frames; 0 at the end.
  func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames, count > 0 else { return 0 }
    let bytesPerFrame = format.bytesPerFrame
    let wanted = min(count, buffer.count / bytesPerFrame, Int(frames - frame))
    guard let decoding else {
      let memory = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<(wanted * bytesPerFrame)])
      return try unsafe file.readBytes(at: frame * Int64(bytesPerFrame), into: memory)
        / bytesPerFrame
    }
    guard let start = buffer.baseAddress, let samples = unsafe SampleBuffers(format, at: [start])
    else { return 0 }
    return try lock.withLock { _ throws(SoundFileError) in
      if frame != decoding.next { decoding.reader.seek(to: frame) }
      var sink = StreamConverter.Sink.frames(samples, room: wanted)
      do throws(MediaError) {
        try decoding.reader.read(&sink, through: decoding.converter)
      } catch {
        throw error.naming(path)
      }
      decoding.next = frame + Int64(sink.count)
      return sink.count
    }
  }
}

extension MediaFile {
  /// Creates a converter from the file's format to linear PCM.
  func decoder(to format: PCMFormat, _ options: StreamConverter.Options) throws(SoundFileError)
    -> StreamConverter
  {
    var options = options
    options.cookie = cookie
    do throws(StreamConverter.Failure) {
      return try StreamConverter(from: self.format, to: .pcm(format), options)
    } catch {
      throw MediaError.conversion(error).naming(path)
    }
  }
}

extension MediaError {
  /// Returns the error as an error of the file at `path`.
  func naming(_ path: String) -> SoundFileError {
    switch self {
    case .file(let error): error
    case .conversion(let failure): SoundFileError(.notSupported(failure.words), path: path)
    }
  }
}

extension StreamConverter.Failure {
  fileprivate var words: String {
    switch self {
    case .unsupported(let reason): "the sound cannot be converted: \(reason)"
    case .inputRate(let rate): "sound of \(hertz(rate)) cannot be converted"
    case .outputRate(let rate): "sound cannot be converted to \(hertz(rate))"
    case .channels: "the channels cannot be converted"
    case .packetTooLarge(let bytes): "a packet of \(bytes) bytes is too large"
    case .resampling(let reason): "the rate cannot be converted: \(reason)"
    case .codec(let error): error.reason
    }
  }
}
