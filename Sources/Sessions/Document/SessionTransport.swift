/// The session's part in JACK's transport, and its tempo.
package struct SessionTransport: SessionRecord {
  /// Relation to JACK's transport.
  package enum Mode: String, SessionWord {
    /// The session ignores JACK's transport.
    case none
    /// The session starts, stops and locates with the transport.
    case follow
    /// The session moves the transport and is its timebase.
    case lead
  }
  package var mode = Mode.none
  /// Beats per minute.
  package var bpm = 120.0
  package var beatsPerBar = 4.0
  /// The note that counts as a beat: 4 for a quarter note.
  package var beatUnit = 4

  package init() {}

  package static let fields: [Field<Self>] = [
    Field(
      "mode", \.mode, Mode.shape,
      "Whether the session ignores, follows or leads JACK's transport."),
    Field("bpm", \.bpm, .number(1...1000, unit: "beats per minute"), "Tempo.", synonyms: ["tempo"]),
    Field("beatsPerBar", \.beatsPerBar, .number(1...64, unit: "beats"), "Beats in a bar."),
    Field(
      "beatUnit", \.beatUnit, .integer(1...64, unit: ""),
      "Note value of a beat: 4 for a quarter note."),
  ]
  package static let shape = RecordShape("transport", fields.map(\.shape))
}
