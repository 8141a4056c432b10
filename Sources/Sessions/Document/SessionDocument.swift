/// A session: tracks, buses, sends, plugins, recordings, connections, controllers, start groups, scenes and automation, as
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
  package var sends: [SessionSend] = []
  package var recordings: [SessionRecording] = []
  package var connections: [SessionConnection] = []
  package var controllers: [SessionMapping] = []
  package var groups: [SessionGroup] = []
  package var scenes: [SessionScene] = []
  package var automation: [SessionCurve] = []

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
      "sends", \.sends, .list(of: .record(SessionSend.shape), upTo: 64),
      "Buses that are sent to other machines.", synonyms: ["network", "receivers"]),
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
    Field(
      "scenes", \.scenes, .list(of: .record(SessionScene.shape), upTo: 256),
      "Values that are recalled together.", synonyms: ["snapshots", "cues"]),
    Field(
      "automation", \.automation, .list(of: .record(SessionCurve.shape), upTo: 4096),
      "Values that follow curves over the timeline.", synonyms: ["curves", "envelopes", "lanes"]),
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

  /// The SoundFonts of tracks and plugins, each with the path of the value.
  package var soundFonts: [(path: SessionPath, file: String)] {
    let all =
      tracks.enumerated().map { (SessionPath([.key("tracks"), .index($0)]), $1.soundFont) }
      + plugins.map { ($0.path, $0.plugin.soundFont) }
    return all.compactMap { path, file in file.map { (path.appending(key: "soundFont"), $0) } }
  }

  /// The impulse responses of plugins, each with the path of the value.
  package var impulses: [(path: SessionPath, file: String)] {
    plugins.compactMap { path, plugin in
      plugin.impulse.map { (path.appending(key: "impulse"), $0) }
    }
  }
}
