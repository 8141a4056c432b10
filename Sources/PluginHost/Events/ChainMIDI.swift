package import Graph
import Synchronization

/// The MIDI connections of a plugin chain.
struct ChainMIDI {
  /// The instances of each plugin, in chain order.
  var stages: [[(id: NodeID, plugin: any HostedPlugin)]] = []
  /// The event inputs that receive the chain's MIDI input.
  private(set) var listeners: [(id: NodeID, input: Int)] = []

  /// Connects each plugin that outputs MIDI to the MIDI plugins behind it.
  ///
  /// - Returns: The output of the last plugin that outputs MIDI, unless a later plugin reads it.
  mutating func connect(_ wiring: inout Wiring) throws(HostError) -> (id: NodeID, output: Int)? {
    var writer: (id: NodeID, output: Int)?
    var isHeard = false
    for stage in stages {
      if let input = stage[0].plugin.ports.eventInput(for: LV2.midi("MidiEvent")) {
        for (id, _) in stage {
          if let writer {
            try wiring.connect(Wire(from: writer.id, writer.output, to: id, input, isEvent: true))
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

  /// Connects the node of a MIDI input port to the listeners, and its controllers to all plugins if
  /// asked.
  func connect(_ source: NodeID, _ hearsControllers: Bool, _ wiring: inout Wiring)
    throws(HostError)
  {
    for (id, input) in listeners {
      try wiring.connect(Wire(from: source, to: id, input, isEvent: true))
    }
    for (id, _) in hearsControllers ? stages.flatMap({ $0 }) : [] {
      try wiring.connectControllers(source, 0, to: id)
    }
  }
}

// Controller bindings of a chain: each applies to all instances of a plugin.
extension PluginChain {
  /// Binds a controller to a control of the plugin at index `index`, counted from 0.
  ///
  /// - Throws: `HostError`: no such control, or a range outside the control's own.
  package func bind(_ binding: MIDIBinding, ofPlugin index: Int) throws(HostError) {
    for plugin in stages[index] { try plugin.bind(binding) }
  }

  /// Binds the next controller that moves to a control of a plugin of the chain as it was made, wherever edits have moved
  /// it.
  ///
  /// - Parameters:
  ///   - number: Index of the plugin in the chain as it was made.
  ///   - passed: A controller of one channel that is ignored.
  ///   - then: Called with the binding, on any thread of the host.
  /// - Throws: `HostError`: no such control, a range outside the control's own, or a plugin that was removed.
  package func learn(
    _ target: MIDITarget, ofPlugin number: Int, passing passed: MIDIController? = nil,
    then: @escaping @Sendable (MIDIBinding) -> Void
  ) throws(HostError) {
    let stage = arrangement.content.withLock { content in
      content.places.firstIndex { $0.number == number }.map { content.row.stages[$0].map(\.plugin) }
    }
    guard let stage else { throw .unknownNode(number: number + 1) }
    for plugin in stage.dropFirst() { try plugin.learn(target, passing: passed) { _ in } }
    // The first instance comes last: all instances learn from the message that it reports.
    try stage[0].learn(target, passing: passed, then: then)
  }

  /// Cancels learning.
  package func cancelLearning() {
    for plugin in stages.joined() { plugin.cancelLearning() }
  }
}
