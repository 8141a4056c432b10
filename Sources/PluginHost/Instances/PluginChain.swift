package import CRealTime
package import Graph
import Synchronization

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

  /// The URID of events that move a control of a plugin: a `cue_control_move`.
  package static var controlMove: UInt32 { urid("urn:cuejack:control-move") }
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
  /// The instances of each plugin, in chain order.
  package var stages: [[any HostedPlugin]] {
    arrangement.content.withLock { $0.row.stages.map { $0.map(\.plugin) } }
  }
  /// The arrangement of the plugins, which edits change.
  let arrangement: Arrangement
  /// Name of the port whose MIDI the plugins receive and whose controllers move their controls; nil if
  /// none has needed it.
  package var midiInput: String? {
    arrangement.content.withLock { $0.midiSource == nil ? nil : Self.midiInputName }
  }
  static let midiInputName = "midi_in"
  /// Name of the port for the output of the last plugin that outputs MIDI; nil if a later plugin read
  /// it when the chain was made, or if there was none.
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
    let maker = PluginStages.Maker(world: world, settings: settings, priority: priority)
    entrance = graph.addMixer(named: "mix", channels: channels)
    let row = try PluginStages(choices, maker, behind: entrance, Array(0..<channels), of: graph)
    portNames = row.outputs.indices.map { "out_\($0 + 1)" }
    let (midi, written) = try graph.edit { wiring throws(HostError) in
      try row.connect(&wiring)
      var midi = ChainMIDI()
      midi.stages = row.stages
      let written = try midi.connect(&wiring)
      return (midi, written)
    }
    midiOutput = isOffline || written == nil ? nil : "midi_out"
    var midiSource: NodeID?
    var sources: [NodeID] = []
    if !isOffline, hearsControllers || !midi.listeners.isEmpty {
      midiSource = try graph.addInputs(named: "MIDI", audio: [], midi: [Self.midiInputName])
    }
    if let midiSource { sources.append(midiSource) }
    if let track { sources.append(try graph.add(track)) }
    for source in sources {
      try graph.edit { wiring throws(HostError) in
        try midi.connect(source, hearsControllers, &wiring)
      }
    }
    arrangement = Arrangement(
      Arrangement.Content(row: row, midiSource: midiSource, hearsControllers: hearsControllers),
      maker)
    exit = try graph.addOutputs(
      named: "ports", audio: portNames, midi: midiOutput.map { [$0] } ?? [])
    let (to, writer, hasOutput) = (exit, written, midiOutput != nil)
    try graph.edit { wiring throws(HostError) in
      try row.connect(to: to, ports: row.outputs.count, gain: 1, delayedBy: 0, &wiring)
      guard hasOutput, let writer else { return }
      try wiring.connect(Wire(from: writer.id, writer.output, to: to, isEvent: true))
    }
  }

  /// Whether a plugin takes MIDI.
  package var takesMIDI: Bool { stages.contains { $0[0].accepts(LV2.midi("MidiEvent")) } }

  /// Sets the gain of the chain's output as a factor, by a crossfade.
  package func setGain(_ gain: Float) throws(HostError) { try setOutput { $0.gain = gain } }

  /// Delays the chain's output by a number of frames. While cycles run, a crossfade to the new delay follows as
  /// soon as its delay line is full.
  package func setDelay(frames: Int) throws(HostError) { try setOutput { $0.delay = frames } }

  /// The delay of the chain's output in frames.
  package var delayFrames: Int { arrangement.content.withLock { $0.delay } }

  private func setOutput(_ change: (inout Arrangement.Content) -> Void) throws(HostError) {
    try arrangement.editing { content throws(HostError) in
      change(&content)
      let (changed, exit, ports) = (content, exit, portNames.count)
      try graph.edit { wiring throws(HostError) in
        try changed.row.connect(
          to: exit, ports: ports, gain: changed.gain, delayedBy: changed.delay, &wiring)
      }
    }
  }

  /// Turns the bypass of all plugins on or off, without a click. A plugin that is bypassed by itself stays so.
  package func setBypassed(_ on: Bool) throws(HostError) {
    try arrangement.editing { content throws(HostError) in
      content.isBypassed = on
      try content.applyBypass(to: graph)
    }
  }

  /// Turns the bypass of the plugin at index `index`, counted from 0, on or off.
  package func setBypassed(_ on: Bool, plugin index: Int) throws(HostError) {
    try arrangement.editing { content throws(HostError) in
      content.places[index].isBypassed = on
      try content.applyBypass(to: graph)
    }
  }

  /// Whether the plugin at an index is bypassed by itself.
  package func isBypassed(plugin index: Int) -> Bool {
    arrangement.content.withLock { $0.places[index].isBypassed }
  }
  /// Whether all plugins are bypassed.
  package var isBypassed: Bool { arrangement.content.withLock { $0.isBypassed } }
}
