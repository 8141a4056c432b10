import Analysis
import Files
import Glibc
import RealTime
import Sessions
import System

/// The sound files of a session.
enum SoundFiles {
  /// Returns why a path is no sound file that can be played; nil if it is one.
  static func reasonAgainst(_ path: String) -> String? {
    var status = stat()
    // A named pipe would block, and a device has no end.
    if unsafe stat(path.systemName, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
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
    if unsafe access(path.systemName, F_OK) != 0 { return .missing }
    return reasonAgainst(path).map { .unusable($0) } ?? .present
  }
}

/// The waveforms of a session's files. Decodes each file once. One thread; blocks.
final class FileWaveforms: SessionWaveforms {
  /// Parts of a file for which there is a peak.
  private static let parts = 2000

  private let folder: SessionFolder
  private var known: [Name: SessionWaveform?] = [:]

  init(_ folder: SessionFolder) { self.folder = folder }

  func waveform(of file: String) -> SessionWaveform? {
    let path = folder.location(of: file)
    if let waveform = known[Name(path)] { return waveform }
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
    known[Name(path)] = .some(waveform)
    return waveform
  }

  private static func read(_ path: String) throws(SoundFileError) -> SessionWaveform {
    let reader = try SoundReader.floats(path: path)
    var table = PeakTable(
      frames: reader.frames, parts: parts, channels: reader.format.channels, isMerged: true)
    try unsafe reader.forEachSamples { unsafe table.add(UnsafeBufferPointer($0)) }
    return SessionWaveform(
      seconds: Double(reader.frames) / reader.format.sampleRate, peaks: table.lanes[0])
  }
}
