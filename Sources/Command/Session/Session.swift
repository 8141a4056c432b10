import ArgumentParser
import Sessions
import System

/// `cuejack session`: commands for sessions in folders.
struct Session: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session", abstract: "Make, edit, check, draw, run and render sessions.",
    discussion: """
      A session is a folder with the file session.json: tracks, buses, plugins, recordings, connections of \
      JACK ports, MIDI controllers and start groups. The file may be written by hand, in JSON5. Edits that \
      were not saved when a program ended are in session.journal, and are restored.
      """
        + examples(
          "cuejack session new duo drums.wav bass.aiff",
          "cuejack session run duo --play"),
    subcommands: [
      NewSession.self, AddToSession.self, SetInSession.self, CheckSession.self, ShowSession.self,
      CollectSession.self, RunSession.self, SaveSession.self, ShowJournal.self,
      RevertSession.self, RenderSession.self,
    ])

  /// Runs `body`. Prints its error, a line for each fault, and ends the command.
  static func telling<R>(_ body: () throws(SessionError) -> R) throws -> R {
    do throws(SessionError) {
      return try body()
    } catch {
      for line in error.description.split(separator: "\n") { Screen.shared.remark(String(line)) }
      throw ExitCode.failure
    }
  }

  /// Opens a session for editing, and prints what is not saved: that stays so.
  static func open(_ folder: String) throws -> SessionStore {
    let store = try telling { () throws(SessionError) in
      try SessionStore(opening: folder, savesAll: false)
    }
    for notice in store.notices { Screen.shared.remark(notice) }
    return store
  }
}

extension SessionFolder {
  /// Returns how the document should name a file that the user gave relative to the current folder.
  func name(ofGiven path: String) -> String {
    let absolute = path.isAbsolutePath ? path : "\(currentFolder ?? "")/\(path)"
    // Links are resolved up to the file itself, as in the path of the session's folder.
    guard let parent = resolvedPath(String(absolute.pathFolder)) else {
      return name(for: absolute)
    }
    return name(for: "\(parent)/\(absolute.pathFile)")
  }
}

extension SessionDocument {
  /// Returns a name for a track that plays a file: the file's, with a number if another track has
  /// it.
  func trackName(for path: String) -> String {
    var name = String(printable(String(fileName(path).pathStem)).prefix(60))
    if name.isEmpty { name = "track" }
    let known = Set(tracks.map { Name($0.name) })
    guard known.contains(Name(name)) else { return name }
    return (2...).lazy.map { "\(name)-\($0)" }.first { !known.contains(Name($0)) } ?? name
  }
}
