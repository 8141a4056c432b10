import AudioQueue
import Server

/// The ports that `--connect` names, and the client that found them.
struct FoundConnections {
  let connections: QueueOptions.Connections
  /// Keeps a server alive that was started to look ports up, until the queues have their clients.
  private let probe: (any ServerClient)?

  init(_ connections: QueueOptions.Connections, probe: (any ServerClient)? = nil) {
    self.connections = connections
    self.probe = probe
  }

  /// The number of ports; nil without `--connect`.
  var count: Int? {
    if case .ports(let ports) = connections { return ports.count }
    return nil
  }

  /// Closes the client that found the ports. Later calls do nothing.
  func close() { probe?.close() }
}
