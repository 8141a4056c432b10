import AudioQueue
import Dispatch
import Glibc
import Logging
package import Server
package import Sessions
import Synchronization
import System
import Timeline

/// A session that a program runs: its folder and document, its engine, its OSC server, and the thread
/// `cuejack-session`, which carries out what the terminal, OSC and managers ask, in order.
///
/// Any thread that is not real time.
package final class RunningSession: Sendable {
  /// How sessions are run.
  package struct Options: Sendable {
    package var server: JackServer
    /// The name of the JACK client; nil for the session's name.
    package var clientName: String?
    package var connectsToCard = true
    /// UDP port of remote control; 0 for a free one, nil for no remote control.
    package var port: UInt16? = 0
    /// The number of threads that run the chains of plugins.
    package var threads = 1
    /// The hosts that may control the session.
    package var reach = OSCSocket.Reach.loopback
    /// Takes messages for people.
    package var onMessage: @Sendable (String) -> Void
    /// Called when somebody asks the program to end, and when the server goes away or comes back.
    package var onNews: @Sendable () -> Void = {}

    package init(_ server: JackServer, onMessage: @escaping @Sendable (String) -> Void) {
      self.server = server
      self.onMessage = onMessage
    }
  }

  /// An open session.
  struct Opened: Sendable {
    let store: SessionStore
    let engine: SessionEngine
    let remote: RemoteService?
    /// The programs that send buses to other machines, in the order of the document.
    let senders: [NetworkSender]
  }

  let options: Options
  let opened = Mutex<Opened?>(nil)
  /// Counts sessions, for `remoteVersion`.
  let version = Atomic<Int>(0)
  /// The address space of remote control.
  let remoteTable = Mutex(RemoteTable(version: -1))
  /// Peaks of each track, which fall by 20 dB per second, and the host time of the latest ones.
  let peaks = Mutex<(values: [[Float]], hostTime: UInt64)>(([], 0))
  /// The connections that `followConnections` saw last, with the session's ports first.
  let seenConnections = Mutex<Set<SessionConnection>>([])
  /// The name of the scene that was recalled last.
  let recalled = Mutex("")
  /// The decoder of MIDI messages.
  let decoder = Mutex(SessionMIDIDecoder())
  /// Held during a save.
  let saving = Mutex<Void>(())
  /// The thread of saves that nobody waits for.
  private let saver = DispatchQueue(label: "cuejack-save")
  private let work = Monitor(SessionWork())
  private let anyHasFailed = Atomic<Bool>(false)
  /// Counts the calls of `service`.
  let services = Atomic<Int>(0)
  private let wantsToQuit = Monitor(false)
  private let dirtinessChanged = Hook<@Sendable () -> Void>()

  package init(_ options: Options) {
    self.options = options
    startThread(named: "cuejack-session") { [weak self, work] in
      while true {
        let pause = work.read { $0.pause }
        switch work.wait(seconds: pause, for: { $0.next() }) {
        case .job(let job): job()
        case .wait, nil: break
        case .service:
          let isBusy = self?.service() ?? false
          work.change { $0.noteService(isBusy: isBusy) }
        case .end:
          work.change { $0.hasEnded = true }
          return
        }
      }
    }
  }

  deinit { work.change { $0.isOver = true } }

  // MARK: Opening

  /// Opens the session in a folder and brings it up.
  ///
  /// - Parameters:
  ///   - clientName: The name of the JACK client; nil for the option's, or the session's.
  ///   - connectsToCard: Whether ports without connections go to the sound card.
  package func open(_ store: SessionStore, clientName: String? = nil, connectsToCard: Bool? = nil)
    throws(SessionRunError)
  {
    for notice in store.notices { options.onMessage(notice) }
    let document = store.document
    let faults = SessionCheck.references(of: document).filter { $0.severity == .error }
    if !faults.isEmpty {
      throw .session(
        .faults(
          file: "\(store.folder.path)/\(SessionStore.file)", SessionFaults(faults).list))
    }
    let name =
      clientName ?? options.clientName ?? SessionDocument.clientName(for: document.name)
    var settings = SessionEngine.Options(
      clientName: name, connectsToCard: connectsToCard ?? options.connectsToCard,
      threads: options.threads, onMessage: options.onMessage)
    settings.onFailure = { [weak self] in
      self?.anyHasFailed.store(true, ordering: .relaxed)
    }
    var server = options.server
    server.claim = .kept
    let engine = try SessionEngine(document, in: store.folder, on: server, settings)
    let senders = try startSenders(of: engine)
    let latest = Mutex((loss: Loss?.none, changes: 0))
    engine.device.afterEvents { [weak engine, work, onNews = options.onNews] in
      guard let engine else { return }
      let new = (loss: engine.device.loss, changes: engine.device.connectionChanges)
      let old = latest.withLock { latest in
        defer { latest = new }
        return latest
      }
      let isNews = new.loss != old.loss
      if isNews || engine.transportHasChanged { work.change { $0.isDue = true } }
      if new.changes != old.changes { work.change { $0.hurry() } }
      if isNews { onNews() }
    }
    let (own, rate) = (document.sampleRate, engine.device.client.sampleRate)
    if let own, own != rate {
      options.onMessage(
        "sampleRate: the session is made for \(plain(own)) Hz, and the server runs at \(plain(rate)) Hz: "
          + "sounds are resampled, and frames of starts are counted at the server's rate")
    }
    seenConnections.withLock { $0 = engine.presentConnections.all }
    let client = engine.device.client
    let remote = options.port.flatMap { port in
      RemoteService(
        self,
        RemoteReport.Origin(
          .session, client: client.name, server: client.serverName, path: store.folder.path),
        port: port, reach: options.reach, onMessage: options.onMessage)
    }
    opened.withLock {
      $0 = Opened(store: store, engine: engine, remote: remote, senders: senders)
    }
    version.add(1, ordering: .relaxed)
    recalled.withLock { $0 = "" }
    // Groups that wait for a time are armed as soon as the session is up.
    do throws(SessionRunError) {
      try engine.arm()
    } catch {
      options.onMessage("\(error)")
    }
    work.change { $0.isDue = true }
  }

  /// Closes the open session without saving. Its edits stay in the journal.
  package func close() {
    let old = opened.withLock { opened in
      defer { opened = nil }
      return opened
    }
    guard let old else { return }
    // Nobody leads the transport from now on.
    if old.engine.document.transport.mode == .lead { old.engine.device.client.stopTransport() }
    old.remote?.end()
    for sender in old.senders { sender.end() }
    old.engine.close()
    old.store.synchronize()
    version.add(1, ordering: .relaxed)
  }

  /// Ends the thread, after `close`. The session cannot be used afterwards. A save that is under way has some
  /// seconds; then it fails, and the session stays as it was saved before.
  package func end() {
    let isIdle = Monitor(false)
    saver.async { [self] in
      saving.withLock { _ in }
      isIdle.change { $0 = true }
    }
    _ = isIdle.wait(seconds: 10) { $0 ? () : nil }
    close()
    work.change { $0.isOver = true }
    work.wait { $0.hasEnded ? () : nil }
  }

  /// The engine of the open session; nil if none is open.
  package var engine: SessionEngine? { opened.withLock { $0?.engine } }
  /// The store of the open session.
  package var store: SessionStore? { opened.withLock { $0?.store } }
  /// The UDP port of remote control.
  package var port: UInt16? { opened.withLock { $0?.remote?.port } }
  /// The hosts that may control it.
  package var reach: OSCSocket.Reach { options.reach }

  /// The open session; throws an error if there is none.
  func present() throws(SessionRunError) -> Opened {
    guard let opened = opened.withLock({ $0 }) else { throw .refused("no session is open") }
    return opened
  }

  /// The engine, or an error if no session is open.
  func running() throws(SessionRunError) -> SessionEngine { try present().engine }

  // MARK: Working

  /// Runs `body` on the session's thread, after what was asked before, and waits for it.
  package func perform(
    _ body: @escaping @Sendable (RunningSession) throws(SessionRunError) -> Void
  ) throws(SessionRunError) {
    let result = Monitor<Result<Void, SessionRunError>?>(nil)
    begin(body) { outcome in result.change { $0 = outcome } }
    try result.wait { $0 }.get()
  }

  /// Runs `body` on the session's thread, after what was asked before, and calls `then` with its outcome there.
  ///
  /// - Parameter subject: The value or scene that `body` sets; nil if no later job makes it needless.
  func begin(
    setting subject: SessionWork.Subject? = nil,
    _ body: @escaping @Sendable (RunningSession) throws(SessionRunError) -> Void,
    then: @escaping @Sendable (Result<Void, SessionRunError>) -> Void
  ) {
    let job = SessionWork.Job(
      subject: subject,
      run: { [weak self] in
        guard let self else { return .failure(.refused("the session has ended")) }
        return Result { () throws(SessionRunError) in try body(self) }
      }, ends: [then])
    let isTaken = work.change { work in
      if !work.isOver { work.add(job) }
      return !work.isOver
    }
    if !isTaken { then(.failure(.refused("the session has ended"))) }
  }

  /// Whether a recording or a track's file has failed since the object was created. Known for all of them
  /// after `close()`.
  package var hasFailures: Bool { anyHasFailed.load(ordering: .relaxed) }

  // MARK: What people ask

  /// Starts everything that waits for no event of its own, or lets it go on; groups with a time start at
  /// that time.
  ///
  /// - Throws: `SessionRunError`; also if an armed recording does not record: the tracks play then.
  package func start() throws(SessionRunError) {
    let engine = try running()
    try engine.arm()
    if engine.usesTransport { return engine.device.client.startTransport() }
    try engine.start(engine.manualGroups)
    try engine.checkRecordings()
  }

  package func stop() throws(SessionRunError) {
    let engine = try running()
    if engine.usesTransport {
      engine.device.client.stopTransport()
      engine.device.client.locateTransport(to: 0)
      engine.awaitTransportStop()
    }
    try engine.stop(Array(engine.groupNames.indices))
  }

  /// Pauses everything that plays, or lets it go on if nothing plays.
  package func pause() throws(SessionRunError) {
    let engine = try running()
    if engine.usesTransport {
      if engine.isSounding {
        engine.device.client.stopTransport()
      } else {
        engine.device.client.startTransport()
      }
    } else if engine.isPlaying {
      try engine.pause(Array(engine.groupNames.indices))
    } else {
      let paused = engine.groupNames.indices.filter { engine.motion(ofGroup: $0) == .paused }
      try engine.start(paused)
    }
  }

  /// Moves everything to a position in seconds.
  package func locate(to seconds: Double) throws(SessionRunError) {
    let engine = try running()
    let position = Int64(held: (max(0, seconds) * engine.plan.timeline.sampleRate).rounded())
    try locate(engine, to: position)
  }

  /// Moves to the next start of a track.
  package func next() throws(SessionRunError) {
    let engine = try running()
    let groups = engine.manualGroups
    let now = engine.transportPosition ?? engine.position(ofGroup: groups.first ?? 0)
    guard let next = engine.plan.tracks.map(\.start).filter({ $0 > now }).min() else {
      throw .refused("no track starts after this position")
    }
    try locate(engine, to: next)
  }

  private func locate(_ engine: SessionEngine, to position: Int64) throws(SessionRunError) {
    if engine.usesTransport {
      engine.device.client.locateTransport(to: position)
    } else {
      try engine.locate(engine.manualGroups, to: position)
    }
  }

  /// Position in seconds.
  package var position: Double {
    guard let engine else { return 0 }
    if let position = engine.transportPosition { return engine.plan.timeline.seconds(of: position) }
    let group = engine.manualGroups.first ?? 0
    return engine.plan.timeline.seconds(of: engine.position(ofGroup: group))
  }

  /// Applies an edit to the document and to what runs. A refused edit changes nothing.
  ///
  /// - Parameter scene: The scene that the edit recalls; nil for none.
  package func apply(_ edit: SessionEdit, recalling scene: SessionScene? = nil)
    throws(SessionRunError)
  {
    let engine = try running()
    guard let store else { return }
    let edited = try SessionRunError.session { () throws(SessionError) in
      try store.document.edited([edit])
    }
    let names = engine.document.scenes.map(\.name)
    try engine.adopt(edited.armed(as: engine.document), recalling: scene)
    try SessionRunError.session { () throws(SessionError) in try store.apply(edit) }
    // The scenes have addresses.
    if edited.scenes.map(\.name) != names { version.add(1, ordering: .relaxed) }
    tellDirtiness()
  }

  /// Saves the session: states of plugins, connections, document. A plugin that cannot save keeps the state
  /// that it has, and `onMessage` tells so. The old states go when the new document is on disk. Blocks; any
  /// thread but the session's, which goes on meanwhile.
  ///
  /// - Returns: Remarks for the user, one for each plugin that could not save.
  /// - Throws: `SessionRunError`. The session is then as it was saved last, with its edits in the journal.
  @discardableResult
  package func save() throws(SessionRunError) -> [String] {
    try saving.withLock { _ throws(SessionRunError) in
      let found = Mutex<(Opened, [StateTarget])?>(nil)
      try perform { session throws(SessionRunError) in
        let opened = try session.present()
        try session.takeOutsideChanges(opened)
        let targets = try SessionRunError.session { () throws(SessionError) in
          let document = opened.store.document
          let targets = try opened.engine.stateTargets(of: document, in: opened.store.folder)
          try opened.store.noteStates(
            targets.map(\.name) + targets.compactMap(\.plugin.state))
          return targets
        }
        found.withLock { $0 = (opened, targets) }
      }
      guard let (opened, targets) = found.withLock({ $0 }) else { return [] }
      let (store, engine) = (opened.store, opened.engine)
      do throws(SessionRunError) {
        let states = try StateCapture(targets, into: store.folder, from: store.folder)
        try perform { session throws(SessionRunError) in
          guard session.store === store else {
            throw .refused("the session was closed while it was being saved")
          }
          try session.takeOutsideChanges(opened)
          try SessionRunError.session { () throws(SessionError) in
            try store.save { document in
              var document = states.applied(to: document)
              if engine.isLive { engine.capture(&document) }
              return document
            }
          }
          engine.replaceDocument(store.document.armed(as: engine.document))
          engine.device.keepConnections()
          session.tellDirtiness()
        }
        for remark in states.remarks { options.onMessage(remark) }
        return states.remarks
      } catch {
        store.dropStates(targets.map(\.name))
        throw error
      }
    }
  }

  /// Saves the session after earlier calls, and calls `then` with the outcome. Any thread.
  package func save(then: @escaping @Sendable (Result<[String], SessionRunError>) -> Void) {
    saver.async { [self] in
      do throws(SessionRunError) {
        then(.success(try save()))
      } catch {
        then(.failure(error))
      }
    }
  }

  /// Takes over what somebody has written into the document meanwhile, if it can change while the session runs.
  private func takeOutsideChanges(_ opened: Opened) throws(SessionRunError) {
    try SessionRunError.session { () throws(SessionError) in
      try opened.store.mergeOutsideChanges { document, changes throws(SessionError) in
        do throws(SessionRunError) {
          // The plugin has not this state now.
          if changes.contains(where: { $0.steps.last == .key("state") }) {
            throw .refused("the state of a plugin")
          }
          try opened.engine.adopt(document.armed(as: opened.engine.document))
        } catch {
          throw .changedOutside(
            file: "\(opened.store.folder.path)/\(SessionStore.file)",
            what: SessionMerge.words(for: changes))
        }
      }
    }
  }

  /// Whether there are edits that only the journal has.
  package var hasEdits: Bool { store?.isEdited ?? false }

  // MARK: Ending

  /// Asks the program to end.
  package func askToQuit() {
    wantsToQuit.change { $0 = true }
    options.onNews()
  }

  package var isAskedToQuit: Bool { wantsToQuit.read { $0 } }

  /// Sets the function that is called when `hasEdits` may have changed.
  package func whenDirtinessChanges(_ body: @escaping @Sendable () -> Void) {
    dirtinessChanged.set(body)
  }

  func tellDirtiness() { dirtinessChanged.function?() }
}
