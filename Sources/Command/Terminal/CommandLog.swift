import Logging
import System

/// The command's part of the log.
enum CommandLog {
  /// Prints log messages like the command's own: those that CUEJACK_LOG selects, or from notices on.
  /// `isVerbose` adds what JACK's library says.
  static func start(isVerbose: Bool) {
    Log.set(level: isVerbose ? .debug : Log.wantedLevel ?? .notice) { level, text in
      if level >= .error { Screen.shared.complain(text) } else { Screen.shared.remark(text) }
    }
  }
}
