/// The requested nodes, wires and gains of a graph. A value without a thread of its own.
package struct Wiring {
  struct Item {
    var slot: SlotMemory
    /// Whether the graph has to bypass the node.
    var isBypassed = false
    /// Whether the node is bypassed, by itself or by the graph.
    var isDisabled = false
    /// Whether the node could not be prepared for the current rate or block length.
    var isUnready = false
    /// Whether the graph bypasses the node.
    var isLedAround: Bool { isBypassed || isUnready }
  }
  private(set) var items: [NodeID: Item] = [:]
  /// The gain of each wire. Event wires ignore it.
  package private(set) var wires: [Wire: Float] = [:]
  /// The faders that wires pass, by their numbers.
  private(set) var faders: [Wire: Int] = [:]
  /// The delays of wires in frames, beyond those that compensate latencies. Wires that are not delayed have none.
  private(set) var delays: [Wire: Int] = [:]

  // MARK: Reading

  func item(_ id: NodeID) throws(HostError) -> Item {
    guard let item = items[id] else { throw .unknownNode(number: id.number) }
    return item
  }

  /// The wires sorted by node and port, independent of their history.
  var sortedWires: [(wire: Wire, gain: Float)] {
    wires.map { ($0.key, $0.value) }.sorted { a, b in
      let (a, b) = (a.0, b.0)
      return (a.to, a.isEvent ? 1 : 0, a.input, a.from, a.output)
        < (b.to, b.isEvent ? 1 : 0, b.input, b.from, b.output)
    }
  }

  /// Returns the audio wires from one node to another.
  private func wires(from a: NodeID, to b: NodeID) -> [(wire: Wire, gain: Float)] {
    sortedWires.filter { $0.wire.from == a && $0.wire.to == b && !$0.wire.isEvent }
  }

  /// Returns a path from one node to another along wires, or nil if there is none.
  private func path(from start: NodeID, to end: NodeID) -> [NodeID]? {
    var next: [NodeID: Set<NodeID>] = [:]
    for wire in wires.keys { next[wire.from, default: []].insert(wire.to) }
    var cameFrom: [NodeID: NodeID] = [:]
    var seen: Set = [start]
    var open = [start]
    while let node = open.popLast() {
      if node == end {
        var path = [end]
        while let before = cameFrom[path.last!] { path.append(before) }
        return path.reversed()
      }
      for other in (next[node] ?? []).sorted() where seen.insert(other).inserted {
        cameFrom[other] = node
        open.append(other)
      }
    }
    return nil
  }

  // MARK: Editing

  mutating func add(_ id: NodeID, _ slot: SlotMemory) { items[id] = Item(slot: slot) }

  /// Connects an output to an input, or changes the gain of that connection.
  ///
  /// - Parameters:
  ///   - fader: Number of the fader that the sound passes: see `Graph.addFaders`. Nil for none.
  ///   - delay: Frames by which sound is late on purpose: no other path is delayed to match.
  package mutating func connect(
    _ wire: Wire, gain: Float = 1, through fader: Int? = nil, delayedBy delay: Int = 0
  ) throws(HostError) {
    try check(wire)
    guard gain.isFinite else {
      throw .gainIsNoNumber(
        from: items[wire.from]!.slot.name, to: items[wire.to]!.slot.name, gain: "\(gain)")
    }
    if let path = path(from: wire.to, to: wire.from) {
      let names = ([wire.from] + path).map { items[$0]!.slot.name }
      throw .feedback(path: names)
    }
    wires[wire] = gain
    faders[wire] = fader
    delays[wire] = delay == 0 ? nil : delay
  }

  private func check(_ wire: Wire) throws(HostError) {
    let from = try item(wire.from).slot
    let to = try item(wire.to).slot
    guard wire.output >= 0, wire.output < (wire.isEvent ? from.eventOutputs : from.outputs) else {
      throw .noSuchPort(
        node: from.name, kind: wire.isEvent ? .eventOutput : .output, number: wire.output + 1)
    }
    let eventInputs = to.eventInputs + (to.node?.takesControllers == true ? 1 : 0)
    guard wire.input >= 0, wire.input < (wire.isEvent ? eventInputs : to.inputs) else {
      throw .noSuchPort(
        node: to.name, kind: wire.isEvent ? .eventInput : .input, number: wire.input + 1)
    }
  }

  /// Lets the controllers among the events of an output move a node's controls. They enter an
  /// additional event input after the node's own.
  package mutating func connectControllers(_ a: NodeID, _ output: Int, to b: NodeID)
    throws(HostError)
  {
    try connect(Wire(from: a, output, to: b, item(b).slot.eventInputs, isEvent: true))
  }

  package mutating func disconnect(_ wire: Wire) throws(HostError) {
    let from = try item(wire.from).slot.name
    let to = try item(wire.to).slot.name
    guard wires.removeValue(forKey: wire) != nil else { throw .notConnected(from: from, to: to) }
  }

  /// Connects all outputs of a node to another node's inputs, mixed up or down if their counts differ.
  package mutating func connect(_ a: NodeID, to b: NodeID, gain: Float = 1) throws(HostError) {
    try connect(
      a, Array(0..<item(a).slot.outputs), to: b, Array(0..<item(b).slot.inputs), gain: gain)
  }

  /// Connects some outputs of a node to some inputs of another, mixed up or down if their counts
  /// differ.
  package mutating func connect(
    _ a: NodeID, _ outputs: [Int], to b: NodeID, _ inputs: [Int], gain: Float = 1,
    delayedBy delay: Int = 0
  ) throws(HostError) {
    guard !outputs.isEmpty else { throw .doesNotFit(node: try item(a).slot.name) }
    guard !inputs.isEmpty else { throw .doesNotFit(node: try item(b).slot.name) }
    for (output, input, share) in Self.spread(outputs.count, over: inputs.count) {
      try connect(
        Wire(from: a, outputs[output], to: b, inputs[input]), gain: gain * share, delayedBy: delay)
    }
  }

  /// Returns how `channels` channels spread over `others`: one to one, one to several, or several to
  /// one with a gain that keeps the level of equal signals.
  static func spread(_ channels: Int, over others: Int) -> [(Int, Int, Float)] {
    if channels <= others { return (0..<others).map { ($0 % channels, $0, 1) } }
    return (0..<channels).map { channel in
      let other = channel % others
      let sharing = (channels - other + others - 1) / others
      return (channel, other, 1 / Float(sharing))
    }
  }

  /// Inserts a node of the graph into all audio connections from one node to another.
  package mutating func insert(_ id: NodeID, between a: NodeID, and b: NodeID) throws(HostError) {
    let slot = try item(id).slot
    let (from, to) = (try item(a).slot.name, try item(b).slot.name)
    let old = wires(from: a, to: b)
    guard !old.isEmpty else { throw .notConnected(from: from, to: to) }
    guard slot.inputs > 0, slot.outputs > 0 else { throw .doesNotFit(node: slot.name) }
    let channels = Array(Set(old.map(\.wire.input))).sorted()
    for (wire, _) in old { try disconnect(wire) }
    for (channel, input, share) in Self.spread(channels.count, over: slot.inputs) {
      for (wire, gain) in old where wire.input == channels[channel] {
        let new = Wire(from: a, wire.output, to: id, input)
        try connect(new, gain: (wires[new] ?? 0) + gain * share)
      }
    }
    for (output, channel, share) in Self.spread(slot.outputs, over: channels.count) {
      try connect(Wire(from: id, output, to: b, channels[channel]), gain: share)
    }
  }

  /// Removes a node and its wires.
  ///
  /// - Parameter joins: Connects the node's sources to its destinations: each input to the destinations
  ///   of the output with the same number.
  package mutating func remove(_ id: NodeID, joins: Bool = false) throws(HostError) {
    let slot = try item(id).slot
    let before = sortedWires.filter { $0.wire.to == id }
    let after = sortedWires.filter { $0.wire.from == id }
    items[id] = nil
    for (wire, _) in before + after { wires[wire] = nil }
    guard joins else { return }
    for (out, outGain) in after {
      let count = out.isEvent ? slot.eventInputs : slot.inputs
      // Controllers apply to this node alone, so they are not passed on.
      guard count > 0 else { continue }
      for (into, inGain) in before
      where into.isEvent == out.isEvent && into.input == out.output % count {
        let wire = Wire(
          from: into.from, into.output, to: out.to, out.input, isEvent: into.isEvent)
        wires[wire, default: 0] += inGain * outGain
      }
    }
  }

  /// Replaces the slot of a node. All wires and a bypass stay.
  mutating func replace(_ id: NodeID, with slot: SlotMemory) throws(HostError) {
    let old = try item(id)
    items[id]?.slot = slot
    items[id]?.isUnready = false
    let oldWires = wires
    // The controllers' input comes after the event inputs.
    for wire in oldWires.keys
    where wire.to == id && wire.isEvent && wire.input == old.slot.eventInputs {
      wires[wire] = nil
      wires[
        Wire(from: wire.from, wire.output, to: id, slot.eventInputs, isEvent: true)] =
        oldWires[wire]
    }
    for wire in wires.keys where wire.from == id || wire.to == id {
      do throws(HostError) {
        try check(wire)
      } catch {
        items[id] = old
        wires = oldWires
        throw error
      }
    }
  }

  mutating func setBypassed(_ id: NodeID, _ on: Bool, byItself: Bool) {
    items[id]?.isDisabled = on
    items[id]?.isBypassed = on && !byItself
  }

  mutating func setUnready(_ id: NodeID, _ isUnready: Bool) { items[id]?.isUnready = isUnready }
}
