import CAudioToolbox
import Logging

/// The reason why a C function fails: a result code for the caller and a text for the log.
protocol APIFailure: Error {
  /// The documented result code.
  var status: OSStatus { get }
  var reason: String { get }
  /// The log level of the failure.
  var level: Logger.Level { get }
  /// Creates the failure for an invalid argument.
  static func badArgument(_ reason: String) -> Self
}

extension APIFailure {
  var level: Logger.Level { .warning }
}
