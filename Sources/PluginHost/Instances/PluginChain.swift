package import CRealTime
package import Graph

extension Graph {
  /// Creates an empty graph whose event types have the URIDs that plugins use.
  package convenience init(
    sampleRate: Double, blockFrames: Int, fadeSeconds: Double = 0.01,
    threads: GraphThreads = .one
  ) {
    self.init(
      types: Self.eventTypes, sampleRate: sampleRate, blockFrames: blockFrames,
      fadeSeconds: fadeSeconds, threads: threads)
  }

  /// The URIDs of event types that plugins use.
  package static var eventTypes: cue_event_types {
    cue_event_types(
      sequence: urid(LV2.atom("Sequence")), chunk: urid(LV2.atom("Chunk")),
      midi: urid(LV2.midi("MidiEvent")))
  }
}

/// A chain of plugins in a graph, from sources to output ports. Any thread.
package struct PluginChain: Sendable {
  package let graph: Graph
  /// The node that sources connect to.
  package let entrance: NodeID
  /// Channels of `entrance`.
  package let channels: Int
  /// The node of the ports `out_1`, `out_2` and so on.
  package let exit: NodeID
  package let portNames: [String]
  /// The instances of each plugin, in chain order, and their nodes.
  package let stages: [[any HostedPlugin]]
  private let nodes: [[NodeID]]
  /// The node before `exit`, and its outputs that go there.
  private let last: (node: NodeID, outputs: [Int])
  /// Name of the port whose MIDI the plugins receive and whose controllers move their controls; nil if
  /// none needs it.
  package let midiInput: String?
  /// Name of the port for the output of the last plugin that outputs MIDI; nil if a later plugin reads
  /// it, or if there is none.
  package let midiOutput: String?
  /// Whether the process of a plugin has ended. The chain then bypasses that plugin.
  package var hasLostPlugins: Bool { stages.joined().contains { $0.isGone } }
  /// Whether every plugin has run and so reported its latency. Isolated plugins report one block later.
  package var hasRun: Bool { stages.joined().allSatisfy { $0.hasRun } }

  /// Latency of the chain in frames.
  package var latencyFrames: Int { (try? graph.latency(of: exit)) ?? 0 }

  /// Creates a chain for sound of `channels` channels.
  ///
  /// The plugins are connected as in `PluginStages`. MIDI input reaches each MIDI plugin up to the first one that outputs MIDI. That one feeds the
  /// plugins behind it instead, and so on. Offline, there is no MIDI input but `track`.
  ///
  /// - Parameters:
  ///   - priority: The real-time priority of the cycles; nil if they are not real-time.
  ///   - blockFrames: Frames of a block, which is the added latency of each isolated plugin.
  ///   - hearsControllers: Whether MIDI controllers are to move controls.
  ///   - track: MIDI messages to be played to the plugins; nil for none.
  ///   - threads: The number of threads that run the plugins.
  /// - Throws: `HostError`: a plugin that cannot be instantiated, set up or inserted.
  package init(
    _ choices: [PluginChoice], in world: World, channels: Int, sampleRate: Double, isOffline: Bool,
    priority: Int? = nil, blockFrames: Int = 1024, hearsControllers: Bool = false,
    playing track: MIDITrack? = nil, threads: Int = 1
  ) throws(HostError) {
    graph = Graph(
      sampleRate: sampleRate, blockFrames: blockFrames,
      threads: GraphThreads(threads, priority: priority))
    let settings = PluginSettings(
      sampleRate: sampleRate, maximumFrames: blockFrames, isOffline: isOffline)
    self.channels = channels
    entrance = graph.addMixer(named: "mix", channels: channels)
    let row = try PluginStages(
      choices, in: world, behind: entrance, Array(0..<channels), of: graph, settings,
      priority: priority)
    portNames = row.outputs.indices.map { "out_\($0 + 1)" }
    stages = row.stages.map { $0.map(\.plugin) }
    nodes = row.stages.map { $0.map(\.id) }
    last = (row.last, row.outputs)
    let (midi, written) = try graph.edit { wiring throws(HostError) in
      try row.connect(&wiring)
      var midi = ChainMIDI()
      midi.stages = row.stages
      let written = try midi.connect(&wiring)
      return (midi, written)
    }
    midiInput =
      !isOffline && (hearsControllers || !midi.listeners.isEmpty) ? "midi_in" : nil
    midiOutput = isOffline || written == nil ? nil : "midi_out"
    var sources: [NodeID] = []
    if let midiInput {
      sources.append(try graph.addInputs(named: "MIDI", audio: [], midi: [midiInput]))
    }
    if let track { sources.append(try graph.add(track)) }
    for source in sources {
      try graph.edit { wiring throws(HostError) in
        try midi.connect(source, hearsControllers, &wiring)
      }
    }
    exit = try graph.addOutputs(
      named: "ports", audio: portNames, midi: midiOutput.map { [$0] } ?? [])
    let to = exit
    try graph.edit { wiring throws(HostError) in
      try wiring.connect(row.last, row.outputs, to: to, Array(row.outputs.indices))
    }
    if midiOutput != nil, let written {
      try graph.connect(Wire(from: written.id, written.output, to: exit, isEvent: true))
    }
  }

  /// Whether a plugin takes MIDI.
  package var takesMIDI: Bool { stages.contains { $0[0].accepts(LV2.midi("MidiEvent")) } }

  /// Sets the gain of the chain's output as a factor, by a crossfade.
  package func setGain(_ gain: Float) throws(HostError) {
    let (exit, last) = (exit, last)
    try graph.edit { wiring throws(HostError) in
      for (port, output) in last.outputs.enumerated() {
        try wiring.connect(Wire(from: last.node, output, to: exit, port), gain: gain)
      }
    }
  }

  /// Turns the bypass of all plugins on or off, without a click.
  package func setBypassed(_ on: Bool) throws(HostError) {
    for id in nodes.joined() { try graph.setBypassed(id, on) }
  }
}
