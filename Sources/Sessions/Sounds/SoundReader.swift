package import Codecs
package import Files
package import RealTime
import Synchronization
import Timeline

/// A reader of a sound file's frames from any position: linear PCM as stored, packets decoded to
/// floats, or either converted to a given format. Priming and remainder are left out.
///
/// Any thread. Reads of one file wait for each other and block on the disk, so none is real-time
/// safe.
package final class SoundReader: SoundSource {
  package let path: String
  package let file: any MediaFile
  /// The format of the frames that `read` returns.
  package let format: PCMFormat
  /// Frames that can be read.
  package let frames: Int64
  package var warnings: [String] { [file.warning].compactMap { $0 } }
  /// Decoder state, protected by `lock`; nil for linear PCM as stored.
  private let decoding: Decoding?
  private let lock = Mutex(())

  package var faults: [String] {
    let missing = lock.withLock { _ in decoding?.missing ?? file.missing }
    return missing.words(sampleRate: file.format.sampleRate).map { ["\(path): \($0)"] } ?? []
  }

  /// The decoder or converter of a file, and the next frame that it outputs.
  private final class Decoding: @unchecked Sendable {
    let reader: MediaReader
    let converter: StreamConverter
    var next: Int64 = 0
    /// Frames at the end that the decoder did not output.
    var lacking: MissingSound?
    var missing: MissingSound { lacking ?? reader.missing }
    init(_ file: any MediaFile, to format: PCMFormat) throws(SoundFileError) {
      reader = MediaReader(file)
      var options = StreamConverter.Options()
      // As it plays: a single channel goes to the first two.
      if file.format.channels == 1, format.channels > 1 {
        options.mix = .map((0..<format.channels).map { $0 < 2 ? 0 : nil })
      }
      converter = try file.decoder(to: format, options)
    }
  }

  /// Opens a file. Blocks.
  ///
  /// - Parameter format: The format to convert to; nil for the file's own.
  package init(path: String, as format: PCMFormat? = nil) throws(SoundFileError) {
    let file = try MediaFiles.openAny(path: path)
    self.path = file.path
    self.file = file
    let fileFrames = try file.frameCount
    self.format = format ?? file.format.decoded
    let ratio = self.format.sampleRate / file.format.sampleRate
    frames = ratio == 1 ? fileFrames : Int64(held: (Double(fileFrames) * ratio).rounded())
    let isStored = file.format == .pcm(self.format)
    decoding = isStored ? nil : try Decoding(file, to: self.format)
  }

  /// Reads up to `count` frames starting at `frame`, as many as exist and fit. Blocks.
  ///
  /// - Returns: Number of frames; 0 at the end.
  package func read(
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
      if frame != decoding.next { try seek(decoding, to: frame) }
      let read = try read(decoding, samples, room: wanted)
      if read > 0 || decoding.next != frame { return read }
      // The decoder has output less than the file says.
      return unsafe lack(decoding, wanted, at: frame, buffer)
    }
  }

  /// Silence up to the length that was promised, so that what follows keeps its time.
  private func lack(
    _ decoding: Decoding, _ count: Int, at frame: Int64, _ buffer: UnsafeMutableRawBufferPointer
  ) -> Int {
    let silence: UInt8 = format.kind == .unsignedInteger ? 0x80 : 0
    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count * format.bytesPerFrame)])
      .initializeMemory(as: UInt8.self, repeating: silence)
    guard decoding.lacking == nil else { return count }
    let ratio = file.format.sampleRate / format.sampleRate
    var missing = decoding.missing
    missing.add(
      Int(held: Double(frames - frame) * ratio), at: Int64(held: Double(frame) * ratio))
    decoding.lacking = missing
    return count
  }

  private func read(_ decoding: Decoding, _ samples: SampleBuffers, room: Int)
    throws(SoundFileError) -> Int
  {
    var sink = StreamConverter.Sink.frames(samples, room: room)
    do throws(MediaError) {
      try decoding.reader.read(&sink, through: decoding.converter)
    } catch {
      throw error.naming(path)
    }
    decoding.next += Int64(sink.count)
    return sink.count
  }

  /// Frames that the resampler converts before a position, so that it goes on there as if it had
  /// converted everything before.
  private static let settlingFrames: Int64 = 4096

  /// Moves the decoder to a frame. At another rate it begins at an earlier frame that is also one of the
  /// file, and drops the frames in between.
  private func seek(_ decoding: Decoding, to frame: Int64) throws(SoundFileError) {
    let (from, to) = (Int64(file.format.sampleRate), Int64(format.sampleRate))
    if from == to || Double(from) != file.format.sampleRate || Double(to) != format.sampleRate {
      let ratio = file.format.sampleRate / format.sampleRate
      decoding.reader.seek(to: ratio == 1 ? frame : Int64(held: (Double(frame) * ratio).rounded()))
      decoding.next = frame
      return
    }
    var (divisor, rest) = (from, to)
    while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
    let step = to / divisor
    let start = max(0, frame - Self.settlingFrames) / step * step
    decoding.reader.seek(to: start / step * (from / divisor))
    decoding.next = start
    var dropped = [UInt8](repeating: 0, count: 1024 * format.bytesPerFrame)
    while decoding.next < frame {
      let room = Int(min(1024, frame - decoding.next))
      let result = unsafe dropped.withUnsafeMutableBytes { bytes in
        Result { () throws(SoundFileError) -> Int in
          guard let start = bytes.baseAddress,
            let samples = unsafe SampleBuffers(format, at: [start])
          else { return 0 }
          return try read(decoding, samples, room: room)
        }
      }
      if try result.get() == 0 { return }
    }
  }
}

extension MediaFile {
  /// Creates a converter from the file's format to linear PCM.
  package func decoder(to format: PCMFormat, _ options: StreamConverter.Options)
    throws(SoundFileError)
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
  package func naming(_ path: String) -> SoundFileError {
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

extension SoundReader {
  /// Reads all frames in order. Blocks.
  ///
  /// - Parameter body: Called with the bytes of the next frames in `format`, in memory that it may change.
  package func forEachPiece(_ body: (UnsafeMutableRawBufferPointer) -> Void) throws(SoundFileError)
  {
    let framesAtOnce = 8192
    var memory = [UInt8](repeating: 0, count: framesAtOnce * format.bytesPerFrame)
    var frame: Int64 = 0
    while frame < frames {
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) -> Int in
          let count = try unsafe read(startingAt: frame, frames: framesAtOnce, into: memory)
          unsafe body(.init(rebasing: memory[..<(count * format.bytesPerFrame)]))
          return count
        }
      }
      let count = try result.get()
      if count == 0 { return }
      frame += Int64(count)
    }
  }

  /// Opens a file whose frames are read as 32-bit floats, at its own rate. Blocks.
  package static func floats(path: String) throws(SoundFileError) -> SoundReader {
    let format = try MediaFiles.openAny(path: path).format
    return try SoundReader(
      path: path,
      as: PCMFormat(
        sampleRate: format.sampleRate, channels: format.channels, kind: .float, bitsPerSample: 32))
  }

  /// Reads all frames of a file of 32-bit floats in order. Blocks.
  ///
  /// - Parameter body: Called with the next samples, interleaved, in memory that it may change.
  package func forEachSamples(_ body: (UnsafeMutableBufferPointer<Float>) -> Void)
    throws(SoundFileError)
  {
    try unsafe forEachPiece { unsafe body($0.assumingMemoryBound(to: Float.self)) }
  }
}
