package import FoundationEssentials
import Glibc
import RealTime
import Server
import Synchronization

/// A snapshot of a graph. A value, sent between processes as JSON.
package struct GraphReport: Codable, Hashable, Sendable {
  package struct Node: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable {
      case source, plugin, node, mixer
      case jackInputs = "JACK inputs"
      case jackOutputs = "JACK outputs"
    }
    package let number: Int
    package let name: String
    package let kind: Kind
    /// URI of the plugin; nil if the node is no plugin.
    package let uri: String?
    /// Names of the ports, in order; for JACK port nodes, the names of the client's ports.
    package let inputs, outputs, eventInputs, eventOutputs: [String]
    /// The node's own latency, and the latency from the sources to its inputs, in frames.
    package let latencyFrames, arrivalFrames: Int
    /// Whether the node is bypassed.
    package let isBypassed: Bool
    /// Whether the node is bypassed because it could not be prepared for the current rate or block
    /// length.
    package let isUnready: Bool
    /// The full names of the ports connected to each of its JACK ports.
    package let connections: [String: [String]]
    package let controls: [Control]
    /// Samples that were infinite or not a number, and events lost for lack of room, so far.
    package let badSamples, lostEvents: UInt64

    /// Returns the inputs of a kind that wires can lead to, in order.
    func inputNames(areEvents: Bool) -> [String] {
      // The controllers' input comes after the node's own event inputs.
      areEvents ? eventInputs + ["controllers"] : inputs
    }
  }

  package struct Control: Codable, Hashable, Sendable {
    package let symbol, name: String
    package let value: Float
    /// The unit's symbol, such as "dB".
    package let unit: String?
    /// Whether the plugin writes the value.
    package let isOutput: Bool

    package init(symbol: String, name: String, value: Float, unit: String?, isOutput: Bool) {
      self.symbol = symbol
      self.name = name
      self.value = value
      self.unit = unit
      self.isOutput = isOutput
    }
  }

  package struct Wire: Codable, Hashable, Sendable {
    /// Numbers of the nodes, and of their output and input, counted from 1.
    package let from, output, to, input: Int
    package let isEvent: Bool
    package let gain: Float
    /// Delay in frames that keeps the wire in step with parallel ones.
    package let delayFrames: Int
  }

  /// Names of the JACK server and of the client; empty if the graph is not attached.
  package let server, client: String
  /// The process identifier and the program's name.
  package let process: Int32
  package let command: String
  /// Frames per second, and frames per period of the server.
  package let sampleRate: Double
  package let periodFrames: Int
  /// Whether the server is gone and the client waits for it.
  package let isServerGone: Bool
  /// Latency of the longest path from a source to a JACK output, in frames.
  package let latencyFrames: Int
  /// The nodes in running order.
  package let nodes: [Node]
  package let wires: [Wire]
}

// MARK: JSON

extension GraphReport {
  /// Returns the report as JSON.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    // A plugin may write any value to a control output.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try encoder.encode(self)
  }

  package init(json: Data) throws {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    self = try decoder.decode(Self.self, from: json)
    try check()
  }

  /// A received report that is not consistent and cannot be shown.
  private struct Nonsense: Error {}

  /// Checks that all numbers refer to nodes and ports of the report.
  private func check() throws {
    let byNumber = Dictionary(nodes.map { ($0.number, $0) }, uniquingKeysWith: { a, _ in a })
    guard byNumber.count == nodes.count, (1...1e9).contains(sampleRate) else { throw Nonsense() }
    for wire in wires {
      guard let from = byNumber[wire.from], let to = byNumber[wire.to] else { throw Nonsense() }
      let outputs = wire.isEvent ? from.eventOutputs : from.outputs
      let inputs = to.inputNames(areEvents: wire.isEvent)
      guard outputs.indices.contains(wire.output &- 1), inputs.indices.contains(wire.input &- 1)
      else { throw Nonsense() }
    }
  }
}

// MARK: Creating a report

extension Graph {
  /// A snapshot of the graph. Any thread but the process thread.
  package var report: GraphReport {
    let device = attachment.withLock { $0.device }
    let (wiring, plan, latency, sampleRate, mix) = state.withLock {
      ($0.wiring, $0.plan, $0.latency, $0.sampleRate, $0.mix)
    }
    let client = device?.client
    let isGone = device?.isLost ?? false
    var nodes: [GraphReport.Node] = []
    for id in Self.runningOrder(wiring) {
      let node = Self.node(id, wiring.items[id]!, plan, latency) {
        isGone ? [] : client?.connections(of: $0) ?? []
      }
      nodes.append(node)
    }
    var wires: [GraphReport.Wire] = []
    for (wire, gain) in wiring.sortedWires {
      let fader = wiring.faders[wire].flatMap { mix?.gain(of: $0) } ?? 1
      wires.append(Self.wire(wire, gain * fader, wiring, plan))
    }
    for (id, item) in wiring.items {
      item.slot.node?.details.interior?.open(id.number, in: &nodes, &wires)
    }
    var longest = 0
    for node in nodes where node.kind == .jackOutputs { longest = max(longest, node.arrivalFrames) }
    let program = URL(fileURLWithPath: CommandLine.arguments.first ?? "")
    return GraphReport(
      server: client?.serverName ?? "", client: client?.name ?? "", process: getpid(),
      command: program.lastPathComponent, sampleRate: client?.sampleRate ?? sampleRate,
      periodFrames: client?.periodFrames ?? 0, isServerGone: isGone,
      latencyFrames: longest, nodes: nodes, wires: wires)
  }

  private static func runningOrder(_ wiring: Wiring) -> [NodeID] {
    let slots = Dictionary(
      uniqueKeysWithValues: wiring.items.values.map { ($0.slot.number, $0.slot) })
    let ids = Dictionary(uniqueKeysWithValues: wiring.items.map { ($0.value.slot.number, $0.key) })
    let links = wiring.wires.keys.map {
      Plan.Link(from: wiring.items[$0.from]!.slot.number, to: wiring.items[$0.to]!.slot.number)
    }
    return (Plan.order(slots, links) ?? []).map { ids[$0.number]! }
  }

  private static func wire(_ wire: Wire, _ gain: Float, _ wiring: Wiring, _ plan: Plan)
    -> GraphReport.Wire
  {
    let (from, to) = (wiring.items[wire.from]!, wiring.items[wire.to]!)
    var leaves = plan.inputLatency[from.slot.number] ?? 0
    if !from.isLedAround { leaves += plan.latency[from.slot.number] ?? 0 }
    let arrives = plan.inputLatency[to.slot.number] ?? 0
    return GraphReport.Wire(
      from: wire.from.number, output: wire.output + 1, to: wire.to.number, input: wire.input + 1,
      isEvent: wire.isEvent, gain: gain, delayFrames: max(0, arrives - leaves))
  }

  private static func node(
    _ id: NodeID, _ item: Wiring.Item, _ plan: Plan, _ latency: [Int: Int],
    connections: (String) -> [String]
  ) -> GraphReport.Node {
    let slot = item.slot
    let details = slot.node?.details ?? NodeDetails()
    func names(_ count: Int, _ names: [String]) -> [String] {
      names.count == count ? names : (0..<count).map { "\($0 + 1)" }
    }
    let audio = slot.jackPorts.filter { !$0.isMIDI }.map(\.name)
    let midi = slot.jackPorts.filter(\.isMIDI).map(\.name)
    let isSource = slot.kind == .source
    let inputs = names(slot.inputs, isSource ? [] : details.inputs + audio)
    let outputs = names(slot.outputs, isSource ? audio : details.outputs)
    let eventInputs = names(slot.eventInputs, isSource ? [] : details.eventInputs + midi)
    let eventOutputs = names(slot.eventOutputs, isSource ? midi : details.eventOutputs)
    let kind: GraphReport.Node.Kind =
      switch slot.kind {
      case .source: slot.jackPorts.isEmpty ? .source : .jackInputs
      case .node: details.uri == nil ? .node : .plugin
      case .mixer: .mixer
      case .sink: .jackOutputs
      }
    let connections = Dictionary(
      slot.jackPorts.map { ($0.name, connections($0.name)) }, uniquingKeysWith: { a, _ in a })
    return unsafe GraphReport.Node(
      number: id.number, name: slot.name, kind: kind, uri: details.uri,
      inputs: inputs, outputs: outputs, eventInputs: eventInputs, eventOutputs: eventOutputs,
      latencyFrames: plan.latency[slot.number] ?? latency[slot.number] ?? 0,
      arrivalFrames: plan.inputLatency[slot.number] ?? 0, isBypassed: item.isDisabled,
      isUnready: item.isUnready,
      connections: connections,
      controls: details.controls,
      badSamples: slot.slot.pointee.badSamples.load(ordering: .relaxed),
      lostEvents: slot.slot.pointee.lostEvents.load(ordering: .relaxed))
  }
}
