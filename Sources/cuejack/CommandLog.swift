import Logging

/// Has what the queues and the server log appear on standard error as the command's own lines.
struct CommandLog: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?

  /// Sets the program's logging up. Once, before anything is logged.
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
