import CJack
import CRealTime
import FoundationEssentials
import Glibc
import Logging
import RealTime
import System

/// A JACK server: jackd, or PipeWire in its place.
package struct JackServer: Server {
  /// The requested name; nil for the default server.
  package let requestedName: String?
  /// Name of the media that the clients play or record, such as a file name; nil if unknown.
  private let mediaName: String?
  /// The property `urn:cuejack:connections` that new clients get; nil for none.
  package var claim: ConnectionClaim?
  /// Identifier under which a session manager saved the next client; nil if none did.
  var sessionID: String?
  private var isForQuestions = false

  package var forQuestions: any Server {
    var server = self
    server.isForQuestions = true
    return server
  }

  /// Seconds that a question and other calls wait for a server that does not read their request. One that begins
  /// reads none yet, nor does one that waits for clients that have gone, for five seconds each.
  static let (questionSeconds, callSeconds) = (0.7, 20.0)

  /// Creates a reference to the server called `name`, which must be running. Nil is the default
  /// server, which is started if it does not run.
  package init(named name: String? = nil, for mediaName: String? = nil) {
    requestedName = name
    self.mediaName = mediaName
  }

  /// The name by which JACK finds the server.
  package var name: String {
    if let requestedName { return requestedName }
    return unsafe getenv("JACK_DEFAULT_SERVER").map { unsafe String(cString: $0) } ?? "default"
  }

  /// True if a server of this name answers now.
  package var isRunning: Bool {
    Self.quietLibrary
    IdleClients.makeWay(for: name)
    JackClient.awaitClosingOfLost()
    let client = JackLibrary.alone {
      try? attempt(ClientName("cuejack-probe"), on: name, unread: Self.callSeconds)
    }
    guard let client, let client else { return false }
    return client.close()
  }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    Self.quietLibrary
    let server = self.name
    // A client that exits unlinks the socket of its name, which is the server's socket if the names
    // are equal.
    let wanted = ClientName(name == server ? name + "-client" : name)
    if isForQuestions {
      if SilentServers.contains(server) { throw .noAnswer(server: server) }
      if JackLibrary.isStuck { throw .libraryWaits }
    }
    IdleClients.makeWay(for: server)
    JackClient.awaitClosingOfLost()
    let result = JackLibrary.alone(isQuestion: isForQuestions) {
      () -> Result<JackClient, ServerError> in
      do throws(ServerError) {
        return .success(try open(wanted, on: server))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .libraryWaits }
    let client = try result.get()
    tell(name, client)
    if let claim { client.set(claim) }
    return client
  }

  package func reopenClient(named name: String) -> (any ServerClient)? {
    JackClient.awaitClosingOfLost()
    let server = self.name
    let client = JackLibrary.alone {
      let client = try? attempt(ClientName(name), on: server, unread: Self.questionSeconds)
      if let client { StartedServer.ours(named: server)?.adopt(client) }
      return client
    }
    guard let client, let client else { return nil }
    tell(name, client)
    if let claim { client.set(claim) }
    return client
  }

  /// Logs a notice if a client's name differs from the requested one by more than a number.
  private func tell(_ name: String, _ client: JackClient) {
    if client.name == name { return }
    let rest = client.name.hasPrefix("\(name)-") ? client.name.dropFirst(name.count + 1) : ""
    let isNumbered = !rest.isEmpty && rest.allSatisfy(\.isNumber)
    log.log(
      level: isNumbered ? .debug : .notice,
      "the client name “\(name)” is taken or too long: the client is called “\(client.name)”")
  }

  private func open(_ name: ClientName, on server: String) throws(ServerError) -> JackClient {
    let unread = isForQuestions ? Self.questionSeconds : Self.callSeconds
    if let client = try attempt(name, on: server, unread: unread) {
      StartedServer.ours(named: server)?.adopt(client)
      return client
    }
    if let requestedName { throw .unknownServer(requestedName) }
    if unsafe getenv("JACK_NO_START_SERVER") != nil { throw .notRunning(server) }
    if PipeWire.isLibrary { throw .pipeWireNotRunning(socket: PipeWire.socketPath) }
    if isPipeWireInstead {
      guard PipeWire.join() else { throw .pipeWireRuns }
      return try open(name, on: server)
    }
    let started = try StartedServer.start(named: server)
    let deadline = HostTime.now + 20_000_000_000
    while true {
      let isOver = started.isOver
      if let client = try attempt(name, on: server, unread: Self.callSeconds) {
        // If this jackd exited because another process started one first, that one serves as well.
        if !started.isOver { started.adopt(client) }
        return client
      }
      // A server that another program has just started refuses clients until its first cycle.
      if isOver, !started.lastWords.contains("already active") {
        throw .jackdFailed(started.lastWords)
      }
      if HostTime.now > deadline {
        started.end()
        throw .jackdFailed("it does not answer. \(started.lastWords)")
      }
      usleep(20_000)
    }
  }

  /// True if PipeWire should be used instead of starting a jackd. Its daemon runs, its JACK library
  /// is installed, this process uses another library, and no jackd was requested.
  var isPipeWireInstead: Bool {
    if PipeWire.isLibrary || requestedName != nil
      || environmentVariable("JACK_DEFAULT_SERVER") != nil
      || environmentVariable("JACK_NO_START_SERVER") != nil
    {
      return false
    }
    return PipeWire.isRunning && PipeWire.launcher != nil
  }

  /// The program that must run this one so that it reaches PipeWire; nil if a jackd runs or will be
  /// started.
  package var launcher: String? { isPipeWireInstead && !isRunning ? PipeWire.launcher : nil }

  /// Opens a client; returns nil if no server runs. Call under `JackLibrary.alone`.
  private func attempt(_ name: ClientName, on server: String, unread: Double) throws(ServerError)
    -> JackClient?
  {
    if let inUse = JackClient.serverInUse(otherThan: server) {
      throw .otherServer(server, inUse: inUse)
    }
    let others = JackConnection.all(to: server)
    var (opened, status) = try open(name.text, others, on: server, unread: unread)
    if status.rawValue & JackServerFailed.rawValue != 0 { return nil }
    let refusal = status
    // jackd numbers names up to 99, and PipeWire does not number them.
    var requested = name.text
    for _ in 0..<10 {
      // A session manager has reserved the name of a client that it saved.
      if let opened, sessionID != nil || !opened.shares(requested) { break }
      // A refused client needs a probe client that asks which names are free.
      var probe = opened
      if probe == nil {
        probe = try open("cuejack-probe", others, on: server, unread: unread).client
      }
      guard let asked = probe else { break }
      let free = opened != nil || asked.finds(name.text) ? name.free(by: asked) : nil
      asked.close()
      opened = nil
      guard let free else { break }
      requested = free
      (opened, status) = try open(free, others, on: server, unread: unread)
    }
    guard let opened else {
      throw .cannotOpenClient(
        name: name.text, server: server, reason: Self.reason(of: refusal, server))
    }
    let own = JackConnection.all(to: server).subtracting(others)
    return JackClient(
      opened, serverName: server, connection: own.count == 1 ? own.first : nil)
  }

  /// Opens a client. Gives up if the server reads no request for `unread` seconds, or does not answer for 20.
  ///
  /// - Parameter others: Connections that existed before.
  func open(_ name: String, _ others: Set<JackConnection>, on server: String, unread: Double)
    throws(ServerError) -> (client: OpenedClient?, status: jack_status_t)
  {
    // JACK's library waits without a limit for room in the queue of a server that accepts nothing.
    if SilentServers.isNoted(server), let path = Self.sockets[server], !LocalSocket.accepts(path) {
      SilentServers.note(server)
      throw .noAnswer(server: server)
    }
    var status = jack_status_t(0)
    let left = LeaveFlag()
    let connections = { @Sendable in JackConnection.all(to: server).subtracting(others) }
    let client = limited(to: 20, unread: unread, on: connections) {
      log.warning("the JACK server “\(server)” does not answer: no client is opened there")
      left.set()
      for connection in connections() { connection.breakOff() }
    } _: {
      PipeWire.withProperties(mediaName.map { [("media.name", $0)] } ?? []) {
        unsafe cue_jack_client_open_again(
          name, requestedName, sessionID, left.pointer, &status
        ).map { unsafe OpenedClient(handle: $0) }
      }
    }
    if client == nil && left.isSet {
      SilentServers.note(server)
      throw .noAnswer(server: server)
    }
    SilentServers.forget(server)
    return (client, status)
  }

  /// Device time base that all PipeWire clients of this process share. Never freed.
  nonisolated(unsafe) static let timeBase: UnsafeMutablePointer<TimeBase> = {
    let base = UnsafeMutablePointer<TimeBase>.allocate(capacity: 1)
    unsafe base.initialize(to: TimeBase())
    return unsafe base
  }()

  /// Number of clients of a jackd beyond which it opens no other.
  private static let mostClients = 250

  /// Returns the number of clients of a jackd of this user: each has a semaphore.
  private static func clientCount(of server: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
    return names.count { $0.hasPrefix("jack_sem.\(getuid())_\(server)_") }
  }

  private static func reason(of status: jack_status_t, _ server: String) -> String {
    if let limit = LockedMemoryLimit.isReached { return limit }
    let count = clientCount(of: server)
    if count >= mostClients { return "the server is full: it has \(count) clients" }
    let reasons: [(JackStatus, String)] = [
      (JackVersionError, "the server speaks another version of the protocol"),
      (JackShmFailure, "its shared memory cannot be reached"),
      (JackInvalidOption, "an option is invalid"),
      (JackInitFailure, "the client could not be initialised"),
      (JackNameNotUnique, "the name is taken"),
      (JackServerError, "the server could not be talked to"),
    ]
    let words = reasons.filter { status.rawValue & $0.0.rawValue != 0 }.map(\.1)
    return (words.isEmpty ? ["the server refused it"] : words).joined(separator: ", ")
  }

  /// Routes the JACK library's messages to the log instead of standard error.
  static let quietLibrary: Void = quietenLibrary()

  static func quietenLibrary() {
    unsafe jack_set_error_function { text in
      if let text = unsafe text { log.debug("libjack: \(unsafe String(cString: text))") }
    }
    unsafe jack_set_info_function { text in
      if let text = unsafe text { log.debug("libjack: \(unsafe String(cString: text))") }
    }
  }
}
