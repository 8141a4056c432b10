import System

/// A recording of JACK ports to a sound file.
package struct SessionRecording: SessionRecord {
  package var name = ""
  /// Output ports that are recorded, a channel each.
  package var ports: [String] = []
  /// Path of the sound file, inside the session's folder.
  package var file = ""
  /// Sample format or codec; nil for the container's usual one.
  package var format: String?
  /// Bits per sample, without a format or with a lossless codec.
  package var bits: Int?
  /// Whether the recording starts with the session.
  package var armed = false

  package init() {}

  package init(name: String, ports: [String], file: String) {
    self.name = name
    self.ports = ports
    self.file = file
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the recordings.", isRequired: true),
    Field(
      "ports", \.ports, .list(of: .text(.port), upTo: 256),
      "JACK output ports that are recorded, a channel each.", isRequired: true,
      synonyms: ["port", "connect"]),
    Field(
      "file", \.file, .text(.pathWritten),
      "Path of the sound file, inside the session's folder. Its extension selects the container.",
      isRequired: true, synonyms: ["path"]),
    Field(
      "format", \.format, .text(.format), "Sample format or codec, as in cuejack record --format."),
    Field(
      "bits", \.bits, .integer(8...32, unit: "bits"),
      "Bits per sample, without a format or with a lossless codec."),
    Field(
      "armed", \.armed, .flag, "Whether the recording starts with the session.",
      synonyms: ["record", "arm"]),
  ]
  package static let shape = RecordShape("recording", fields.map(\.shape))
}
