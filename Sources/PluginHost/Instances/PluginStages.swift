package import Graph

/// Plugins in a row inside a graph: the part of a chain that a mixer or a track has. Any thread.
///
/// The instances are in the graph when this is created; `connect` adds their wires, so that the wires of
/// many chains are added in one edit.
package struct PluginStages: Sendable {
  /// The instances of each plugin with their nodes, in order.
  package private(set) var stages: [[(id: NodeID, plugin: any HostedPlugin)]] = []
  /// The last node, and those of its outputs that carry the chain's signal.
  package private(set) var last: NodeID
  package private(set) var outputs: [Int]
  /// The audio connections to be made.
  private var connections: [Connection] = []

  private enum Connection: Sendable {
    case wire(Wire)
    /// Mixed up or down.
    case spread(NodeID, [Int], NodeID, [Int])
  }

  /// Adds the instances of a chain behind some outputs of a node.
  ///
  /// A plugin with one audio input and one output gets an instance for each channel. Other plugins
  /// receive the channels mixed up or down. The output of a plugin without audio inputs is added to the
  /// signal so far; a plugin without audio outputs passes the signal on.
  ///
  /// - Parameters:
  ///   - outputs: The outputs of `entrance` that carry the signal.
  ///   - priority: The real-time priority of the cycles; nil if they are not real-time.
  /// - Throws: `HostError`: a plugin that cannot be instantiated, set up or inserted.
  package init(
    _ choices: [PluginChoice], in world: World, behind entrance: NodeID, _ outputs: [Int],
    of graph: Graph, _ settings: PluginSettings, priority: Int?
  ) throws(HostError) {
    last = entrance
    self.outputs = outputs
    for choice in choices { try add(choice, in: world, of: graph, settings, priority) }
  }

  private mutating func add(
    _ choice: PluginChoice, in world: World, of graph: Graph, _ settings: PluginSettings,
    _ priority: Int?
  ) throws(HostError) {
    let first = try choice.instance(in: world, settings, priority: priority)
    func indices(_ direction: PluginPort.Direction) -> [Int] {
      let planes = first.description.planes(direction)
      return planes.indices.filter { planes[$0].kind == .audio }
    }
    let (ins, outs) = (indices(.input), indices(.output))
    stages.append([])
    if ins.count == 1, outs.count == 1, outputs.count > 1 {
      let join = graph.addMixer(named: "\(first.name) ×\(outputs.count)", channels: outputs.count)
      for (channel, output) in outputs.enumerated() {
        let instance =
          try channel == 0 ? first : choice.instance(in: world, settings, priority: priority)
        let id = try graph.add(instance)
        stages[stages.count - 1].append((id, instance))
        connections.append(.wire(Wire(from: last, output, to: id, ins[0])))
        connections.append(.wire(Wire(from: id, outs[0], to: join, channel)))
      }
      last = join
      outputs = Array(outputs.indices)
      return
    }
    guard !outs.isEmpty || first.accepts(LV2.midi("MidiEvent")) || first.ports.midiOutput != nil
    else { throw .doesNotFit(node: first.name) }
    let id = try graph.add(first)
    stages[stages.count - 1].append((id, first))
    let (from, sent) = (last, outputs)
    if !ins.isEmpty { connections.append(.spread(from, sent, id, ins)) }
    if outs.isEmpty { return }
    last = id
    outputs = outs
    guard ins.isEmpty else { return }
    let all = Array(0..<(sent.count == 1 ? min(outs.count, 2) : sent.count))
    let sum = graph.addMixer(named: "+ \(first.name)", channels: all.count)
    connections.append(.spread(from, sent, sum, all))
    connections.append(.spread(id, outs, sum, all))
    last = sum
    outputs = all
  }

  /// Adds the audio wires between the plugins, and from the node before them.
  package func connect(_ wiring: inout Wiring) throws(HostError) {
    for connection in connections {
      switch connection {
      case .wire(let wire): try wiring.connect(wire)
      case .spread(let from, let outputs, let to, let inputs):
        try wiring.connect(from, outputs, to: to, inputs)
      }
    }
  }

  /// Whether a plugin takes MIDI that comes from outside the chain.
  package var takesMIDI: Bool {
    stages.first { $0[0].plugin.accepts(LV2.midi("MidiEvent")) } != nil
  }

  /// Adds the MIDI wires: from an input port to the plugins up to the first one that outputs MIDI, which
  /// feeds those behind it instead.
  ///
  /// - Parameters:
  ///   - source: The node of the input port; nil if there is none.
  ///   - hearsControllers: Whether the port's controllers move the plugins' controls.
  package func connectMIDI(
    from source: NodeID?, hearsControllers: Bool, _ wiring: inout Wiring
  ) throws(HostError) {
    var midi = ChainMIDI()
    midi.stages = stages
    _ = try midi.connect(&wiring)
    guard let source else { return }
    try midi.connect(source, hearsControllers, &wiring)
  }
}
