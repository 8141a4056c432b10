import Graph
import PluginHost
import Server
import Synchronization

/// What a running session adds to its document when it is saved.
extension SessionEngine {
  /// Saves the states of all plugins to new folders in `folder`, and returns the document with them and
  /// with the present connections. The states that the document had before stay as they are.
  ///
  /// - Parameter folder: The session's folder, or that of a copy.
  package func captured(_ document: SessionDocument, into folder: SessionFolder)
    throws(SessionRunError) -> SessionDocument
  {
    try control.withLock { _ throws(SessionRunError) in
      var document = document
      for (path, plugin) in document.plugins {
        guard let instance = session.instances(at: path).first?.plugin else { continue }
        let state = try SessionRunError.session { () throws(SessionError) in
          try Self.freeState(of: plugin, in: folder)
        }
        let target = try SessionRunError.session { () throws(SessionError) in
          try folder.pathForWriting(state)
        }
        try SessionRunError.host { () throws(HostError) in try instance.save(to: target) }
        Self.change(&document, path) { $0.state = state }
      }
      if isLive { capture(&document) }
      return document
    }
  }

  /// Writes the connections of the session's ports into a document: those that exist, and those that are
  /// made when the other port appears. They name the client after the session, whatever it is called now.
  /// Connections of ports that the session no longer has are dropped.
  func capture(_ document: inout SessionDocument) {
    let known = device.knownConnections.filter { portNames.contains($0.port) }
    func keeps(_ ports: [String], _ others: [String]) -> Bool {
      others.enumerated().allSatisfy { index, other in
        known.contains { $0.port == ports[index % ports.count] && $0.other == other }
      }
    }
    // A list of ports of which one has been disconnected becomes single connections.
    var listed: [(port: String, other: String)] = []
    for (index, outlet) in plan.trackOutlets {
      if !keeps(outlet.ports, document.tracks[index].ports) { document.tracks[index].ports = [] }
      for (number, other) in document.tracks[index].ports.enumerated() {
        listed.append((outlet.ports[number % outlet.ports.count], other))
      }
    }
    for (index, outlet) in plan.busOutlets {
      if !keeps(outlet.ports, document.buses[index].ports) { document.buses[index].ports = [] }
      for (number, other) in document.buses[index].ports.enumerated() {
        listed.append((outlet.ports[number % outlet.ports.count], other))
      }
    }
    var connections = document.connections.filter { connection in
      guard let own = ownPort(of: connection) else { return !isObsolete(connection) }
      return known.contains { $0 == own }
    }
    for wire in known where !listed.contains(where: { $0 == wire }) {
      if connections.contains(where: { ownPort(of: $0).map { $0 == wire } ?? false }) { continue }
      let own = "\(SessionDocument.clientName(for: document.name)):\(wire.port)"
      connections.append(
        wire.port == session.midiInput
          ? SessionConnection(from: wire.other, to: own)
          : SessionConnection(from: own, to: wire.other))
    }
    document.connections = connections
  }

  private static func freeState(of plugin: SessionPlugin, in folder: SessionFolder)
    throws(SessionError) -> String
  {
    var number = 1
    while true {
      let name = "plugins/\(plugin.id)-\(number).lv2"
      let isTaken = try folder.holds(name)
      if plugin.state != name, !isTaken { return name }
      number += 1
    }
  }

  private static func change(
    _ document: inout SessionDocument, _ path: SessionPath, _ body: (inout SessionPlugin) -> Void
  ) {
    guard case .index(let owner) = path.steps[1], case .index(let index) = path.steps[3] else {
      return
    }
    if path.steps[0] == .key("tracks") {
      body(&document.tracks[owner].chain[index])
    } else {
      body(&document.buses[owner].chain[index])
    }
  }
}
