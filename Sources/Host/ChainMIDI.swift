/// How MIDI goes through a chain of plugins.
struct ChainMIDI {
  /// The instances of each plugin, in order.
  var stages: [[(id: NodeID, plugin: any HostedPlugin)]] = []
  /// The event inputs to which goes what comes into the chain.
  private(set) var listeners: [(id: NodeID, input: Int)] = []

  /// Has what plugins write go to those after them.
  ///
  /// - Returns: The output of the last that writes MIDI, if nobody after it takes that.
  mutating func connect(in graph: Graph) throws(HostError) -> (id: NodeID, output: Int)? {
    var writer: (id: NodeID, output: Int)?
    var isHeard = false
    for stage in stages {
      if let input = stage[0].plugin.ports.eventInput(for: LV2.midi("MidiEvent")) {
        for (id, _) in stage {
          if let writer {
            try graph.connect(Wire(from: writer.id, writer.output, to: id, input, isEvent: true))
          } else {
            listeners.append((id, input))
          }
        }
        isHeard = true
      }
      if let output = stage[0].plugin.ports.midiOutput {
        writer = (stage[0].id, output)
        isHeard = false
      }
    }
    return isHeard ? nil : writer
  }

  /// Has what comes in at a port go to the listeners, and its controllers to all plugins.
  func connect(port: String, in graph: Graph, _ hearsControllers: Bool) throws(HostError) {
    let source = try graph.addInputs(named: "MIDI", audio: [], midi: [port])
    let (listeners, stages) = (listeners, stages)
    try graph.edit { wiring throws(HostError) in
      for (id, input) in listeners {
        try wiring.connect(Wire(from: source, to: id, input, isEvent: true))
      }
      for (id, _) in hearsControllers ? stages.flatMap({ $0 }) : [] {
        try wiring.connectControllers(source, 0, to: id)
      }
    }
  }
}

// Controllers move the controls of plugins, in all instances of each.
extension PluginChain {
  /// Has a controller move a control of the plugin at a place, from 0.
  ///
  /// - Throws: `HostError`: no such control, or a range that it does not have.
  package func bind(_ binding: MIDIBinding, ofPlugin place: Int) throws(HostError) {
    for plugin in stages[place] { try plugin.bind(binding) }
  }

  /// Has the next controller that moves be bound to a control of the plugin at a place, from 0.
  ///
  /// - Parameters:
  ///   - passed: A controller of one channel that does not count.
  ///   - then: Called, on any thread of the host, with the binding.
  /// - Throws: `HostError`: no such control, or a range that it does not have.
  package func learn(
    _ target: MIDITarget, ofPlugin place: Int, passing passed: MIDIController? = nil,
    then: @escaping @Sendable (MIDIBinding) -> Void
  ) throws(HostError) {
    for plugin in stages[place].dropFirst() {
      try plugin.learn(target, passing: passed) { _ in }
    }
    // The first one last: all learn from the message of which it tells.
    try stages[place][0].learn(target, passing: passed, then: then)
  }

  /// Learns no more.
  package func cancelLearning() {
    for plugin in stages.joined() { plugin.cancelLearning() }
  }
}
