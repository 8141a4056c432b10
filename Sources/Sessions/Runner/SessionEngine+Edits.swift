import Graph
import PluginHost
package import Server
import Synchronization
import System
import Timeline

/// Edits of a running session, and its connections.
extension SessionEngine {
  /// Takes the values of an edited document that can change while the session runs: volume, gain, mute,
  /// solo, balance, delays, names of nothing, parameters and bypass of plugins, JACK ports, connections and scenes.
  ///
  /// - Parameter scene: The scene that is recalled by the edit; nil for none. Its values take effect in one cycle.
  /// - Throws: `SessionRunError.refused` if something else differs; nothing has changed then.
  package func adopt(_ document: SessionDocument, recalling scene: SessionScene? = nil)
    throws(SessionRunError)
  {
    try control.withLock { _ throws(SessionRunError) in
      let old = self.document
      try checkIsLive(old, document)
      try SessionRunError.host { () throws(HostError) in
        if let scene {
          try recall(scene, in: document)
        } else {
          session.setGains(document)
        }
        if Self.delays(of: old) != Self.delays(of: document) { try session.setDelays(document) }
        for (before, after) in zip(old.plugins, document.plugins) {
          let instances = session.instances(at: after.path)
          for (name, value) in after.plugin.parameters
          where scene == nil && before.plugin.parameters[name] != value {
            for (_, plugin) in instances { try plugin.set(name, numeric: value) }
          }
          if before.plugin.bypass != after.plugin.bypass {
            try session.setBypass(after.path, after.plugin.bypass)
          }
        }
      }
      replaceDocument(document)
      followArming(old, document)
      for connection in Set(document.connections).subtracting(old.connections) {
        connect(connection)
      }
      for connection in Set(old.connections).subtracting(document.connections) {
        guard let (port, other) = ownPort(of: connection) else { continue }
        device.disconnect(port, from: other)
      }
    }
  }

  /// Moves the faders and plugins to the values of a scene, from one frame on.
  private func recall(_ scene: SessionScene, in document: SessionDocument) throws(HostError) {
    let controls = controls(of: scene, in: document)
    func forEachPlugin(
      _ body: (any HostedPlugin, String, Double) throws(HostError) -> Void
    ) throws(HostError) {
      for (target, value) in controls {
        guard case .control(_, let name) = target.value, let path = target.pluginPath else {
          continue
        }
        for (_, plugin) in session.instances(at: path) { try body(plugin, name, value) }
      }
    }
    // A value that a plugin refuses leaves all others as they are.
    try forEachPlugin { plugin, name, value throws(HostError) in
      try plugin.check(MIDITarget(name, low: Float(value), high: Float(value)))
    }
    let seconds = scene.fade / 1000
    let frame = recallFrame
    session.setGains(document, from: frame, over: seconds)
    let frames = Int(held: (seconds * plan.timeline.sampleRate).rounded())
    try forEachPlugin { plugin, name, value throws(HostError) in
      try plugin.recall(name, value, at: frame, over: frames)
    }
  }

  /// While the session plays, starts recordings that have been armed, and ends those that no longer are.
  private func followArming(_ old: SessionDocument, _ new: SessionDocument) {
    let armed = Set(new.recordings.filter(\.armed).map { Name($0.name) })
    let before = Set(old.recordings.filter(\.armed).map { Name($0.name) })
    if armed == before { return }
    stopRecordings { !armed.contains(Name($0)) }
    guard isPlaying, !armed.isSubset(of: before) else { return }
    let names = prepareRecordings { armed.subtracting(before).contains(Name($0.name)) }
    startRecordings(names, at: device.now + lead(names.count, attempt: 0))
  }

  /// Checks that two documents differ only in what can change while the session runs.
  private func checkIsLive(_ old: SessionDocument, _ new: SessionDocument) throws(SessionRunError) {
    if Self.structure(of: old) != Self.structure(of: new) {
      throw .refused("this takes effect only when the session is run again: it is not changed now")
    }
    if let target = session.automation.targets.first(where: {
      old.setting(of: $0) != new.setting(of: $0)
    }) {
      throw .refused("\(target.path): a curve of the session's automation moves this value")
    }
    for (index, (before, after)) in zip(old.tracks, new.tracks).enumerated()
    where before.pan != after.pan && !session.canPan(index) {
      throw .refused(
        "tracks[\(index)].pan: the track has one port, and gets a second one when the session is run again"
      )
    }
  }

  private static func delays(of document: SessionDocument) -> [[Double]] {
    [document.tracks.map(\.delay), document.buses.map(\.delay), document.sends.map(\.delay)]
  }

  /// Returns the document with the same values in all fields that can change.
  private static func structure(of document: SessionDocument) -> SessionDocument {
    var fixed = document
    func fix(_ chain: inout [SessionPlugin]) {
      for index in chain.indices {
        chain[index].parameters = [:]
        chain[index].bypass = false
        chain[index].state = nil
      }
    }
    for index in fixed.tracks.indices {
      fixed.tracks[index].volume = 0
      fixed.tracks[index].pan = 0
      fixed.tracks[index].delay = 0
      fixed.tracks[index].mute = false
      fixed.tracks[index].solo = false
      fix(&fixed.tracks[index].chain)
    }
    for index in fixed.buses.indices {
      fixed.buses[index].gain = 0
      fixed.buses[index].delay = 0
      fixed.buses[index].mute = false
      fix(&fixed.buses[index].chain)
    }
    for index in fixed.sends.indices { fixed.sends[index].delay = 0 }
    for index in fixed.recordings.indices { fixed.recordings[index].armed = false }
    fixed.connections = []
    fixed.scenes = []
    return fixed
  }

  // MARK: Controllers

  /// Whether a mapping moves a plugin's parameter in the cycle. The session's thread follows the others.
  package static func isBound(_ mapping: SessionMapping) -> Bool {
    guard mapping.controller.kind == .controller, let path = try? SessionPath(mapping.target) else {
      return false
    }
    return path.steps.count == 6 && path.steps[4] == .key("parameters")
  }

  /// Binds the MIDI controllers that move parameters of plugins.
  func bindControllers(_ document: SessionDocument) throws(SessionRunError) {
    for mapping in document.controllers {
      let path = try SessionRunError.session { () throws(SessionError) in
        try SessionPath(mapping.target)
      }
      guard path.steps.count == 6, path.steps[4] == .key("parameters"),
        let name = path.steps[5].word, mapping.controller.kind == .controller,
        let controller = MIDIController(
          number: mapping.controller.number, channel: mapping.controller.channel)
      else { continue }
      let target = MIDITarget(
        name, low: mapping.low.map { Float($0) }, high: mapping.high.map { Float($0) })
      for (_, plugin) in session.instances(at: resolved(path, in: document)) {
        try SessionRunError.host { () throws(HostError) in
          try plugin.bind(MIDIBinding(controller, to: target))
        }
      }
    }
  }

  /// Returns the path of a plugin with indices in place of names.
  private func resolved(_ path: SessionPath, in document: SessionDocument) -> SessionPath {
    let isTrack = path.steps[0] == .key("tracks")
    var steps = Array(path.steps.prefix(4))
    if let name = steps[1].word {
      let names = isTrack ? document.tracks.map(\.name) : document.buses.map(\.name)
      steps[1] = .index(names.firstIndex { $0.isSameName(as: name) } ?? -1)
    }
    if let id = steps[3].word, case .index(let owner) = steps[1], owner >= 0 {
      let chain = isTrack ? document.tracks[owner].chain : document.buses[owner].chain
      steps[3] = .index(chain.firstIndex { $0.id == id } ?? -1)
    }
    return SessionPath(steps)
  }

  // MARK: Connections

  /// Makes the connections of the document. Those whose other port does not exist are reported, once for each
  /// client.
  func connect(_ document: SessionDocument) {
    let named = Set(document.connections.compactMap { ownPort(of: $0)?.port })
    let outlets =
      plan.trackOutlets.sorted { $0.key < $1.key }.map(\.value)
      + plan.busOutlets.sorted { $0.key < $1.key }.map(\.value)
    for outlet in outlets {
      if outlet.destinations == nil, options.connectsToCard, named.isDisjoint(with: outlet.ports) {
        connectToCard(outlet.ports)
      }
      // Surplus destinations are assigned round robin, so a single port goes to all of them.
      for (index, other) in (outlet.destinations ?? []).enumerated() {
        make(outlet.ports[index % outlet.ports.count], to: other)
      }
    }
    for connection in document.connections where ownPort(of: connection) == nil {
      options.onMessage("connections: \(reason(against: connection))")
    }
    for (port, other) in ownConnections(of: document) { make(port, to: other) }
    tellWaiting(waitingConnections)
  }

  private func connectToCard(_ ports: [String]) {
    do throws(ServerError) {
      try device.connectToCard(ports, .output, count: max(2, ports.count))
    } catch {
      options.onMessage("\(error)")
    }
  }

  /// Reports connections that are made when the other client appears.
  private func tellWaiting(_ connections: [SessionConnection]) {
    for line in SessionConnection.waitingLines(connections, of: device.client.name) {
      options.onMessage("connections: \(line)")
    }
  }

  /// The connections of the session's ports that the device remembers. Those to its own recordings are left out:
  /// each take makes them.
  package var knownConnections: [Device.KnownConnection] {
    let names = Set(portNames)
    return device.knownConnections.filter { known in
      let own = known.other.bytes(after: "\(device.client.name):").map { String($0) }
      return names.contains(known.port) && own.map { names.contains($0) } ?? true
    }
  }

  /// The connections that are made when the other port appears, by their full names.
  package var waitingConnections: [SessionConnection] {
    knownConnections.filter { !$0.isMade }.map {
      connection(of: $0.port, and: $0.other, of: device.client.name)
    }
  }

  /// Returns the connection of one of the session's ports.
  ///
  /// - Parameter client: The name of the session's client.
  func connection(of port: String, and other: String, of client: String) -> SessionConnection {
    let own = "\(client):\(port)"
    return port == session.midiInput
      ? SessionConnection(from: other, to: own) : SessionConnection(from: own, to: other)
  }

  /// The document's connections of the session's ports. As with a queue, a second port of a single channel
  /// that no connection names takes every second connection of the first one.
  private func ownConnections(of document: SessionDocument) -> [(port: String, other: String)] {
    let own = document.connections.compactMap(ownPort)
    let named = Set(own.map(\.port))
    var seconds: [String: String] = [:]
    for (index, outlet) in plan.trackOutlets
    where plan.tracks[index].facts.channels == 1 && outlet.ports.count == 2 {
      if !named.contains(outlet.ports[1]) { seconds[outlet.ports[0]] = outlet.ports[1] }
    }
    var counts: [String: Int] = [:]
    return own.map { port, other in
      counts[port, default: 0] += 1
      let isSecond = counts[port]?.isMultiple(of: 2) ?? false
      return (isSecond ? seconds[port] ?? port : port, other)
    }
  }

  /// Returns why a connection is not made, in words.
  private func reason(against connection: SessionConnection) -> String {
    let words = "\(connection.from) -> \(connection.to)"
    guard let (port, _) = namedPort(of: connection) else {
      return "neither \(connection.from) nor \(connection.to) is a port of this session"
    }
    return isGone(port)
      ? "the session has no port \(port): \(words) is left out"
      : "the session has no port \(port) now: \(words) is not made"
  }

  /// Whether a port that the session does not have cannot return by itself: it is none of a track whose sound
  /// is missing.
  private func isGone(_ port: String) -> Bool {
    !plan.tracks.indices.contains { index in
      let stem = SessionDocument.portStem(for: plan.tracks[index].name)
      return players[index] == nil && (port.hasPrefix(stem + "_") || port.hasPrefix(stem + "-"))
    }
  }

  /// Whether a connection names a port that the session had, and that cannot return by itself.
  func isObsolete(_ connection: SessionConnection) -> Bool {
    guard ownPort(of: connection) == nil else { return false }
    return namedPort(of: connection).map { isGone($0.port) } ?? false
  }

  private func connect(_ connection: SessionConnection) {
    guard let (port, other) = ownPort(of: connection) else {
      return options.onMessage("connections: \(reason(against: connection))")
    }
    let isMade = make(port, to: other)
    if !isMade { tellWaiting([self.connection(of: port, and: other, of: device.client.name)]) }
  }

  /// Makes a connection, now or when the other port appears: it may belong to a program that has not started yet.
  /// A client that makes its connections itself is another one of its name than that in the document.
  ///
  /// - Returns: False if the connection waits for the other port.
  @discardableResult
  private func make(_ port: String, to other: String) -> Bool {
    do throws(ServerError) {
      if !device.makesOwnConnections(other) {
        try device.connect(port, to: other)
        return true
      }
    } catch {
      if case .noSuchPort = error {
      } else if case .noSuchSource = error {
      } else {
        options.onMessage("\(error)")
      }
    }
    device.connect(port, whenThere: other)
    return false
  }

  /// Returns the full name of a port that the document names: one of the session's own has the present name of
  /// its client.
  func presentName(of port: String) -> String {
    let names = Set(portNames)
    let own = Self.namedPorts(
      of: SessionConnection(from: port, to: ""), [device.client.name, options.clientName], document
    ).first { names.contains($0.port) }
    return own.map { "\(device.client.name):\($0.port)" } ?? port
  }

  /// Returns the session's port of a connection, without the client's name, and the other one; nil if the
  /// session has no such port.
  func ownPort(of connection: SessionConnection) -> (port: String, other: String)? {
    let names = Set(portNames)
    return namedPorts(of: connection).first { names.contains($0.port) }
  }

  /// Returns the port of a connection that bears the session's name; nil if neither does.
  private func namedPort(of connection: SessionConnection) -> (port: String, other: String)? {
    namedPorts(of: connection).first
  }

  private func namedPorts(of connection: SessionConnection) -> [(port: String, other: String)] {
    Self.namedPorts(of: connection, [device.client.name, options.clientName], document)
  }

  /// The name of the session's own client in a document, whatever the session is called.
  package static let ownClient = "{self}"

  /// Returns the ports of a connection that bear a name of the session's client, without it, each with the
  /// other port. The document names the client after the session, as it is called at present, or `{self}`.
  ///
  /// - Parameter clients: What the client is called at present.
  static func namedPorts(
    of connection: SessionConnection, _ clients: [String], _ document: SessionDocument
  ) -> [(port: String, other: String)] {
    let clients =
      clients + [SessionDocument.clientName(for: document.name), document.name, ownClient]
    return [(connection.from, connection.to), (connection.to, connection.from)].flatMap {
      own, other in
      clients.compactMap { client in own.bytes(after: "\(client):").map { (String($0), other) } }
    }
  }

  /// The names of the session's ports.
  package var portNames: [String] {
    (plan.trackOutlets.sorted { $0.key < $1.key } + plan.busOutlets.sorted { $0.key < $1.key })
      .flatMap(\.value.ports) + [session.midiInput].compactMap { $0 }
  }
}

extension SessionConnection {
  /// Returns what connections wait for, a line for each other client.
  ///
  /// - Parameter client: The session's client.
  package static func waitingLines(_ connections: [SessionConnection], of client: String)
    -> [String]
  {
    var clients: [String] = []
    var words: [String: [String]] = [:]
    for connection in connections {
      let isSource = connection.from.hasPrefix("\(client):")
      let other = String((isSource ? connection.to : connection.from).prefix { $0 != ":" })
      if words[other] == nil { clients.append(other) }
      words[other, default: []].append("\(connection.from) -> \(connection.to)")
    }
    return clients.map { "waiting for \($0): \(words[$0, default: []].joined(separator: ", "))" }
  }
}

extension HostedPlugin {
  /// Sets a control by its symbol, or a parameter by its URI.
  ///
  /// - Parameters:
  ///   - frame: The device frame of the change; nil for as soon as possible.
  ///   - rampFrames: Frames of a control's ramp.
  func set(
    _ name: String, numeric value: Double, at frame: Int64? = nil, over rampFrames: Int = 0
  ) throws(HostError) {
    if name.contains(":") {
      // The value has the parameter's own type, as far as it is known.
      let range = description.parameters.first { $0.uri == name }?.range
      try setParameter(
        name, to: ParameterValue(Float(value), range: range) ?? .float(Float(value)), at: frame)
    } else {
      try set(name, to: Float(value), at: frame, over: rampFrames)
    }
  }
}
