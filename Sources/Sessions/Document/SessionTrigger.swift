package import System

/// The event that starts a group.
package enum SessionTrigger: SessionValue {
  /// Only the user starts the group.
  case manual
  /// A frame of JACK's frame time.
  case frame(Int64)
  /// Nanoseconds of CLOCK_MONOTONIC.
  case hostTime(Int64)
  /// An instant of UTC or TAI, the same on several machines.
  case wallTime(WallTime)
  /// A beat of JACK's transport, from 0 on.
  case beat(Double)
  /// JACK's transport starts to roll.
  case rolls
  case note(SessionMIDINumber)
  /// An OSC message with this address.
  case osc(String)

  private static func field(_ key: String, _ shape: SessionShape, _ summary: String) -> FieldShape {
    FieldShape(
      key: key, shape: shape, isRequired: false, absent: nil, summary: summary, synonyms: [])
  }
  static let shape = SessionShape.choice([
    field("manual", .flag, "Only the user starts the group. The value is true."),
    field("frame", .frame, "Frame of JACK's frame time."),
    field(
      "hostTime", .integer(0...(1 << 62), unit: "nanoseconds"), "Nanoseconds of CLOCK_MONOTONIC."),
    field("time", .text(.wallTime), "Instant of UTC or TAI, such as 2026-11-28T22:15:00Z."),
    field("beat", .beat, "Beat of JACK's transport, from 0 on."),
    field("rolls", .flag, "JACK's transport starts to roll. The value is true."),
    field("note", .text(.note), "MIDI note, such as 60 or 60@10."),
    field("osc", .text(.osc), "Address of an OSC message."),
  ])

  package init?(json: JSONValue) {
    guard let (key, value) = json.members?.first else { return nil }
    switch key {
    case "manual": self = .manual
    case "frame": self = .frame(value.int64 ?? 0)
    case "hostTime": self = .hostTime(value.int64 ?? 0)
    case "time":
      guard let text = value.string, let time = WallTime(text) else { return nil }
      self = .wallTime(time)
    case "beat": self = .beat(value.double ?? 0)
    // “false” is as good as no trigger.
    case "rolls": self = value == .flag(true) ? .rolls : .manual
    case "note":
      guard let note = SessionMIDINumber(json: value) else { return nil }
      self = .note(note)
    case "osc":
      guard let address = value.string else { return nil }
      self = .osc(address)
    default: return nil
    }
  }

  package var json: JSONValue {
    switch self {
    case .manual: .table(["manual": .flag(true)])
    case .frame(let frame): .table(["frame": .integer(frame)])
    case .hostTime(let time): .table(["hostTime": .integer(time)])
    case .wallTime(let time): .table(["time": .text(time.text)])
    case .beat(let beat): .table(["beat": JSONValue(beat)])
    case .rolls: .table(["rolls": .flag(true)])
    case .note(let note): .table(["note": note.json])
    case .osc(let address): .table(["osc": .text(address)])
    }
  }
}
