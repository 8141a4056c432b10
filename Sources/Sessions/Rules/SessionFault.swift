/// A fault of a session, with the path of the value at fault.
package struct SessionFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// Consequence of a fault.
  package enum Severity: String, Sendable, Codable {
    /// The session cannot run.
    case error
    /// The session runs, but something is probably not as wanted.
    case warning
  }
  package let severity: Severity
  package let path: SessionPath
  package let message: String

  package init(_ severity: Severity, _ path: SessionPath, _ message: String) {
    self.severity = severity
    self.path = path
    self.message = message
  }

  package var description: String {
    let prefix = path.isEmpty ? "" : "\(path): "
    return "\(prefix)\(severity == .warning ? "warning: " : "")\(message)"
  }
}
