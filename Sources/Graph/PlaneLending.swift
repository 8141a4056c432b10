import RealTime

extension OrderMemory {
  /// An input or an output of a slot.
  private struct SlotPort: Hashable {
    let slot: Int
    let isInput: Bool
    let number: Int
  }

  /// Assigns output planes to the nodes among `slots`, by slot number. A plane is reused once its last
  /// reader has run. So a long chain of nodes needs only two planes, which stay in the cache.
  static func lendPlanes(_ slots: [SlotMemory], _ edges: [Edge]) -> [Int: [Plane]] {
    var positions: [Int: Int] = [:]
    for (i, slot) in slots.enumerated() { positions[slot.number] = i }
    var edgeCounts: [SlotPort: Int] = [:]
    var leaving: [SlotPort: [SlotPort]] = [:]
    for edge in edges.map(\.key) {
      let end = SlotPort(slot: edge.destination, isInput: true, number: edge.input)
      edgeCounts[end, default: 0] += 1
      leaving[
        SlotPort(slot: edge.source, isInput: edge.isDry, number: edge.output), default: []
      ].append(end)
    }
    // The last slot that reads each input or output. An input with one edge may share the plane of its
    // source, and a mixer's output that of its input.
    var lastTurns: [SlotPort: Int] = [:]
    for (turn, slot) in slots.enumerated().reversed() {
      func lastTurn(_ port: SlotPort) -> Int {
        (leaving[port] ?? []).reduce(turn) { last, end in
          max(last, edgeCounts[end] == 1 ? lastTurns[end]! : positions[end.slot]!)
        }
      }
      for i in 0..<slot.outputs {
        let port = SlotPort(slot: slot.number, isInput: false, number: i)
        lastTurns[port] = lastTurn(port)
      }
      for i in 0..<slot.inputs {
        let port = SlotPort(slot: slot.number, isInput: true, number: i)
        let asOutput = SlotPort(slot: slot.number, isInput: false, number: i)
        lastTurns[port] = max(
          lastTurn(port), slot.kind == .mixer ? lastTurns[asOutput]! : turn)
      }
    }
    var lent: [Int: [Plane]] = [:]
    var free: [Plane] = []
    var returning: [[Plane]] = slots.map { _ in [] }
    for (turn, slot) in slots.enumerated() {
      if slot.kind == .node {
        // Prefer a plane that was used recently to the slot's own: it is in the cache.
        lent[slot.number] = (0..<slot.outputs).map { i in
          let plane = free.popLast() ?? slot.plane(ofOutput: i)
          let port = SlotPort(slot: slot.number, isInput: false, number: i)
          returning[lastTurns[port]!].append(plane)
          return plane
        }
      }
      free += returning[turn]
    }
    return lent
  }
}
