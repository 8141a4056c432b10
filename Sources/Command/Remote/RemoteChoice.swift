import ArgumentParser
import Control
import System

/// Choosing the running session or command that a command controls.
struct RemoteChoice: ParsableArguments {
  @Option(help: "Only what runs on this JACK server.", completion: .servers)
  var server: String?

  func validate() throws { try checkOnce(["--server"]) }

  /// Returns a connection to the session or command with this client, process or folder, to the one at this address on
  /// another machine, or to the only one if it is nil. Prints why and ends the command if there is no such one, or more
  /// than one.
  ///
  /// - Parameter commands: The subcommands that are looked for.
  func connect(
    client: String?, _ commands: [RemoteReport.Command] = RemoteReport.Command.allCases
  ) throws -> RemoteClient {
    if let url = client, url.hasPrefix("osc.udp://") {
      return try telling { () throws(RemoteError) in
        let address: OSCAddress
        do throws(OSCError) {
          address = try OSCAddress(url: url)
        } catch {
          throw .transport(error)
        }
        return try RemoteClient(of: address)
      }
    }
    let running = RunningRemotes()
    for remark in running.remarks { Screen.shared.remark(remark) }
    let reports = running.reports.filter {
      (server == nil || $0.server == server) && commands.contains($0.command)
    }
    let chosen = client.map { Self.chosen($0, of: reports) } ?? reports
    guard chosen.count == 1 else {
      for report in chosen.isEmpty ? reports : chosen { Screen.shared.remark(report.line) }
      let noun = commands == [.session] ? "session" : "session or command"
      Screen.shared.complain(complaint(client, noun, chosen: chosen.count, of: reports.count))
      throw ExitCode.failure
    }
    return try telling { () throws(RemoteError) in
      try RemoteClient(of: OSCAddress(port: chosen[0].port))
    }
  }

  /// Returns the reports that a name means: of a client, a process, a folder or file, or else those whose client begins
  /// with it.
  private static func chosen(_ name: String, of reports: [RemoteReport]) -> [RemoteReport] {
    let path = resolvedPath(name)
    let matches: [(RemoteReport) -> Bool] = [
      { $0.client == name }, { "\($0.process)" == name },
      { path != nil && resolvedPath($0.path) == path }, { $0.client.hasPrefix(name) },
    ]
    return matches.lazy.map { reports.filter($0) }.first { !$0.isEmpty } ?? []
  }

  private func complaint(_ client: String?, _ noun: String, chosen: Int, of running: Int) -> String
  {
    if running == 0 { return "no \(noun) is running" }
    if chosen == 0 {
      return "no running \(noun) has the client, the process or the path “\(client ?? "")”"
    }
    if client == nil {
      return noun == "session"
        ? "several sessions are running: name the client of one"
        : "several sessions or commands are running: name the client of one"
    }
    return "several have that client: say which process, or which --server"
  }
}

extension RemoteReport {
  /// The report as one line for people.
  var line: String {
    let state = [motion, start ?? position.map { clock($0) }].compactMap { $0 }.joined(
      separator: " ")
    return printable(
      "“\(client)” on the JACK server “\(server)”: \(command.rawValue), process \(process), UDP port \(port), "
        + "\(path)\(state.isEmpty ? "" : ", \(state)")")
  }
}

/// Runs `body`. Prints its error, if any, and ends the command.
func telling<R>(_ body: () throws(RemoteError) -> R) throws -> R {
  do throws(RemoteError) {
    return try body()
  } catch {
    Screen.shared.complain("\(error)")
    throw ExitCode.failure
  }
}
