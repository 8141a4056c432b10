import Files
import Glibc
import Sessions
import System

/// The sound and MIDI files of a session.
enum SoundFiles {
  /// Returns why a path is no sound or MIDI file that can be played; nil if it is one.
  static func reasonAgainst(_ path: String) -> String? {
    var status = stat()
    // A named pipe would block, and a device has no end.
    if unsafe stat(path.systemName, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      return "\(path): it is not a plain file"
    }
    if MIDISound.isOne(path) {
      do throws(MIDIFileError) { _ = try MIDIFile(path: path) } catch { return error.description }
      return nil
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
