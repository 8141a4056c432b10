import Logging
import Synchronization
import System

/// Connections of a device's ports, which are made again after each return of the server. Any thread
/// that is not real time.
///
/// Nothing is called under the lock of the patchbay.
final class Connections: Sendable {
  private let link: ClientLink
  private let patchbay = Mutex(Patchbay())
  /// Counts changes by other programs.
  let noted = Atomic<Int>(0)

  init(_ link: ClientLink) { self.link = link }

  /// Connects port `name` of this client to the port with the full name `other`.
  ///
  /// - Parameters:
  ///   - direction: Direction of the port; nil if it is unknown, which counts as an output.
  ///   - isDefault: Whether the sound card was chosen because nothing else was asked for.
  ///   - isAgain: Whether the connection has existed before, until the other client or the server left.
  func connect(
    _ name: String, _ direction: PortDirection?, to other: String, isDefault: Bool = false,
    isAgain: Bool = false
  ) throws(ServerError) {
    let isOfRun = !isDefault && link.client.makesOwnConnections(other)
    // Noted first: the event thread may see the connection before this returns.
    let before = patchbay.withLock { patchbay in
      defer {
        let memory = isAgain ? patchbay.wire(name, to: other)?.memory : nil
        let isOthers = memory == .whileOtherRuns
        patchbay.connected(
          name, to: other,
          isOthers ? .whileOtherRuns : isOfRun ? .ownWhileOtherRuns : .lasting,
          isDefault: isDefault)
      }
      return patchbay.wire(name, to: other)
    }
    do throws(ServerError) {
      switch direction {
      case .input: try link.client.connect(other, toOurs: name)
      case .output, nil: try link.client.connect(name, to: other)
      }
    } catch {
      patchbay.withLock { $0.restore(before, name, to: other) }
      throw error
    }
  }

  /// Makes the connection once the other port exists.
  func want(_ name: String, to other: String) { patchbay.withLock { $0.want(name, to: other) } }

  /// Connects ports to the sound card, the first one to its first port and so on. What the card has not yet is
  /// connected when it appears.
  ///
  /// - Parameter count: The number of connections: ports are taken in turn.
  /// - Returns: The card's ports that each port is connected to now.
  func connectToCard(_ ports: [String], _ direction: PortDirection, count: Int)
    throws(ServerError) -> [[String]]
  {
    var connections: [[String]] = ports.map { _ in [] }
    if ports.isEmpty { return connections }
    let card = link.client.card(direction).prefix(count)
    for (i, other) in card.enumerated() {
      try connect(ports[i % ports.count], direction, to: other, isDefault: true)
      connections[i % ports.count].append(other)
    }
    if card.count < count {
      let made = Set(card.indices)
      patchbay.withLock {
        $0.wish(.init(ports: ports, direction: direction, made: made, count: count))
      }
    }
    return connections
  }

  /// Connections of the ports that exist, or that are to be made again when the other port or the server
  /// returns.
  var remembered: [Device.KnownConnection] {
    noteClaims()
    return patchbay.withLock { $0.remembered }
  }

  /// The names of ports in `Device.endedPorts`.
  var endedPorts: Patchbay.Ended { patchbay.withLock { $0.ended } }

  /// Remembers all existing connections as if people had made them.
  func keepAll() {
    noteClaims()
    patchbay.withLock { $0.keepAll() }
  }

  /// Forgets connections that other clients have claimed. PipeWire tells that later than the connection.
  private func noteClaims() {
    guard link.client.isPipeWire else { return }
    for other in Set(patchbay.withLock { $0.passing }) where link.client.makesOwnConnections(other)
    {
      patchbay.withLock { $0.claim(other) }
    }
  }

  /// Removes such a connection for good, if it exists.
  func disconnect(_ name: String, from other: String) {
    patchbay.withLock { $0.disconnected(name, from: other) }
    link.client.disconnect(name, from: other)
  }

  /// Connections of the ports, as far as they are known.
  var made: [(port: String, other: String)] { patchbay.withLock { $0.made } }

  /// Returns how other programs have changed connections, which `note` takes. Event thread.
  ///
  /// - Parameter patience: Lowered to the seconds after which to call again in any case.
  func takeChanges(_ patience: inout Double?) -> [ConnectionChange] {
    link.client.takeConnectionChanges(&patience)
  }

  /// Notes how connections have changed. Event thread.
  func note(_ changes: [ConnectionChange]) {
    noted.add(changes.count, ordering: .relaxed)
    for change in changes {
      patchbay.withLock { patchbay in
        switch change.kind {
        case .made: patchbay.connected(change.port, to: change.other, change.memory)
        case .ended: patchbay.disconnected(change.port, from: change.other)
        case .interrupted:
          patchbay.interrupted(
            change.port, to: change.other, otherHasLeft: change.otherHasLeft)
        case .renamed(let old): patchbay.renamed(change.port, old, to: change.other)
        }
      }
    }
  }

  /// Makes the connections whose other port exists, and returns them.
  ///
  /// - Parameter direction: Returns the direction of a port of this client.
  @discardableResult
  func makeMissing(_ direction: (String) -> PortDirection?) -> [ConnectionChange] {
    var changes: [ConnectionChange] = []
    let client = link.client
    func make(_ port: String, _ direction: PortDirection?, _ other: String, isDefault: Bool) {
      do throws(ServerError) {
        try connect(port, direction, to: other, isDefault: isDefault, isAgain: true)
        changes.append(ConnectionChange(kind: .made, port: port, other: other))
      } catch {
        log.debug("not connected yet: \(error)")
      }
    }
    // A client that makes its connections itself has a name that anybody gets: it is not the one that was meant.
    for wire in patchbay.withLock({ $0.missing })
    where wire.wasMade || !client.makesOwnConnections(wire.destination) {
      make(wire.port, direction(wire.port), wire.destination, isDefault: false)
    }
    for (port, direction, other) in patchbay.withLock({ $0.takeDefaults(client.card) }) {
      make(port, direction, other, isDefault: true)
    }
    return changes
  }

  /// Forgets ports that no longer exist.
  func forget(_ ports: [String]) { patchbay.withLock { $0.forget(ports) } }

  /// Notes that the server has gone: all connections are to be made again.
  func lose() { patchbay.withLock { $0.lose() } }
}

extension ServerClient {
  /// The ports of the sound card to which ports of a direction are connected.
  func card(_ direction: PortDirection) -> [String] {
    direction == .output ? physicalOutputs : physicalInputs
  }
}
