import CRealTime

extension Graph {
  /// An empty graph for plugins: its events have the numbers that plugins know them by.
  package convenience init(
    sampleRate: Double, blockFrames: Int, fadeSeconds: Double = 0.01
  ) {
    self.init(
      types: cue_event_types(
        sequence: urid(LV2.atom("Sequence")), chunk: urid(LV2.atom("Chunk")),
        midi: urid(LV2.midi("MidiEvent"))),
      sampleRate: sampleRate, blockFrames: blockFrames, fadeSeconds: fadeSeconds)
  }
}

/// Which plugin a chain is to have, and how it is set.
package struct PluginChoice: Hashable, Sendable {
  package var uri: String
  /// URI of a preset of it.
  package var preset: String?
  /// Values of controls by their symbols; they come after the preset.
  package var values: [String: Float]
  /// It has a process of its own.
  package var isIsolated = false

  package init(uri: String, preset: String? = nil, values: [String: Float] = [:]) {
    self.uri = uri
    self.preset = preset
    self.values = values
  }

  /// The plugin, and the preset, that a text names: `URI`, or `URI#PRESET`, where the preset is named by
  /// its URI, by the end of that after a `#`, or by its label.
  ///
  /// - Throws: `HostError`: no such plugin, or no such preset.
  package init(_ text: String, values: [String: Float], in world: World) throws(HostError) {
    let uris = Set(world.uris)
    self.init(uri: text, values: values)
    if uris.contains(text) { return }
    for mark in text.indices.reversed()
    where text[mark] == "#" && uris.contains(String(text[..<mark])) {
      uri = String(text[..<mark])
      let name = String(text[text.index(after: mark)...])
      let presets = try world.description(of: uri).presets
      let found =
        presets.first { $0.uri == name || $0.uri == text || $0.uri.hasSuffix("#" + name) }
        ?? presets.first { $0.label.lowercased() == name.lowercased() }
      guard let found else { throw .unknownPreset(plugin: uri, preset: name) }
      preset = found.uri
      return
    }
    throw .unknownPlugin(uri: text)
  }

  /// An instance that is set so, ready to run.
  ///
  /// - Parameter priority: That of the cycles, if they are real-time.
  func instance(in world: World, _ settings: PluginSettings, priority: Int?) throws(HostError)
    -> any HostedPlugin
  {
    let instance: any HostedPlugin =
      isIsolated
      ? try IsolatedPlugin(uri, in: world, settings: settings, priority: priority)
      : try PluginInstance(uri, in: world, settings: settings)
    if let preset { try instance.restore(world.preset(preset, of: uri)) }
    for (symbol, value) in values.sorted(by: { $0.key < $1.key }) {
      try instance.set(symbol, to: value, at: nil, over: 0)
    }
    return instance
  }
}

/// A graph of plugins one after another, from sources to output ports. Any thread.
package struct PluginChain: Sendable {
  package let graph: Graph
  /// What sources are connected to.
  package let entrance: NodeID
  /// Channels of `entrance`.
  package let channels: Int
  /// The ports `out_1` and so on.
  package let exit: NodeID
  package let portNames: [String]
  /// The instances of each plugin, in order.
  package let stages: [[any HostedPlugin]]
  /// The port whose events plugins take, and whose controllers move their controls; nil if it is not
  /// needed.
  package let midiInput: String?
  /// The port for what the last plugin that writes MIDI writes; nil if another plugin takes that, or
  /// there is none.
  package let midiOutput: String?
  /// A plugin's process is gone: sound passes it by.
  package var hasLostPlugins: Bool { stages.joined().contains { $0.isGone } }
  /// Each plugin has told of its latency, if it does: those of other processes do so a block later.
  package var hasRun: Bool { stages.joined().allSatisfy { $0.hasRun } }

  /// Frames that the sound takes on its way through.
  package var latencyFrames: Int { (try? graph.latency(of: exit)) ?? 0 }

  /// A chain for sound of some channels.
  ///
  /// A plugin with one audio input and one output has an instance for each channel; channels go to others
  /// as the graph mixes them up or down. What a plugin without audio inputs makes is added to what comes so
  /// far; by one without audio outputs, the sound passes.
  ///
  /// MIDI that comes in goes to each plugin that takes it, up to the first that writes MIDI: what that one
  /// writes goes to those after it instead, and so on. Offline, none comes in.
  ///
  /// - Parameters:
  ///   - priority: That of the cycles, if they are real-time.
  ///   - blockFrames: Frames of a block: what each plugin with a process of its own takes longer.
  ///   - hearsControllers: Controllers that come in are to move controls.
  /// - Throws: `HostError`: a plugin that cannot be made, set or put there.
  package init(
    _ choices: [PluginChoice], in world: World, channels: Int, sampleRate: Double, isOffline: Bool,
    priority: Int? = nil, blockFrames: Int = 1024, hearsControllers: Bool = false
  ) throws(HostError) {
    graph = Graph(sampleRate: sampleRate, blockFrames: blockFrames)
    let settings = PluginSettings(
      sampleRate: sampleRate, maximumFrames: blockFrames, isOffline: isOffline)
    self.channels = channels
    entrance = graph.addMixer(named: "mix", channels: channels)
    var last = entrance
    var outputs = Array(0..<channels)
    var midi = ChainMIDI()
    for choice in choices {
      let first = try choice.instance(in: world, settings, priority: priority)
      func places(_ direction: PluginPort.Direction) -> [Int] {
        let planes = first.description.planes(direction)
        return planes.indices.filter { planes[$0].kind == .audio }
      }
      let (ins, outs) = (places(.input), places(.output))
      midi.stages.append([])
      if ins.count == 1, outs.count == 1, outputs.count > 1 {
        let join = graph.addMixer(named: "\(first.name) ×\(outputs.count)", channels: outputs.count)
        for (channel, output) in outputs.enumerated() {
          let instance =
            try channel == 0 ? first : choice.instance(in: world, settings, priority: priority)
          let id = try graph.add(instance)
          midi.stages[midi.stages.count - 1].append((id, instance))
          try graph.connect(Wire(from: last, output, to: id, ins[0]))
          try graph.connect(Wire(from: id, outs[0], to: join, channel))
        }
        last = join
        outputs = Array(outputs.indices)
      } else {
        guard !outs.isEmpty || first.accepts(LV2.midi("MidiEvent")) || first.ports.midiOutput != nil
        else {
          throw .doesNotFit(node: first.name)
        }
        let id = try graph.add(first)
        midi.stages[midi.stages.count - 1].append((id, first))
        let (from, sent) = (last, outputs)
        if !ins.isEmpty {
          try graph.edit { wiring throws(HostError) in
            try wiring.connect(from, sent, to: id, ins)
          }
        }
        if outs.isEmpty { continue }
        last = id
        outputs = outs
        if ins.isEmpty {
          let all = Array(0..<(sent.count == 1 ? min(outs.count, 2) : sent.count))
          let sum = graph.addMixer(named: "+ \(first.name)", channels: all.count)
          try graph.edit { wiring throws(HostError) in
            try wiring.connect(from, sent, to: sum, all)
            try wiring.connect(id, outs, to: sum, all)
          }
          last = sum
          outputs = all
        }
      }
    }
    portNames = outputs.indices.map { "out_\($0 + 1)" }
    stages = midi.stages.map { $0.map(\.plugin) }
    let written = try midi.connect(in: graph)
    midiInput =
      !isOffline && (hearsControllers || !midi.listeners.isEmpty) ? "midi_in" : nil
    midiOutput = isOffline || written == nil ? nil : "midi_out"
    if let midiInput { try midi.connect(port: midiInput, in: graph, hearsControllers) }
    exit = try graph.addOutputs(
      named: "ports", audio: portNames, midi: midiOutput.map { [$0] } ?? [])
    let (from, sent, to) = (last, outputs, exit)
    try graph.edit { wiring throws(HostError) in
      try wiring.connect(from, sent, to: to, Array(sent.indices))
    }
    if midiOutput != nil, let written {
      try graph.connect(Wire(from: written.id, written.output, to: exit, isEvent: true))
    }
  }
}
