import FoundationEssentials
import Graph

/// A session that other processes of the user find, until `end()`. It makes a socket in a folder of the
/// user, as running graphs do.
package final class PublishedSession: Sendable {
  private let server: ReportServer

  /// Publishes the result of `report`, which is called for each reader on a thread of the server's.
  ///
  /// - Returns: Nil if no socket can be made. The log says why; the session runs without it.
  package init?(client: String, _ report: @escaping @Sendable () -> SessionReport) {
    let server = ReportServer(of: .session, client: client) { try? JSONEncoder().encode(report()) }
    guard let server else { return nil }
    self.server = server
  }

  /// Removes the socket. Call it once.
  package func end() { server.end() }
}
