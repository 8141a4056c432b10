import ArgumentParser
import Control
import Sessions
import System

/// Choosing the running session that a command controls.
struct SessionChoice: ParsableArguments {
  @Option(help: "Only a session on this JACK server.", completion: .servers)
  var server: String?

  func validate() throws { try checkOnce(["--server"]) }

  /// Returns a connection to the session with this client or in this folder, to the one at this address on
  /// another machine, or to the only one if it is nil. Prints why and ends the command if there is no such session, or more than
  /// one.
  func connect(client: String?) throws -> RemoteClient {
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
    let running = RunningSessions()
    for remark in running.remarks { Screen.shared.remark(remark) }
    let onServer = running.reports.filter { server == nil || $0.server == server }
    var chosen = onServer.filter { client == nil || $0.client == client }
    if chosen.isEmpty, let path = client.flatMap({ resolvedPath($0) }) {
      chosen = onServer.filter { resolvedPath($0.path) == path }
    }
    guard chosen.count == 1 else {
      for report in chosen.isEmpty ? onServer : chosen {
        Screen.shared.remark(
          "“\(printable(report.client))” on the JACK server “\(printable(report.server))”: process "
            + "\(report.process), UDP port \(report.port), \(printable(report.path))")
      }
      Screen.shared.complain(complaint(client, chosen: chosen.count, of: onServer.count))
      throw ExitCode.failure
    }
    return try telling { () throws(RemoteError) in
      try RemoteClient(of: OSCAddress(port: chosen[0].port))
    }
  }

  private func complaint(_ client: String?, chosen: Int, of running: Int) -> String {
    if running == 0 { return "no session is running" }
    if chosen == 0 { return "no running session has the client or the folder “\(client ?? "")”" }
    return client == nil
      ? "several sessions are running: name the client of one"
      : "several sessions have that client: say which --server"
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
