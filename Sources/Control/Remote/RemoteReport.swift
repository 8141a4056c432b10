import Glibc

/// The report of a running session to other processes of its user. `cuejack osc` and `cuejack set` find the session
/// by it.
package struct SessionReport: Codable, Hashable, Sendable {
  /// The name of the session's JACK client, by which people choose it.
  package let client: String
  /// The name of the JACK server.
  package let server: String
  /// The process identifier.
  package let process: Int32
  /// The UDP port of its `RemoteServer`.
  package let port: UInt16
  /// The path of the session's folder or file.
  package let path: String

  package init(client: String, server: String, port: UInt16, path: String) {
    self.client = client
    self.server = server
    self.port = port
    self.path = path
    process = getpid()
  }
}
