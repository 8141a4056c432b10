import Codecs
import Files
import RealTime
import Server

/// A sound file that is being written: linear PCM as it is, or packets that an encoder makes. One thread
/// at a time; every call may block on the disk.
final class SoundWriter: @unchecked Sendable {
  let file: MediaFile
  /// What `write` takes: the file's own samples, or floats for the encoder.
  let input: PCMFormat
  /// Nil for linear PCM.
  private let encoding: (writer: MediaWriter, converter: StreamConverter)?
  /// Bytes of linear PCM that were written.
  private var position: Int64 = 0
  private var silence: [UInt8] = []
  /// Host time, in nanoseconds.
  private var nextCheckpoint: UInt64 = 0

  /// What a file is going to be. Made before the file, so that what cannot be written empties no old one.
  struct Plan {
    fileprivate let container: Container
    fileprivate let format: StreamFormat
    /// Nil for linear PCM.
    fileprivate let converter: StreamConverter?

    /// Fails if there is no such file, or nothing here encodes the format.
    init(
      _ path: String, container: Container, format: StreamFormat,
      encoding options: PacketEncoder.Options = PacketEncoder.Options()
    ) throws(SoundFileError) {
      self.container = container
      if case .packets = format {
        var all = StreamConverter.Options()
        all.encoding = options
        do throws(StreamConverter.Failure) {
          let converter = try StreamConverter(
            from: .pcm(SoundWriter.floats(format)), to: format, all)
          self.converter = converter
          self.format = converter.output
        } catch {
          throw MediaError.conversion(error).naming(path)
        }
      } else {
        converter = nil
        self.format = format
      }
      guard MediaFile.canWrite(self.format, in: container) else {
        throw SoundFileError(.unwritable("\(format.words) in \(container) files"), path: path)
      }
    }
  }

  /// What an encoder is given.
  private static func floats(_ format: StreamFormat) -> PCMFormat {
    PCMFormat(
      sampleRate: format.sampleRate, channels: format.channels, kind: .float, bitsPerSample: 32)
  }

  /// Begins a file.
  init(_ store: FileStore, _ plan: Plan) throws(SoundFileError) {
    file = try MediaFile.create(store, container: plan.container, format: plan.format)
    if case .pcm(let pcm) = plan.format {
      input = pcm
    } else {
      input = Self.floats(plan.format)
    }
    guard let converter = plan.converter else {
      encoding = nil
      return
    }
    do throws(MediaError) {
      encoding = (try MediaWriter(file), converter)
    } catch {
      throw error.naming(store.name)
    }
  }

  /// Appends whole frames of `input`.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) {
    guard let (writer, converter) = encoding else {
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
    guard encoding != nil else { return try file.checkpoint() }
    let now = HostTime.now
    guard now >= nextCheckpoint else { return }
    try file.checkpoint()
    nextCheckpoint = now + 700_000_000
  }

  /// Frames that the file has: all that were written, unless it could not take them any more.
  var frames: Int64 {
    guard let encoding else { return ((try? file.frameCount) ?? 0) }
    let perPacket = Int64(encoding.converter.encoder?.format.framesPerPacket ?? 0)
    guard perPacket > 0, let packets = try? file.packetCount else {
      return encoding.writer.frameCount
    }
    let priming = Int64(encoding.converter.encodedPriming.leading)
    return min(encoding.writer.frameCount, max(0, packets * perPacket - priming))
  }

  /// Completes the file.
  func close() throws(SoundFileError) {
    if let (writer, converter) = encoding {
      do throws(MediaError) {
        try writer.finish(through: converter)
      } catch {
        throw error.naming(file.path)
      }
    }
    try file.close()
  }
}
