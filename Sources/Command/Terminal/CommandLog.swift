import Logging
import System

/// The command's part of the log.
enum CommandLog {
  /// Hides what libraries and plugins print by themselves, unless `isVerbose` or CUEJACK_LOG asks for all
  /// details.
  static func hushLibraries(isVerbose: Bool) {
    if !isVerbose, (Log.wantedLevel ?? .notice) > .debug { ForeignOutput.silence() }
  }

  /// Prints log messages like the command's own: those that CUEJACK_LOG selects, or from notices on.
  /// `isVerbose` adds what JACK's library says.
  static func start(isVerbose: Bool) {
    Log.set(level: isVerbose ? .debug : Log.wantedLevel ?? .notice) { level, text in
      if level >= .error { Screen.shared.complain(text) } else { Screen.shared.remark(text) }
    }
  }
}
