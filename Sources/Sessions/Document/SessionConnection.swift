import System

/// A connection of two JACK ports, by their full names.
package struct SessionConnection: SessionRecord, Hashable {
  /// The output port.
  package var from = ""
  /// The input port.
  package var to = ""

  package init() {}

  package init(from: String, to: String) {
    self.from = from
    self.to = to
  }

  package static let fields: [Field<Self>] = [
    Field(
      "from", \.from, .text(.port), "Full name of the output port.", isRequired: true,
      synonyms: ["source"]),
    Field(
      "to", \.to, .text(.port), "Full name of the input port.", isRequired: true,
      synonyms: ["destination", "target"]),
  ]
  package static let shape = RecordShape("connection", fields.map(\.shape))
}
