/// Connections of a client's ports: existing ones, and missing ones to be made once the other port
/// exists.
struct Patchbay {
  struct Wire {
    let port: String
    var destination: String
    var isMade: Bool
    var memory = ConnectionMemory.lasting
    /// Whether the sound card was chosen because nothing else was asked for.
    var isDefault = false
    /// Whether the connection has existed before.
    var wasMade = false
  }
  /// In the order in which they were added.
  private var wires: [Wire] = []
  /// The names of ports in `Device.endedPorts`.
  typealias Ended = (defaults: Set<String>, lasting: Set<String>)
  private(set) var ended: Ended = ([], [])
  /// Ports that wait for ports of the sound card.
  private var cardWishes: [CardWish] = []

  /// A connection still to be made.
  struct Missing {
    let port: String
    let destination: String
    let wasMade: Bool
  }

  /// Connections still to be made.
  var missing: [Missing] {
    wires.filter { !$0.isMade }.map {
      Missing(port: $0.port, destination: $0.destination, wasMade: $0.wasMade)
    }
  }

  /// Existing connections.
  var made: [(port: String, other: String)] {
    wires.filter(\.isMade).map { ($0.port, $0.destination) }
  }

  private func index(_ port: String, _ destination: String) -> Int? {
    wires.firstIndex { $0.port == port && $0.destination == destination }
  }

  /// Returns what is known of a connection; nil if it neither exists nor is to be made.
  func wire(_ port: String, to destination: String) -> Wire? {
    index(port, destination).map { wires[$0] }
  }

  /// Notes again what was known of a connection that could not be made.
  mutating func restore(_ wire: Wire?, _ port: String, to destination: String) {
    guard let i = index(port, destination) else { return }
    if let wire { wires[i] = wire } else { wires.remove(at: i) }
  }

  /// The connections that are remembered, in the order in which they were added.
  var remembered: [Device.KnownConnection] {
    wires.filter { $0.memory != .present }.map {
      Device.KnownConnection(
        port: $0.port, other: $0.destination, isMade: $0.isMade, isDefault: $0.isDefault,
        isLasting: $0.memory != .whileOtherRuns)
    }
  }

  /// Adds a connection to be made once the other port exists.
  mutating func want(_ port: String, to destination: String) {
    guard index(port, destination) == nil else { return }
    wires.append(Wire(port: port, destination: destination, isMade: false))
  }

  /// Notes a connection that exists. One that this client wants or has asked for lasts, whatever `memory` says.
  mutating func connected(
    _ port: String, to destination: String, _ memory: ConnectionMemory = .lasting,
    isDefault: Bool = false
  ) {
    guard let i = index(port, destination) else {
      wires.append(
        Wire(
          port: port, destination: destination, isMade: true, memory: memory, isDefault: isDefault,
          wasMade: true))
      return
    }
    wires[i].isMade = true
    wires[i].wasMade = true
    if memory == .lasting || memory == .ownWhileOtherRuns { wires[i].memory = memory }
  }

  mutating func disconnected(_ port: String, from destination: String) {
    if let wire = wire(port, to: destination), wire.isMade {
      if wire.isDefault { ended.defaults.insert(port) }
      if wire.memory == .lasting { ended.lasting.insert(port) }
    }
    wires.removeAll { $0.port == port && $0.destination == destination && $0.isMade }
  }

  /// Notes that the other port is gone: the connection is to be made again when the port returns, unless it was
  /// one for a run that has ended.
  ///
  /// - Parameter otherHasLeft: Whether the other client is gone, too.
  mutating func interrupted(_ port: String, to destination: String, otherHasLeft: Bool = false) {
    guard let i = index(port, destination) else { return }
    let isOver =
      switch wires[i].memory {
      case .lasting: false
      case .whileOtherRuns, .ownWhileOtherRuns: otherHasLeft
      case .present: true
      }
    if isOver {
      wires.remove(at: i)
    } else {
      wires[i].isMade = false
    }
  }

  /// Notes that the other port of a connection has another name now. The connection may be known by that name
  /// already.
  mutating func renamed(_ port: String, _ old: String, to new: String) {
    guard index(port, old) != nil else { return }
    wires.removeAll { $0.port == port && $0.destination == new }
    for i in wires.indices where wires[i].port == port && wires[i].destination == old {
      wires[i].destination = new
    }
  }

  /// Forgets ports that no longer exist.
  mutating func forget(_ ports: [String]) {
    wires.removeAll { ports.contains($0.port) }
    ended.defaults.subtract(ports)
    ended.lasting.subtract(ports)
    cardWishes.removeAll { $0.ports.contains { ports.contains($0) } }
  }

  /// Notes that the server has gone: all connections are to be made again, except those that other clients claim.
  mutating func lose() {
    wires.removeAll { $0.memory == .present }
    for i in wires.indices { wires[i].isMade = false }
  }

  /// Remembers all existing connections as if people had made them.
  mutating func keepAll() {
    for i in wires.indices where wires[i].memory == .whileOtherRuns { wires[i].memory = .lasting }
  }

  /// The other ports of connections that are remembered while the other client runs.
  var passing: [String] { wires.filter { $0.memory == .whileOtherRuns }.map(\.destination) }

  /// Notes that the client of the other port has claimed its connections.
  mutating func claim(_ destination: String) {
    for i in wires.indices
    where wires[i].destination == destination && wires[i].memory == .whileOtherRuns {
      wires[i].memory = .present
    }
    wires.removeAll { $0.memory == .present && !$0.isMade }
  }

  // MARK: The sound card

  /// Ports of this client, the first of which is connected to the card's first port, and so on.
  struct CardWish {
    let ports: [String]
    let direction: PortDirection
    /// The connections that have been made, by the numbers of the card's ports.
    var made: Set<Int>
    /// The number of connections. Ports are taken in turn.
    let count: Int
  }

  /// Notes that ports wait for ports of the sound card.
  mutating func wish(_ wish: CardWish) { cardWishes.append(wish) }

  /// Returns the connections that ports of a sound card make possible, once. A port for which somebody has
  /// chosen another connection waits no longer.
  ///
  /// - Parameter card: Returns the card's ports for a direction of ours.
  mutating func takeDefaults(_ card: (PortDirection) -> [String])
    -> [(port: String, direction: PortDirection, destination: String)]
  {
    var found: [(port: String, direction: PortDirection, destination: String)] = []
    // A thousand queues may wait: JACK is asked once.
    var cards: [PortDirection: [String]] = [:]
    for i in cardWishes.indices {
      let wish = cardWishes[i]
      let present = cards[wish.direction] ?? card(wish.direction)
      cards[wish.direction] = present
      // Ports of another client that come later are no part of the card.
      let own = present.filter { clientName(of: $0) == clientName(of: present[0]) }
      for number in 0..<min(own.count, wish.count) where !wish.made.contains(number) {
        cardWishes[i].made.insert(number)
        let port = wish.ports[number % wish.ports.count]
        let isChosen = wires.contains {
          $0.port == port && $0.memory == .lasting && !$0.isDefault
        }
        if !isChosen { found.append((port, wish.direction, own[number])) }
      }
    }
    cardWishes.removeAll { $0.made.count == $0.count }
    return found
  }
}
