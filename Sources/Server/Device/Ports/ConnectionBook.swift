import System

/// Known connections of this client's ports, and their changes.
struct ConnectionBook {
  /// Counts the changes that this client itself made to its ports and connections: `add`, `remove` and `begin`.
  private(set) var version = 0
  private var connections: [String: [Other]] = [:]
  private var changes: [ConnectionChange] = []
  private struct Ended {
    let port: String
    let other: Other
    /// Host time in nanoseconds at which the end was noticed.
    let at: UInt64
    /// Whether the other port has been missing since. It may be back before it is told that it has appeared: JACK tells
    /// that when its client is activated.
    var wasMissing = false
  }
  /// Connections that ended.
  private var ended: [Ended] = []

  /// Ports that this client is about to remove: the end of their connections is no change.
  private var leaving: Set<String> = []

  /// Ports to check because their connections may have changed, each with the host time until which
  /// to check it.
  private var watched: [String: UInt64] = [:]

  /// A port at the other end of a connection.
  struct Other {
    let name: String
    /// Address by which JACK's library knows the port, whatever its name; 0 if unknown.
    var address: UInt = 0
  }
  /// Addresses of ports that have been renamed, each with the host time until which that explains
  /// another name. JACK gives the address of a port that is gone to a new one.
  private var renamed: [UInt: UInt64] = [:]

  /// Other clients' ports of these names have appeared and have not been connected since, each with the host
  /// time until which that explains the end of a connection to a port of that name.
  private var appeared: [String: UInt64] = [:]

  /// Host times at which ports of other clients appeared last, by the names of the clients.
  private var arrivals: [Substring: UInt64] = [:]

  /// Nanoseconds after the appearance of a client in which a connection of it is its own, or that of a program
  /// that waits for it. People take longer.
  private static let timeToArrive: UInt64 = 500_000_000

  /// Nanoseconds for which a port is checked. jackd reports a change up to two cycles of 8,192
  /// frames before it is visible.
  private static let timeToShow: UInt64 = 600_000_000

  /// Nanoseconds before an ended connection is reported. A server ends the connections of a port
  /// before it removes the port. Only later is it clear whether somebody disconnected two ports or
  /// one of them is gone.
  private static let timeToJudge: UInt64 = 100_000_000

  /// Ports of this client that have or had connections.
  var portNames: [String] { Array(connections.keys) }

  /// Adds ports to check.
  mutating func watch(_ ports: some Sequence<String>) {
    let end = HostTime.now + Self.timeToShow
    for port in ports { watched[port] = end }
  }

  /// Returns the ports to check now. Each is returned once more after its time.
  mutating func takeWatched() -> [String] {
    let now = HostTime.now
    defer {
      watched = watched.filter { $0.value > now }
      renamed = renamed.filter { $0.value > now }
      appeared = appeared.filter { $0.value > now }
      arrivals = arrivals.filter { $0.value + Self.timeToArrive > now }
    }
    return Array(watched.keys)
  }

  /// Forgets a port that this client is about to remove.
  mutating func remove(_ port: String) {
    version += 1
    connections[port] = nil
    ended.removeAll { $0.port == port }
    leaving.insert(port)
  }

  /// Begins with a new port, which has the name of one that has been removed or of none.
  mutating func begin(_ port: String) {
    version += 1
    connections[port] = nil
    ended.removeAll { $0.port == port }
    leaving.remove(port)
  }

  /// Adds a connection that this client made itself, which is not reported as a change.
  mutating func add(_ port: String, _ other: Other) {
    version += 1
    appeared[other.name] = nil
    if !connections[port, default: []].contains(where: { $0.name == other.name }) {
      connections[port, default: []].append(other)
    }
  }

  /// Notes that ports of other clients have been renamed.
  mutating func rename(_ addresses: [UInt]) {
    for address in addresses { renamed[address] = HostTime.now + Self.timeToShow }
  }

  /// Notes that ports have appeared: a client that removes a port and adds one of the same name ends the
  /// connections of the first.
  ///
  /// - Parameter ports: Full names; nil if any port may have appeared.
  mutating func appear(_ ports: [String]?) {
    let end = HostTime.now + Self.timeToShow
    for port in ports ?? connections.values.flatMap({ $0.map(\.name) }) { appeared[port] = end }
    for port in ports ?? [] { arrivals[clientName(of: port)] = HostTime.now }
  }

  /// Returns those of the ports `others` to which no connection of port `port` is known.
  func unknown(_ others: [String], at port: String) -> [String] {
    others.filter { other in connections[port]?.contains { $0.name == other } != true }
  }

  /// Compares the connections of port `port` with those known before, and notes the changes.
  ///
  /// - Parameter memory: Returns how long a connection to a port, by its full name, is remembered; nil if the
  ///   port's client does not say.
  mutating func note(
    _ port: String, isConnectedTo others: [Other],
    memory: (String) -> ConnectionMemory? = { _ in nil }
  ) {
    if leaving.contains(port) { return }
    let before = connections[port] ?? []
    connections[port] = others
    var gone = before.filter { old in !others.contains { $0.name == old.name } }
    for other in others where !before.contains(where: { $0.name == other.name }) {
      if renamed[other.address] != nil,
        let old = gone.firstIndex(where: { $0.address == other.address })
      {
        let kind = ConnectionChange.Kind.renamed(from: gone.remove(at: old).name)
        changes.append(ConnectionChange(kind: kind, port: port, other: other.name))
        continue
      }
      ended.removeAll { $0.port == port && $0.other.name == other.name }
      appeared[other.name] = nil
      var change = ConnectionChange(kind: .made, port: port, other: other.name)
      let arrival = arrivals[clientName(of: other.name)] ?? 0
      if let memory = memory(other.name) {
        change.memory = memory
      } else if HostTime.now < arrival + Self.timeToArrive {
        change.memory = .whileOtherRuns
      }
      changes.append(change)
    }
    for other in gone { ended.append(Ended(port: port, other: other, at: HostTime.now)) }
  }

  /// Removes and returns the changes that are certain.
  ///
  /// - Parameters:
  ///   - patience: Lowered to the seconds after which to call again, if some changes are not
  ///     certain yet.
  ///   - exists: Returns whether a port of that full name exists.
  ///   - clientExists: Returns whether a client of that name exists.
  mutating func take(
    _ patience: inout Double?, _ exists: (String) -> Bool,
    clientExists: (String) -> Bool = { _ in true }
  ) -> [ConnectionChange] {
    defer { changes = [] }
    let now = HostTime.now
    for index in ended.indices where !ended[index].wasMissing {
      ended[index].wasMissing = !exists(ended[index].other.name)
    }
    for change in ended where now >= change.at + Self.timeToJudge {
      let (port, old) = (change.port, change.other)
      // A port has its new name before JACK reports that.
      if renamed[old.address] != nil,
        let other = connections[port]?.first(where: { $0.address == old.address })
      {
        let kind = ConnectionChange.Kind.renamed(from: old.name)
        changes.append(ConnectionChange(kind: kind, port: port, other: other.name))
        continue
      }
      let isEnded = !change.wasMissing && appeared[old.name] == nil
      var ended = ConnectionChange(
        kind: isEnded ? .ended : .interrupted, port: port, other: old.name)
      ended.otherHasLeft = !isEnded && !clientExists(String(clientName(of: old.name)))
      changes.append(ended)
    }
    ended.removeAll { now >= $0.at + Self.timeToJudge }
    let pause = ended.contains { !$0.wasMissing } ? 0.01 : 0.05
    if !ended.isEmpty || !watched.isEmpty { patience = min(patience ?? pause, pause) }
    return changes
  }
}

/// Returns the name of the client in the full name of a port.
func clientName(of port: String) -> Substring { port.prefix { $0 != ":" } }
