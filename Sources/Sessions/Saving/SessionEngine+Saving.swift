import Server
import Synchronization

/// What a running session adds to its document when it is saved.
extension SessionEngine {
  /// Returns what a save of the document's plugins writes: for each one that runs, a free folder for its state.
  package func stateTargets(of document: SessionDocument, in folder: SessionFolder)
    throws(SessionError) -> [StateTarget]
  {
    var targets: [StateTarget] = []
    var taken = Set(document.plugins.compactMap(\.plugin.state))
    for (path, plugin) in document.plugins {
      guard let instance = session.instances(at: path).first?.plugin else { continue }
      var number = 0
      var name = ""
      var isFree = false
      while !isFree {
        number += 1
        name = "plugins/\(plugin.id)-\(number).lv2"
        let exists = try folder.holds(name)
        isFree = !exists && taken.insert(name).inserted
      }
      targets.append(StateTarget(path: path, plugin: plugin, instance: instance, name: name))
    }
    return targets
  }

  /// Writes the connections of the session's ports into a document: those that exist, and those that are
  /// made when the other port appears. They name the client after the session, whatever it is called now.
  /// Connections of ports that the session no longer has are dropped, and those to the sound card that nobody
  /// asked for are left out: the next run makes them, whatever its card is called.
  ///
  /// - Parameter isSave: Whether people ask for it. Otherwise connections that end with the other client's run
  ///   are left out.
  package func capture(_ document: inout SessionDocument, isSave: Bool = true) {
    let all = knownConnections.filter { isSave || $0.isLasting }
    let known = all.map { (port: $0.port, other: $0.other) }
    let ended = device.endedPorts
    var listed: [(port: String, other: String)] = []
    /// Returns the ports that the document lists for an output. The list is empty if one of its connections has
    /// ended, since those that are left are written one by one, or if somebody has ended the output's last one.
    func kept(_ others: [String]?, _ ports: [String]) -> [String]? {
      guard let others else {
        let isBare =
          !ended.lasting.isDisjoint(with: ports) && !known.contains { ports.contains($0.port) }
        return isBare ? [] : nil
      }
      let wires = others.enumerated().map { (port: ports[$0 % ports.count], other: $1) }
      guard wires.allSatisfy({ wire in known.contains { $0 == wire } }) else { return [] }
      listed += wires
      return others
    }
    for (index, outlet) in plan.trackOutlets {
      document.tracks[index].ports = kept(document.tracks[index].ports, outlet.ports)
    }
    for (index, outlet) in plan.busOutlets {
      document.buses[index].ports = kept(document.buses[index].ports, outlet.ports)
    }
    var connections = document.connections.filter { connection in
      guard let own = ownPort(of: connection) else { return !isObsolete(connection) }
      return known.contains { $0 == own }
    }
    // Of ports that somebody has connected otherwise, or disconnected in part, all connections are written: the
    // next run makes no others.
    let chosen = ended.defaults.union(all.filter { !$0.isDefault }.map(\.port))
    let outlets = plan.trackOutlets.values.map(\.ports) + plan.busOutlets.values.map(\.ports)
    let left = Set(outlets.filter { chosen.isDisjoint(with: $0) }.joined())
    for wire in known where !left.contains(wire.port) && !listed.contains(where: { $0 == wire }) {
      if connections.contains(where: { ownPort(of: $0).map { $0 == wire } ?? false }) { continue }
      connections.append(
        connection(
          of: wire.port, and: wire.other, of: SessionDocument.clientName(for: document.name)))
    }
    document.connections = connections
  }
}
