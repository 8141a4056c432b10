import FoundationEssentials
import Graph

/// The remote control of a session or command: its OSC server, and the socket by which the user's other processes find
/// that, until `end()`.
package final class RemoteService: Sendable {
  private let server: RemoteServer
  private let reports: ReportServer?

  /// The UDP port.
  package var port: UInt16 { server.port }

  /// Starts the server on a port, or on a free one if that port is taken.
  ///
  /// - Returns: Nil if there is no port.
  /// - Parameters:
  ///   - port: The UDP port; 0 for a free one.
  ///   - reach: The hosts whose messages are accepted.
  ///   - onMessage: Takes the message that the port is another one, or that there is none.
  package init?(
    _ target: any RemoteTarget, _ origin: RemoteReport.Origin, port: UInt16,
    reach: OSCSocket.Reach, onMessage: (String) -> Void
  ) {
    var server: RemoteServer?
    var failures: [String] = []
    for wanted in port == 0 ? [0] : [port, 0] where server == nil {
      do throws(OSCError) {
        server = try RemoteServer(target, port: wanted, reach: reach)
      } catch {
        failures.append("\(error)")
      }
    }
    guard let server else {
      onMessage("\(failures.joined(separator: "; ")): there is no remote control")
      return nil
    }
    let actual = server.port
    if let failure = failures.first {
      onMessage("\(failure): remote control is on UDP port \(actual) instead")
    }
    self.server = server
    // Without it, messages to the port work all the same.
    reports = ReportServer(of: .remote, client: origin.client) { [weak target] in
      target.flatMap {
        try? JSONEncoder().encode(RemoteReport(of: $0, origin, port: actual))
      }
    }
  }

  /// Removes the socket, and stops serving. Call it once.
  package func end() {
    reports?.end()
    server.end()
  }
}
