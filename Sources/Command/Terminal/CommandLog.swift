import Logging
import System

/// The command's part of the log.
enum CommandLog {
  /// Hides what libraries and plugins print by themselves, unless `isVerbose` or CUEJACK_LOG asks for all
  /// details.
  static func hushLibraries(isVerbose: Bool) {
    if !isVerbose, (Log.wantedLevel ?? .notice) > .debug { ForeignOutput.silence() }
  }
}
