import Codecs
import Files
import Glibc
import RealTime
import Sessions

/// The sound files of a session.
enum SoundFiles {
  /// Returns why a path is no sound file that can be played; nil if it is one.
  static func reasonAgainst(_ path: String) -> String? {
    var status = stat()
    // A named pipe would block, and a device has no end.
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      return "\(path): it is not a plain file"
    }
    do throws(SoundFileError) {
      _ = try MediaFiles.open(path: path, decodesOthers: true).frameCount
      return nil
    } catch {
      return error.description
    }
  }

  /// Returns the state of a file for the check of a session.
  static func check(_ path: String) -> SessionCheck.File {
    if unsafe access(path, F_OK) != 0 { return .missing }
    return reasonAgainst(path).map { .unusable($0) } ?? .present
  }
}

/// The waveforms of a session's files. Decodes each file once. One thread; blocks.
final class FileWaveforms: SessionWaveforms {
  /// Parts of a file for which there is a peak.
  private static let parts = 2000
  private static let framesAtOnce = 8192

  private let folder: SessionFolder
  private var known: [String: SessionWaveform?] = [:]

  init(_ folder: SessionFolder) { self.folder = folder }

  func waveform(of file: String) -> SessionWaveform? {
    let path = folder.location(of: file)
    if let waveform = known[path] { return waveform }
    var waveform: SessionWaveform?
    if let reason = SoundFiles.reasonAgainst(path) {
      Screen.shared.remark(reason)
    } else {
      do throws(SoundFileError) {
        waveform = try Self.read(path)
      } catch {
        Screen.shared.remark(error.description)
      }
    }
    known[path] = .some(waveform)
    return waveform
  }

  private static func read(_ path: String) throws(SoundFileError) -> SessionWaveform {
    let reader = try SoundReader(path: path)
    let channels = reader.format.channels
    let format = PCMFormat(
      sampleRate: reader.format.sampleRate, channels: channels, kind: .float, bitsPerSample: 32)
    let converter = try reader.file.decoder(to: format, StreamConverter.Options())
    let source = MediaReader(reader.file)
    var memory = [Float](repeating: 0, count: framesAtOnce * channels)
    var peaks = [ClosedRange<Float>](repeating: 0...0, count: parts)
    var frame: Int64 = 0
    while frame < reader.frames {
      let count = try unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          try unsafe read(source, converter, format, path, into: memory)
        }
      }.get()
      if count == 0 { break }
      for index in 0..<count {
        let part = Int((frame + Int64(index)) * Int64(parts) / max(1, reader.frames))
        guard part < parts else { break }
        for sample in memory[index * channels..<(index + 1) * channels] where sample.isFinite {
          let peak = peaks[part]
          if !peak.contains(sample) {
            peaks[part] = min(peak.lowerBound, sample)...max(peak.upperBound, sample)
          }
        }
      }
      frame += Int64(count)
    }
    return SessionWaveform(
      seconds: Double(reader.frames) / reader.format.sampleRate, peaks: peaks)
  }

  private static func read(
    _ source: MediaReader, _ converter: StreamConverter, _ format: PCMFormat, _ path: String,
    into memory: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard let start = memory.baseAddress, let samples = unsafe SampleBuffers(format, at: [start])
    else { return 0 }
    var sink = StreamConverter.Sink.frames(samples, room: framesAtOnce)
    do throws(MediaError) {
      try source.read(&sink, through: converter)
    } catch {
      throw error.naming(path)
    }
    return sink.count
  }
}
