import AudioUnits
import CAudioToolbox
import Hardware
import Music

/// A graph of audio units that plays a sequence.
final class GraphTarget: SequenceTarget {
  let graph: UnitGraph

  init(_ graph: UnitGraph) { self.graph = graph }

  private func onGraph(_ body: () throws(UnitGraphError) -> Void) throws(MusicError) {
    do throws(UnitGraphError) { try body() } catch {
      let failure = AUGraphError.graph(error)
      throw .cannotStart(failure.reason, code: failure.status)
    }
  }

  func prepare() throws(MusicError) {
    try onGraph { () throws(UnitGraphError) in
      try graph.open()
      try graph.initialize()
    }
  }

  func start() throws(MusicError) {
    try onGraph { () throws(UnitGraphError) in try graph.start() }
  }

  var clock: Unit? { graph.outputUnit }
  var device: HardwareDevice? { (graph.outputUnit as? OutputUnit)?.hardware }

  private var instrumentNode: (component: UnitComponent, unit: Unit?)? {
    graph.nodes.lazy.compactMap { try? self.graph.node($0) }.first { $0.component.hasMIDIInput }
  }
  var instrument: Unit? { instrumentNode?.unit }
  /// True if a node hears MIDI, also in a graph that is not open.
  var hasInstrument: Bool { instrumentNode != nil }

  /// Lets the output node play a new node of a component, and removes the node that it played.
  func replaceSource(by component: UnitComponent) throws(UnitGraphError) {
    let node = try graph.addNode(component)
    let output = graph.nodes.first {
      (try? graph.node($0))?.component.drivesGraphs == true
    }
    guard let output else { throw .outputNode("the graph has no output unit") }
    let input = UnitGraph.Input(node: output, bus: 0)
    let before = graph.supplies.first { $0.input == input }
    try graph.set(.node(node, output: 0), for: input)
    if case .node(let source, _) = before?.supply { try graph.removeNode(source) }
    try graph.update()
  }

  func unit(ofNode node: Int32) -> Unit? { try? graph.node(node).unit }
}
