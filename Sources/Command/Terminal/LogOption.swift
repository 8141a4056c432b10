import ArgumentParser
import Logging
import System

/// How much of the log a command prints.
struct LogOption: ParsableArguments {
  @Flag(help: "Print more messages to standard error.")
  var verbose = false

  /// Prints log messages like the command's own: those that CUEJACK_LOG selects, or from notices on.
  /// With `--verbose`, the command prints what JACK's library says, too.
  func start() {
    let least: Logger.Level = verbose ? .debug : Log.wantedLevel ?? .notice
    Log.set(level: least, tellsLosses: false) { level, text in
      if level >= .error { Screen.shared.complain(text) } else { Screen.shared.remark(text) }
    }
  }
}
