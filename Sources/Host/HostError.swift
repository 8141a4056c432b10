package import Server

/// Why a plugin or a graph could not be made or changed.
package enum HostError: Error, Hashable, Sendable {
  /// No plugin with this URI is installed.
  case unknownPlugin(uri: String)
  /// The graph has no node with this number, or no longer.
  case unknownNode(number: Int)
  /// A node has no input or output with this number, counted from 1.
  case noSuchPort(node: String, kind: PortKind, number: Int)
  /// The nodes that a connection would close to a ring, in order; the first is the last again.
  case feedback(path: [String])
  /// There is no such connection.
  case notConnected(from: String, to: String)
  /// A node cannot stand there, because it has no inputs or no outputs, or too few of them.
  case doesNotFit(node: String)
  /// The graph has a JACK port of this name already.
  case portNameTaken(String)
  /// The JACK server did not give what the graph needs.
  case server(ServerError)

  /// What a port of a node is.
  package enum PortKind: String, Hashable, Sendable {
    case input, output
    case eventInput = "event input"
    case eventOutput = "event output"
  }
}

extension HostError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownPlugin(let uri): "no plugin <\(uri)> is installed (LV2_PATH tells where to look)"
    case .unknownNode(let number): "the graph has no node \(number)"
    case .noSuchPort(let node, let kind, let number):
      "“\(node)” has no \(kind.rawValue) \(number)"
    case .feedback(let path):
      "that would feed back: \(path.map { "“\($0)”" }.joined(separator: " → "))"
    case .notConnected(let from, let to): "“\(from)” is not connected to “\(to)”"
    case .doesNotFit(let node): "“\(node)” does not fit there: it has too few inputs or outputs"
    case .portNameTaken(let name): "the graph has a port “\(name)” already"
    case .server(let error): "\(error)"
    }
  }
}
