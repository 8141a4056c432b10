import Files
import Glibc
import Sessions
import System

/// The sound files, MIDI files and SoundFonts of a session.
enum SoundFiles {
  /// Returns why a path cannot be read: a named pipe would block, and a device has no end. Nil if it can.
  private static func reasonAgainstReading(_ path: String) -> String? {
    var status = stat()
    let isOther =
      unsafe stat(path.systemName, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    return isOther ? "\(path): it is not a plain file" : nil
  }

  /// Returns why a path is no SoundFont; nil if it is one.
  static func reasonAgainstSoundFont(_ path: String) -> String? {
    if let reason = reasonAgainstReading(path) { return reason }
    do throws(SoundFontError) { _ = try SoundFontFile(path: path) } catch { return "\(error)" }
    return nil
  }

  /// Returns why a path is nothing that `collect` copies: a sound or MIDI file, or a SoundFont. Nil if it is one.
  static func reasonAgainstCopying(_ path: String) -> String? {
    reasonAgainstReading(path)
      ?? (SoundFontFile.isOne(path) ? reasonAgainstSoundFont(path) : reasonAgainst(path))
  }

  /// Returns why a path is no sound or MIDI file that can be played; nil if it is one.
  static func reasonAgainst(_ path: String) -> String? {
    if let reason = reasonAgainstReading(path) { return reason }
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
  static func check(
    _ path: String, _ reason: (String) -> String? = reasonAgainst
  ) -> SessionCheck.File {
    if unsafe access(path.systemName, F_OK) != 0 { return .missing }
    return reason(path).map { .unusable($0) } ?? .present
  }
}
