import Analysis
import Files
import Glibc
import RealTime
import Sessions
import System

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
