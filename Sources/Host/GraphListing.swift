import RealTime
import Synchronization

// A graph as text.

extension Graph: CustomStringConvertible {
  /// One line for each node, in running order, and below it one for each wire that leads to it.
  package var description: String {
    listing().nodes.map { node in
      var line = "\(node.id.number) \(node.name) (\(node.shape))"
      if node.latency > 0 { line += ", \(node.latency) frames" }
      if node.isBypassed { line += ", bypassed" }
      for input in node.inputs { line += "\n    \(input)" }
      return line
    }.joined(separator: "\n")
  }

  /// The graph in Graphviz' language.
  package var dot: String {
    let (nodes, wires) = listing()
    func quoted(_ text: String) -> String {
      let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      return "\"\(escaped)\""
    }
    var lines = ["digraph {", "  rankdir=LR;", "  node [shape=box];"]
    for node in nodes {
      let style = node.isBypassed ? ", style=dashed" : ""
      lines.append("  n\(node.id.number) [label=\(quoted(node.name))\(style)];")
    }
    for (wire, gain) in wires {
      var attributes = ["label=\(quoted("\(wire.output + 1) → \(wire.input + 1)"))"]
      if wire.isEvent { attributes = ["style=dotted", attributes[0]] }
      if !wire.isEvent, gain != 1 {
        attributes = ["label=\(quoted("\(wire.output + 1) → \(wire.input + 1) × \(gain)"))"]
      }
      lines.append(
        "  n\(wire.from.number) -> n\(wire.to.number) [\(attributes.joined(separator: ", "))];")
    }
    return (lines + ["}"]).joined(separator: "\n")
  }

  private struct Line {
    let id: NodeID
    let name: String
    let shape: String
    let latency: Int
    let isBypassed: Bool
    let inputs: [String]
  }

  private func listing() -> (nodes: [Line], wires: [(wire: Wire, gain: Float)]) {
    state.withLock { state in
      let wiring = state.wiring
      let wires = wiring.sortedWires
      let cells = Dictionary(
        uniqueKeysWithValues: wiring.items.values.map { ($0.cell.number, $0.cell) })
      let links = wires.map {
        Plan.Link(
          from: wiring.items[$0.wire.from]!.cell.number,
          to: wiring.items[$0.wire.to]!.cell.number)
      }
      let ids = Dictionary(
        uniqueKeysWithValues: wiring.items.map { ($0.value.cell.number, $0.key) })
      let order = (Plan.order(cells, links) ?? []).map { ids[$0.number]! }
      let nodes = order.map { id in
        let item = wiring.items[id]!
        let inputs = wires.filter { $0.wire.to == id }.map { wire, gain in
          let from = "\(wiring.items[wire.from]!.cell.name) \(wire.output + 1)"
          let kind = wire.isEvent ? "events " : ""
          let factor = wire.isEvent || gain == 1 ? "" : " × \(gain)"
          return "\(kind)\(wire.input + 1) ← \(from)\(factor)"
        }
        return Line(
          id: id, name: item.cell.name, shape: Self.shape(item.cell),
          latency: state.latency[item.cell.number] ?? 0, isBypassed: item.isDisabled,
          inputs: inputs)
      }
      return (nodes, wires)
    }
  }

  private static func shape(_ cell: CellMemory) -> String {
    let kind =
      switch cell.kind {
      case .source: cell.jackPorts.isEmpty ? "source" : "JACK inputs"
      case .node: "node"
      case .mixer: "mixer"
      case .sink: "JACK outputs"
      }
    var ends = ["\(cell.inputs) in", "\(cell.outputs) out"]
    if cell.eventInputs > 0 { ends.append("\(cell.eventInputs) events in") }
    if cell.eventOutputs > 0 { ends.append("\(cell.eventOutputs) events out") }
    if !cell.jackPorts.isEmpty { ends = cell.jackPorts.map(\.name) }
    return "\(kind): \(ends.joined(separator: ", "))"
  }
}
