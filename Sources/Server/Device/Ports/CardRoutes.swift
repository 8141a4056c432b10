import Synchronization

/// The connections between ports of all clients of this process and ports of sound cards, and reports of
/// their changes. Any thread that is not real time.
package final class CardRoutes: Sendable {
  package static let shared = CardRoutes()

  private let observers = Mutex<[UInt64: @Sendable (CardRouteChange) -> Void]>([:])
  private let lastObserver = Atomic<UInt64>(0)
  /// All ports of a sound card that have been seen, by server. A connection whose card has gone is
  /// known by them.
  private let known = Mutex<[String: CardRoute]>([:])

  /// Adds a function to call after each change, on an event thread. It must not wait.
  ///
  /// - Returns: The number for `removeObserver`.
  package func addObserver(_ body: @escaping @Sendable (CardRouteChange) -> Void) -> UInt64 {
    let number = lastObserver.add(1, ordering: .relaxed).newValue
    observers.withLock { $0[number] = body }
    return number
  }

  package func removeObserver(_ number: UInt64) { observers.withLock { $0[number] = nil } }

  /// Returns the ports of the sound card to which this process is connected. A direction in which the
  /// process has no ports has all ports of the card.
  package func route(on server: String) -> CardRoute {
    let devices = devices(on: server)
    guard let client = devices.first?.client else { return CardRoute() }
    let present = CardRoute(inputs: client.physicalInputs, outputs: client.physicalOutputs)
    let card = learn(present, on: server)
    let others = Set(devices.flatMap { $0.liveConnections.map(\.other) })
    func ports(_ all: [String], _ present: [String], _ direction: PortDirection) -> [String] {
      devices.contains { $0.attachments.hasPorts(direction) }
        ? all.filter { others.contains($0) } : present
    }
    return CardRoute(
      inputs: ports(card.inputs, present.inputs, .input),
      outputs: ports(card.outputs, present.outputs, .output))
  }

  /// Returns true if a port of another process is connected to an output of the sound card.
  package func othersPlay(on server: String) -> Bool {
    let devices = devices(on: server)
    let names = devices.map(\.client.name)
    let sources = devices.first?.client.cardSources ?? []
    return sources.contains { source in !names.contains { source.hasPrefix($0 + ":") } }
  }

  private func devices(on server: String) -> [Device] {
    DeviceRegistry.shared.all.filter { $0.client.serverName == server }
  }

  /// Adds ports of the sound card to the known ones, and returns all of them. A connection to a port
  /// that goes is reported only if the port is known before.
  @discardableResult
  package func learn(_ present: CardRoute, on server: String) -> CardRoute {
    known.withLock { known in
      var card = known[server] ?? CardRoute()
      card.inputs += present.inputs.filter { !card.inputs.contains($0) }
      card.outputs += present.outputs.filter { !card.outputs.contains($0) }
      known[server] = card
      return card
    }
  }

  /// Calls the observers with the changes that `body` makes to connections of `device`. Event thread.
  func report(of device: Device, _ body: () -> [ConnectionChange]) {
    let observers = observers.withLock { Array($0.values) }
    if observers.isEmpty {
      _ = body()
      return
    }
    let server = device.client.serverName
    let old = route(on: server)
    let before = device.liveConnections
    let changes = body()
    // Connections that the process itself has ended are not among those before.
    let news = changes.filter { change in
      let wasMade = before.contains { $0.port == change.port && $0.other == change.other }
      return wasMade != (change.kind == .made)
    }
    if news.isEmpty { return }
    let new = route(on: server)
    let card = known.withLock { $0[server] } ?? CardRoute()
    func ports(areMade: Bool) -> CardRoute {
      let others = Set(news.filter { ($0.kind == .made) == areMade }.map(\.other))
      return CardRoute(
        inputs: card.inputs.filter { others.contains($0) },
        outputs: card.outputs.filter { others.contains($0) })
    }
    let change = CardRouteChange(
      server: server, old: old, new: new, gained: ports(areMade: true), lost: ports(areMade: false))
    if change.gained.isEmpty && change.lost.isEmpty { return }
    for body in observers { body(change) }
  }
}

extension Device {
  /// Connections of ports that are not about to go.
  fileprivate var liveConnections: [(port: String, other: String)] {
    let retired = attachments.retiredPortNames
    return connections.made.filter { !retired.contains($0.port) }
  }
}
