package import System

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
      .numbers(keys: .symbol, -1e30...1e30, upTo: 4096),
      "Values of controls by symbol, and of parameters by URI. They are set last.",
      synonyms: ["controls", "values"]),
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

/// A mixer that adds tracks and other buses.
package struct SessionBus: SessionRecord {
  package var name = ""
  package var channels = 2
  /// Gain in dB.
  package var gain = 0.0
  package var mute = false
  package var chain: [SessionPlugin] = []
  /// Name of the bus that receives this one; nil if it has JACK ports of its own.
  package var bus: String?
  /// JACK ports that the bus's own ports are connected to, in order: none if the list is empty, those of the
  /// sound card without one.
  package var ports: [String]?

  package init() {}

  package init(name: String) { self.name = name }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the buses.", isRequired: true),
    Field("channels", \.channels, .integer(1...64, unit: "channels"), "Number of channels."),
    Field(
      "gain", \.gain, .decibels, "Gain in dB.", synonyms: ["level", "db"], earlierKey: "volume"),
    Field("mute", \.mute, .flag, "Whether the bus is silent.", synonyms: ["muted"]),
    Field(
      "chain", \.chain, .plugins, "Plugins that process the sum, in order.",
      synonyms: ["plugins", "effects"]),
    Field(
      "bus", \.bus, .text(.name),
      "Name of the bus that receives this one. Without it, the bus has JACK ports of its own.",
      synonyms: ["output", "mixer"]),
    Field(
      "ports", \.ports, .ports,
      "JACK ports that the bus's own ports are connected to, in order. An empty list connects none; without a "
        + "list, the ports go to the sound card.", synonyms: ["connect"]),
  ]
  package static let shape = RecordShape("bus", fields.map(\.shape))
}

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

/// Tracks that are armed together and start on one frame.
package struct SessionGroup: SessionRecord {
  package var name = ""
  /// Names of the tracks.
  package var tracks: [String] = []
  package var trigger = SessionTrigger.manual

  package init() {}

  package init(name: String, tracks: [String], trigger: SessionTrigger = .manual) {
    self.name = name
    self.tracks = tracks
    self.trigger = trigger
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the groups.", isRequired: true),
    Field(
      "tracks", \.tracks, .list(of: .text(.name), upTo: 1024), "Names of the tracks.",
      isRequired: true, synonyms: ["track", "members"]),
    Field(
      "trigger", \.trigger, SessionTrigger.shape,
      "Event that starts the group: the user, a frame, a time, a beat, the transport, a note or OSC.",
      synonyms: ["start", "at", "on"]),
  ]
  package static let shape = RecordShape("group", fields.map(\.shape))
}

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
  case note(SessionNote)
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
      guard let note = SessionNote(json: value) else { return nil }
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
