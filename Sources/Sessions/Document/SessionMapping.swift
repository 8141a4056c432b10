import System

/// A MIDI controller and the value of the session that it moves.
package struct SessionMapping: SessionRecord {
  /// The controller, such as `cc7@2`.
  package var controller = SessionController("cc0")!
  /// Path of the value.
  package var target = ""
  /// Values at the controller's lowest and highest position; nil for the ends of the target's
  /// range.
  package var low: Double?
  package var high: Double?

  package init() {}

  package init(_ controller: SessionController, to target: String) {
    self.controller = controller
    self.target = target
  }

  package static let fields: [Field<Self>] = [
    Field(
      "controller", \.controller, .text(.controller),
      "The controller: cc7, cc7@2 for channel 2 alone, or nrpn300@1.", isRequired: true,
      synonyms: ["cc", "source"]),
    Field(
      "target", \.target, .text(.target), "Path of the value, such as tracks[drums].gain.",
      isRequired: true, synonyms: ["to", "path"]),
    Field(
      "low", \.low, .number(-1e30...1e30, unit: ""),
      "Value at the controller's lowest position.", synonyms: ["min", "from"]),
    Field(
      "high", \.high, .number(-1e30...1e30, unit: ""),
      "Value at the controller's highest position.", synonyms: ["max"]),
  ]
  package static let shape = RecordShape("controller", fields.map(\.shape))
}
