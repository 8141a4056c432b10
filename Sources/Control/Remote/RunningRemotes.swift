import FoundationEssentials
import Graph

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
