import Glibc
package import Logging
import Synchronization

/// The log of the library and of the command. Any thread that is not real time.
package let log = Logger(label: "cuejack") { _ in Log() }

/// A log handler whose level and output are the same for every logger of the process.
///
/// The environment variable CUEJACK_LOG names the least severe level that is written: trace, debug,
/// info, notice, warning, error or critical. Without it, programs that use the library get errors only.
package struct Log: LogHandler {
  package typealias Write = @Sendable (_ level: Logger.Level, _ text: String) -> Void

  private struct Setting {
    var level = wantedLevel ?? .error
    var write: Write = { Log.writeToStandardError($1) }
    var tellsLosses = true
  }
  private static let setting = Mutex(Setting())

  /// The level that CUEJACK_LOG names; nil if it is not set. An unknown name counts as not set, and is
  /// reported on standard error.
  package static let wantedLevel: Logger.Level? = {
    guard let name = environmentVariable("CUEJACK_LOG") else { return nil }
    if let level = Logger.Level(rawValue: name) { return level }
    let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
    writeToStandardError("CUEJACK_LOG: “\(name)” is none of the levels \(names)")
    return nil
  }()

  /// Sends all later messages from `level` on to `write`, which may be called on several threads at
  /// once.
  ///
  /// - Parameter tellsLosses: False if the program tells of servers that go away and come back itself.
  package static func set(
    level: Logger.Level, tellsLosses: Bool = true, write: @escaping Write
  ) {
    setting.withLock { $0 = Setting(level: level, write: write, tellsLosses: tellsLosses) }
  }

  package static var tellsLosses: Bool { setting.withLock { $0.tellsLosses } }

  /// Writes a line to standard error in the format of the log.
  private static func writeToStandardError(_ text: String) {
    let line = Array("cuejack: \(text)\n".utf8)
    let file = ForeignOutput.error
    _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
  }

  package var logLevel: Logger.Level {
    get { Self.setting.withLock { $0.level } }
    set { Self.setting.withLock { $0.level = newValue } }
  }
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let write = Self.setting.withLock { $0.write }
    write(event.level, escaped("\(event.message)"))
  }
}
