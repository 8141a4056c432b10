import AudioUnits
import CAudioToolbox
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

  var instrument: Unit? {
    graph.nodes.lazy.compactMap { try? self.graph.node($0) }
      .first { $0.component.hasMIDIInput }?.unit
  }

  func unit(ofNode node: Int32) -> Unit? { try? graph.node(node).unit }
}
