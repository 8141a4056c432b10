import System

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
