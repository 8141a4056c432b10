import RealTime

extension OrderMemory {
  /// One of a cell's inputs or outputs.
  private struct Place: Hashable {
    let cell: Int
    let isInput: Bool
    let number: Int
  }

  /// Which planes the nodes among `cells` write to, by cell: a plane is lent again once nobody reads it
  /// any more, so that a long row of nodes keeps to two, which stay near the processor.
  static func lendPlanes(_ cells: [CellMemory], _ edges: [Edge]) -> [Int: [Plane]] {
    var places: [Int: Int] = [:]
    for (i, cell) in cells.enumerated() { places[cell.number] = i }
    var edgeCounts: [Place: Int] = [:]
    var leaving: [Place: [Place]] = [:]
    for edge in edges.map(\.key) {
      let end = Place(cell: edge.destination, isInput: true, number: edge.input)
      edgeCounts[end, default: 0] += 1
      leaving[
        Place(cell: edge.source, isInput: edge.isDry, number: edge.output), default: []
      ].append(end)
    }
    // The last turn that reads what is in each place. An input of one edge may be where its source is, and
    // a mixer's output is where its input is.
    var lastTurns: [Place: Int] = [:]
    for (turn, cell) in cells.enumerated().reversed() {
      func lastTurn(_ place: Place) -> Int {
        (leaving[place] ?? []).reduce(turn) { last, end in
          max(last, edgeCounts[end] == 1 ? lastTurns[end]! : places[end.cell]!)
        }
      }
      for i in 0..<cell.outputs {
        let place = Place(cell: cell.number, isInput: false, number: i)
        lastTurns[place] = lastTurn(place)
      }
      for i in 0..<cell.inputs {
        let place = Place(cell: cell.number, isInput: true, number: i)
        let asOutput = Place(cell: cell.number, isInput: false, number: i)
        lastTurns[place] = max(
          lastTurn(place), cell.kind == .mixer ? lastTurns[asOutput]! : turn)
      }
    }
    var lent: [Int: [Plane]] = [:]
    var free: [Plane] = []
    var returning: [[Plane]] = cells.map { _ in [] }
    for (turn, cell) in cells.enumerated() {
      if cell.kind == .node {
        // Its own are as good as any that were read just now, but those are at hand.
        lent[cell.number] = (0..<cell.outputs).map { i in
          let plane = free.popLast() ?? cell.plane(ofOutput: i)
          let place = Place(cell: cell.number, isInput: false, number: i)
          returning[lastTurns[place]!].append(plane)
          return plane
        }
      }
      free += returning[turn]
    }
    return lent
  }
}
