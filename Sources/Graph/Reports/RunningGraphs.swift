/// The reports of all graphs that run in processes of this user, requested on creation.
package struct RunningGraphs: Sendable {
  /// The reports, sorted by server, client and process.
  package private(set) var reports: [GraphReport] = []
  /// Graphs that did not answer, in words.
  package private(set) var remarks: [String] = []

  /// Requests the reports of all running graphs. It removes sockets of processes that have ended.
  ///
  /// - Parameter patience: Seconds within which all answers must arrive.
  package init(patience: Double = 2) {
    let running = RunningReports(of: .graph, patience: patience)
    remarks = running.remarks
    for (path, data) in running.answers {
      if let report = try? GraphReport(json: data) {
        reports.append(report)
      } else {
        remarks.append("\(path) answers with something that is no graph to this version")
      }
    }
    reports.sort { ($0.server, $0.client, $0.process) < ($1.server, $1.client, $1.process) }
  }
}
