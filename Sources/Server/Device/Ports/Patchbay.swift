/// Connections of a client's ports: existing ones, and missing ones to be made once the other port
/// exists.
struct Patchbay {
  private struct Wire {
    let port: String
    var destination: String
    var isMade: Bool
  }
  /// In the order in which they were added.
  private var wires: [Wire] = []

  /// Connections still to be made.
  var missing: [(port: String, destination: String)] {
    wires.filter { !$0.isMade }.map { ($0.port, $0.destination) }
  }

  /// Existing connections.
  var made: [(port: String, other: String)] {
    wires.filter(\.isMade).map { ($0.port, $0.destination) }
  }

  /// Returns whether a connection exists; nil if it is not to be made either.
  func isMade(_ port: String, to destination: String) -> Bool? {
    wires.first { $0.port == port && $0.destination == destination }?.isMade
  }

  /// All connections, in the order in which they were added.
  var all: [(port: String, other: String)] { wires.map { ($0.port, $0.destination) } }

  /// Adds a connection to be made once the other port exists.
  mutating func want(_ port: String, to destination: String) {
    guard isMade(port, to: destination) == nil else { return }
    wires.append(Wire(port: port, destination: destination, isMade: false))
  }

  mutating func connected(_ port: String, to destination: String) {
    if let i = wires.firstIndex(where: { $0.port == port && $0.destination == destination }) {
      wires[i].isMade = true
    } else {
      wires.append(Wire(port: port, destination: destination, isMade: true))
    }
  }

  mutating func disconnected(_ port: String, from destination: String) {
    wires.removeAll { $0.port == port && $0.destination == destination && $0.isMade }
  }

  /// Notes that the other port is gone: the connection is to be made again when the port returns.
  mutating func interrupted(_ port: String, to destination: String) {
    for i in wires.indices where wires[i].port == port && wires[i].destination == destination {
      wires[i].isMade = false
    }
  }

  /// Notes that the other port of a connection has another name now. The connection may be known by that name
  /// already.
  mutating func renamed(_ port: String, _ old: String, to new: String) {
    guard isMade(port, to: old) != nil else { return }
    wires.removeAll { $0.port == port && $0.destination == new }
    for i in wires.indices where wires[i].port == port && wires[i].destination == old {
      wires[i].destination = new
    }
  }

  /// Forgets ports that no longer exist.
  mutating func forget(_ ports: [String]) { wires.removeAll { ports.contains($0.port) } }

  /// Notes that the server has gone: all connections are to be made again.
  mutating func lose() { for i in wires.indices { wires[i].isMade = false } }
}
