import ArgumentParser
import PluginHost
import Sessions
import System

/// Options for new tracks of `cuejack session new` and `add`.
struct TrackOptions: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Sound files, each for a track of its own.", valueName: "file"),
    completion: .soundFiles)
  var files: [String] = []

  @Flag(help: "Make one track, which plays the files in a row without a gap.")
  var row = false

  @Option(
    name: .customLong("with"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Set a value of each new track, such as gain=-6 or start.beat=4. Repeatable.",
      valueName: "key=value"))
  var values: [String] = []

  /// Checks that each file is a sound file, and that the values can be set in a document.
  func check(for document: SessionDocument) throws {
    for file in files {
      if let reason = SoundFiles.reasonAgainst(file) {
        Screen.shared.remark(reason)
        throw ExitCode.failure
      }
    }
    guard let file = files.first else { return }
    try Session.telling { () throws(SessionError) in
      _ = try edited(
        document, adding: SessionTrack(name: document.trackName(for: file), files: [file]))
    }
  }

  /// Returns a document with a track more, which has the values.
  private func edited(_ document: SessionDocument, adding track: SessionTrack)
    throws(SessionError) -> SessionDocument
  {
    var document = document
    document.tracks.append(track)
    for value in values {
      let path = SessionPath([.key("tracks"), .index(document.tracks.count - 1)])
      try document.apply(try SessionEdit(assignment: "\(path).\(value)", in: document))
    }
    return document
  }

  /// Adds the tracks, which have been checked.
  func add(to store: SessionStore) throws {
    for group in row && !files.isEmpty ? [files] : files.map({ [$0] }) {
      try Session.telling { () throws(SessionError) in
        let document = store.document
        let name = document.trackName(for: group[0])
        let files = group.map { store.folder.name(ofGiven: $0) }
        guard
          let track = try edited(document, adding: SessionTrack(name: name, files: files)).tracks
            .last
        else { return }
        try store.apply(.add(SessionPath([.key("tracks")]), track.json, at: nil))
        Screen.shared.say("\(track.name): \(files.joined(separator: ", "))")
      }
    }
  }
}

/// `cuejack session new`.
struct NewSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Make a session in a folder, with a track for each file.",
    discussion: """
      The folder is created if there is none. Files inside it, or near it, are named by relative paths.
      """
        + examples(
          "cuejack session new duo drums.wav bass.aiff --bpm 96",
          "cuejack session new set one.wav two.wav --row --with gain=-6"))

  @Option(help: "The session's name. Default: the folder's.")
  var name: String?

  @Option(help: ArgumentHelp("The sample rate that the session is made for.", valueName: "hertz"))
  var rate: Double?

  @Option(help: ArgumentHelp("The tempo.", valueName: "beats per minute"))
  var bpm: Double?

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  @OptionGroup var tracks: TrackOptions

  func validate() throws { try checkOnce(["--name", "--rate", "--bpm"]) }

  func run() throws {
    var document = SessionDocument(name: "session")
    try Session.telling { () throws(SessionError) in
      for (key, value) in [
        ("name", JSONValue.text(name ?? printable(fileName(folder)))),
        ("sampleRate", rate.map { JSONValue($0) } ?? .null),
        ("transport.bpm", bpm.map { JSONValue($0) } ?? .null),
      ] where value != .null {
        try document.apply(.set(try SessionPath(key), value))
      }
    }
    // A wrong file or value leaves no folder behind.
    try tracks.check(for: document)
    let store = try Session.telling { () throws(SessionError) in
      try SessionStore(creating: folder, document)
    }
    try tracks.add(to: store)
    try Session.telling { () throws(SessionError) in try store.save() }
    Screen.shared.say("\(store.folder.path)/\(SessionStore.file)")
  }
}
