package import Codecs
package import Files
package import RealTime
import Server
import System

/// A writer of a sound file: linear PCM, or packets from an encoder. One thread at a time; every
/// call may block on the disk.
package final class SoundWriter: @unchecked Sendable {
  package let file: any MediaFile
  /// The format that `write` takes.
  package let input: PCMFormat
  /// The conversion of the input to the file's samples or packets; nil if the formats are equal.
  private let conversion: (writer: MediaWriter, converter: StreamConverter)?
  /// Bytes of linear PCM written without conversion.
  private var position: Int64 = 0
  private var silence: [UInt8] = []
  /// Host time of the next checkpoint in nanoseconds.
  private var nextCheckpoint: UInt64 = 0

  /// The format and converter of a file, created before the file: if the format cannot be written,
  /// an existing file is not truncated. For one writer only.
  package struct Plan: @unchecked Sendable {
    package let container: Container
    package let format: StreamFormat
    /// The format that `write` takes.
    package let input: PCMFormat
    fileprivate let converter: StreamConverter?

    /// Fails if the container cannot hold the format, or no encoder is available.
    ///
    /// - Parameter input: Format of the input. Nil for the file's own linear PCM, or floats for an
    ///   encoder.
    /// - Parameter countsClips: False if no sample can exceed full scale by more than its rounding.
    /// - Parameter mix: How the input's channels go to the file's; nil for one after another.
    package init(
      _ path: String, container: Container, format: StreamFormat, from input: PCMFormat? = nil,
      encoding options: PacketEncoder.Options = PacketEncoder.Options(), mix: ChannelMix? = nil,
      countsClips: Bool = true
    ) throws(SoundFileError) {
      let input = input ?? format.decoded
      self.container = container
      self.input = input
      if format == .pcm(input) {
        converter = nil
        self.format = format
      } else {
        var all = StreamConverter.Options()
        all.countsClips = countsClips
        all.encoding = options
        all.mix = mix
        do throws(StreamConverter.Failure) {
          let converter = try StreamConverter(from: .pcm(input), to: format, all)
          self.converter = converter
          self.format = converter.output
        } catch {
          throw MediaError.conversion(error).naming(path)
        }
      }
      guard MediaFiles.canWrite(self.format, in: container) else {
        throw SoundFileError(.unwritable("\(format.summary) in \(container) files"), path: path)
      }
    }
  }

  /// Creates the file.
  package init(_ store: any ByteStore, _ plan: Plan) throws(SoundFileError) {
    file = try MediaFiles.create(store, container: plan.container, format: plan.format)
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

  /// Appends complete frames in the `input` format.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(SoundFileError) {
    guard let (writer, converter) = conversion else {
      try unsafe file.writeBytes(at: position, from: bytes)
      position += Int64(bytes.count)
      return
    }
    // The converter only reads its input.
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

  /// Appends silent frames.
  package func writeSilence(frames: Int64) throws(SoundFileError) {
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

  /// Completes the file as it is, at most every 0.7 seconds for packets, so that a kill loses less
  /// than the last second. Call it several times per second.
  package func checkpoint() throws(SoundFileError) {
    // For linear PCM, a checkpoint writes only a few bytes.
    guard file.pcm == nil else { return try file.checkpoint() }
    let now = HostTime.now
    guard now >= nextCheckpoint else { return }
    try file.checkpoint()
    nextCheckpoint = now + 700_000_000
  }

  /// Frames written so far; after `close`, the frames of the file.
  package var frames: Int64 {
    conversion?.writer.frameCount ?? position / Int64(input.bytesPerFrame)
  }

  /// Samples that the file cannot hold as they were written.
  package var faults: SampleFaults { conversion?.converter.faults ?? SampleFaults() }

  /// Completes and closes the file. It is closed even after an error; the first error is thrown.
  package func close() throws(SoundFileError) {
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

extension ChannelMix {
  /// Returns the mix of all channels to one; nil for other numbers of channels, where the first ones are
  /// taken.
  package static func fitting(_ input: Int, in output: Int) -> ChannelMix? {
    output == 1 && input > 1 ? .mix(Array(repeating: [1 / Float(input)], count: input)) : nil
  }
}
