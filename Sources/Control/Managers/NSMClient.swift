import Glibc
import Logging
import Sessions
import System

/// The client side of the New Session Manager's protocol, API 1.1: OSC over UDP.
///
/// The manager starts the program with NSM_URL in its environment. The program announces itself, and the
/// manager answers with `open` and any number of `save`; with `switch`, further `open`s. It ends the
/// program with SIGTERM, which the program handles itself: it calls `end()` and exits, in any state.
///
/// Source of the rules: the API page of New Session Manager, https://new-session-manager.jackaudio.org/api
package final class NSMClient: Sendable {
  /// How far the client has come with its manager.
  package enum State: Hashable, Sendable {
    /// Not announced yet.
    case idle
    /// Announced, and no answer yet.
    case announcing
    /// The manager does not answer, or refused the client. The program may run on without a manager:
    /// `cuejack session run` ends, because only the manager knows which session to open.
    case unmanaged(reason: String)
    /// The manager has accepted the client; no project is open.
    case managed
    /// `open`, `switch` or `save` of the session runs.
    case opening(ManagedProject)
    case switching(ManagedProject)
    case saving(ManagedProject)
    /// A project is open.
    case open(ManagedProject)
    /// The manager has gone. The project stays open.
    case managerGone
    /// `end()` was called.
    case ended

    /// The project that is open, or being opened or saved; nil if there is none.
    package var project: ManagedProject? {
      switch self {
      case .opening(let project), .switching(let project), .saving(let project),
        .open(let project):
        project
      default: nil
      }
    }
  }

  private struct Status {
    var state = State.idle
    /// The address from which the manager's messages come, as of its first reply.
    var source: OSCAddress?
    /// Name and capabilities of the manager, from its reply.
    var managerName = ""
    var managerCapabilities: Set<Substring> = []
    /// What `is_dirty` and `is_clean` said last.
    var toldDirty: Bool?
  }

  private let status = Monitor(Status())
  private let server: Monitor<OSCServer?>
  private let session: any ManagedSession
  private let manager: OSCAddress
  private let name: String
  private let executable: String
  private let onState: @Sendable (State) -> Void

  /// Seconds in which a manager must answer the announcement.
  package static let patience = 5.0

  /// The URL of the manager that started this program; nil if none did.
  package static var environmentURL: String? { environmentVariable("NSM_URL") }

  /// Creates a client of the manager at `url`. Nothing is sent yet.
  ///
  /// - Parameters:
  ///   - name: The program's name: what it would call its JACK client. No colon.
  ///   - executable: The name by which the program was started.
  ///   - onState: Takes each new state. Called on the client's threads.
  package init(
    _ session: any ManagedSession, name: String, url: String,
    executable: String = commandLine.first ?? "",
    onState: @escaping @Sendable (State) -> Void = { _ in }
  ) throws(OSCError) {
    self.session = session
    self.name = name
    self.executable = executable
    self.onState = onState
    manager = try OSCAddress(url: url)
    // A manager on another host must be able to answer, and no third host.
    let reach: OSCSocket.Reach =
      OSCSocket.isLocal(manager) ? .loopback : .host(manager.host)
    let socket = try OSCSocket(reach: reach)
    server = Monitor(nil)
    var handlers = OSCServer.Handlers { [weak self] bytes, source in
      self?.receive(bytes, from: source)
    }
    handlers.unreachable = { [weak self] address in self?.isUnreachable(address) }
    let started = try OSCServer(on: socket, named: "cuejack-nsm", handlers)
    server.change { $0 = started }
  }

  deinit { server.read { $0 }?.end() }

  package var state: State { status.read { $0.state } }

  /// The manager's name, for people; empty until it has answered.
  package var managerName: String { status.read { $0.managerName } }

  /// The capabilities that the announcement lists.
  package var capabilities: String {
    ":\(session.canSwitch ? "switch:" : "")dirty:progress:message:"
      + (session.isWindowShown == nil ? "" : "optional-gui:")
  }

  /// Announces the program and waits for the manager's answer. Call it once, when `open` can be served.
  ///
  /// If the manager does not answer or refuses, one log line says so, and nothing more is sent.
  ///
  /// - Returns: True if the manager has accepted the program, which must not open a JACK client before
  ///   `open` is called. If false, the caller runs without a manager or ends. False also for a second call.
  @discardableResult
  package func announce(patience: Double = patience) -> Bool {
    let isFirst = status.change { status in
      if status.state != .idle { return false }
      status.state = .announcing
      return true
    }
    guard isFirst else {
      log.error("the program announces itself to the session manager twice: refused")
      return false
    }
    onState(.announcing)
    send(
      "/nsm/server/announce", .string(name), .string(capabilities), .string(executable), .int(1),
      .int(1), .int(getpid()))
    let answer = status.wait(seconds: patience) { status in
      status.state == .announcing ? nil : status.state
    }
    if answer == nil { refuse("it does not answer in \(patience) seconds") }
    return isManaged
  }

  /// Ends all exchange with the manager. A message that runs meanwhile is not answered. Any thread,
  /// any state; returns at once if the session's functions wait.
  package func end() {
    move { $0.state = .ended }
    let running = server.change { server in
      defer { server = nil }
      return server
    }
    running?.end()
  }

  /// Tells the manager whether there are unsaved changes, if that is not what it was told last.
  package func dirtinessChanged() {
    let isDirty = session.isDirty
    let isNews = status.change { status in
      guard status.state.project != nil, status.toldDirty != isDirty else { return false }
      status.toldDirty = isDirty
      return true
    }
    if isNews { send(isDirty ? "/nsm/client/is_dirty" : "/nsm/client/is_clean") }
  }

  /// Tells the manager whether the window is shown. Call it when that changes.
  package func windowChanged() {
    guard let isShown = session.isWindowShown, isManaged,
      status.read({ $0.managerCapabilities.contains("optional-gui") })
    else { return }
    send(isShown ? "/nsm/client/gui_is_shown" : "/nsm/client/gui_is_hidden")
  }

  /// Shows a text to people at the manager. The priority is 0 (least) to 3.
  package func message(_ text: String, priority: Int32 = 0) {
    guard isManaged else { return }
    send("/nsm/client/message", .int(min(max(priority, 0), 3)), .string(text))
  }

  /// True while a manager is there.
  package var isManaged: Bool {
    switch state {
    case .managed, .opening, .switching, .saving, .open: true
    case .idle, .announcing, .unmanaged, .managerGone, .ended: false
    }
  }

  /// Changes the state and tells it. `.ended` is final.
  private func move(_ body: (inout Status) -> Void) {
    let new = status.change { status -> State? in
      let old = status.state
      if old == .ended { return nil }
      body(&status)
      return status.state == old ? nil : status.state
    }
    if let new { onState(new) }
  }

  /// Ends the announcement without a manager, unless one has answered meanwhile.
  private func refuse(_ reason: String) {
    move { status in
      guard status.state == .announcing else { return }
      // Before the state changes: then the program may exit.
      log.warning("no session manager at \(manager.url) (NSM_URL): \(reason)")
      status.state = .unmanaged(reason: reason)
    }
  }

  private func send(_ address: String, _ arguments: OSCValue...) {
    send(OSCMessage(address, arguments))
  }

  private func send(_ message: OSCMessage) {
    guard let server = server.read({ $0 }) else { return }
    do throws(OSCError) {
      try server.socket.send(message, to: manager)
    } catch {
      log.warning("\(message.address): \(error)")
    }
  }
}

// MARK: Messages of the manager

extension NSMClient {
  /// Nobody receives at an address to which the client has sent. OSC thread.
  private func isUnreachable(_ address: OSCAddress) {
    guard address == manager else { return }
    if state == .announcing { return refuse("no program receives there") }
    guard isManaged else { return }
    log.warning("the session manager at \(manager.url) has gone: the session runs on without it")
    move { if $0.state != .ended { $0.state = .managerGone } }
  }

  /// Handles a packet. OSC thread.
  private func receive(_ bytes: [UInt8], from source: OSCAddress) {
    let isKnown = status.read { status in
      status.source.map { $0 == source }
        ?? (source.port == manager.port && (source.host == manager.host || source.isLoopback))
    }
    guard isKnown else {
      return log.info("an OSC packet from \(source), which is no session manager, is ignored")
    }
    do throws(OSCError) {
      for message in try OSCPacket.messages(in: bytes) { receive(message, from: source) }
    } catch {
      log.warning("a packet of the session manager is ignored: \(error)")
    }
  }

  private func receive(_ message: OSCMessage, from source: OSCAddress) {
    let texts = message.arguments.compactMap(\.text)
    switch (message.address, message.types) {
    case ("/reply", "ssss") where texts[0] == "/nsm/server/announce":
      accept(name: texts[2], capabilities: texts[3], source)
    case ("/error", "sis") where texts[0] == "/nsm/server/announce":
      let code = message.arguments[1].number ?? 0
      refuse("it refuses the program: \(texts[1]) (error \(Int(code)))")
    case ("/nsm/client/open", "sss"):
      open(ManagedProject(path: texts[0], displayName: texts[1], clientID: texts[2]))
    case ("/nsm/client/save", ""): save()
    case ("/nsm/client/session_is_loaded", ""): if isManaged { session.sessionIsLoaded() }
    case ("/nsm/client/show_optional_gui", "") where session.isWindowShown != nil:
      session.setWindow(shown: true)
    case ("/nsm/client/hide_optional_gui", "") where session.isWindowShown != nil:
      session.setWindow(shown: false)
    default:
      log.warning(
        "“\(message.address)” with the types “\(message.types)” of the session manager is ignored")
    }
  }

  private func accept(name: String, capabilities: String, _ source: OSCAddress) {
    guard state == .announcing else {
      return log.warning("a second answer to the announcement is ignored")
    }
    move { status in
      guard status.state == .announcing else { return }
      status.state = .managed
      status.source = source
      status.managerName = name
      status.managerCapabilities = Set(capabilities.split(separator: ":"))
    }
    log.info("the session is managed by \(name)")
    // A manager that cannot show a window again must not find it hidden.
    if session.isWindowShown == false, !capabilities.contains(":optional-gui:") {
      session.setWindow(shown: true)
    }
    windowChanged()
  }

  /// Handles `open`: starts the work on a thread of its own, which answers.
  private func open(_ project: ManagedProject) {
    let path = "/nsm/client/open"
    if let fault = Self.fault(of: project) { return refuse(path, ManagerError(.general, fault)) }
    let canSwitch = session.canSwitch
    begin(path) { state throws(ManagerError) in
      switch state {
      case .managed: return .opening(project)
      case .open where canSwitch: return .switching(project)
      case .open: throw ManagerError(.general, "a project is open, and cannot be switched")
      default: throw ManagerError(.notNow, "the session is busy, or not managed")
      }
    } work: { client, report throws(ManagerError) in
      if case .switching = client.state {
        try client.session.switch(to: project, report)
      } else {
        try client.session.open(project, report)
      }
      return "\(project.displayName) is open"
    } after: { isDone in
      isDone ? .open(project) : .managed
    }
  }

  /// Returns why a project cannot be opened; nil if it can.
  private static func fault(of project: ManagedProject) -> String? {
    let parts = project.path.pathNames
    if !project.path.isAbsolutePath || parts.isEmpty || parts.contains("..") {
      return "the path “\(project.path)” is not absolute"
    }
    if project.clientID.isEmpty || project.clientID.contains(":") {
      return "“\(project.clientID)” cannot be the name of a JACK client"
    }
    return nil
  }

  private func save() {
    begin("/nsm/client/save") { state throws(ManagerError) in
      switch state {
      case .open(let project): return .saving(project)
      case .managed: throw ManagerError(.noSessionOpen, "no project is open")
      default: throw ManagerError(.notNow, "the session is busy, or not managed")
      }
    } work: { client, report throws(ManagerError) in
      try client.session.save(report)
      return "saved"
    } after: { [weak self] _ in
      self?.state.project.map { .open($0) } ?? .managed
    }
  }

  /// Takes the state that `next` returns, runs `work` on a new thread, takes the state of `after` and
  /// sends the answer. An error of `next` is the answer.
  private func begin(
    _ path: String, _ next: (State) throws(ManagerError) -> State,
    work: @escaping @Sendable (NSMClient, ManagerReport) throws(ManagerError) -> String,
    after: @escaping @Sendable (_ isDone: Bool) -> State
  ) {
    do throws(ManagerError) {
      let state = try status.change { status throws(ManagerError) -> State in
        status.state = try next(status.state)
        status.toldDirty = nil
        return status.state
      }
      onState(state)
    } catch {
      return refuse(path, error)
    }
    startThread(named: "cuejack-work") { [self] in
      let report = ManagerReport(
        progress: { [weak self] part in
          if self?.isManaged == true { self?.send("/nsm/client/progress", .float(part)) }
        }, message: { [weak self] text, priority in self?.message(text, priority: priority) })
      do throws(ManagerError) {
        let text = try work(self, report)
        let new = after(true)
        move { if $0.state != .managerGone { $0.state = new } }
        if isManaged { send("/reply", .string(path), .string(text)) }
      } catch {
        let new = after(false)
        move { if $0.state != .managerGone { $0.state = new } }
        if isManaged { refuse(path, error) }
      }
      dirtinessChanged()
    }
  }

  /// Answers a message with an error.
  private func refuse(_ path: String, _ error: ManagerError) {
    log.warning("\(path): \(error)")
    send("/error", .string(path), .int(error.code.rawValue), .string("\(error)"))
  }
}
