import RealTime

/// Divides a running order into groups that several threads can share. A group is a chain of nodes and mixers:
/// each reads only the one before it, and only the one behind it reads from it. A value.
struct Grouping {
  /// A chain.
  struct Group {
    /// Indices in `slots`.
    var steps: Range<Int>
    /// Indices of the groups that read its output.
    var readers: [Int] = []
    var sourceCount = 0
  }
  /// The slots: sources, then the groups, then sinks. Each comes after its own sources.
  let slots: [SlotMemory]
  private(set) var groups: [Group] = []
  /// The index of each slot's group, by the slot's number; none for sources and sinks.
  private(set) var groupOf: [Int: Int] = [:]

  /// Indices in `slots` of all that is in groups.
  var steps: Range<Int> {
    (groups.first?.steps.lowerBound ?? 0)..<(groups.last?.steps.upperBound ?? 0)
  }

  /// - Parameters:
  ///   - order: The slots in running order: sources come before the slots that read them.
  ///   - links: Which slot runs before which other.
  init(_ order: [SlotMemory], _ links: Set<Plan.Link>) {
    func isGrouped(_ slot: SlotMemory) -> Bool { slot.kind == .node || slot.kind == .mixer }
    let grouped = Set(order.filter(isGrouped).map(\.number))
    var sources: [Int: [Int]] = [:]
    var readers: [Int: Int] = [:]
    for link in links where grouped.contains(link.from) && grouped.contains(link.to) {
      sources[link.to, default: []].append(link.from)
      readers[link.from, default: 0] += 1
    }
    var chains: [[SlotMemory]] = []
    for slot in order where isGrouped(slot) {
      if let only = sources[slot.number], only.count == 1, readers[only[0]] == 1 {
        groupOf[slot.number] = groupOf[only[0]]!
        chains[groupOf[only[0]]!].append(slot)
      } else {
        groupOf[slot.number] = chains.count
        chains.append([slot])
      }
    }
    let heads = order.filter { $0.kind == .source }
    slots = heads + chains.joined() + order.filter { $0.kind == .sink }
    var first = heads.count
    for chain in chains {
      groups.append(Group(steps: first..<first + chain.count))
      first += chain.count
    }
    for (i, chain) in chains.enumerated() {
      let before = Set((sources[chain[0].number] ?? []).map { groupOf[$0]! })
      groups[i].sourceCount = before.count
      for source in before.sorted() { groups[source].readers.append(i) }
    }
  }
}
