package import Graph

/// Plugins in a row inside a graph: the part of a chain that a mixer or a track has. Any thread.
///
/// The instances are in the graph when this is created; `connect` adds their wires, so that the wires of
/// many chains are added in one edit.
package struct PluginStages: Sendable {
  /// The instances of each plugin with their nodes, in order.
  package internal(set) var stages: [[(id: NodeID, plugin: any HostedPlugin)]] = []
  /// The mixers between them.
  private(set) var mixers: [NodeID] = []
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

  /// Makes the instances of a chain, all in one world and with the same settings.
  struct Maker: Sendable {
    let world: World
    let settings: PluginSettings
    /// The real-time priority of the cycles; nil if they are not real-time.
    let priority: Int?

    func instance(of choice: PluginChoice) throws(HostError) -> any HostedPlugin {
      try choice.instance(in: world, settings, priority: priority)
    }
  }

  /// A plugin of a chain.
  enum Member: Sendable {
    case new(PluginChoice)
    /// Instances that the graph has already.
    case kept([(id: NodeID, plugin: any HostedPlugin)])
    /// Instances from whose state others are made: they move to where their nodes cannot.
    case moved([any HostedPlugin])
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
    try self.init(
      choices, Maker(world: world, settings: settings, priority: priority), behind: entrance,
      outputs, of: graph)
  }

  init(
    _ choices: [PluginChoice], _ maker: Maker, behind entrance: NodeID, _ outputs: [Int],
    of graph: Graph
  ) throws(HostError) {
    try self.init(choices.map { .new($0) }, maker, behind: entrance, outputs, of: graph)
  }

  /// Adds the members of a chain. On an error, the graph has no new nodes.
  init(
    _ members: [Member], _ maker: Maker, behind entrance: NodeID, _ outputs: [Int],
    of graph: Graph
  ) throws(HostError) {
    last = entrance
    self.outputs = outputs
    do throws(HostError) {
      for member in members { try add(member, maker, to: graph) }
    } catch {
      let kept = members.flatMap { member -> [NodeID] in
        if case .kept(let instances) = member { instances.map(\.id) } else { [] }
      }
      remove(from: graph, keeping: Set(kept))
      throw error
    }
  }

  /// Removes the nodes of a chain that has no wires, but those that another one has.
  func remove(from graph: Graph, keeping kept: Set<NodeID>) {
    for id in mixers + stages.joined().map(\.id) where !kept.contains(id) { try? graph.remove(id) }
  }

  private mutating func add(_ member: Member, _ maker: Maker, to graph: Graph) throws(HostError) {
    /// Returns the instance for a channel, and its node if it has one.
    func instance(_ channel: Int) throws(HostError) -> (id: NodeID?, plugin: any HostedPlugin) {
      switch member {
      case .new(let choice): return (nil, try maker.instance(of: choice))
      case .kept(let instances) where instances.indices.contains(channel):
        return (instances[channel].id, instances[channel].plugin)
      case .kept(let instances): return (nil, try instances[0].plugin.copy())
      case .moved(let plugins):
        return (nil, try (plugins.indices.contains(channel) ? plugins[channel] : plugins[0]).copy())
      }
    }
    func added(_ instance: (id: NodeID?, plugin: any HostedPlugin)) throws(HostError) -> NodeID {
      if let id = instance.id { return id }
      return try graph.add(instance.plugin)
    }
    let start = try instance(0)
    let first = start.plugin
    func indices(_ direction: PluginPort.Direction) -> [Int] {
      let planes = first.description.planes(direction)
      return planes.indices.filter { planes[$0].kind == .audio }
    }
    let (ins, outs) = (indices(.input), indices(.output))
    stages.append([])
    if ins.count == 1, outs.count == 1, outputs.count > 1 {
      let join = graph.addMixer(named: "\(first.name) ×\(outputs.count)", channels: outputs.count)
      mixers.append(join)
      for (channel, output) in outputs.enumerated() {
        let instance = try channel == 0 ? start : instance(channel)
        let id = try added(instance)
        stages[stages.count - 1].append((id, instance.plugin))
        connections.append(.wire(Wire(from: last, output, to: id, ins[0])))
        connections.append(.wire(Wire(from: id, outs[0], to: join, channel)))
      }
      last = join
      outputs = Array(outputs.indices)
      return
    }
    guard !outs.isEmpty || first.accepts(LV2.midi("MidiEvent")) || first.ports.midiOutput != nil
    else { throw .doesNotFit(node: first.name) }
    let id = try added(start)
    stages[stages.count - 1].append((id, first))
    let (from, sent) = (last, outputs)
    if !ins.isEmpty { connections.append(.spread(from, sent, id, ins)) }
    if outs.isEmpty { return }
    last = id
    outputs = outs
    guard ins.isEmpty else { return }
    let all = Array(0..<(sent.count == 1 ? min(outs.count, 2) : sent.count))
    let sum = graph.addMixer(named: "+ \(first.name)", channels: all.count)
    mixers.append(sum)
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

  /// Connects the end of the chain to the audio inputs of a node, or changes the gain and the delay of these
  /// wires.
  func connect(
    to node: NodeID, ports: Int, gain: Float, delayedBy delay: Int, _ wiring: inout Wiring
  ) throws(HostError) {
    try wiring.connect(
      last, outputs, to: node, Array(0..<ports), gain: gain, delayedBy: delay)
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

extension HostedPlugin {
  /// Creates another instance with the present state.
  func copy() throws(HostError) -> any HostedPlugin { try replacement(restoring: capture()) }
}
