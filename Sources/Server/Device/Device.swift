import CRealTime
import Glibc
import RealTime
package import Synchronization
import System
package import Timeline

/// The queue that a voice or a recorder belongs to, as its device sees it.
package protocol VoiceOwner: AnyObject, Sendable {
  /// Reads the events that cycles pushed. Event thread, never in a cycle.
  func deliverEvents()
  /// The server has gone: no cycle comes until `deviceReturned`. Event thread, while the device's
  /// clock can still be read.
  func deviceLost()
  /// The server is back, and its sample rate has changed from `oldRate` to `newRate`, in Hz. Cycles
  /// follow once this returns.
  func deviceWillReturn(from oldRate: Double, to newRate: Double)
  /// The server is back, but refuses the ports of this owner. No cycle runs its voice or recorder
  /// any more.
  func deviceCannotReturn()
  /// Runs resume at `start`, `skip` device frames after the position at which they stopped. No
  /// cycle runs a voice or a recorder until this returns. Not called where the caller drives
  /// cycles: there, runs resume in the next cycle.
  ///
  /// - Parameter hostTime: The same moment as a host time. Pending starts must not be before it.
  func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int)
  /// Cycles run again.
  func deviceReturned()
}

extension VoiceOwner {
  package func deviceWillReturn(from oldRate: Double, to newRate: Double) {}
  package func deviceCannotReturn() {}
  package func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int) {
  }
  package func deviceReturned() {}
}

/// A client of a server with its voices, recorders and graph; a queue's device.
///
/// Any thread that is not real time. The device owns the engine's memory. It prepares each new
/// process list, applies it by one atomic store, and frees the old one once no cycle can read it.
///
/// When the server goes away, the device waits for another one of the same name and restores
/// everything there: see Device+Return.swift.
@safe
package final class Device: ServerNotices, @unchecked Sendable {
  /// The client on the server, replaced after each return of the server.
  package var client: any ServerClient { link.withLock { $0.client } }
  /// Number of xruns since the device was opened.
  package let xruns = Atomic<UInt64>(0)
  /// Number of times that the server went away and came back.
  package let restarts = Atomic<UInt64>(0)
  /// Number of changes of the server's sample rate, restarts included.
  package let rateChanges = Atomic<UInt64>(0)

  let server: any Server
  let engine: UnsafeMutablePointer<Engine>
  let eventThread = EventThread()
  let closed = Atomic<Bool>(false)
  /// Set if a client could not be closed. Memory that its cycles may read is never freed, and no
  /// other client runs the engine.
  let isAbandoned = Atomic<Bool>(false)
  /// Set once the device is closed and no cycle is running.
  let finished = Atomic<Bool>(false)
  /// Number of times that the client was lost, and how many of these losses are recovered.
  let losses = Atomic<UInt64>(0)
  let survived = Atomic<UInt64>(0)
  /// Set if the client is lost for good and another one must replace it.
  let needsClient = Atomic<Bool>(false)
  /// Set if one of the losses was the server's end.
  let lostServer = Atomic<Bool>(false)
  /// Set if the server reports that it is gone, which may be wrong.
  let mayBeLost = Atomic<Bool>(false)
  /// Set if the server's sample rate may have changed.
  let mayHaveOtherRate = Atomic<Bool>(false)
  let isFreewheeling = Atomic<Bool>(false)
  /// Reason of the present or latest absence, as an `Absence`; 0 if there was none.
  let absence = Atomic<UInt8>(0)
  /// Event thread only.
  let away = Mutex(Away())
  /// The device's entry in the table of clients that return together.
  let member = Mutex<ReturnTable.Member?>(nil)
  /// Set if a port has appeared that a connection may be waiting for.
  let portsAppeared = Atomic<Bool>(false)
  /// Period in frames to prepare the graph for; 0 for none.
  let changedPeriod = Atomic<Int>(0)
  let patchbay = Mutex(Patchbay())

  struct Link {
    var client: any ServerClient
    var isOpen = true
  }
  let link: Mutex<Link>
  private let closing = Mutex<Void>(())

  @safe struct Attachment {
    let memory: any CycleMemory
    weak var owner: (any VoiceOwner)?
    /// None while the server is gone.
    var ports: [ClientPort]
    var portNames: [String]
    /// Prefix of the port names.
    let prefix: String
    /// Hands the voice its second port.
    var giveSecondPort: (@Sendable (ClientPort) -> Void)?
    /// Set for a voice that is held for good. Once that many cycles are over, its ports are silent,
    /// or isolated if `isIsolated`.
    var retiredUntil: UInt64?
    var isIsolated = false
  }
  @safe struct Attachments {
    var entries: [Attachment] = []
    /// Set while the device is away: cycles run no voice, recorder or graph.
    var isAway = false
    /// Number of voices and recorders ever attached.
    var attached: [PortDirection: Int] = [:]
    /// Voices, recorders and graphs that are attached or about to be. The device closes with the
    /// last one.
    var users = 0
    /// Number of voices that only wait until their ports can go.
    var retired: Int { entries.count { $0.retiredUntil != nil } }
    /// Set once nothing can be attached any more.
    var isOver = false
    var processList: UnsafeMutablePointer<ProcessList>
    var voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
    var recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>
    /// Cycles run the graph once `runsGraph` is true.
    var graph: (any DeviceGraph)?
    var runsGraph = false
    var graphPorts: [String: GraphPlace] = [:]
  }
  struct GraphPlace: Sendable {
    let port: ClientPort
    let direction: PortDirection
  }
  let attachments: Mutex<Attachments>

  /// Open devices by UID, so that queues can share one.
  private static let open = Mutex<[String: Weak]>([:])
  private struct Weak { weak var device: Device? }
  /// Returns the open device called `uid`; nil if this process has none.
  package static func named(_ uid: String) -> Device? { open.withLock { $0[uid]?.device } }

  /// Unique ID by which queues share this device.
  package var uid: String { "jack:\(client.serverName)/\(client.name)" }
  /// True while the device is away.
  package var isLost: Bool {
    losses.load(ordering: .acquiring) != survived.load(ordering: .acquiring)
  }

  /// Opens a client on `server` and starts its cycles.
  package init(_ server: any Server, clientName: String) throws(ServerError) {
    self.server = server
    let client = try server.openClient(named: clientName)
    link = Mutex(Link(client: client))
    let processList = UnsafeMutablePointer<ProcessList>.allocate(capacity: 1)
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: 1)
    let recorders = UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>.allocate(capacity: 1)
    unsafe processList.initialize(to: ProcessList(voices: voices, count: 0))
    unsafe engine = .allocate(capacity: 1)
    unsafe engine.initialize(
      to: Engine(
        processList: processList, signal: eventThread.signal, client: client.handle,
        timeBase: client.timeBase, anchor: Self.anchor(for: client)))
    unsafe engine.pointee.setSampleRate(client.sampleRate)
    attachments = unsafe Mutex(
      Attachments(processList: processList, voices: voices, recorders: recorders))
    try unsafe client.activate(engine, self)
    if client.deliversEventsItself { return }
    adoptSampleRate(of: client)
    if unsafe client.handle != nil {
      member.withLock { $0 = ReturnTable.shared?.enter(server: client.returnKey) }
    }
    eventThread.start { [weak self] in self?.deliverAll() ?? nil }
    enlist()
  }

  /// Registers the device so that other queues find it by its UID.
  func enlist() { Self.open.withLock { $0[uid] = Weak(device: self) } }
  /// Undoes `enlist()`.
  func delist() { Self.open.withLock { $0[uid] = nil } }

  deinit {
    // The caller that opened it may have failed before attaching anything.
    close()
    if isAbandoned.load(ordering: .acquiring) { return }
    attachments.withLock { attachments in
      unsafe attachments.processList.deallocate()
      unsafe attachments.voices.deallocate()
      unsafe attachments.recorders.deallocate()
    }
    unsafe engine.deinitialize(count: 1)
    unsafe engine.deallocate()
  }

  // MARK: Time

  /// Device time now. It stays within the latest cycle until the next one begins, even if that is
  /// late.
  package var now: Int64 {
    let times = unsafe engine.pointee.times
    let client = client
    let frame = times.frame(atHostTime: client.hostTime, sampleRate: client.sampleRate)
    // Before the first cycle, time follows the clock.
    let hasBegun = times.nextFrame > times.frame
    return hasBegun ? min(max(frame, times.frame), times.nextFrame) : max(frame, times.frame)
  }
  /// First device frame of the latest cycle.
  package var latestFrame: Int64 { unsafe engine.pointee.times.frame }

  /// Returns device time and host time now, for a new client. PipeWire clients of one process
  /// continue each other's device time.
  static func anchor(for client: any ServerClient) -> TimeAnchor {
    guard client.isPipeWire else { return client.anchor }
    let others = open.withLock { $0.values.compactMap(\.device) }
    let other = others.first { other in
      let hasTime = unsafe other.engine.pointee.upcomingFrame != nil
      return hasTime && !other.isLost && other.client.isPipeWire
        && other.client.sampleRate == client.sampleRate
    }
    guard let other else { return client.anchor }
    let hostTime = client.hostTime
    return TimeAnchor(frame: other.frame(atHostTime: hostTime), microseconds: hostTime / 1000)
  }

  /// The first device frame at which a run requested soon can begin; nil if no cycle comes.
  ///
  /// A cycle may be about to begin; only the one after that is certain to know of the run.
  package var earliestStart: Int64? {
    let deadline = HostTime.now + 1_000_000_000
    while !isLost && HostTime.now < deadline {
      if let next = unsafe engine.pointee.upcomingFrame { return next + max(0, next - latestFrame) }
      // The first cycle is on its way, unless the caller drives the cycles.
      if unsafe client.handle == nil { return nil }
      usleep(500)
    }
    return nil
  }

  /// Returns the host time (CLOCK_MONOTONIC, nanoseconds) at device frame `frame`, extrapolated
  /// from the latest cycle.
  package func hostTime(ofFrame frame: Int64) -> UInt64 {
    unsafe engine.pointee.times.hostTime(ofFrame: frame, sampleRate: client.sampleRate)
  }

  /// Returns the device frame at host time `time`, in nanoseconds, extrapolated from the latest
  /// cycle.
  package func frame(atHostTime time: UInt64) -> Int64 {
    unsafe engine.pointee.times.frame(atHostTime: time, sampleRate: client.sampleRate)
  }

  // MARK: Events

  /// Lets every owner read its events and the graph handle its own, on the calling thread.
  package func deliverEvents() { _ = deliverOnce() }

  /// - Returns: The seconds after which to call the graph again.
  private func deliverOnce() -> Double? {
    let (owners, graph) = attachments.withLock { attachments in
      (attachments.entries.compactMap { $0.owner }, attachments.runsGraph ? attachments.graph : nil)
    }
    for owner in owners { owner.deliverEvents() }
    return [prepareForPeriod(), graph?.service()].compactMap { $0 }.min()
  }

  /// Wakes the event thread for all of its work. Any thread.
  package func wake() { eventThread.post() }

  /// Does the event thread's work: reads events, watches the server or waits for its return, and
  /// makes connections that have become possible.
  ///
  /// - Returns: The seconds after which to call again even if nothing happens.
  private func deliverAll() -> Double? {
    var patience = deliverOnce()
    func atMost(_ seconds: Double?) { patience = [patience, seconds].compactMap { $0 }.min() }
    if !isLost { atMost(watchServer()) }
    if isLost { return comeBack() }
    takeConnectionChanges(&patience)
    client.updateLatencies()
    if portsAppeared.exchange(false, ordering: .acquiringAndReleasing) { makeMissingConnections() }
    atMost(dismissRetired())
    return patience
  }

  func takeConnectionChanges(_ patience: inout Double?) {
    for change in client.takeConnectionChanges(&patience) {
      switch change.kind {
      case .made: connected(change.port, to: change.other)
      case .ended: disconnected(change.port, from: change.other)
      case .interrupted:
        patchbay.withLock { $0.interrupted(change.port, to: change.other) }
      }
    }
  }

  package func serverLost() {
    lostServer.store(true, ordering: .relaxed)
    lose(.serverGone)
    eventThread.post()
  }

  package func serverMayBeLost() {
    mayBeLost.store(true, ordering: .releasing)
    eventThread.post()
  }

  package func rateChanged() {
    mayHaveOtherRate.store(true, ordering: .releasing)
    eventThread.post()
  }

  /// Notes a loss: cycles play nothing until the device is back.
  func lose(_ reason: Absence) {
    if reason == .serverGone {
      needsClient.store(true, ordering: .releasing)
    }
    absence.store(reason.rawValue, ordering: .releasing)
    losses.add(1, ordering: .acquiringAndReleasing)
  }

  package func xrun() { xruns.add(1, ordering: .relaxed) }

  package func connectionsChanged() { eventThread.post() }

  package func latenciesChanged() { eventThread.post() }

  /// Notes a connection that exists, to be made again after a return.
  func connected(_ name: String, to destination: String) {
    patchbay.withLock { $0.connected(name, to: destination) }
  }

  /// Forgets a connection that somebody removed for good.
  func disconnected(_ name: String, from destination: String) {
    patchbay.withLock { $0.disconnected(name, from: destination) }
  }

  package func portAppeared() {
    portsAppeared.store(true, ordering: .releasing)
    eventThread.post()
  }

  /// Closes the client. The device cannot be used afterwards.
  package func close() {
    guard !closed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    delist()
    member.withLock { $0 }?.end()
    letGo()
    finished.store(true, ordering: .releasing)
    if !client.deliversEventsItself { eventThread.end() }
  }

  /// Closes the client if it is open, or waits until another thread has closed it.
  func letGo() {
    closing.withLock { _ in
      let client = link.withLock { link in
        defer { link.isOpen = false }
        return link.isOpen ? link.client : nil
      }
      if let client, !client.close() { abandon() }
    }
  }

  private func abandon() {
    isAbandoned.store(true, ordering: .releasing)
    attachments.withLock { attachments in
      if let graph = attachments.graph { _ = unsafe Unmanaged.passRetained(graph as AnyObject) }
      for attachment in attachments.entries {
        _ = unsafe Unmanaged.passRetained(attachment.memory as AnyObject)
      }
    }
  }
}
