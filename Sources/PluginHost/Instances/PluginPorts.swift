/// A plugin's ports grouped by what they carry, each group in the order of the port indices.
package struct PluginPorts: Sendable {
  let inputs, outputs, eventInputs, eventOutputs, controls, readouts: [PluginPort]
  /// Minimum size in bytes of every event buffer.
  let eventBytes: Int

  /// Groups the ports of a plugin, except those with symbols in `leftOut`.
  init(_ description: PluginDescription, leftOut: Set<String>) {
    func ports(_ direction: PluginPort.Direction, _ kinds: PluginPort.Kind...) -> [PluginPort] {
      description.ports.filter {
        $0.direction == direction && kinds.contains($0.kind) && !leftOut.contains($0.symbol)
      }
    }
    inputs = ports(.input, .audio, .cv)
    outputs = ports(.output, .audio, .cv)
    eventInputs = ports(.input, .atom)
    eventOutputs = ports(.output, .atom)
    controls = ports(.input, .control)
    readouts = ports(.output, .control)
    eventBytes = (eventInputs + eventOutputs).reduce(PluginMemory.ringBytes) {
      max($0, $1.minimumBytes ?? 0)
    }
  }

  /// The index of the latency port among the control outputs.
  var latencyReadout: Int? { readouts.firstIndex(where: \.reportsLatency) }

  /// The first event output that writes MIDI.
  package var midiOutput: Int? {
    eventOutputs.firstIndex { $0.eventTypes.contains(LV2.midi("MidiEvent")) }
  }

  /// The first event input that hears MIDI.
  package var midiInput: Int? { eventInput(for: LV2.midi("MidiEvent")) }

  /// Returns the first event input that accepts a type of event.
  func eventInput(for type: String) -> Int? {
    // A port designated lv2:control accepts patch messages even if its bundle does not say so.
    eventInputs.firstIndex { $0.eventTypes.contains(type) }
      ?? (type == LV2.patch("Message")
        ? eventInputs.firstIndex { $0.designation == LV2.core("control") } : nil)
  }
}
