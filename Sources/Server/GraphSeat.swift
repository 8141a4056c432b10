import Logging
package import RealTime
import Synchronization

/// A JACK port that a graph wants.
package struct WantedPort: Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
  /// Hands the port to the graph. No cycle sees its place then.
  package let give: @Sendable (ClientPort) -> Void

  package init(
    name: String, direction: PortDirection, isMIDI: Bool,
    give: @escaping @Sendable (ClientPort) -> Void
  ) {
    self.name = name
    self.direction = direction
    self.isMIDI = isMIDI
    self.give = give
  }
}

/// What our output port carries, and how long that took us.
package struct PortLatency: Hashable, Sendable {
  package let output: String
  /// Our input ports that it comes from; none if it is made here.
  package let inputs: [String]
  /// From our inputs, or from where it is made, to our output.
  package let frames: Int

  package init(output: String, inputs: [String], frames: Int) {
    self.output = output
    self.inputs = inputs
    self.frames = frames
  }
}

/// A graph that a device runs in its cycles, after the voices and before the recorders.
///
/// Called on threads that are not real time.
package protocol DeviceGraph: AnyObject, Sendable {
  var cycle: UnsafeMutablePointer<GraphCycle> { get }
  /// All ports that it wants now.
  var wantedPorts: [WantedPort] { get }
  /// Latencies of its output ports, as cycles play them.
  var latencies: [PortLatency] { get }
  /// Makes it ready for another rate. No cycle is under way.
  @discardableResult func prepare(sampleRate: Double, blockFrames: Int) -> Bool
  /// Makes it ready for longer cycles, if that can begin at once: it runs those in parts otherwise.
  ///
  /// - Returns: False if it cannot now, and is to be called again.
  func prepare(blockFrames: Int) -> Bool
  /// Cycles come from now on.
  func begin()
  /// No cycle is under way, and none comes until `begin`.
  func halt()
  /// A cycle has said that something happened.
  ///
  /// - Returns: The seconds after which it wants to be called again in any case.
  func tend() -> Double?
}

// The graph's place in a device.

extension Device {
  /// Has cycles run `graph`, between the voices and the recorders. One graph at a time.
  package func seat(_ graph: any DeviceGraph) throws(ServerError) {
    let isFree = seating.withLock { seating in
      if seating.isOver || isLost || seating.graph != nil { return false }
      seating.users += 1
      seating.graph = graph
      return true
    }
    guard isFree else {
      closeIfUnused()
      throw isLost ? .lost(server: client.serverName) : .closed(client: client.name)
    }
    graph.prepare(sampleRate: client.sampleRate, blockFrames: client.periodFrames)
    do throws(ServerError) {
      try checkPeriod(client.periodFrames)
      try addPorts(to: graph, graph.wantedPorts)
    } catch {
      leaveGraph(graph)
      throw error
    }
    graph.begin()
    seating.withLock { seating in
      seating.runsGraph = true
      change(&seating) { _ in }
    }
    client.setLatencies(graph.latencies)
  }

  /// Takes the graph out of the cycles and gives its ports back. The device closes with the last of its
  /// users.
  package func unseat(_ graph: any DeviceGraph) {
    guard seating.withLock({ $0.graph === graph }) else { return }
    unsafe graph.cycle.pointee.hold()
    // As with a voice: its ports are left silent.
    if !isLost { awaitCycles(1) }
    seating.withLock { seating in
      seating.runsGraph = false
      change(&seating) { _ in }
    }
    graph.halt()
    unsafe graph.cycle.pointee.release()
    leaveGraph(graph)
  }

  private func leaveGraph(_ graph: any DeviceGraph) {
    let ports = seating.withLock { seating in
      seating.graph = nil
      defer { seating.graphPorts = [:] }
      return seating.graphPorts
    }
    client.setLatencies([])
    leave(ports.values.map(\.port), Array(ports.keys))
  }

  /// Gives ports to a graph that is seated, or about to be: all of them, or none. No cycle sees their
  /// places yet.
  package func addPorts(to graph: any DeviceGraph, _ wanted: [WantedPort]) throws(ServerError) {
    var added: [String] = []
    do throws(ServerError) {
      try addPorts(to: graph, wanted, &added)
    } catch {
      removePorts(of: graph, named: added)
      throw error
    }
  }

  /// - Parameter added: Takes the names of those that were added, even if not all could be.
  private func addPorts(
    to graph: any DeviceGraph, _ wanted: [WantedPort], _ added: inout [String]
  ) throws(ServerError) {
    let arrival = losses.load(ordering: .acquiring)
    let client = client
    for port in wanted {
      let made = try Self.add(port, to: client)
      let isKnown = seating.withLock { seating in
        guard losses.load(ordering: .acquiring) == arrival, seating.graph === graph else {
          return false
        }
        seating.graphPorts[port.name] = GraphPlace(port: made, direction: port.direction)
        return true
      }
      guard isKnown else {
        client.removePort(made)
        throw .lost(server: client.serverName)
      }
      added.append(port.name)
      port.give(made)
    }
  }

  static func add(_ port: WantedPort, to client: any ServerClient) throws(ServerError)
    -> ClientPort
  {
    port.isMIDI
      ? try client.addMIDIPort(named: port.name, port.direction)
      : try client.addPort(named: port.name, port.direction)
  }

  /// Takes some of the graph's ports away. No cycle sees them.
  package func removePorts(of graph: any DeviceGraph, named names: [String]) {
    let ports = seating.withLock { seating -> [ClientPort] in
      guard seating.graph === graph else { return [] }
      return names.compactMap { seating.graphPorts.removeValue(forKey: $0)?.port }
    }
    patchbay.withLock { $0.forget(names) }
    remove(ports)
  }

  /// Tells the server how long the graph takes.
  package func setLatencies(of graph: any DeviceGraph) {
    if seating.withLock({ $0.graph === graph && $0.runsGraph }) {
      client.setLatencies(graph.latencies)
    }
  }

  /// Has the event thread make the graph ready: jackd waits for the thread that calls this.
  package func periodChanged(to frames: Int) {
    changedPeriod.store(frames, ordering: .releasing)
    wake()
  }

  /// Makes the graph ready for a period that has changed. On the event thread.
  ///
  /// - Returns: The seconds after which it is to be tried again; nil if nothing is left to be done.
  func prepareForPeriod() -> Double? {
    let frames = changedPeriod.exchange(0, ordering: .acquiringAndReleasing)
    guard frames > 0, let graph = seating.withLock({ $0.runsGraph ? $0.graph : nil }) else {
      return nil
    }
    do throws(ServerError) {
      try checkPeriod(frames)
      if graph.prepare(blockFrames: frames) { return nil }
    } catch {
      log.error("\(error): there is silence until it has shorter ones")
      return nil
    }
    // Unless there is a later one by now.
    _ = changedPeriod.compareExchange(expected: 0, desired: frames, ordering: .releasing)
    return 0.5
  }

  /// Cycles with a graph are silent if they are longer than the memory of its sources.
  private func checkPeriod(_ frames: Int) throws(ServerError) {
    if frames > GraphCycle.longestCycle {
      throw .periodTooLong(
        server: client.serverName, frames: frames, longest: GraphCycle.longestCycle)
    }
  }

  package func freewheels(_ on: Bool) {
    isFreewheeling.store(on, ordering: .relaxed)
    unsafe engine.pointee.setFreewheeling(on)
    guard let graph = seating.withLock({ $0.graph }) else { return }
    unsafe graph.cycle.pointee.setFreewheeling(on)
  }
}
