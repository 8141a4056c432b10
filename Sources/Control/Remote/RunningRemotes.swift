import FoundationEssentials
import Graph

/// The sessions and commands that can be controlled, in processes of this user, requested on creation.
package struct RunningRemotes: Sendable {
  /// The reports, sorted by client, server and process.
  package private(set) var reports: [RemoteReport] = []
  /// Processes that did not answer, in words.
  package private(set) var remarks: [String] = []

  /// Requests the reports. It removes sockets of processes that have ended.
  ///
  /// - Parameter patience: Seconds within which all answers must arrive.
  package init(patience: Double = 2) {
    let running = RunningReports(of: .remote, patience: patience)
    remarks = running.remarks
    for (path, data) in running.answers {
      if let report = try? JSONDecoder().decode(RemoteReport.self, from: data), report.port > 0 {
        reports.append(report)
      } else {
        remarks.append("\(path) answers with something that is no remote control to this version")
      }
    }
    reports.sort { ($0.client, $0.server, $0.process) < ($1.client, $1.server, $1.process) }
  }
}
