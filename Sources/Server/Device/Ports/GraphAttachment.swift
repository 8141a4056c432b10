import Logging
import RealTime
import Synchronization
import System

/// Attaches a graph to a device and detaches it, adds and removes its ports, and prepares it for another
/// period. Threads that are not real time.
struct GraphAttachment: Sendable {
  let attachments: Attachments
  let notices: DeviceNotices
  private var cycles: ClientCycles { attachments.cycles }

  /// The graph that cycles run; nil if there is none.
  var runningGraph: (any DeviceGraph)? { attachments.withLock { $0.graph.runningGraph } }
  /// The graph, whether cycles run it or not.
  var graph: (any DeviceGraph)? { attachments.withLock { $0.graph.graph } }

  /// Attaches a graph. One graph at a time.
  func attach(_ graph: any DeviceGraph) throws(ServerError) {
    try attachments.admit { state -> Void? in
      guard case .none = state.graph else { return nil }
      state.graph = .idle(graph)
      return ()
    }
    let client = cycles.client
    graph.prepare(sampleRate: client.sampleRate, blockFrames: client.periodFrames)
    do throws(ServerError) {
      try checkPeriod(client.periodFrames)
      try addPorts(to: graph, graph.wantedPorts)
    } catch {
      leave()
      throw error
    }
    graph.begin()
    attachments.withLock { state in
      _ = attachments.change(&state) { $0.graph = .running(graph) }
    }
    cycles.client.setLatencies(graph.latencies)
  }

  /// Detaches the graph and removes its ports.
  func detach(_ graph: any DeviceGraph) {
    guard self.graph === graph else { return }
    unsafe graph.cycle.pointee.hold()
    // As with a voice, leave silence in its ports.
    if !cycles.losses.isLost { cycles.awaitCycles(1) }
    attachments.withLock { state in
      _ = attachments.change(&state) { $0.graph = .idle(graph) }
    }
    graph.halt()
    unsafe graph.cycle.pointee.release()
    leave()
  }

  private func leave() {
    let ports = attachments.withLock { state in
      state.graph = .none
      defer { state.graphPorts = [:] }
      return state.graphPorts
    }
    cycles.client.setLatencies([])
    attachments.leave(ports.values.map(\.port), Array(ports.keys))
  }

  // MARK: Ports

  /// Adds ports to a graph that is attached or about to be: all of them, or none. No cycle uses
  /// them yet.
  func addPorts(to graph: any DeviceGraph, _ wanted: [WantedPort]) throws(ServerError) {
    var added: [String] = []
    do throws(ServerError) {
      try addPorts(to: graph, wanted, &added)
    } catch {
      removePorts(of: graph, named: added)
      throw error
    }
  }

  /// - Parameter added: Receives the names of the added ports, even if not all could be added.
  private func addPorts(
    to graph: any DeviceGraph, _ wanted: [WantedPort], _ added: inout [String]
  ) throws(ServerError) {
    let seen = cycles.losses.count
    let client = cycles.client
    for port in wanted {
      let made = try client.addPort(named: port.name, port.direction, isMIDI: port.isMIDI)
      let isKnown = attachments.withLock { state in
        guard cycles.losses.count == seen, state.graph.graph === graph else { return false }
        state.graphPorts[port.name] = .init(port: made, direction: port.direction)
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

  /// Adds all ports of the graph again, on a client that has replaced a lost one.
  func restorePorts(on client: any ServerClient) throws(ServerError) {
    for port in graph?.wantedPorts ?? [] {
      let made = try client.addPort(named: port.name, port.direction, isMIDI: port.isMIDI)
      port.give(made)
      attachments.withLock {
        $0.graphPorts[port.name] = .init(port: made, direction: port.direction)
      }
    }
  }

  /// Removes some of the graph's ports, which no cycle uses.
  func removePorts(of graph: any DeviceGraph, named names: [String]) {
    let ports = attachments.withLock { state -> [ClientPort] in
      guard state.graph.graph === graph else { return [] }
      return names.compactMap { state.graphPorts.removeValue(forKey: $0)?.port }
    }
    attachments.connections.forget(names)
    attachments.remove(ports)
  }

  /// Tells the server the graph's latencies.
  func setLatencies(of graph: any DeviceGraph) {
    if runningGraph === graph { cycles.client.setLatencies(graph.latencies) }
  }

  // MARK: The period

  /// Prepares the graph for a period that has changed. Event thread.
  ///
  /// - Returns: The seconds after which to try again; nil if nothing is left to do.
  func prepareForPeriod() -> Double? {
    let frames = notices.changedPeriod.load(ordering: .acquiring)
    guard frames > 0 else { return nil }
    do throws(ServerError) {
      if let graph = runningGraph {
        try checkPeriod(frames)
        if !graph.prepare(blockFrames: frames) { return 0.5 }
      }
    } catch {
      log.error("\(error): there is silence until it has shorter ones")
    }
    // Unless another period has been reported by now.
    let isLatest = notices.changedPeriod.compareExchange(
      expected: frames, desired: 0, ordering: .acquiringAndReleasing)
    return isLatest.exchanged ? nil : 0
  }

  /// Throws if the period is longer than the memory of a graph's sources. Such cycles are silent.
  private func checkPeriod(_ frames: Int) throws(ServerError) {
    if frames > GraphCycle.longestCycle {
      throw .periodTooLong(
        server: cycles.client.serverName, frames: frames, longest: GraphCycle.longestCycle)
    }
  }
}
