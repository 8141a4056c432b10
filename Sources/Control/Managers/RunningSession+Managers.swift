import Glibc
import Server
import Sessions
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
    do throws(SessionRunError) {
      for remark in try save() { report.message(remark, priority: 2) }
    } catch {
      throw ManagerError(.general, "\(error)")
    }
  }

  package func quit() { askToQuit() }

  package var isDirty: Bool { hasEdits }

  private func open(_ project: ManagedProject) throws(SessionRunError) {
    let store = try SessionRunError.session { () throws(SessionError) in
      if unsafe access("\(project.path)/\(SessionStore.file)".systemName, F_OK) == 0 {
        return try SessionStore(opening: project.path)
      }
      return try SessionStore(
        creating: project.path, SessionDocument(name: Self.name(for: project)))
    }
    // Under a manager, only the document's connections are made.
    try open(store, clientName: project.clientID, connectsToCard: false)
  }

  /// Returns the name of a new session: the one that people see at the manager, as far as a session can have
  /// it.
  static func name(for project: ManagedProject) -> String {
    func usable(_ text: String) -> String {
      var name = String(
        String.UnicodeScalarView(
          text.withLatin1.unicodeScalars.map { TextRule.hasControls(String($0)) ? " " : $0 }))
      while !TextRule.name.allows(name), !name.isEmpty { name.unicodeScalars.removeLast() }
      return name
    }
    let names = [project.displayName, project.clientID].map(usable)
    return names.first { $0.contains { $0 != " " } } ?? SessionDocument().name
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
    do throws(SessionRunError) {
      try copy(to: "\(folder)/\(Self.copyFolder)", isTemplate: isTemplate)
    } catch {
      throw ManagerError(.createFailed, "\(error)")
    }
  }

  /// Writes the session with absolute paths of its sounds and states of its own into a folder. An earlier copy
  /// there is replaced.
  private func copy(to path: String, isTemplate: Bool) throws(SessionRunError) {
    let opened = try present()
    let target = try SessionRunError.session { () throws(SessionError) in
      try SessionFolder(creating: path)
    }
    // A session that was restored from there is saved there again.
    if target.path == opened.store.folder.path {
      try save()
      return
    }
    try saving.withLock { _ throws(SessionRunError) in
      let remarks = try copy(opened, to: target, isTemplate: isTemplate)
      for remark in remarks { options.onMessage(remark) }
    }
  }

  private func copy(_ opened: Opened, to target: SessionFolder, isTemplate: Bool)
    throws(SessionRunError) -> [String]
  {
    let (source, engine) = (opened.store.folder, opened.engine)
    let old = try SessionRunError.session { () throws(SessionError) -> SessionStore? in
      if try target.holds(SessionStore.file) { return try SessionStore(opening: target.path) }
      // The rest of a first copy that was killed.
      target.removeFolder("plugins")
      return nil
    }
    let targets = try SessionRunError.session { () throws(SessionError) in
      let targets = try engine.stateTargets(of: opened.store.document, in: target)
      try old?.noteStates(
        targets.map(\.name) + (old?.document.plugins.compactMap(\.plugin.state) ?? []))
      return targets
    }
    do throws(SessionRunError) {
      let states = try StateCapture(targets, into: target, from: source)
      let copy = Mutex(SessionDocument())
      try perform { session throws(SessionRunError) in
        guard session.store === opened.store else {
          throw .refused("the session was closed while it was being saved")
        }
        var document = states.applied(to: opened.store.document)
        if engine.isLive { engine.capture(&document) }
        for index in document.tracks.indices {
          document.tracks[index].files = document.tracks[index].files.map {
            target.name(for: source.location(of: $0))
          }
        }
        // Recordings are sound: a template begins without them.
        if isTemplate {
          for index in document.recordings.indices { document.recordings[index].armed = false }
        }
        copy.withLock { $0 = document }
      }
      let document = copy.withLock { $0 }
      try SessionRunError.session { () throws(SessionError) in
        if let old {
          try old.save { _ in document }
        } else {
          _ = try SessionStore(creating: target.path, document)
        }
      }
      return states.remarks
    } catch {
      if let old {
        old.dropStates(targets.map(\.name))
      } else if (try? target.holds(SessionStore.file)) != true {
        target.removeFolder("plugins")
      }
      throw error
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
