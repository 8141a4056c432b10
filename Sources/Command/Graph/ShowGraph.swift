import ArgumentParser
import Graph
import PluginHost

/// `cuejack graph`: shows running plugin graphs.
struct ShowGraph: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "graph", abstract: "Show the running plugin graphs.",
    discussion: """
      With one running graph or a client name, prints that graph. With several, lists them. The nodes \
      are printed in running order, with their kind, their input wires and gains, and the connections of \
      their JACK ports. Only graphs of your own processes are shown. A process that does not answer \
      within two seconds is reported and left out. The exit code is 1 if there is no such graph.
      """
        + examples(
          "cuejack graph --controls",
          "cuejack graph cuejack --dot | dot -Tsvg > graph.svg"))

  @Option(help: "Show only graphs on this JACK server.", completion: .servers)
  var server: String?

  @Flag(help: "Also print the values of the plugins' controls.")
  var controls = false

  @Flag(help: "Print the graph in the DOT language of Graphviz.")
  var dot = false

  @Flag(help: "Print a JSON object. With several graphs, its member “graphs” contains them all.")
  var json = false

  @Argument(help: "The JACK client of the graph.", completion: .graphClients)
  var client: String?

  func validate() throws {
    try check(!dot || !json, "--dot and --json exclude each other")
  }

  private struct All: Encodable { let graphs: [GraphReport] }

  func run() throws {
    let running = RunningGraphs()
    for remark in running.remarks { Screen.shared.remark(remark) }
    let onServer = running.reports.filter { server == nil || $0.server == server }
    let chosen = onServer.filter { client == nil || $0.client == client }
    if chosen.isEmpty {
      Screen.shared.complain(nothing(of: running))
      throw ExitCode.failure
    }
    if chosen.count == 1 {
      try show(chosen[0])
    } else if client != nil || dot {
      list(chosen) { Screen.shared.remark($0) }
      Screen.shared.complain(
        client == nil
          ? "several graphs are running: name the client of one"
          : "several graphs have that client: say which --server")
      throw ExitCode.failure
    } else if json {
      try printJSON(All(graphs: chosen))
    } else {
      list(chosen) { Screen.shared.say($0) }
    }
  }

  private func show(_ report: GraphReport) throws {
    if json { return try printJSON(report) }
    let text =
      dot
      ? report.dot(withControls: controls)
      : report.headline + "\n" + report.text(withControls: controls)
    for line in text.split(separator: "\n") { Screen.shared.say(String(line)) }
  }

  private func list(_ reports: [GraphReport], _ line: (String) -> Void) {
    for report in reports { line(report.headline) }
  }

  /// Returns the message for an empty selection.
  private func nothing(of running: RunningGraphs) -> String {
    let reports = running.reports
    if reports.isEmpty {
      return running.remarks.isEmpty
        ? "no graph is running" : "no graph that could be asked is running"
    }
    let wanted = [client.map { "of the client “\($0)”" }, server.map { "on the server “\($0)”" }]
    let others = reports.map { "“\($0.client)” on “\($0.server)”" }.joined(separator: ", ")
    return "no graph \(wanted.compactMap(\.self).joined(separator: " ")) is running, but \(others)"
  }
}
