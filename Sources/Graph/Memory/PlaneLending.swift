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
  ///
  /// - Parameter groupOf: The group of each slot, by number, if several threads run the groups. A plane is
  ///   then reused in a group only, if all its readers are of that group.
  static func lendPlanes(_ slots: [SlotMemory], _ edges: [Edge], _ groupOf: [Int: Int]?) -> [Int:
    [Plane]]
  {
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
    // Whether all that read an output, on whatever way, belong to one group.
    func isRead(_ port: SlotPort, onlyBy group: Int?) -> Bool {
      guard let groupOf else { return true }
      return (leaving[port] ?? []).allSatisfy { end in
        guard let group, groupOf[end.slot] == group else { return false }
        if edgeCounts[end] != 1 { return true }
        let through = SlotPort(slot: end.slot, isInput: false, number: end.number)
        let passesOn = slots[positions[end.slot]!].kind == .mixer
        return isRead(end, onlyBy: group) && (!passesOn || isRead(through, onlyBy: group))
      }
    }
    var lent: [Int: [Plane]] = [:]
    // By group; all in one if there are no groups.
    var free: [Int?: [Plane]] = [:]
    var returning: [[Plane]] = slots.map { _ in [] }
    for (turn, slot) in slots.enumerated() {
      let group = groupOf?[slot.number]
      if slot.kind == .node {
        // Prefer a plane that was used recently to the slot's own: it is in the cache.
        lent[slot.number] = (0..<slot.outputs).map { i in
          let plane = free[group]?.popLast() ?? slot.plane(ofOutput: i)
          let port = SlotPort(slot: slot.number, isInput: false, number: i)
          if isRead(port, onlyBy: group) { returning[lastTurns[port]!].append(plane) }
          return plane
        }
      }
      free[group, default: []] += returning[turn]
    }
    return lent
  }
}
