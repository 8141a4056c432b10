import RealTime
package import Server
import Synchronization

// Adding, removing and replacing nodes.

extension Graph {
  // MARK: Adding

  /// Adds a node, prepared for the graph's sample rate and block length.
  package func add(_ node: any GraphNode) throws(HostError) -> NodeID {
    let id = try withPrepared(node) { slot in state.withLock { insert(slot, &$0) } }
    bypass(id, whenGone: node)
    return id
  }

  private func bypass(_ id: NodeID, whenGone node: any GraphNode) {
    node.whenGone { [weak self, weak node] in
      guard let self, let node, state.withLock({ $0.wiring.items[id]?.slot.node === node }) else {
        return
      }
      try? setBypassed(id, true)
    }
  }

  /// Adds a mixer. Each output is the sum of everything connected to the input with the same
  /// number.
  package func addMixer(named name: String, channels: Int) -> NodeID {
    state.withLock { state in
      insert(
        makeSlot(name, .mixer, inputs: channels, outputs: channels, &state), &state)
    }
  }

  /// Adds a source whose memory a voice fills before each cycle: see `inputPorts(of:)`. It is silent in
  /// a cycle before which nothing filled it.
  package func addSource(named name: String, channels: Int) -> NodeID {
    state.withLock { state in
      insert(makeSlot(name, .source, outputs: channels, hasMemory: true, &state), &state)
    }
  }

  /// Adds input ports of the JACK client. The node's outputs carry what other clients send to them.
  package func addInputs(named name: String, audio: [String], midi: [String] = [])
    throws(HostError) -> NodeID
  {
    try addPorts(name, .source, .input, audio, midi)
  }

  /// Adds output ports of the JACK client. Other clients receive what reaches the node's inputs.
  package func addOutputs(named name: String, audio: [String], midi: [String] = [])
    throws(HostError) -> NodeID
  {
    try addPorts(name, .sink, .output, audio, midi)
  }

  private func addPorts(
    _ name: String, _ kind: GraphSlot.Kind, _ direction: PortDirection, _ audio: [String],
    _ midi: [String]
  ) throws(HostError) -> NodeID {
    let ports =
      audio.map { GraphPort(name: $0, direction: direction, isMIDI: false) }
      + midi.map { GraphPort(name: $0, direction: direction, isMIDI: true) }
    let isSource = kind == .source
    let slot = try state.withLock { state throws(HostError) in
      var taken = Set(
        (Self.portSlots(state) + state.arriving).flatMap { $0.jackPorts.map(\.name) })
      for port in ports where !taken.insert(port.name).inserted {
        throw .portNameTaken(port.name)
      }
      let slot = makeSlot(
        name, kind, inputs: isSource ? 0 : audio.count, outputs: isSource ? audio.count : 0,
        eventInputs: isSource ? 0 : midi.count, eventOutputs: isSource ? midi.count : 0,
        jackPorts: ports, &state)
      state.arriving.append(slot)
      return slot
    }
    defer { state.withLock { $0.arriving.removeAll { $0 === slot } } }
    do throws(ServerError) {
      try attachment.withLock({ $0.device })?.addPorts(to: self, slot.wantedPorts)
    } catch {
      throw .server(error)
    }
    return state.withLock { state in
      defer { apply(&state) }
      return insert(slot, &state)
    }
  }

  /// Returns the slots that have JACK ports, including those being removed.
  static func portSlots(_ state: State) -> [SlotMemory] {
    state.leaving.map(\.slot)
      + state.wiring.items.values.map(\.slot).filter { !$0.jackPorts.isEmpty }
      .sorted { $0.number < $1.number }
  }

  /// Prepares a node and calls `body` with its slot. Sample rate and block length stay the same
  /// until then.
  private func withPrepared<Result: Sendable>(
    _ node: any GraphNode, _ body: (SlotMemory) throws(HostError) -> Result
  ) throws(HostError) -> Result {
    try preparing.withLock { _ throws(HostError) -> Result in
      let (rate, frames) = state.withLock { ($0.sampleRate, $0.blockFrames) }
      try node.prepare(sampleRate: rate, maximumFrames: frames)
      let slot = state.withLock { state in
        makeSlot(
          node.name, .node, node, inputs: node.inputs, outputs: node.outputs,
          eventInputs: node.eventInputs, eventOutputs: node.eventOutputs, &state)
      }
      return try body(slot)
    }
  }

  private func makeSlot(
    _ name: String, _ kind: GraphSlot.Kind, _ node: (any GraphNode)? = nil, inputs: Int = 0,
    outputs: Int = 0, eventInputs: Int = 0, eventOutputs: Int = 0, jackPorts: [GraphPort] = [],
    hasMemory: Bool = false, _ state: inout State
  ) -> SlotMemory {
    defer { state.nextSlot += 1 }
    return SlotMemory(
      number: state.nextSlot, name: name, kind: kind, node: node, inputs: inputs, outputs: outputs,
      eventInputs: eventInputs, eventOutputs: eventOutputs, jackPorts: jackPorts,
      hasMemory: hasMemory, types: types, blockFrames: state.blockFrames)
  }

  private func insert(_ slot: SlotMemory, _ state: inout State) -> NodeID {
    let id = NodeID(number: state.nextNode)
    state.nextNode += 1
    state.wiring.add(id, slot)
    return id
  }

  /// Returns the memory to which a voice writes the channels of a source.
  package func inputPorts(of id: NodeID) throws(HostError) -> [ClientPort] {
    let slot = try state.withLock { state throws(HostError) in try state.wiring.item(id).slot }
    return (0..<slot.outputs).map { unsafe ClientPort(slot.ports[$0]) }
  }

  // MARK: Editing

  /// Connects an output to an input, or changes the gain of that connection.
  package func connect(_ wire: Wire, gain: Float = 1) throws(HostError) {
    try edit { wiring throws(HostError) in try wiring.connect(wire, gain: gain) }
  }

  /// Connects all outputs of a node to another node's inputs, mixed up or down if their counts
  /// differ.
  package func connect(_ a: NodeID, to b: NodeID, gain: Float = 1) throws(HostError) {
    try edit { wiring throws(HostError) in try wiring.connect(a, to: b, gain: gain) }
  }

  package func disconnect(_ wire: Wire) throws(HostError) {
    try edit { wiring throws(HostError) in try wiring.disconnect(wire) }
  }

  /// Inserts a node into all audio connections from one node to another.
  package func insert(_ id: NodeID, between a: NodeID, and b: NodeID) throws(HostError) {
    try edit { wiring throws(HostError) in try wiring.insert(id, between: a, and: b) }
  }

  /// Removes a node and its wires once it has faded out.
  ///
  /// - Parameter joins: Connects the node's sources to its destinations.
  package func remove(_ id: NodeID, joins: Bool = false) throws(HostError) {
    try edit { wiring throws(HostError) in try wiring.remove(id, joins: joins) }
  }

  /// Replaces a node by another one with a crossfade. A bypass stays.
  package func replace(_ id: NodeID, with node: any GraphNode) throws(HostError) {
    try withPrepared(node) { slot throws(HostError) in
      let isDisabled = try state.withLock { state throws(HostError) in
        try state.wiring.item(id).isDisabled
      }
      let byItself = isDisabled && node.setEnabled(false)
      try edit { wiring throws(HostError) in
        try wiring.replace(id, with: slot)
        wiring.setBypassed(id, isDisabled, byItself: byItself)
      }
    }
    bypass(id, whenGone: node)
  }

  /// Turns a node's bypass on or off. A bypassed node passes each input to the output with the same
  /// number, delayed by its latency.
  package func setBypassed(_ id: NodeID, _ on: Bool) throws(HostError) {
    let node = try state.withLock { state throws(HostError) in try state.wiring.item(id).slot.node }
    let byItself = node?.setEnabled(!on) ?? false
    try edit { wiring throws(HostError) in
      _ = try wiring.item(id)
      wiring.setBypassed(id, on, byItself: byItself)
    }
  }

  /// The requested wires and their gains.
  package var wires: [Wire: Float] { state.withLock { $0.wiring.wires } }
}
