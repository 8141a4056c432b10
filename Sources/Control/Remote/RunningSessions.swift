import FoundationEssentials
import Glibc
import Graph
import Sessions
import System

/// What a running session tells other processes of its user, so that `cuejack osc` and `cuejack set` find
/// it.
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

/// The sessions that run in processes of this user, requested on creation.
package struct RunningSessions: Sendable {
  /// The reports, sorted by client, server and process.
  package private(set) var reports: [SessionReport] = []
  /// Sessions that did not answer, in words.
  package private(set) var remarks: [String] = []

  /// Requests the reports. It removes sockets of processes that have ended.
  ///
  /// - Parameter patience: Seconds within which all answers must arrive.
  package init(patience: Double = 2) {
    let running = RunningReports(of: .session, patience: patience)
    remarks = running.remarks
    for (path, data) in running.answers {
      if let report = try? JSONDecoder().decode(SessionReport.self, from: data), report.port > 0 {
        reports.append(report)
      } else {
        remarks.append("\(path) answers with something that is no session to this version")
      }
    }
    reports.sort { ($0.client, $0.server, $0.process) < ($1.client, $1.server, $1.process) }
  }
}
