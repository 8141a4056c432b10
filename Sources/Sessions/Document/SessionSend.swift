import System

/// The sound of a bus, sent to another machine by a program of its own.
package struct SessionSend: SessionRecord {
  package var name = ""
  /// Name of the bus.
  package var bus = ""
  /// The receiver.
  package var to = ""
  /// Milliseconds by which the sound that is sent is late.
  package var delay = 0.0

  package init() {}

  package init(name: String, bus: String, to: String) {
    self.name = name
    self.bus = bus
    self.to = to
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the sends.", isRequired: true),
    Field(
      "bus", \.bus, .text(.name), "Name of the bus that is sent.", isRequired: true,
      synonyms: ["from", "source"]),
    Field(
      "to", \.to, .text(.receiver),
      "The receiver: HOST:PORT for zita-n2j, or rtp://ADDRESS:PORT for PipeWire's RTP source.",
      isRequired: true, synonyms: ["host", "address", "destination"]),
    Field(
      "delay", \.delay, .delay,
      "Time by which the sound that is sent is late. The delay of the bus does not count.",
      synonyms: ["late", "latency", "ms"]),
  ]
  package static let shape = RecordShape("send", fields.map(\.shape))
}
