package import Foundation
import RealTime
import Server
import Synchronization

/// What a graph is at one moment. A value; it travels between processes as JSON.
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
    /// URI of the plugin that it is.
    package let uri: String?
    /// Names of its ports, in order; for JACK's, those of the client's ports.
    package let inputs, outputs, eventInputs, eventOutputs: [String]
    /// Frames that it takes, and that a sound has taken by its inputs.
    package let latencyFrames, arrivalFrames: Int
    /// It passes its input on.
    package let isBypassed: Bool
    /// It could not be made ready for the present rate or block length, and is led around.
    package let isUnready: Bool
    /// For each of its JACK ports the full names of those that it is connected to.
    package let connections: [String: [String]]
    package let controls: [Control]
    /// Samples that were no numbers, and events that there was no room for, so far.
    package let badSamples, lostEvents: UInt64

    /// What wires of a kind can lead to, in order.
    func inputNames(areEvents: Bool) -> [String] {
      // After the events that the node reads come the controllers that move it.
      areEvents ? eventInputs + ["controllers"] : inputs
    }
  }

  package struct Control: Codable, Hashable, Sendable {
    package let symbol, name: String
    package let value: Float
    /// Such as "dB".
    package let unit: String?
    /// The plugin tells it.
    package let isOutput: Bool
  }

  package struct Wire: Codable, Hashable, Sendable {
    /// Numbers of nodes, and of their outputs and inputs, counted from 1.
    package let from, output, to, input: Int
    package let isEvent: Bool
    package let gain: Float
    /// Frames by which it is held back, to be in step with others.
    package let delayFrames: Int
  }

  /// Names of the JACK server and of the client; empty if the graph runs in none.
  package let server, client: String
  /// The process's number, and the name of its program.
  package let process: Int32
  package let command: String
  /// Frames per second, and in a period of the server.
  package let sampleRate: Double
  package let periodFrames: Int
  /// The server went away, and is waited for.
  package let isServerGone: Bool
  /// Frames of the longest way from a source to a JACK output.
  package let latencyFrames: Int
  /// In running order.
  package let nodes: [Node]
  package let wires: [Wire]
}

// MARK: JSON

extension GraphReport {
  /// The report as it travels.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    // What a plugin tells may be anything.
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

  /// Why a report that was sent cannot be shown.
  private struct Nonsense: Error {}

  /// Sees whether all numbers are of something that the report has.
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

// MARK: Making one

extension Graph {
  /// What the graph is now. Any thread that is not real time.
  package var report: GraphReport {
    let device = seat.withLock { $0.device }
    let (wiring, plan, latency, sampleRate) = state.withLock {
      ($0.wiring, $0.plan, $0.latency, $0.sampleRate)
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
    for (wire, gain) in wiring.sortedWires { wires.append(Self.wire(wire, gain, wiring, plan)) }
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
    let cells = Dictionary(
      uniqueKeysWithValues: wiring.items.values.map { ($0.cell.number, $0.cell) })
    let ids = Dictionary(uniqueKeysWithValues: wiring.items.map { ($0.value.cell.number, $0.key) })
    let links = wiring.wires.keys.map {
      Plan.Link(from: wiring.items[$0.from]!.cell.number, to: wiring.items[$0.to]!.cell.number)
    }
    return (Plan.order(cells, links) ?? []).map { ids[$0.number]! }
  }

  private static func wire(_ wire: Wire, _ gain: Float, _ wiring: Wiring, _ plan: Plan)
    -> GraphReport.Wire
  {
    let (from, to) = (wiring.items[wire.from]!, wiring.items[wire.to]!)
    var leaves = plan.inputLatency[from.cell.number] ?? 0
    if !from.isLedAround { leaves += plan.latency[from.cell.number] ?? 0 }
    let arrives = plan.inputLatency[to.cell.number] ?? 0
    return GraphReport.Wire(
      from: wire.from.number, output: wire.output + 1, to: wire.to.number, input: wire.input + 1,
      isEvent: wire.isEvent, gain: gain, delayFrames: max(0, arrives - leaves))
  }

  private static func node(
    _ id: NodeID, _ item: Wiring.Item, _ plan: Plan, _ latency: [Int: Int],
    connections: (String) -> [String]
  ) -> GraphReport.Node {
    let cell = item.cell
    let details = cell.node?.details ?? NodeDetails()
    func names(_ count: Int, _ names: [String]) -> [String] {
      names.count == count ? names : (0..<count).map { "\($0 + 1)" }
    }
    let audio = cell.jackPorts.filter { !$0.isMIDI }.map(\.name)
    let midi = cell.jackPorts.filter(\.isMIDI).map(\.name)
    let isSource = cell.kind == .source
    let inputs = names(cell.inputs, isSource ? [] : details.inputs + audio)
    let outputs = names(cell.outputs, isSource ? audio : details.outputs)
    let eventInputs = names(cell.eventInputs, isSource ? [] : details.eventInputs + midi)
    let eventOutputs = names(cell.eventOutputs, isSource ? midi : details.eventOutputs)
    let kind: GraphReport.Node.Kind =
      switch cell.kind {
      case .source: cell.jackPorts.isEmpty ? .source : .jackInputs
      case .node: details.uri == nil ? .node : .plugin
      case .mixer: .mixer
      case .sink: .jackOutputs
      }
    let connections = Dictionary(
      cell.jackPorts.map { ($0.name, connections($0.name)) }, uniquingKeysWith: { a, _ in a })
    return unsafe GraphReport.Node(
      number: id.number, name: cell.name, kind: kind, uri: details.uri,
      inputs: inputs, outputs: outputs, eventInputs: eventInputs, eventOutputs: eventOutputs,
      latencyFrames: plan.latency[cell.number] ?? latency[cell.number] ?? 0,
      arrivalFrames: plan.inputLatency[cell.number] ?? 0, isBypassed: item.isDisabled,
      isUnready: item.isUnready,
      connections: connections,
      controls: details.controls,
      badSamples: cell.cell.pointee.badSamples.load(ordering: .relaxed),
      lostEvents: cell.cell.pointee.lostEvents.load(ordering: .relaxed))
  }
}
