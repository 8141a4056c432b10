import System

/// Values of the session that are recalled together.
package struct SessionScene: SessionRecord {
  package var name = ""
  /// The values by their paths, such as `tracks[drums].gain`.
  package var values: [String: SessionSetting] = [:]
  /// Milliseconds in which the values of before become those of the scene.
  package var fade = 10.0
  /// The MIDI program that recalls the scene; nil for none.
  package var program: SessionMIDINumber?

  package init() {}

  package init(name: String, values: [String: SessionSetting]) {
    self.name = name
    self.values = values
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the scenes.", isRequired: true),
    Field(
      "values", \.values, .table(keys: .target, of: .setting, upTo: 65536),
      "Gains, balances, mutes and plugins' parameters by their paths, such as tracks[drums].gain.",
      synonyms: ["parameters", "set", "state"]),
    Field(
      "fade", \.fade, .number(0...600_000, unit: "milliseconds"),
      "Time in which the values of before become those of the scene.",
      synonyms: ["crossfade", "ms", "time"]),
    Field(
      "program", \.program, .text(.program),
      "The MIDI program that recalls the scene: 3, or 3@1 for channel 1 alone. The first program is 0.",
      synonyms: ["midi", "programchange"]),
  ]
  package static let shape = RecordShape("scene", fields.map(\.shape))
}
