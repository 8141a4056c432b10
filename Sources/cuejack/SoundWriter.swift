import Codecs
import Files
import RealTime
import Server

/// A sound file that is being written: linear PCM, or packets that an encoder makes. One thread at a time;
/// every call may block on the disk.
final class SoundWriter: @unchecked Sendable {
  let file: MediaFile
  /// What `write` takes.
  let input: PCMFormat
  /// What makes the file's samples or packets of the input; nil if they are the same.
  private let conversion: (writer: MediaWriter, converter: StreamConverter)?
  /// Bytes of linear PCM that were written as they are.
  private var position: Int64 = 0
  private var silence: [UInt8] = []
  /// Host time, in nanoseconds.
  private var nextCheckpoint: UInt64 = 0

  /// What a file is going to be. Made before the file, so that what cannot be written empties no old one.
  /// For one writer.
  struct Plan: @unchecked Sendable {
    let container: Container
    let format: StreamFormat
    fileprivate let input: PCMFormat
    fileprivate let converter: StreamConverter?

    /// Fails if there is no such file, or nothing here encodes the format.
    ///
    /// - Parameter input: What is going to be written; nil for the file's own linear PCM, or floats for an
    ///   encoder.
    init(
      _ path: String, container: Container, format: StreamFormat, from input: PCMFormat? = nil,
      encoding options: PacketEncoder.Options = PacketEncoder.Options()
    ) throws(SoundFileError) {
      let input = input ?? format.decoded
      self.container = container
      self.input = input
      if format == .pcm(input) {
        converter = nil
        self.format = format
      } else {
        var all = StreamConverter.Options()
        all.encoding = options
        do throws(StreamConverter.Failure) {
          let converter = try StreamConverter(from: .pcm(input), to: format, all)
          self.converter = converter
          self.format = converter.output
        } catch {
          throw MediaError.conversion(error).naming(path)
        }
      }
      guard MediaFile.canWrite(self.format, in: container) else {
        throw SoundFileError(.unwritable("\(format.words) in \(container) files"), path: path)
      }
    }
  }

  /// Begins a file.
  init(_ store: FileStore, _ plan: Plan) throws(SoundFileError) {
    file = try MediaFile.create(store, container: plan.container, format: plan.format)
    input = plan.input
    guard let converter = plan.converter else {
      conversion = nil
      return
    }
    do throws(MediaError) {
      conversion = (try MediaWriter(file), converter)
    } catch {
      throw error.naming(store.name)
    }
  }

  /// Appends whole frames of `input`.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) {
    guard let (writer, converter) = conversion else {
      try unsafe file.writeBytes(at: position, from: bytes)
      position += Int64(bytes.count)
      return
    }
    // A converter only reads what it is given.
    guard let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress),
      let samples = unsafe SampleBuffers(input, at: [start])
    else { return }
    var source = StreamConverter.Source.frames(samples, count: bytes.count / input.bytesPerFrame)
    do throws(MediaError) {
      try writer.write(&source, through: converter)
    } catch {
      throw error.naming(file.path)
    }
  }

  /// Appends frames of silence.
  func writeSilence(frames: Int64) throws(SoundFileError) {
    let framesAtOnce = 4096
    if silence.isEmpty {
      let value: UInt8 = input.kind == .unsignedInteger ? 0x80 : 0
      silence = [UInt8](repeating: value, count: framesAtOnce * input.bytesPerFrame)
    }
    var left = frames
    while left > 0 {
      let count = Int(min(left, Int64(framesAtOnce)))
      let result = unsafe silence.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in
          try unsafe write(.init(rebasing: bytes[..<(count * input.bytesPerFrame)]))
        }
      }
      try result.get()
      left -= Int64(count)
    }
  }

  /// Has the file be complete as it stands now and then, so that a kill takes less than the last second.
  /// To be called some times in a second.
  func checkpoint() throws(SoundFileError) {
    // Of linear PCM it is but a few bytes each time.
    guard file.pcm == nil else { return try file.checkpoint() }
    let now = HostTime.now
    guard now >= nextCheckpoint else { return }
    try file.checkpoint()
    nextCheckpoint = now + 700_000_000
  }

  /// Frames that were written, and that a file has which was completed.
  var frames: Int64 {
    conversion?.writer.frameCount ?? position / Int64(input.bytesPerFrame)
  }

  /// Completes the file. It is closed whatever happens; the error is the first.
  func close() throws(SoundFileError) {
    var failure: SoundFileError?
    if let (writer, converter) = conversion {
      do throws(MediaError) {
        try writer.finish(through: converter)
      } catch {
        failure = error.naming(file.path)
      }
    }
    do throws(SoundFileError) {
      try file.close()
    } catch {
      failure = failure ?? error
    }
    if let failure { throw failure }
  }
}
