import CRealTime
import Synchronization
import System

/// The voices, the recorders and the graph that are attached to a device. Updates the process list
/// with each of them, and counts the device's users.
///
/// Its lock is taken after the one under which a `ClientLink` closes and before all others of the
/// device. It is held until no cycle reads the old process list, five seconds at most. No owner, graph
/// or server is called under it, except for `ServerClient.handle`, `DeviceGraph.cycle` and
/// `VoiceMemory.openSecondPort`.
final class Attachments: Sendable {
  /// The graph of a device.
  enum AttachedGraph {
    case none
    /// Being attached or detached: no cycle runs it.
    case idle(any DeviceGraph)
    /// Cycles run it.
    case running(any DeviceGraph)

    /// The graph, whether cycles run it or not.
    var graph: (any DeviceGraph)? {
      switch self {
      case .none: nil
      case .idle(let graph), .running(let graph): graph
      }
    }
    /// The graph that cycles run.
    var runningGraph: (any DeviceGraph)? {
      if case .running(let graph) = self { graph } else { nil }
    }
  }

  struct GraphPort: Sendable {
    let port: ClientPort
    let direction: PortDirection
  }

  @safe struct State {
    var entries: [Attachment] = []
    /// Set while the device is away: cycles run no voice, recorder or graph.
    var isAway = false
    /// Number of voices and recorders ever attached.
    var attached: [PortDirection: Int] = [:]
    /// Voices, recorders and graphs that are attached or about to be. The device closes with the
    /// last one.
    var users = 0
    /// Number of voices that only wait until their ports can go.
    var retired: Int {
      // Every wake-up of the event thread asks. Copies of the attachments would cost more than all else.
      unsafe entries.withUnsafeBufferPointer { entries in
        var count = 0
        for i in entries.indices where unsafe entries[i].retirement != nil { count += 1 }
        return count
      }
    }
    /// Set once nothing can be attached any more.
    var isOver = false
    var graph = AttachedGraph.none
    var graphPorts: [String: GraphPort] = [:]

    func index(of memory: any CycleMemory) -> Int? {
      entries.firstIndex { $0.memory === memory }
    }

    /// Returns the owners of the voices and recorders that have events, or that follow every wake.
    ///
    /// Among many queues few are busy at a time. The search copies no attachment: that costs more than a
    /// look at its ring.
    func busyOwners(all: Bool) -> [any VoiceOwner] {
      var owners: [any VoiceOwner] = []
      unsafe entries.withUnsafeBufferPointer { entries in
        for i in entries.indices {
          let isBusy = unsafe all || entries[i].memory.isBusy
          if isBusy, let owner = unsafe entries[i].owner?.object { owners.append(owner) }
        }
      }
      return owners
    }
  }

  let cycles: ClientCycles
  let connections: Connections
  private let state = Mutex(State())
  private let close = Hook<@Sendable () -> Void>()

  init(_ cycles: ClientCycles) {
    self.cycles = cycles
    connections = Connections(cycles.link)
  }

  /// Sets the function that closes the device, to call when its last user leaves.
  func whenUnused(_ body: @escaping @Sendable () -> Void) { close.set(body) }

  func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    try state.withLock { state throws(E) in try body(&state) }
  }

  /// The owners of the voices and recorders.
  var owners: [any VoiceOwner] { withLock { $0.entries.compactMap { $0.owner?.object } } }

  /// Returns the direction of the port `name` of a voice, a recorder or the graph.
  func direction(of name: String) -> PortDirection? {
    withLock { state in
      state.graphPorts[name]?.direction
        ?? state.entries.first { $0.portNames.contains(name) }?.memory.direction
    }
  }

  /// Whether voices, recorders or the graph have ports of a direction. MIDI ports do not count.
  func hasPorts(_ direction: PortDirection) -> Bool {
    withLock { state in
      state.graphPorts.values.contains { $0.direction == direction }
        || state.entries.contains {
          $0.memory.direction == direction && !$0.memory.isMIDI && !$0.portNames.isEmpty
            && $0.retirement == nil
        }
    }
  }

  /// Names of the ports of retired voices.
  var retiredPortNames: Set<String> {
    withLock { state in
      Set(state.entries.lazy.filter { $0.retirement != nil }.flatMap(\.portNames))
    }
  }

  // MARK: The process list

  /// Replaces the process list after `edit` has changed what is attached. The list is empty while the
  /// device is away.
  ///
  /// - Returns: False if a cycle that does not end may still read the old list.
  @discardableResult
  func change(_ state: inout State, _ edit: (inout State) -> Void = { _ in }) -> Bool {
    let before = state
    edit(&state)
    let members = state.isAway ? [] : state.entries.map(\.memory.member)
    let graph = unsafe state.isAway ? nil : state.graph.runningGraph?.cycle
    let fresh = unsafe ProcessListMemory(members, graph: graph)
    if cycles.engine.swap(fresh) { return true }
    Self.keep(before)
    return false
  }

  /// Keeps all memory that a cycle may read, because a client could not be closed.
  func keepMemory() {
    keepForGood(cycles.engine)
    withLock { Self.keep($0) }
  }

  private static func keep(_ state: State) {
    if let graph = state.graph.graph { keepForGood(graph) }
    for attachment in state.entries { keepForGood(attachment.memory) }
  }

  // MARK: Users

  /// Counts another user of the device, unless `body` returns nil. The device stays open until the
  /// user leaves.
  ///
  /// - Throws: If the device is lost or over; a device that nothing is attached to closes then.
  func admit<R>(_ body: (inout State) -> R?) throws(ServerError) -> R {
    let admitted: R? = withLock { state in
      guard !state.isOver, !cycles.losses.isLost, let result = body(&state) else { return nil }
      state.users += 1
      return result
    }
    if let admitted { return admitted }
    closeIfUnused()
    let client = cycles.client
    throw cycles.losses.isLost ? .lost(server: client.serverName) : .closed(client: client.name)
  }

  /// Ends one use of the device, and removes `ports`, which no cycle uses.
  func leave(_ ports: [ClientPort], _ portNames: [String], areIsolated: Bool = false) {
    connections.forget(portNames)
    func isLast(_ state: inout State) -> Bool {
      // Voices that wait for silence need not wait once the client closes.
      if state.users == 1 + state.retired { state.isOver = true }
      return state.isOver
    }
    var isUnused = withLock { isLast(&$0) }
    if !isUnused {
      // Still counted, so that no other thread closes the device meanwhile.
      remove(ports, areIsolated: areIsolated)
      isUnused = withLock { state in
        defer { state.users -= 1 }
        return isLast(&state)
      }
    }
    if isUnused { close.function?() }
  }

  /// Closes a device that nothing is attached to.
  private func closeIfUnused() {
    let isUnused = withLock { state in
      defer { if state.users == 0 { state.isOver = true } }
      return state.users == 0 && !state.isOver
    }
    if isUnused { close.function?() }
  }

  // MARK: Ports

  /// Cycles until no cycle of the server knows of a removed connection: one, or two if the server
  /// is just announcing another change.
  static let cyclesToIsolate: UInt64 = 2

  /// Removes ports that no cycle uses.
  func remove(_ ports: [ClientPort], areIsolated: Bool = false) {
    if ports.isEmpty { return }
    let client = cycles.client
    // Isolate them first. jackd follows an old connection in a circle and crashes, if that led
    // from an output whose number by now belongs to an input.
    if !areIsolated, !cycles.losses.isLost {
      for port in ports { client.isolate(port) }
      cycles.awaitCycles(Self.cyclesToIsolate)
    }
    for port in ports { client.removePort(port) }
  }

  /// Notes that the client is closed, and its ports are gone with it. Retired voices leave: nothing waits
  /// for their silence any more.
  func removePorts() {
    withLock { state in
      state.users -= state.retired
      state.entries.removeAll { $0.retirement != nil }
      for i in state.entries.indices { state.entries[i].ports = [] }
      state.graphPorts = state.graphPorts.mapValues {
        GraphPort(port: unsafe ClientPort(cue_port()), direction: $0.direction)
      }
    }
  }
}
