import System

/// The automation of a value: points over the timeline, and lines or steps between them.
package struct SessionCurve: SessionRecord {
  /// The course between two points.
  package enum Line: String, SessionWord {
    case linear, step
  }
  /// Path of the value, such as `tracks[drums].gain`.
  package var target = ""
  package var line = Line.linear
  package var points: [SessionPoint] = []

  package init() {}

  package init(_ target: String, _ points: [SessionPoint], _ line: Line = .linear) {
    self.target = target
    self.points = points
    self.line = line
  }

  package static let fields: [Field<Self>] = [
    Field(
      "target", \.target, .text(.target), "Path of the value, such as tracks[drums].gain.",
      isRequired: true, synonyms: ["to", "path"]),
    Field(
      "line", \.line, Line.shape,
      "Whether the value goes in a line to that of the next point, in the value's unit, or steps there.",
      synonyms: ["shape", "mode", "curve"]),
    Field(
      "points", \.points, .list(of: .record(SessionPoint.shape), upTo: 65536),
      "Points in the order of time. Before the first one the value is that of the first.",
      isRequired: true, synonyms: ["values"]),
  ]
  package static let shape = RecordShape("curve", fields.map(\.shape))
}

/// A point of a curve.
package struct SessionPoint: SessionRecord {
  package var at = SessionStart.seconds(0)
  package var value = SessionSetting.number(0)

  package init() {}

  package init(_ at: SessionStart, _ value: SessionSetting) {
    self.at = at
    self.value = value
  }

  package static let fields: [Field<Self>] = [
    Field(
      "at", \.at, SessionStart.shape, "Position on the timeline.", isRequired: true,
      synonyms: ["time", "position", "start"]),
    Field("value", \.value, .setting, "The value.", isRequired: true, synonyms: ["to"]),
  ]
  package static let shape = RecordShape("point", fields.map(\.shape))
}
