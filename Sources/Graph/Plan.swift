import RealTime

/// The edges of a running order without a crossfade, with the delays that compensate the latency of
/// parallel paths. A value.
struct Plan: Equatable {
  /// An audio edge between two slots, named by their numbers.
  struct Edge: Hashable {
    let source: Int
    /// Whether it starts at the source's input instead of its output (bypass).
    let isDry: Bool
    let output: Int
    let destination: Int
    let input: Int
    /// Frames of the delay line: the wire's own delay, and what compensates latencies.
    let delay: Int
    /// The wire's own delay in frames.
    let ownDelay: Int
    /// Number of the fader that the sound passes; nil for none.
    let fader: Int?

    /// A number for the order of edges between the same ports.
    var kind: Int { 2 * (fader ?? -1) + (isDry ? 1 : 0) }
  }
  /// An event edge.
  struct EventEdge: Hashable {
    let source: Int
    let isDry: Bool
    let output: Int
    let destination: Int
    let input: Int
  }
  /// The slots of the plan, by number.
  var slots: [Int: SlotMemory] = [:]
  var edges: [Edge: Float] = [:]
  /// The delay of each event edge, in frames.
  var eventEdges: [EventEdge: Int] = [:]
  /// Latency from the sources to the inputs of each slot, in frames.
  var inputLatency: [Int: Int] = [:]
  /// Latency of each slot's node, in frames.
  var latency: [Int: Int] = [:]

  static func == (a: Plan, b: Plan) -> Bool {
    a.edges == b.edges && a.eventEdges == b.eventEdges && a.slots.keys == b.slots.keys
      && a.inputLatency == b.inputLatency
  }

  init() {}

  /// - Parameters:
  ///   - others: Slots without wires that are part of the plan.
  ///   - latency: Returns the latency to assume for a slot.
  init(_ wiring: Wiring, and others: [SlotMemory], latency latencyOf: (SlotMemory) -> Int) {
    // A port that nothing writes would repeat the sound of its last cycle.
    for slot in wiring.items.values.map(\.slot) + others where slot.kind == .sink {
      slots[slot.number] = slot
    }
    var outgoing: [NodeID: [Wire]] = [:]
    for wire in wiring.wires.keys {
      for id in [wire.from, wire.to] {
        let slot = wiring.items[id]!.slot
        slots[slot.number] = slot
      }
      outgoing[wire.from, default: []].append(wire)
    }
    for slot in slots.values {
      latency[slot.number] = latencyOf(slot)
      inputLatency[slot.number] = 0
    }
    let links = wiring.wires.keys.map {
      Link(from: wiring.items[$0.from]!.slot.number, to: wiring.items[$0.to]!.slot.number)
    }
    for slot in Self.order(slots, links) ?? [] {
      let out = inputLatency[slot.number]! + latency[slot.number]!
      for link in links where link.from == slot.number {
        inputLatency[link.to] = max(inputLatency[link.to]!, out)
      }
    }
    for (wire, gain) in wiring.wires {
      let from = wiring.items[wire.from]!
      let to = wiring.items[wire.to]!.slot
      let isDry = from.isLedAround
      var output = wire.output
      var leaves = inputLatency[from.slot.number]!
      if isDry {
        let count = wire.isEvent ? from.slot.eventInputs : from.slot.inputs
        // A bypassed node without inputs is silent.
        if count == 0 { continue }
        output %= count
      } else {
        leaves += latency[from.slot.number]!
      }
      let delay = inputLatency[to.number]! - leaves
      if wire.isEvent {
        eventEdges[
          EventEdge(
            source: from.slot.number, isDry: isDry, output: output, destination: to.number,
            input: wire.input)] = delay
      } else {
        let ownDelay = wiring.delays[wire] ?? 0
        edges[
          Edge(
            source: from.slot.number, isDry: isDry, output: output, destination: to.number,
            input: wire.input, delay: delay + ownDelay, ownDelay: ownDelay,
            fader: wiring.faders[wire]), default: 0] += gain
      }
    }
  }

  func hasEdges(_ slot: SlotMemory) -> Bool {
    links.contains { $0.from == slot.number || $0.to == slot.number }
  }

  /// Latency of the longest path, in frames.
  var longestLatency: Int { inputLatency.values.max() ?? 0 }

  // MARK: Order

  /// A constraint: one slot runs before another.
  struct Link: Hashable {
    let from: Int
    let to: Int
  }

  var links: Set<Link> {
    Set(edges.keys.map { Link(from: $0.source, to: $0.destination) })
      .union(eventEdges.keys.map { Link(from: $0.source, to: $0.destination) })
  }

  /// Returns the slots sorted so that each comes after its sources. Returns nil if they form a loop.
  static func order(_ slots: [Int: SlotMemory], _ links: some Sequence<Link>) -> [SlotMemory]? {
    var waiting: [Int: Int] = [:]
    var next: [Int: [Int]] = [:]
    for link in Set(links) {
      waiting[link.to, default: 0] += 1
      next[link.from, default: []].append(link.to)
    }
    var ready = slots.keys.filter { waiting[$0] == nil }.sorted(by: >)
    var order: [SlotMemory] = []
    while let number = ready.popLast() {
      order.append(slots[number]!)
      var freed: [Int] = []
      for other in next[number] ?? [] {
        waiting[other]! -= 1
        if waiting[other] == 0 { freed.append(other) }
      }
      ready += freed.sorted(by: >)
    }
    return order.count == slots.count ? order : nil
  }

  /// The slots whose output reaches an end of the graph.
  var heard: Set<Int> {
    var heard = Set(slots.values.filter(\.isEnd).map(\.number))
    var before: [Int: [Int]] = [:]
    for link in links { before[link.to, default: []].append(link.from) }
    var open = Array(heard)
    while let number = open.popLast() {
      for other in before[number] ?? [] where heard.insert(other).inserted { open.append(other) }
    }
    return heard
  }

  /// Returns an intermediate plan for two plans whose crossfade would need a feedback loop, such as
  /// when two nodes are swapped. In it the nodes of the loop run in parallel.
  static func between(_ a: Plan, _ b: Plan) -> Plan {
    let links = a.links.union(b.links)
    var next: [Int: [Int]] = [:]
    for link in links { next[link.from, default: []].append(link.to) }
    func reached(from start: Int) -> Set<Int> {
      var seen: Set<Int> = []
      var open = [start]
      while let number = open.popLast() {
        for other in next[number] ?? [] where seen.insert(other).inserted { open.append(other) }
      }
      return seen
    }
    let all = a.slots.merging(b.slots) { a, _ in a }
    let reach = Dictionary(uniqueKeysWithValues: all.keys.map { ($0, reached(from: $0)) })
    func isInRing(_ number: Int) -> Bool { reach[number]!.contains(number) }
    func shareRing(_ a: Int, _ b: Int) -> Bool {
      reach[a]!.contains(b) && reach[b]!.contains(a)
    }
    var plan = Plan()
    for edge in Set(a.edges.keys).union(b.edges.keys)
    where !shareRing(edge.source, edge.destination) {
      let (old, new) = (a.edges[edge], b.edges[edge])
      if isInRing(edge.source) {
        plan.edges[edge] = ((old ?? 0) + (new ?? 0)) / 2
      } else if isInRing(edge.destination) {
        plan.edges[edge] = old ?? new
      } else {
        plan.edges[edge] = old
      }
    }
    for (edge, frames) in a.eventEdges where !shareRing(edge.source, edge.destination) {
      plan.eventEdges[edge] = frames
    }
    let used = plan.links.flatMap { [$0.from, $0.to] }
    plan.slots = all.filter { $0.value.kind == .sink || used.contains($0.key) }
    plan.latency = a.latency.merging(b.latency) { a, _ in a }
    plan.inputLatency = a.inputLatency.merging(b.inputLatency) { max($0, $1) }
    return plan
  }
}
