import ArgumentParser
import Control
import Dispatch
import Glibc
import Server
import Sessions
import System

/// `cuejack session run`: runs a session on a JACK server.
struct RunSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run a session on a JACK server.",
    discussion: """
      The session is one JACK client, named after it, with ports named after its tracks and buses. \
      Nothing plays until it is started: by the space bar, by `cuejack set CLIENT start`, by the trigger of \
      a start group, or by --play. Ports without a connection in the session go to the sound card, unless \
      --no-connect is given or a session manager runs the session.

      On a terminal the command shows the tracks and takes keys: space starts and stops, p pauses and goes \
      on, the left and right arrows move by five seconds, n to the next start of a track, 0 to the \
      beginning; up and down select a track, m mutes it, s lets it play solo, + and - change its gain; \
      r arms or disarms the recordings, 1 to 9 recall a scene, w saves, q quits. Control-Z stops the command and leaves the \
      terminal to the shell until fg.

      A session manager that speaks NSM starts the command without a folder (NSM_URL is set then). JACK's \
      session manager, SIGUSR1 and `cuejack session save` save the session. Edits that are not saved are \
      kept in the session's journal. If the JACK server goes away, the session waits for it and goes on.

      The exit code is 0 after q, `cuejack set CLIENT quit` or a session manager's request. Otherwise it is 1 \
      if the session cannot run, sound of a track is missing or a recording has failed, 0 at the end of \
      --seconds or --once, and 130, 143 or 129 if SIGINT (Control-C), SIGTERM or SIGHUP stopped the command.
      """
        + examples(
          "cuejack session run duo --play",
          "cuejack session run duo --server studio --no-connect"))

  @Argument(
    help: "The folder of the session. Not needed under a session manager that speaks NSM.",
    completion: .directory)
  var folder: String?

  @OptionGroup var server: ServerOption

  @Option(help: "The name of the JACK client. Default: the session's name.")
  var name: String?

  @Flag(help: "Connect no ports but those that the session connects.")
  var noConnect = false

  @Flag(help: "Start as soon as the session is up.")
  var play = false

  @Option(help: ArgumentHelp("Quit after this time.", valueName: "seconds"))
  var seconds: Double?

  @Flag(help: "Quit when everything has been played.")
  var once = false

  @OptionGroup var remote: RemoteOptions

  @Option(
    help: ArgumentHelp(
      "Identifier under which JACK's session manager saved the session.", valueName: "uuid"))
  var sessionId: String?

  @OptionGroup var threads: ThreadOptions

  @OptionGroup var log: LogOption

  func validate() throws {
    try checkOnce(["--name", "--seconds", "--session-id"] + RemoteOptions.singleOptions)
    try check(
      folder != nil || NSMClient.environmentURL != nil,
      "the folder of the session is missing")
    try checkClientName(name)
    if let seconds {
      try check(
        seconds > 0 && seconds <= StartOption.mostSeconds,
        "--seconds takes a number greater than 0")
    }
  }

  func run() throws {
    server.jack().joinPipeWire()
    let awake = DispatchSemaphore(value: 0)
    let announcing = Monitor<NSMClient?>(nil)
    let signals = StopSignals {
      awake.signal()
      // An announcement waits for its answer.
      announcing.read { $0 }?.end()
    }
    let session = Monitor<RunningSession?>(nil)
    _ = SaveSignal { session.read { $0 }.map(Self.save) }
    log.start()
    var options = RunningSession.Options(server.jack()) {
      Screen.shared.remark($0)
    }
    options.onNews = { awake.signal() }
    options.clientName = name
    options.connectsToCard = !noConnect
    options.threads = threads.count
    options.port = remote.wantedPort
    options.reach = remote.reach
    let running = RunningSession(options)
    session.change { $0 = running }
    defer {
      session.change { $0 = nil }
      running.end()
    }
    let manager = folder == nil ? try announce(running, announcing, signals) : nil
    defer { manager?.end() }
    if let folder {
      // The running session tells what was restored.
      let store = try Session.telling { () throws(SessionError) in
        try SessionStore(opening: folder)
      }
      try Self.telling { () throws(SessionRunError) in try running.open(store) }
    }
    let jack = manager == nil ? followJack(running) : nil
    defer { jack?.end() }
    say(running)
    if play {
      running.awaitSenders { signals.received != nil }
      try start(running)
    }
    SessionScreen(running, signals, awake, seconds: seconds, isOnce: once && play).run()
    running.end()
    // Messages have told the person who quits of failures. systemd would run the session again after another exit code.
    if running.isAskedToQuit { return }
    if running.hasFailures { throw ExitCode.failure }
    if let signal = signals.received { throw ExitCode(128 + signal) }
  }

  /// Starts the session. If it plays without a recording that has failed, the end tells.
  private func start(_ running: RunningSession) throws {
    do throws(SessionRunError) {
      try running.perform { session throws(SessionRunError) in try session.start() }
    } catch {
      if running.engine?.isPlaying != true {
        try Self.telling { () throws(SessionRunError) in throw error }
      }
    }
  }

  private static func telling<R>(_ body: () throws(SessionRunError) -> R) throws -> R {
    do throws(SessionRunError) {
      return try body()
    } catch {
      for line in error.description.split(separator: "\n") { Screen.shared.complain(String(line)) }
      throw ExitCode.failure
    }
  }

  /// Saves the session on behalf of SIGUSR1.
  private static func save(_ session: RunningSession) {
    do throws(SessionRunError) {
      try session.save()
      Screen.shared.remark("saved, as SIGUSR1 asked")
    } catch {
      Screen.shared.complain("the session is not saved: \(error)")
    }
  }

  /// Announces the session to the manager of NSM_URL, which opens a project then.
  ///
  /// - Parameter announcing: Holds the client meanwhile.
  private func announce(
    _ session: RunningSession, _ announcing: Monitor<NSMClient?>, _ signals: StopSignals
  ) throws -> NSMClient {
    var reason = "the session manager does not accept the session"
    do throws(OSCError) {
      let manager = Monitor<NSMClient?>(nil)
      let client = try NSMClient(
        session, name: "Cuejack", url: NSMClient.environmentURL ?? "",
        executable: NSMClient.sessionProgram,
        onState: { if $0 == .managerGone { Screen.shared.remark("the session manager has gone") } })
      session.whenDirtinessChanges { manager.read { $0 }?.dirtinessChanged() }
      announcing.change { $0 = client }
      defer { announcing.change { $0 = nil } }
      if signals.received == nil, client.announce() {
        manager.change { $0 = client }
        return client
      }
    } catch {
      reason = "\(error)"
    }
    if let signal = signals.received { throw ExitCode(128 + signal) }
    Screen.shared.complain(reason)
    throw ExitCode.failure
  }

  /// Lets JACK's session manager save the session; nil if the server has none.
  private func followJack(_ session: RunningSession) -> JackSession? {
    guard let client = session.engine?.device.client.name else { return nil }
    do throws(ServerError) {
      let jack = try JackSession(
        session, named: "\(client)-session", on: server.jack(),
        sessionID: sessionId, isServerBack: { session.engine?.device.isLost == false })
      if jack.isSupported { return jack }
      jack.end()
    } catch {
      Screen.shared.remark("\(error): JACK's session manager cannot save the session")
    }
    return nil
  }

  /// Prints the client and its ports.
  private func say(_ session: RunningSession) {
    guard let engine = session.engine else { return }
    let client = engine.device.client
    let reach = session.reach == .loopback ? "" : " for \(session.reach)"
    let remote = session.port.map { ", UDP port \($0)\(reach)" } ?? ""
    Screen.shared.say(
      "\(engine.document.name): server \(client.serverName), client \(client.name)\(remote)")
    for port in engine.portNames {
      Screen.shared.say("  \(client.name):\(port) - \(listed(client.connections(of: port)))")
    }
    for (send, sender) in zip(engine.document.sends, session.senders ?? []) {
      Screen.shared.say("  \(send.bus) is sent to \(send.to): client \(sender.clientName)")
    }
    if let folder, engine.document.tracks.isEmpty, engine.document.recordings.isEmpty {
      Screen.shared.remark(
        "the session has no tracks and no recordings: add some by “cuejack session add \(printable(folder)) FILE”"
      )
    }
  }
}

extension NSMClient {
  /// The name under which session managers start `cuejack session run`.
  static let sessionProgram = "cuejack-session"
}
