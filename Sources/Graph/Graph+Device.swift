import Glibc
import RealTime
package import Server
import Synchronization
import System

// Attaching a graph to a device.

extension Graph: DeviceGraph {
  /// Attaches the graph to `device`, whose process cycles run it after their voices. Its port nodes
  /// get their JACK ports, and other processes of the user can request its report.
  package func run(on device: Device) throws(HostError) {
    attachment.withLock { $0.device = device }
    do throws(ServerError) {
      try device.attach(self)
    } catch {
      attachment.withLock { $0.device = nil }
      throw .server(error)
    }
    let teller = ReportServer(of: .graph, client: device.client.name) { [weak self] in
      try? self?.report.json()
    }
    attachment.withLock { $0.teller = teller }
  }

  /// Detaches the graph from its device. The caller first removes a voice that plays into one of
  /// its sources.
  package func stop() {
    let attachment = attachment.withLock { attachment in
      defer { attachment = Attachment() }
      return attachment
    }
    attachment.teller?.end()
    attachment.device?.detach(self)
  }

  /// Waits until no sound fades over on `device`, for two seconds at most. Returns at once if the caller
  /// drives the cycles.
  package func awaitSettled(on device: Device) {
    guard unsafe device.client.handle != nil else { return }
    let deadline = HostTime.now + 2_000_000_000
    while !isSettled, !device.isLost, HostTime.now < deadline { usleep(1000) }
  }

  package var wantedPorts: [WantedPort] {
    state.withLock { Self.portSlots($0).flatMap(\.wantedPorts) }
  }

  /// Unregisters ports that no cycle uses any more, and reports changed port latencies.
  func settlePorts(_ gone: [SlotMemory]) {
    guard let device = attachment.withLock({ $0.device }) else { return }
    let hasChanged = state.withLock { state in
      if state.isFading { return false }
      let latencies = Self.latencies(state)
      defer { state.reported = latencies }
      return latencies != state.reported
    }
    if hasChanged { device.setLatencies(of: self) }
    if !gone.isEmpty {
      device.removePorts(of: self, named: gone.flatMap { $0.jackPorts.map(\.name) })
    }
  }

  package var latencies: [PortLatency] {
    state.withLock { state in
      state.reported = Self.latencies(state)
      return state.reported
    }
  }

  /// One of a slot's planes or event sequences.
  private struct SlotPort: Hashable {
    let slot: Int
    let isInput: Bool
    let isEvent: Bool
    let number: Int
  }

  private static func latencies(_ state: State) -> [PortLatency] {
    let plan = state.plan
    // The inputs that each plane or sequence is made from.
    var before: [SlotPort: [SlotPort]] = [:]
    for (edge, gain) in plan.edges where gain != 0 {
      before[
        SlotPort(slot: edge.destination, isInput: true, isEvent: false, number: edge.input),
        default: []
      ].append(
        SlotPort(slot: edge.source, isInput: edge.isDry, isEvent: false, number: edge.output))
    }
    for edge in plan.eventEdges.keys {
      before[
        SlotPort(slot: edge.destination, isInput: true, isEvent: true, number: edge.input),
        default: []
      ].append(
        SlotPort(slot: edge.source, isInput: edge.isDry, isEvent: true, number: edge.output))
    }
    func origins(of slotPort: SlotPort) -> [SlotPort] {
      if slotPort.isInput { return before[slotPort] ?? [] }
      let slot = plan.slots[slotPort.slot]!
      if slot.kind == .mixer {
        return [SlotPort(slot: slot.number, isInput: true, isEvent: false, number: slotPort.number)]
      }
      return (0..<slot.inputs).map {
        SlotPort(slot: slot.number, isInput: true, isEvent: false, number: $0)
      }
        + (0..<slot.eventInputs).map {
          SlotPort(slot: slot.number, isInput: true, isEvent: true, number: $0)
        }
    }
    func jackInputs(into slotPort: SlotPort) -> [String] {
      var names: Set<String> = []
      var seen: Set = [slotPort]
      var open = [slotPort]
      while let next = open.popLast() {
        let slot = plan.slots[next.slot]!
        if slot.kind == .source {
          let port = next.isEvent ? slot.outputs + next.number : next.number
          if port < slot.jackPorts.count { names.insert(slot.jackPorts[port].name) }
          continue
        }
        for other in origins(of: next) where seen.insert(other).inserted { open.append(other) }
      }
      return names.sorted()
    }
    return plan.slots.values.filter { $0.kind == .sink }.sorted { $0.number < $1.number }
      .flatMap { slot in
        slot.jackPorts.enumerated().map { i, port in
          let slotPort = SlotPort(
            slot: slot.number, isInput: true, isEvent: i >= slot.inputs,
            number: i >= slot.inputs ? i - slot.inputs : i)
          return PortLatency(
            output: port.name, inputs: jackInputs(into: slotPort),
            frames: plan.inputLatency[slot.number] ?? 0)
        }
      }
  }
}
