import Glibc
import Server
import Synchronization
import System

/// What session managers ask of a running session.
extension RunningSession: JackManagedSession {
  package func open(_ project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {
    report.message("opening \(project.displayName)")
    try managing(.badProject) { session throws(SessionRunError) in
      try session.open(project)
    }
    report.progress(1)
  }

  package func `switch`(to project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {
    report.message("opening \(project.displayName)")
    try managing(.badProject) { session throws(SessionRunError) in
      session.close()
      try session.open(project)
    }
    report.progress(1)
  }

  package func save(_ report: ManagerReport) throws(ManagerError) {
    try managing(.general) { session throws(SessionRunError) in try session.save() }
  }

  package func quit() { askToQuit() }

  package var isDirty: Bool { hasEdits }

  private func open(_ project: ManagedProject) throws(SessionRunError) {
    let store = try SessionRunError.session { () throws(SessionError) in
      if unsafe access("\(project.path)/\(SessionStore.file)".systemName, F_OK) == 0 {
        return try SessionStore(opening: project.path)
      }
      return try SessionStore(
        creating: project.path, SessionDocument(name: project.displayName))
    }
    // Under a manager, only the document's connections are made.
    try open(store, clientName: project.clientID, connectsToCard: false)
  }

  /// Runs `body` on the session's thread, and turns its error into the manager's.
  private func managing(
    _ code: ManagerError.Code,
    _ body: @escaping @Sendable (RunningSession) throws(SessionRunError) -> Void
  ) throws(ManagerError) {
    do throws(SessionRunError) {
      try perform(body)
    } catch {
      throw ManagerError(code, "\(error)")
    }
  }

  /// The folder of the session inside a folder of JACK's session manager.
  package static let copyFolder = "session"

  package func saveCopy(in folder: String, isTemplate: Bool) throws(ManagerError) {
    try managing(.createFailed) { session throws(SessionRunError) in
      try session.copy(to: "\(folder)/\(Self.copyFolder)", isTemplate: isTemplate)
    }
  }

  /// Writes the session with absolute paths of its sounds and states of its own into a new folder.
  private func copy(to path: String, isTemplate: Bool) throws(SessionRunError) {
    let engine = try running()
    guard let store else { return }
    let target = try SessionRunError.session { () throws(SessionError) in
      try SessionFolder(creating: path)
    }
    var document = store.document
    for index in document.tracks.indices {
      document.tracks[index].files = document.tracks[index].files.map {
        target.name(for: store.folder.location(of: $0))
      }
    }
    // Recordings are sound: a template begins without them.
    if isTemplate {
      for index in document.recordings.indices { document.recordings[index].armed = false }
    }
    document = try engine.captured(document, into: target)
    let copy = document
    try SessionRunError.session { () throws(SessionError) in
      if try target.holds(SessionStore.file) {
        let old = try SessionStore(opening: path)
        try old.apply(.replace(copy.json))
        try old.save()
      } else {
        _ = try SessionStore(creating: path, copy)
      }
    }
  }

  package func restoreCommand(folder: String, clientID: String) -> [String] {
    var words = ["cuejack", "session", "run", "\(folder)\(Self.copyFolder)"]
    words += ["--no-connect", "--session-id", clientID]
    if let server = options.server.requestedName { words += ["--server", server] }
    if let name = options.clientName { words += ["--name", name] }
    if options.threads > 1 { words += ["--threads", "\(options.threads)"] }
    switch options.port {
    case 0?: break
    case let port?: words += ["--port", "\(port)"]
    case nil: words.append("--no-remote")
    }
    return words
  }
}
