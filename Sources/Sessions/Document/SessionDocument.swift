/// A session: tracks, buses, plugins, recordings, connections, controllers and start groups, as
/// `session.json` has them. A value without any connection to files or servers.
package struct SessionDocument: SessionRecord {
  /// The version of the file format that this code reads and writes.
  package static let currentVersion = 1

  package var version = currentVersion
  package var name = "Session"
  /// Frames per second that the session was made for; nil for any rate.
  package var sampleRate: Double?
  package var transport = SessionTransport()
  package var tracks: [SessionTrack] = []
  package var buses: [SessionBus] = []
  package var recordings: [SessionRecording] = []
  package var connections: [SessionConnection] = []
  package var controllers: [SessionMapping] = []
  package var groups: [SessionGroup] = []

  package init() {}

  package init(name: String) { self.name = name }

  package static let fields: [Field<Self>] = [
    Field(
      "version", \.version, .integer(1...Int64(currentVersion), unit: ""),
      "Version of the file format.", isRequired: true),
    Field("name", \.name, .text(.name), "Name of the session.", synonyms: ["title"]),
    Field(
      "sampleRate", \.sampleRate, .number(1000...1_000_000, unit: "Hz"),
      "Sample rate that the session was made for. Without it, any rate is right.",
      synonyms: ["rate"]),
    Field(
      "transport", \.transport, .record(SessionTransport.shape), "JACK's transport and the tempo.",
      synonyms: ["tempo"]),
    Field(
      "tracks", \.tracks, .list(of: .record(SessionTrack.shape), upTo: 1024),
      "Sound files that are played."),
    Field(
      "buses", \.buses, .list(of: .record(SessionBus.shape), upTo: 256),
      "Mixers that add tracks and other buses.", synonyms: ["mixers"]),
    Field(
      "recordings", \.recordings, .list(of: .record(SessionRecording.shape), upTo: 256),
      "Sound files that are recorded.", synonyms: ["records", "inputs"]),
    Field(
      "connections", \.connections, .list(of: .record(SessionConnection.shape), upTo: 4096),
      "Connections of JACK ports.", synonyms: ["patches", "wires"]),
    Field(
      "controllers", \.controllers, .list(of: .record(SessionMapping.shape), upTo: 1024),
      "MIDI controllers that move values.", synonyms: ["maps", "midi", "mappings"]),
    Field(
      "groups", \.groups, .list(of: .record(SessionGroup.shape), upTo: 256),
      "Tracks that start on one frame.", synonyms: ["startgroups"]),
  ]
  package static let shape = RecordShape("session", fields.map(\.shape))

  /// Returns the name of the JACK client of a session with a name, which the document's connections have.
  package static func clientName(for name: String) -> String {
    var name = name.replacing(":", with: "_")
    while name.utf8.count > 59 { name.removeLast() }
    return name
  }

  /// Returns the part of port names before the number, for a track or bus with a name.
  package static func portStem(for name: String) -> String {
    var stem = name.replacing(":", with: "_")
    while stem.utf8.count > 100 { stem.removeLast() }
    return stem
  }

  /// Returns whether a track is silent: it is muted, or others have solo and it does not.
  package func isSilent(_ track: SessionTrack) -> Bool {
    track.mute || !track.solo && tracks.contains { $0.solo }
  }

  /// Returns the document with the recordings armed as in another one, which has the same recordings.
  package func armed(as other: SessionDocument) -> SessionDocument {
    var document = self
    for index in recordings.indices where other.recordings.indices.contains(index) {
      document.recordings[index].armed = other.recordings[index].armed
    }
    return document
  }

  /// The plugins of all chains with their paths.
  package var plugins: [(path: SessionPath, plugin: SessionPlugin)] {
    var found: [(SessionPath, SessionPlugin)] = []
    let chains =
      tracks.enumerated().map { (SessionPath([.key("tracks"), .index($0)]), $1.chain) }
      + buses.enumerated().map { (SessionPath([.key("buses"), .index($0)]), $1.chain) }
    for (path, chain) in chains {
      for (index, plugin) in chain.enumerated() {
        found.append((path.appending(key: "chain").appending(index: index), plugin))
      }
    }
    return found
  }
}

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

/// A sound file, or several in a row without gaps, that the session plays.
package struct SessionTrack: SessionRecord {
  package var name = ""
  /// Paths, relative to the session's folder or absolute. They play one after another.
  package var files: [String] = []
  /// Gain in dB.
  package var volume = 0.0
  package var mute = false
  package var solo = false
  /// Speed at the same pitch, as a factor.
  package var rate = 1.0
  /// Pitch shift at the same speed, in cents.
  package var pitch = 0.0
  /// Balance from -1, left, to 1, right.
  package var pan = 0.0
  /// Durations in seconds.
  package var fadeIn = 0.0
  package var fadeOut = 0.0
  /// The part of the sound that plays, in seconds from the beginning of the first file; nil for the
  /// end of the last file.
  package var trimStart = 0.0
  package var trimEnd: Double?
  package var loop = false
  /// Position of the first frame on the session's timeline.
  package var start = SessionStart.frame(0)
  package var chain: [SessionPlugin] = []
  /// Name of the bus that receives the track; nil if it has JACK ports of its own.
  package var bus: String?
  /// JACK ports that the track's own ports are connected to, in order: none if the list is empty, those of the
  /// sound card without one.
  package var ports: [String]?

  package init() {}

  package init(name: String, files: [String]) {
    self.name = name
    self.files = files
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the tracks.", isRequired: true),
    Field(
      "file", \.files, .texts(.path, upTo: 4096),
      "Path of the sound file, or a list of paths of files that play in a row without a gap.",
      isRequired: true, synonyms: ["files", "path"]),
    Field(
      "gain", \.volume, .decibels, "Gain in dB.", synonyms: ["level", "db"], earlierKey: "volume"),
    Field("mute", \.mute, .flag, "Whether the track is silent.", synonyms: ["muted"]),
    Field(
      "solo", \.solo, .flag, "Whether all tracks without solo are silent.", synonyms: ["soloed"]),
    Field(
      "rate", \.rate, .number(0.5...2, unit: "times"), "Speed at the same pitch.",
      synonyms: ["speed"]),
    Field(
      "pitch", \.pitch, .number(-2400...2400, unit: "cents"),
      "Pitch shift in cents at the same speed."),
    Field(
      "pan", \.pan, .number(-1...1, unit: ""), "Balance from -1, left, to 1, right.",
      synonyms: ["balance"]),
    Field("fadeIn", \.fadeIn, .seconds, "Duration of the fade-in in seconds."),
    Field("fadeOut", \.fadeOut, .seconds, "Duration of the fade-out in seconds."),
    Field(
      "trimStart", \.trimStart, .seconds,
      "Start of the part to play, in seconds from the beginning of the sound."),
    Field(
      "trimEnd", \.trimEnd, .seconds,
      "End of the part to play, in seconds from the beginning of the sound.", synonyms: ["end"]),
    Field("loop", \.loop, .flag, "Whether the part repeats without a gap.", synonyms: ["repeat"]),
    Field(
      "start", \.start, SessionStart.shape,
      "Position of the first frame on the session's timeline, as a frame, in seconds or in beats.",
      synonyms: ["at", "offset"]),
    Field(
      "chain", \.chain, .plugins, "Plugins that process the track, in order.",
      synonyms: ["plugins", "effects"]),
    Field(
      "bus", \.bus, .text(.name),
      "Name of the bus that receives the track. Without it, the track has JACK ports of its own.",
      synonyms: ["output", "mixer"]),
    Field(
      "ports", \.ports, .ports,
      "JACK ports that the track's own ports are connected to, in order. An empty list connects none; without "
        + "a list, the ports go to the sound card.", synonyms: ["connect"]),
  ]
  package static let shape = RecordShape("track", fields.map(\.shape))
}

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
