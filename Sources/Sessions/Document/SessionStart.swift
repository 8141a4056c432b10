/// Position on the session's timeline at which a track starts.
package enum SessionStart: SessionValue {
  case frame(Int64)
  case seconds(Double)
  /// A beat, from 0 on.
  case beat(Double)

  private static func field(_ key: String, _ shape: SessionShape, _ summary: String) -> FieldShape {
    FieldShape(
      key: key, shape: shape, isRequired: false, absent: nil, summary: summary, synonyms: [])
  }
  static let shape = SessionShape.choice([
    field("frame", .frame, "Frame of the timeline, at the server's rate."),
    field("seconds", .seconds, "Seconds from the beginning of the timeline."),
    field("beat", .beat, "Beats from the beginning of the timeline, from 0 on."),
  ])

  /// Returns the position in seconds from the beginning of the timeline.
  ///
  /// - Parameter sampleRate: Frames per second of the timeline.
  package func seconds(sampleRate: Double, tempo: SessionTransport) -> Double {
    switch self {
    case .frame(let frame): Double(frame) / sampleRate
    case .seconds(let seconds): seconds
    case .beat(let beat): beat * 60 / tempo.bpm
    }
  }

  package init?(json: JSONValue) {
    guard let (key, value) = json.members?.first else { return nil }
    switch key {
    case "frame": self = .frame(value.int64 ?? 0)
    case "seconds": self = .seconds(value.double ?? 0)
    case "beat": self = .beat(value.double ?? 0)
    default: return nil
    }
  }

  package var json: JSONValue {
    switch self {
    case .frame(let frame): .table(["frame": .integer(frame)])
    case .seconds(let seconds): .table(["seconds": JSONValue(seconds)])
    case .beat(let beat): .table(["beat": JSONValue(beat)])
    }
  }
}
