import System

/// An LV2 plugin in the chain of a track or bus.
package struct SessionPlugin: SessionRecord {
  /// Id, unique in the session.
  package var id = ""
  package var uri = ""
  /// URI of the preset that is loaded first; nil for the plugin's defaults.
  package var preset: String?
  /// The folder with the saved state, inside the session's folder; nil if there is none. It is
  /// loaded after the preset.
  package var state: String?
  /// Values of controls by symbol, and of parameters by URI. They are set last.
  package var parameters: [String: Double] = [:]
  /// Path of the SoundFont of the plugin that plays them, relative to the session's folder or absolute; nil for
  /// that of the state, or the default.
  package var soundFont: String?
  /// Path of the impulse response of the plugin that convolves, relative to the session's folder or absolute; nil for
  /// that of the state, or none.
  package var impulse: String?
  package var bypass = false
  /// Whether the plugin runs in a process of its own.
  package var isolate = false
  /// Whether that process may do all that its user may. Otherwise it is confined.
  package var trust = false

  package init() {}

  package init(id: String, uri: String) {
    self.id = id
    self.uri = uri
  }

  /// The folder for the plugin's state.
  package var stateFolder: String { state ?? "plugins/\(id).lv2" }

  package static let fields: [Field<Self>] = [
    Field(
      "id", \.id, .text(.id), "Id, unique in the session. It names the folder of the state.",
      isRequired: true, synonyms: ["name"]),
    Field(
      "uri", \.uri, .text(.plugin), "The LV2 plugin: its URI, the end of that, or its name.",
      isRequired: true,
      synonyms: ["plugin", "url"]),
    Field("preset", \.preset, .text(.uri), "URI of the preset that is loaded first."),
    Field(
      "state", \.state, .text(.pathWritten),
      "Folder of the saved LV2 state, inside the session's folder. It is loaded after the preset."),
    Field(
      "parameters", \.parameters,
      .table(keys: .symbol, of: .parameter, upTo: 4096),
      "Values of controls by symbol, and of parameters by URI. They are set last.",
      synonyms: ["controls", "values"]),
    Field(
      "soundFont", \.soundFont, .text(.path),
      "Path of the SoundFont of the plugin urn:cuejack:plugins:soundfont. Default: that of its state, or the system's.",
      synonyms: ["soundfont"]),
    Field(
      "impulse", \.impulse, .text(.path),
      "Path of the impulse response of the plugin urn:cuejack:plugins:convolver. Default: that of its state, or none.",
      synonyms: ["response"]),
    Field("bypass", \.bypass, .flag, "Whether the plugin is bypassed."),
    Field(
      "isolate", \.isolate, .flag, "Whether the plugin runs in a process of its own.",
      synonyms: ["isolated"]),
    Field(
      "trust", \.trust, .flag,
      "Whether that process may use the network, programs and all files of its user.",
      synonyms: ["trusted"]),
  ]
  package static let shape = RecordShape("plugin", fields.map(\.shape))
}
