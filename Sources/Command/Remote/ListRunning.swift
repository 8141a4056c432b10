import ArgumentParser
import Control
import System

/// `cuejack list`: lists what runs and can be controlled.
struct ListRunning: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the running sessions, players, effects and recordings.",
    discussion: """
      Each line has the JACK client, the subcommand (session, play, fx or record), the JACK server, the \
      process, the state, the position and the path. In place of the position, what waits for --at shows that \
      start, which another --at takes. `cuejack set CLIENT` controls one of them, and \
      `cuejack osc CLIENT` lists what it takes. Those with --no-remote, and those of other users, are not in the \
      list. The exit code is 0 even if nothing runs.
      """
        + examples(
          "cuejack list",
          "cuejack list --json | jq -r '.[].client'"))

  @Option(help: "Only what runs on this JACK server.", completion: .servers)
  var server: String?

  @Flag(help: "Print a JSON array.")
  var json = false

  func validate() throws { try checkOnce(["--server"]) }

  func run() throws {
    let running = RunningRemotes()
    for remark in running.remarks { Screen.shared.remark(remark) }
    let reports = running.reports.filter { server == nil || $0.server == server }
    if json { return try printJSON(reports) }
    let rows = reports.map { report in
      [
        report.client, report.command.rawValue, report.server, "\(report.process)",
        report.motion ?? "-", report.start ?? report.position.map { clock($0) } ?? "-", report.path,
      ].map { printable($0) }
    }
    for line in Self.lines(rows) { Screen.shared.say(line) }
  }

  /// Returns the rows with columns of equal width.
  private static func lines(_ rows: [[String]]) -> [String] {
    guard let first = rows.first else { return [] }
    let widths = first.indices.map { column in rows.map { columns(of: $0[column]) }.max() ?? 0 }
    return rows.map { row in
      row.enumerated().map { column, text in
        column == row.count - 1 ? text : fitted(text, to: widths[column])
      }.joined(separator: "  ")
    }
  }
}
