import Server
import Sessions
import Synchronization

/// Connections that other programs make and end while the session runs.
extension RunningSession {
  /// Writes the connections into the document and its journal if they have changed since the last call, so that
  /// a kill does not lose them. The session's thread.
  func followConnections(_ engine: SessionEngine) {
    // Those of a server that is away are made again.
    guard let store, !engine.device.isLost else { return }
    let present = engine.presentConnections
    let isNews = seenConnections.withLock { seen in
      defer { seen = present.all }
      // Connections to a sound card that has appeared are no edits.
      return !seen.isSubset(of: present.all)
        || !present.all.subtracting(present.defaults).isSubset(of: seen)
    }
    guard isNews else { return }
    let old = store.document
    var new = old
    engine.capture(&new, isSave: false)
    do throws(SessionRunError) {
      try SessionRunError.session { () throws(SessionError) in
        for edit in Self.edits(from: old, to: new) { try store.apply(edit) }
      }
      engine.replaceDocument(new.armed(as: engine.document))
    } catch {
      options.onMessage("connections: \(error)")
    }
    tellDirtiness()
  }

  /// Returns the edits that change the connections of one document to those of the other.
  private static func edits(from old: SessionDocument, to new: SessionDocument) -> [SessionEdit] {
    var edits: [SessionEdit] = []
    if old.connections != new.connections {
      let list = JSONValue.list(new.connections.map(\.json))
      edits.append(.set(SessionPath([.key("connections")]), list))
    }
    func compare(_ key: String, _ old: [[String]?], _ new: [[String]?]) {
      for (index, ports) in new.enumerated() where old[index] != ports {
        let path = SessionPath([.key(key), .index(index), .key("ports")])
        edits.append(.set(path, ports?.json ?? .null))
      }
    }
    compare("tracks", old.tracks.map(\.ports), new.tracks.map(\.ports))
    compare("buses", old.buses.map(\.ports), new.buses.map(\.ports))
    return edits
  }
}

extension SessionEngine {
  /// The lasting connections of the session's ports, without the client's name: those that exist, and those that
  /// are made when the other port or the server returns. The defaults are those to the sound card that nobody asked
  /// for.
  var presentConnections: (all: Set<SessionConnection>, defaults: Set<SessionConnection>) {
    let known = knownConnections.filter(\.isLasting)
    func set(_ connections: [Device.KnownConnection]) -> Set<SessionConnection> {
      Set(connections.map { SessionConnection(from: $0.port, to: $0.other) })
    }
    return (set(known), set(known.filter(\.isDefault)))
  }
}
