import Logging
package import Server
import Sessions
import Synchronization
import System

/// A session that JACK's session API saves: what `JackSession` calls besides `quit()`.
package protocol JackManagedSession: ManagedSession {
  /// Saves the session into a folder that is its own, with all that is needed to open it from there: files from
  /// elsewhere by their absolute paths. A template is saved without sound. The session's own path does not
  /// change. Runs on a thread of the manager's, and may take a while.
  func saveCopy(in folder: String, isTemplate: Bool) throws(ManagerError)
  /// Returns the words of the command that opens such a copy again. `folder` and `clientID` must be in
  /// them. `folder` is a text that stands for the folder, with a slash at its end.
  func restoreCommand(folder: String, clientID: String) -> [String]
}

/// The client side of JACK's session API: a JACK client without ports that saves the session when a
/// session manager asks for it.
///
/// JACK's notification thread hands an event over to the thread `cuejack-manager`, which replies within
/// `patience` in any case: jackd serves no other session event before. When the server goes away, that thread
/// closes the client, so that no other client of the process waits for it or is destroyed with it: see
/// `JackClient.awaitClosingOfLost()`. It opens another one when the server is back.
package final class JackSession: Sendable {
  /// The events that wait, and whether the thread is to end or has ended.
  private struct Status {
    var events: [JackSessionClient.Event] = []
    var isOver = false
    var hasEnded = false
    /// True while the session saves.
    var isSaving = false
    /// True from the loss of the server until there is another client.
    var isLost = false
    /// True once a warning has said that no other client can be opened. Attempts go on without another one.
    var hasWarned = false
  }
  private enum Task {
    case event(JackSessionClient.Event)
    /// The server is away.
    case loss
    case end
  }

  private let status: Monitor<Status>
  private let client: Mutex<JackSessionClient>
  private let session: any JackManagedSession
  private let patience: Double

  /// The name that the server gave the client.
  package var name: String { client.withLock { $0.name } }
  /// False if the server has no session API, as PipeWire: nothing is saved then, and that is no error.
  package var isSupported: Bool { client.withLock { $0.hasSessions } }

  /// Opens the client.
  ///
  /// - Parameters:
  ///   - name: The name to ask for.
  ///   - sessionID: The client ID of the command that restored the session; nil for another start.
  ///   - patience: Seconds that a save may take. Longer ones are replied to as failed, and go on.
  ///   - isServerBack: Whether a server that went away is there again. Any thread.
  package init(
    _ session: any JackManagedSession, named name: String, on server: JackServer,
    sessionID: String? = nil, patience: Double = 10,
    isServerBack: @escaping @Sendable () -> Bool = { false }
  ) throws(ServerError) {
    self.session = session
    self.patience = patience
    let status = Monitor(Status())
    self.status = status
    let first = try Self.open(name, server, sessionID, status)
    client = Mutex(first)
    if !first.hasSessions {
      log.info("the JACK server “\(server.name)” has no session API")
    }
    startThread(named: "cuejack-manager") { [weak self, status, session, patience] in
      while true {
        switch Self.nextTask(status) {
        case .event(let event):
          if Self.handle(event, status, session, patience), event.request == .saveAndQuit {
            session.quit()
          }
        case .loss: self?.follow(server, isServerBack)
        case .end: return status.change { $0.hasEnded = true }
        }
      }
    }
  }

  deinit { end() }

  /// Replies to all events and closes the client. May be called more than once.
  package func end() {
    status.change { $0.isOver = true }
    status.wait { $0.hasEnded ? () : nil }
    client.withLock { $0.close() }
  }

  private static func open(
    _ name: String, _ server: JackServer, _ sessionID: String?, _ status: Monitor<Status>
  ) throws(ServerError) -> JackSessionClient {
    try JackSessionClient(
      named: name, on: server, sessionID: sessionID,
      // An event that is not appended is replied to with an error when it is freed.
      onEvent: { event in status.change { if !$0.isOver { $0.events.append(event) } } },
      onLoss: { status.change { $0.isLost = true } })
  }

  /// Waits for the next task. The thread `cuejack-manager`.
  private static func nextTask(_ status: Monitor<Status>) -> Task {
    status.wait { status -> Task? in
      if !status.events.isEmpty { return .event(status.events.removeFirst()) }
      if status.isOver { return .end }
      return status.isLost ? .loss : nil
    }
  }

  /// Closes the client of a server that has gone, and opens another one once a server is back. The thread
  /// `cuejack-manager`.
  private func follow(_ server: JackServer, _ isServerBack: () -> Bool) {
    let name = self.name
    client.withLock { $0.close() }
    // Nobody tells when the server is back.
    if status.wait(seconds: 0.2, for: { $0.isOver ? () : nil }) != nil || !isServerBack() { return }
    status.change { $0.isLost = false }
    do throws(ServerError) {
      // The number under which a manager saved the session was the old server's.
      let next = try Self.open(name, server, nil, status)
      client.withLock { $0 = next }
      status.change { $0.hasWarned = false }
    } catch {
      let isNews = status.change { status in
        defer { (status.isLost, status.hasWarned) = (true, true) }
        return !status.hasWarned
      }
      if isNews { log.warning("\(error): JACK's session manager cannot save the session") }
    }
  }

  /// Saves, and replies to an event.
  ///
  /// - Returns: True if the session was saved, and the manager knows.
  private static func handle(
    _ event: JackSessionClient.Event, _ status: Monitor<Status>, _ session: any JackManagedSession,
    _ patience: Double
  ) -> Bool {
    let command = session.restoreCommand(folder: folder, clientID: event.clientID)
    let line = commandLine(command, for: event.folder)
    do throws(ManagerError) {
      try check(line, clientID: event.clientID)
      try save(event, status, session, patience)
      return event.reply(commandLine: line, hasFailed: false)
    } catch {
      log.error("the session is not saved for the JACK session manager: \(error)")
      let isShort = line.utf8.count <= JackSessionClient.Event.mostBytes
      event.reply(commandLine: isShort ? line : "", hasFailed: true)
      return false
    }
  }

  /// Saves on a thread of its own, and waits for it until `patience` is over.
  private static func save(
    _ event: JackSessionClient.Event, _ status: Monitor<Status>, _ session: any JackManagedSession,
    _ patience: Double
  ) throws(ManagerError) {
    let isFree = status.change { status in
      defer { status.isSaving = true }
      return !status.isSaving
    }
    guard isFree else { throw ManagerError(.notNow, "an earlier save is still running") }
    let result = Monitor<Result<Void, ManagerError>?>(nil)
    let (folder, isTemplate) = (event.folder, event.request == .saveTemplate)
    startThread(named: "cuejack-work") {
      let outcome: Result<Void, ManagerError>
      do throws(ManagerError) {
        outcome = .success(try session.saveCopy(in: folder, isTemplate: isTemplate))
      } catch {
        outcome = .failure(error)
      }
      status.change { $0.isSaving = false }
      result.change { $0 = outcome }
    }
    let deadline = HostTime.now + UInt64(patience * 1e9)
    var outcome: Result<Void, ManagerError>?
    while outcome == nil, HostTime.now < deadline, !status.read({ $0.isOver || $0.isLost }) {
      outcome = result.wait(seconds: 0.1) { $0 }
    }
    guard let outcome else {
      throw ManagerError(
        .general,
        "\(event.folder): the session ends, the server has gone, or the save took longer than \(patience) seconds"
      )
    }
    try outcome.get()
  }
}

// MARK: The command line

extension JackSession {
  /// What stands for the session's folder in a command line. The manager's shell replaces it.
  package static let folder = "${SESSION_DIR}"

  /// Characters that need no quotation marks.
  private static let plain = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%")

  /// Returns words as a command line for the shell. Only `${SESSION_DIR}` is left for the shell to
  /// replace.
  ///
  /// qjackctl has no shell: it replaces `${SESSION_DIR}` and splits the line at its spaces. A word without
  /// need of them has no quotation marks, therefore.
  ///
  /// - Parameter place: The folder that replaces `${SESSION_DIR}`.
  package static func commandLine(_ words: [String], for place: String) -> String {
    words.map { quoted($0, place) }.joined(separator: " ")
  }

  private static func quoted(_ word: String, _ place: String) -> String {
    let replaced = word.replacing(folder, with: place)
    if !word.isEmpty, replaced.allSatisfy({ plain.contains($0) }) { return word }
    if !word.contains(folder) { return "'" + word.replacing("'", with: #"'\''"#) + "'" }
    let parts = word.split(separator: folder, omittingEmptySubsequences: false).map { part in
      part.map { #"\"$`"#.contains($0) ? #"\\#($0)"# : "\($0)" }.joined()
    }
    return "\"" + parts.joined(separator: folder) + "\""
  }

  /// Returns the words of a command line that a manager without a shell has split at its spaces: words
  /// between quotation marks are joined, and the marks are left out.
  package static func joined(_ pieces: [String]) -> [String] {
    var words: [String] = []
    var rest = pieces[...]
    while let piece = rest.popFirst() {
      guard let mark = piece.first, mark == "\"" || mark == "'" else {
        words.append(piece)
        continue
      }
      var word = piece
      while word.count == 1 || word.last != mark, let next = rest.popFirst() { word += " " + next }
      word = String(word.dropFirst().dropLast(word.count > 1 && word.last == mark ? 1 : 0))
      words.append(
        mark == "'"
          ? word.replacing(#"'\''"#, with: "'") : word.replacing(/\\(["\\$`])/) { $0.output.1 })
    }
    return words
  }

  /// Checks what JACK asks of a command line.
  private static func check(_ line: String, clientID: String) throws(ManagerError) {
    let most = JackSessionClient.Event.mostBytes
    guard line.utf8.count <= most else {
      throw ManagerError(
        .general, "the command line “\(line)” has \(line.utf8.count) bytes, and JACK takes \(most)")
    }
    guard line.contains(folder), line.contains(clientID), !line.utf8.contains(0) else {
      throw ManagerError(.general, "the command line “\(line)” lacks \(folder) or “\(clientID)”")
    }
  }
}
