package import Graph
import Synchronization

/// The plugins of a chain in their order, which edits change while the chain runs. Any thread.
final class Arrangement: Sendable {
  /// A plugin's place in the chain.
  struct Place: Sendable {
    /// Index of the plugin in the chain as it was made; nil if it was added later.
    let number: Int?
    /// Whether the plugin is bypassed by itself.
    var isBypassed = false
  }
  struct Content: Sendable {
    var row: PluginStages
    /// The node of the MIDI input port; nil if there is none.
    var midiSource: NodeID?
    let hearsControllers: Bool
    /// The gain of the output.
    var gain: Float = 1
    /// The delay of the output in frames.
    var delay = 0
    /// Whether all plugins are bypassed.
    var isBypassed = false
    var places: [Place]

    init(row: PluginStages, midiSource: NodeID?, hearsControllers: Bool) {
      self.row = row
      self.midiSource = midiSource
      self.hearsControllers = hearsControllers
      places = row.stages.indices.map { Place(number: $0) }
    }

    func applyBypass(to graph: Graph) throws(HostError) {
      for (stage, place) in zip(row.stages, places) {
        for (id, plugin) in stage {
          try graph.setBypassed(id, place.isBypassed || isBypassed || plugin.isGone)
        }
      }
    }
  }
  let content: Mutex<Content>
  let maker: PluginStages.Maker
  /// Held during an edit, which may take long.
  private let edits = Mutex<Void>(())

  init(_ content: Content, _ maker: PluginStages.Maker) {
    self.content = Mutex(content)
    self.maker = maker
  }

  /// Runs `body` with a copy of the content, which takes its place then. One edit at a time.
  func editing(_ body: (inout Content) throws(HostError) -> Void) throws(HostError) {
    try edits.withLock { _ throws(HostError) in
      var content = content.withLock { $0 }
      try body(&content)
      let new = content
      self.content.withLock { $0 = new }
    }
  }
}

// Edits of a chain that runs. Old and new sound are crossfaded.
extension PluginChain {
  /// Inserts a plugin before the one at index `index`, counted from 0, or at the end.
  package func insert(_ choice: PluginChoice, at index: Int) throws(HostError) {
    try rearrange { members, places in
      members.insert(.new(choice), at: index)
      places.insert(Arrangement.Place(number: nil), at: index)
    }
  }

  /// Removes the plugin at an index.
  package func remove(at index: Int) throws(HostError) {
    try rearrange { members, places in
      members.remove(at: index)
      places.remove(at: index)
    }
  }

  /// Moves a plugin to another index. Its new instances have the state of the old ones.
  package func move(from index: Int, to other: Int) throws(HostError) {
    if index == other { return }
    let plugins = stages[index]
    try rearrange { members, places in
      members.remove(at: index)
      members.insert(.moved(plugins), at: other)
      places.insert(places.remove(at: index), at: other)
    }
  }

  /// Gives a plugin the state of one of its presets.
  package func load(preset uri: String, ofPlugin index: Int) throws(HostError) {
    try arrangement.editing { content throws(HostError) in
      for (channel, (id, plugin)) in content.row.stages[index].enumerated() {
        let state = try arrangement.maker.world.preset(uri, of: plugin.description.uri)
        let other = try plugin.replacement(restoring: state)
        try graph.replace(id, with: other)
        content.row.stages[index][channel].plugin = other
      }
    }
  }

  private func rearrange(
    _ change: (inout [PluginStages.Member], inout [Arrangement.Place]) -> Void
  ) throws(HostError) {
    try arrangement.editing { content throws(HostError) in
      let old = content.row
      var members = old.stages.map { PluginStages.Member.kept($0) }
      change(&members, &content.places)
      let row = try PluginStages(
        members, arrangement.maker, behind: entrance, Array(0..<channels), of: graph)
      let (entrance, exit, ports, gain) = (entrance, exit, portNames.count, content.gain)
      let delay = content.delay
      let (hearsControllers, hasOutput) = (content.hearsControllers, midiOutput != nil)
      if content.midiSource == nil,
        row.takesMIDI || !row.stages.isEmpty && hearsControllers
      {
        content.midiSource = try graph.addInputs(
          named: "MIDI", audio: [], midi: [Self.midiInputName])
      }
      let source = content.midiSource
      do throws(HostError) {
        try graph.edit { wiring throws(HostError) in
          let kept = Set(row.stages.joined().map(\.id))
          for id in old.mixers + old.stages.joined().map(\.id) where !kept.contains(id) {
            try wiring.remove(id)
          }
          let ends = kept.union([entrance, exit]).union(source.map { [$0] } ?? [])
          for wire in wiring.wires.keys where ends.contains(wire.from) && ends.contains(wire.to) {
            try wiring.disconnect(wire)
          }
          try row.connect(&wiring)
          try row.connect(to: exit, ports: ports, gain: gain, delayedBy: delay, &wiring)
          var midi = ChainMIDI()
          midi.stages = row.stages
          let written = try midi.connect(&wiring)
          if let source { try midi.connect(source, hearsControllers, &wiring) }
          if hasOutput, let written {
            try wiring.connect(Wire(from: written.id, written.output, to: exit, isEvent: true))
          }
        }
      } catch {
        row.remove(from: graph, keeping: Set(old.mixers + old.stages.joined().map(\.id)))
        throw error
      }
      content.row = row
      try content.applyBypass(to: graph)
    }
  }
}
