import Logging

/// A log handler that prints log messages of queues and server to standard error, like the
/// command's own.
struct CommandLog: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?

  /// Installs the log handler. Call once, before anything is logged.
  static func bootstrap(isVerbose: Bool) {
    LoggingSystem.bootstrap { _ in CommandLog(logLevel: isVerbose ? .debug : .notice) }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    if event.level >= .error {
      Screen.shared.complain("\(event.message)")
    } else {
      Screen.shared.remark("\(event.message)")
    }
  }
}
