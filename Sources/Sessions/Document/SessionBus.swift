import System

/// A mixer that adds tracks and other buses.
package struct SessionBus: SessionRecord {
  package var name = ""
  package var channels = 2
  /// Gain in dB.
  package var gain = 0.0
  package var mute = false
  package var chain: [SessionPlugin] = []
  /// Milliseconds by which the sound is late at the bus's ports, or at the bus that receives it.
  package var delay = 0.0
  /// Name of the bus that receives this one; nil if it has JACK ports of its own.
  package var bus: String?
  /// JACK ports that the bus's own ports are connected to, in order: none if the list is empty, those of the
  /// sound card without one.
  package var ports: [String]?

  package init() {}

  package init(name: String) { self.name = name }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the buses.", isRequired: true),
    Field("channels", \.channels, .integer(1...64, unit: "channels"), "Number of channels."),
    Field(
      "gain", \.gain, .decibels, "Gain in dB.", synonyms: ["level", "db"], earlierKey: "volume"),
    Field("mute", \.mute, .flag, "Whether the bus is silent.", synonyms: ["muted"]),
    Field(
      "chain", \.chain, .plugins, "Plugins that process the sum, in order.",
      synonyms: ["plugins", "effects"]),
    Field(
      "delay", \.delay, .delay,
      "Time by which the sound is late at the bus's ports, or at the bus that receives it.",
      synonyms: ["late", "latency", "ms"]),
    Field(
      "bus", \.bus, .text(.name),
      "Name of the bus that receives this one. Without it, the bus has JACK ports of its own.",
      synonyms: ["output", "mixer"]),
    Field(
      "ports", \.ports, .ports,
      "JACK ports that the bus's own ports are connected to, in order. An empty list connects none; without a "
        + "list, the ports go to the sound card.", synonyms: ["connect"]),
  ]
  package static let shape = RecordShape("bus", fields.map(\.shape))
}
