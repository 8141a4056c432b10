import Glibc
import Logging
package import RealTime
import Synchronization
import System

/// A JACK port that a graph needs.
package struct WantedPort: Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
  /// Hands the port to the graph. No cycle uses it yet.
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

/// Latency of an output port: its inputs, and the frames from them to the output.
package struct PortLatency: Hashable, Sendable {
  package let output: String
  /// This client's input ports that it is made from; none if the signal is generated here.
  package let inputs: [String]
  /// Latency in frames from the inputs, or from where the signal is generated, to the output.
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
  /// All ports that the graph needs now.
  var wantedPorts: [WantedPort] { get }
  /// Latencies of its output ports, with the order that cycles run.
  var latencies: [PortLatency] { get }
  /// Prepares the graph for another sample rate. No cycle is running.
  @discardableResult func prepare(sampleRate: Double, blockFrames: Int) -> Bool
  /// Prepares the graph for longer cycles, if that is possible at once. Until then it runs them in
  /// parts.
  ///
  /// - Returns: False if it is not possible now: call again.
  func prepare(blockFrames: Int) -> Bool
  /// Cycles run the graph from now on.
  func begin()
  /// No cycle is running, and none comes until `begin`.
  func halt()
  /// Handles what a cycle reported. Event thread.
  ///
  /// - Returns: The seconds after which to call again in any case.
  func service() -> Double?
}

// Attaching a graph to a device.

extension Device {
  /// Attaches a graph, which cycles run between the voices and the recorders. One graph at a time.
  package func attach(_ graph: any DeviceGraph) throws(ServerError) {
    let isFree = attachments.withLock { attachments in
      if attachments.isOver || isLost || attachments.graph != nil { return false }
      attachments.users += 1
      attachments.graph = graph
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
    attachments.withLock { attachments in
      attachments.runsGraph = true
      change(&attachments) { _ in }
    }
    client.setLatencies(graph.latencies)
  }

  /// Detaches the graph and removes its ports. The device closes with its last user.
  package func detach(_ graph: any DeviceGraph) {
    guard attachments.withLock({ $0.graph === graph }) else { return }
    unsafe graph.cycle.pointee.hold()
    // As with a voice, leave silence in its ports.
    if !isLost { awaitCycles(1) }
    attachments.withLock { attachments in
      attachments.runsGraph = false
      change(&attachments) { _ in }
    }
    graph.halt()
    unsafe graph.cycle.pointee.release()
    leaveGraph(graph)
  }

  private func leaveGraph(_ graph: any DeviceGraph) {
    let ports = attachments.withLock { attachments in
      attachments.graph = nil
      defer { attachments.graphPorts = [:] }
      return attachments.graphPorts
    }
    client.setLatencies([])
    leave(ports.values.map(\.port), Array(ports.keys))
  }

  /// Adds ports to a graph that is attached or about to be: all of them, or none. No cycle uses
  /// them yet.
  package func addPorts(to graph: any DeviceGraph, _ wanted: [WantedPort]) throws(ServerError) {
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
    let arrival = losses.load(ordering: .acquiring)
    let client = client
    for port in wanted {
      let made = try Self.add(port, to: client)
      let isKnown = attachments.withLock { attachments in
        guard losses.load(ordering: .acquiring) == arrival, attachments.graph === graph else {
          return false
        }
        attachments.graphPorts[port.name] = GraphPlace(port: made, direction: port.direction)
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

  /// Removes some of the graph's ports, which no cycle uses.
  package func removePorts(of graph: any DeviceGraph, named names: [String]) {
    let ports = attachments.withLock { attachments -> [ClientPort] in
      guard attachments.graph === graph else { return [] }
      return names.compactMap { attachments.graphPorts.removeValue(forKey: $0)?.port }
    }
    patchbay.withLock { $0.forget(names) }
    remove(ports)
  }

  /// Tells the server the graph's latencies.
  package func setLatencies(of graph: any DeviceGraph) {
    if attachments.withLock({ $0.graph === graph && $0.runsGraph }) {
      client.setLatencies(graph.latencies)
    }
  }

  /// Leaves the preparation of the graph to the event thread. It takes locks that another thread may
  /// hold while that waits for jackd, and jackd waits for the thread that calls this.
  package func periodChanged(to frames: Int) {
    changedPeriod.store(frames, ordering: .releasing)
    wake()
  }

  package func awaitPreparation() {
    let deadline = HostTime.now + 500_000_000
    while changedPeriod.load(ordering: .acquiring) > 0, !closed.load(ordering: .acquiring),
      HostTime.now < deadline
    { usleep(100) }
  }

  /// Prepares the graph for a period that has changed. Event thread.
  ///
  /// - Returns: The seconds after which to try again; nil if nothing is left to do.
  func prepareForPeriod() -> Double? {
    let frames = changedPeriod.load(ordering: .acquiring)
    guard frames > 0 else { return nil }
    do throws(ServerError) {
      if let graph = attachments.withLock({ $0.runsGraph ? $0.graph : nil }) {
        try checkPeriod(frames)
        if !graph.prepare(blockFrames: frames) { return 0.5 }
      }
    } catch {
      log.error("\(error): there is silence until it has shorter ones")
    }
    // Unless another period has been reported by now.
    let isLatest = changedPeriod.compareExchange(
      expected: frames, desired: 0, ordering: .acquiringAndReleasing)
    return isLatest.exchanged ? nil : 0
  }

  /// Throws if the period is longer than the memory of a graph's sources. Such cycles are silent.
  private func checkPeriod(_ frames: Int) throws(ServerError) {
    if frames > GraphCycle.longestCycle {
      throw .periodTooLong(
        server: client.serverName, frames: frames, longest: GraphCycle.longestCycle)
    }
  }

  package func freewheels(_ on: Bool) {
    isFreewheeling.store(on, ordering: .relaxed)
    unsafe engine.pointee.setFreewheeling(on)
  }
}
