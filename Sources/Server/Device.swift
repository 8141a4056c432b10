import CRealTime
import Glibc
import RealTime
package import Synchronization
package import Timeline

/// Who listens to what the cycles of a voice or a recorder did.
package protocol VoiceOwner: AnyObject, Sendable {
  /// There are events to be read. Called on the device's own thread, never in a cycle.
  func relay()
  /// The server has gone: no cycle comes until `deviceReturned`. Called on the device's own thread,
  /// while the device's clock can still be asked.
  func deviceLost()
  /// The server is back, with `newRate` where it had `oldRate`; cycles follow when this returns.
  func deviceWillReturn(from oldRate: Double, to newRate: Double)
  /// The server is back, and has no ports for this owner. No cycle plays or fills it any more.
  func deviceCannotReturn()
  /// Runs resume on the frame at `start`, `skip` device frames further on than they stood; no cycle is in a
  /// voice or a recorder until this returns. Not called where cycles are driven by hand: there runs resume
  /// in the next cycle.
  ///
  /// - Parameter hostTime: The same moment as a host time, which starts that are still to come are not before.
  func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int)
  /// Cycles come again.
  func deviceReturned()
}

extension VoiceOwner {
  package func deviceWillReturn(from oldRate: Double, to newRate: Double) {}
  package func deviceCannotReturn() {}
  package func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int) {
  }
  package func deviceReturned() {}
}

/// One client of a server with the voices that play through it: what a queue calls its device.
///
/// Safe on every thread that is not real time. Owns the engine's memory; changes to what the
/// engine plays are prepared here, applied by one atomic store, and the old memory is given back
/// once no cycle can see it.
///
/// When its server goes away, a device waits for another one of that name and takes everything up
/// again there: see Device+Return.swift.
@safe
package final class Device: ServerNotices, @unchecked Sendable {
  /// The client on the server; another one after each return.
  package var client: any ServerClient { link.withLock { $0.client } }
  /// Cycles that came too late since the device was opened.
  package let xruns = Atomic<UInt64>(0)
  /// How often the server went away and came back.
  package let restarts = Atomic<UInt64>(0)
  /// How often the server's sample rate changed, restarts included.
  package let rateChanges = Atomic<UInt64>(0)

  let server: any Server
  let engine: UnsafeMutablePointer<Engine>
  private let relayThread = Relay()
  let closed = Atomic<Bool>(false)
  /// A client of it could not be closed: what cycles see is never freed, and no other client runs it.
  let isAbandoned = Atomic<Bool>(false)
  /// It is closed, and no cycle is under way any more.
  private let finished = Atomic<Bool>(false)
  /// How often the client became useless, and how many of these times are made good.
  let losses = Atomic<UInt64>(0)
  let survived = Atomic<UInt64>(0)
  /// The client is of no use any more: another one has to take its place.
  let needsClient = Atomic<Bool>(false)
  /// One of the losses was the server's end.
  let lostServer = Atomic<Bool>(false)
  /// The server says that it is gone, and may be wrong.
  let mayBeLost = Atomic<Bool>(false)
  /// The server may have another sample rate.
  let mayHaveOtherRate = Atomic<Bool>(false)
  let isFreewheeling = Atomic<Bool>(false)
  /// Why the device is away or was away last, as an `Absence`; 0 if it never was.
  let absence = Atomic<UInt8>(0)
  /// The event thread's own.
  let away = Mutex(Away())
  /// The device's entry in the table of those that return together.
  let member = Mutex<ReturnTable.Member?>(nil)
  /// There may be a port that a connection waits for.
  let portsAppeared = Atomic<Bool>(false)
  /// Frames of a period that the graph is to be made ready for; 0 for none.
  let changedPeriod = Atomic<Int>(0)
  let patchbay = Mutex(Patchbay())

  struct Link {
    var client: any ServerClient
    var isOpen = true
  }
  let link: Mutex<Link>
  private let closing = Mutex<Void>(())

  @safe struct Seat {
    let memory: any CycleMemory
    weak var owner: (any VoiceOwner)?
    /// None while the server is gone.
    var ports: [ClientPort]
    var portNames: [String]
    /// What the names begin with.
    let prefix: String
    /// Hands a port that the voice got later to the voice.
    var giveSecondPort: (@Sendable (ClientPort) -> Void)?
    /// Held for good: once so many cycles are over there is silence in its ports, or nothing is
    /// connected to them any more.
    var retiredUntil: UInt64?
    var isIsolated = false
  }
  @safe struct Seating {
    var seats: [Seat] = []
    /// Cycles, if there are any, play nobody.
    var isAway = false
    /// Voices and recorders that were ever seated here.
    var seated: [PortDirection: Int] = [:]
    /// Those that are seated or about to be: the device closes with the last of them.
    var users = 0
    /// Those of them that are only waiting for silence in their ports.
    var retired: Int { seats.count { $0.retiredUntil != nil } }
    /// Nothing is seated any more.
    var isOver = false
    var roster: UnsafeMutablePointer<Roster>
    var voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
    var recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>
    /// Cycles run it once `runsGraph` is true.
    var graph: (any DeviceGraph)?
    var runsGraph = false
    var graphPorts: [String: GraphPlace] = [:]
  }
  struct GraphPlace: Sendable {
    let port: ClientPort
    let direction: PortDirection
  }
  let seating: Mutex<Seating>

  /// Open devices by UID: queues that name one share it.
  private static let open = Mutex<[String: Weak]>([:])
  private struct Weak { weak var device: Device? }
  /// The open device called `uid`, if there is one in this process.
  package static func named(_ uid: String) -> Device? { open.withLock { $0[uid]?.device } }

  /// What queues name to share this client.
  package var uid: String { "jack:\(client.serverName)/\(client.name)" }
  /// True while the server is gone.
  package var isLost: Bool {
    losses.load(ordering: .acquiring) != survived.load(ordering: .acquiring)
  }

  /// Opens a client on `server` and sets its cycles going.
  package init(_ server: any Server, clientName: String) throws(ServerError) {
    self.server = server
    let client = try server.openClient(named: clientName)
    link = Mutex(Link(client: client))
    let roster = UnsafeMutablePointer<Roster>.allocate(capacity: 1)
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: 1)
    let recorders = UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>.allocate(capacity: 1)
    unsafe roster.initialize(to: Roster(voices: voices, count: 0))
    unsafe engine = .allocate(capacity: 1)
    unsafe engine.initialize(
      to: Engine(
        roster: roster, signal: relayThread.signal, client: client.handle,
        timeBase: client.timeBase, anchor: Self.anchor(for: client)))
    unsafe engine.pointee.setSampleRate(client.sampleRate)
    seating = unsafe Mutex(Seating(roster: roster, voices: voices, recorders: recorders))
    try unsafe client.activate(engine, self)
    if client.relaysItself { return }
    adoptSampleRate(of: client)
    if unsafe client.handle != nil {
      member.withLock { $0 = ReturnTable.shared?.enter(server: client.returnKey) }
    }
    relayThread.start { [weak self] in self?.relayAll() ?? nil }
    enlist()
  }

  /// Has other queues find the device by its UID.
  func enlist() { Self.open.withLock { $0[uid] = Weak(device: self) } }
  /// Ends what `enlist` began.
  func delist() { Self.open.withLock { $0[uid] = nil } }

  deinit {
    // Whoever opened it may have failed before anything was seated.
    close()
    if isAbandoned.load(ordering: .acquiring) { return }
    seating.withLock { seating in
      unsafe seating.roster.deallocate()
      unsafe seating.voices.deallocate()
      unsafe seating.recorders.deallocate()
    }
    unsafe engine.deinitialize(count: 1)
    unsafe engine.deallocate()
  }

  // MARK: Voices and recorders

  /// Gives a voice or a recorder a port for each channel and has the cycles play or fill it.
  ///
  /// - Parameter places: Where a voice's channels go, one for each, if not to ports of its own: the
  ///   places of a source of the graph. They stay as long as the voice is seated.
  /// - Returns: The names of the ports: `out_1`, or `in_1`, and so on; those of a later voice or
  ///   recorder have a number before. If that fails and nothing else is seated, the device closes.
  package func seat(
    _ memory: some CycleMemory, owner: any VoiceOwner, places: [ClientPort]? = nil
  ) throws(ServerError) -> [String] {
    if let places, places.count != memory.channels {
      throw .wrongPlaces(count: places.count, channels: memory.channels)
    }
    let arrival = losses.load(ordering: .acquiring)
    let direction = memory.direction
    let number: Int? = seating.withLock { seating in
      if seating.isOver || isLost { return nil }
      seating.users += 1
      if places == nil { seating.seated[direction, default: 0] += 1 }
      return seating.seated[direction, default: 0]
    }
    guard let number else {
      closeIfUnused()
      throw isLost ? .lost(server: client.serverName) : .closed(client: client.name)
    }
    let prefix = (number == 1 ? "" : "\(number)_") + (direction == .input ? "in_" : "out_")
    let portNames = places == nil ? (1...memory.channels).map { "\(prefix)\($0)" } : []
    var ports: [ClientPort] = []
    do {
      for name in portNames { ports.append(try client.addPort(named: name, direction)) }
    } catch {
      leave(ports, portNames)
      throw error
    }
    for channel in 0..<memory.channels {
      unsafe memory.ports[channel] = (places ?? ports)[memory.port(ofChannel: channel)].place
    }
    let seat = Seat(
      memory: memory, owner: owner, ports: ports, portNames: portNames, prefix: prefix)
    let isSeated = seating.withLock { seating in
      // Whoever is seated by then is told of a loss, and gets ports again afterwards.
      guard losses.load(ordering: .acquiring) == arrival else { return false }
      change(&seating) { $0.append(seat) }
      return true
    }
    if !isSeated {
      leave(ports, portNames)
      throw .lost(server: client.serverName)
    }
    return portNames
  }

  /// Takes a voice or a recorder out of the cycles and gives its ports back.
  ///
  /// When this returns no cycle touches it or the memory of its entries. The device closes with the
  /// last one. A voice takes a cycle: its ports are left silent.
  ///
  /// - Returns: False if a cycle that does not end may still touch it: nothing of it may be freed.
  @discardableResult
  package func unseat(_ memory: some CycleMemory) -> Bool {
    guard seating.withLock({ $0.seats.contains { $0.memory === memory } }) else { return true }
    memory.hold()
    // A port that nobody writes any more keeps its last cycle's sound, and JACK plays that again in
    // every cycle until the port is gone: let one write silence.
    if memory.direction == .output, !isLost { awaitCycles(1) }
    defer { memory.release() }
    let (seat, isSettled) = seating.withLock { seating -> (Seat?, Bool) in
      guard let seat = seating.seats.first(where: { $0.memory === memory }) else {
        return (nil, true)
      }
      return (seat, change(&seating) { seats in seats.removeAll { $0.memory === memory } })
    }
    if let seat { leave(seat.ports, seat.portNames) }
    return isSettled
  }

  /// Takes a voice or a recorder that is never seated again out of the cycles for good.
  ///
  /// When this returns no cycle touches the memory of its entries. While others use the device, its
  /// ports go a little later, on the device's thread: many that end in a row wait for one cycle
  /// together. The device closes with the last one.
  ///
  /// - Returns: False if a cycle that does not end may still touch it: nothing of it may be freed.
  package func retire(_ memory: some CycleMemory) -> Bool {
    let isSeenTo = seating.withLock { seating in
      // A server that is driven by hand has no cycles unless somebody turns it.
      guard memory.direction == .output, unsafe client.handle != nil,
        seating.users > seating.retired + 1,
        let i = seating.seats.firstIndex(where: { $0.memory === memory })
      else { return false }
      memory.hold()
      seating.seats[i].owner = nil
      seating.seats[i].retiredUntil = unsafe engine.pointee.cyclesBegun + 1
      return true
    }
    guard isSeenTo, settle() else { return unseat(memory) }
    relayThread.post()
    return true
  }

  /// Takes some of the retired voices a step further on their way out: ports that are silent lose their
  /// connections, and ports that have none go. A few at a time: others wait for this thread.
  ///
  /// - Returns: The seconds after which it is to be done again; nil if nobody waits.
  private func dismissRetired() -> Double? {
    let (silent, isolated) = seating.withLock { seating -> ([Seat], [Seat]) in
      if seating.isOver || seating.retired == 0 { return ([], []) }
      let ready = seating.seats.filter { seat in
        seat.retiredUntil.map { unsafe engine.pointee.areOver($0) } ?? false
      }
      let some = ready.prefix(16)
      let isolated = some.filter { $0.isIsolated }
      if !isolated.isEmpty {
        change(&seating) { seats in
          seats.removeAll { seat in isolated.contains { $0.memory === seat.memory } }
        }
      }
      return (some.filter { !$0.isIsolated }, isolated)
    }
    for port in silent.flatMap(\.ports) { client.isolate(port) }
    let isolatedAfter = unsafe engine.pointee.cyclesBegun + Self.cyclesToIsolate
    seating.withLock { seating in
      for i in seating.seats.indices
      where silent.contains(where: { $0.memory === seating.seats[i].memory }) {
        seating.seats[i].isIsolated = true
        seating.seats[i].retiredUntil = isolatedAfter
      }
    }
    for seat in isolated { leave(seat.ports, seat.portNames, areIsolated: true) }
    guard seating.withLock({ $0.retired > 0 }) else { return nil }
    return silent.isEmpty && isolated.isEmpty ? 0.02 : 0.001
  }

  /// Cycles until no cycle of the server's knows of a connection that was taken away: one, or one more
  /// if it is just being told of something else.
  private static let cyclesToIsolate: UInt64 = 2

  /// Ends one use of the device and of `ports`, which no cycle sees.
  func leave(_ ports: [ClientPort], _ portNames: [String], areIsolated: Bool = false) {
    patchbay.withLock { $0.forget(portNames) }
    func isLast(_ seating: inout Seating) -> Bool {
      // Those that wait for silence need not once the client goes.
      if seating.users == 1 + seating.retired { seating.isOver = true }
      return seating.isOver
    }
    var closes = seating.withLock { isLast(&$0) }
    if !closes {
      // Still counted, so that nobody closes the device meanwhile.
      remove(ports, areIsolated: areIsolated)
      closes = seating.withLock { seating in
        defer { seating.users -= 1 }
        return isLast(&seating)
      }
    }
    if closes { close() }
  }

  /// Takes ports away that no cycle sees.
  func remove(_ ports: [ClientPort], areIsolated: Bool = false) {
    if ports.isEmpty { return }
    // First alone: jackd's cycle falls into itself, and jackd with it, if it still knows of a connection
    // from an output whose number is an input's by now.
    if !areIsolated, !isLost {
      for port in ports { client.isolate(port) }
      awaitCycles(Self.cyclesToIsolate)
    }
    for port in ports { client.removePort(port) }
  }

  /// Closes a device that nobody has come to use.
  func closeIfUnused() {
    let isUnused = seating.withLock { seating in
      defer { if seating.users == 0 { seating.isOver = true } }
      return seating.users == 0 && !seating.isOver
    }
    if isUnused { close() }
  }

  /// Swaps the roster for one of the seats that `edit` leaves; an empty one while the device is away.
  ///
  /// - Returns: False if a cycle that does not end may still see the old one.
  @discardableResult
  func change(_ seating: inout Seating, _ edit: (inout [Seat]) -> Void) -> Bool {
    // Prepare.
    let removed = seating.seats
    edit(&seating.seats)
    let seats = seating.isAway ? [] : seating.seats
    let capacity = max(1, seats.count)
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: capacity)
    let recorders = UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>.allocate(
      capacity: capacity)
    var count = 0
    var recorderCount = 0
    for seat in seats {
      if let memory = seat.memory as? VoiceMemory {
        unsafe (voices + count).initialize(to: memory.voice)
        count += 1
      } else if let memory = seat.memory as? RecorderMemory {
        unsafe (recorders + recorderCount).initialize(to: memory.recorder)
        recorderCount += 1
      }
    }
    let roster = UnsafeMutablePointer<Roster>.allocate(capacity: 1)
    unsafe roster.initialize(
      to: Roster(
        voices: voices, count: count, recorders: recorders, recorderCount: recorderCount,
        graph: seating.isAway || !seating.runsGraph ? nil : seating.graph?.cycle))
    // Apply.
    unsafe engine.pointee.swap(roster)
    let old = unsafe (seating.roster, seating.voices, seating.recorders)
    unsafe seating.roster = roster
    unsafe seating.voices = voices
    unsafe seating.recorders = recorders
    // Retire.
    if settle() {
      unsafe old.0.deallocate()
      unsafe old.1.deallocate()
      unsafe old.2.deallocate()
      return true
    } else {
      // A cycle that never ends may still look at it: keep it for ever.
      if let graph = seating.graph { _ = unsafe Unmanaged.passRetained(graph as AnyObject) }
      for seat in removed { _ = unsafe Unmanaged.passRetained(seat.memory as AnyObject) }
      return false
    }
  }

  /// Runs `body` while no cycle is in a voice, which is silent meanwhile, or in a recorder, which
  /// records nothing.
  package func holding<R>(_ memory: some CycleMemory, _ body: () -> R) throws(ServerError) -> R {
    memory.hold()
    defer { memory.release() }
    guard settle() else { throw .lost(server: client.serverName) }
    return body()
  }

  /// Waits until every cycle that has begun is over: at most one cycle's work.
  ///
  /// - Returns: False if a cycle has not ended after five seconds: it never will.
  func settle() -> Bool {
    let count = unsafe engine.pointee.cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while !(unsafe engine.pointee.areOver(count)) {
      if finished.load(ordering: .acquiring) { return true }
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }

  // MARK: Time

  /// Device time now: within the latest cycle, which ends when the next one begins, even if that is late.
  package var now: Int64 {
    let times = unsafe engine.pointee.times
    let client = client
    let frame = times.frame(atHostTime: client.hostTime, sampleRate: client.sampleRate)
    // Before the first cycle time goes by the clock.
    let hasBegun = times.nextFrame > times.frame
    return hasBegun ? min(max(frame, times.frame), times.nextFrame) : max(frame, times.frame)
  }
  /// First device frame of the latest cycle.
  package var latestFrame: Int64 { unsafe engine.pointee.times.frame }

  /// Device time and host time now, for a client that begins. Clients of PipeWire in one process continue
  /// each other's device time.
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

  /// The first device frame at which a run that is asked for soon can begin; nil if no cycle comes.
  ///
  /// A cycle may be about to begin: the one after that is certain to know of the run.
  package var earliestStart: Int64? {
    let deadline = HostTime.now + 1_000_000_000
    while !isLost && HostTime.now < deadline {
      if let next = unsafe engine.pointee.upcomingFrame { return next + max(0, next - latestFrame) }
      // The first cycle is on its way, unless somebody drives them by hand.
      if unsafe client.handle == nil { return nil }
      usleep(500)
    }
    return nil
  }

  /// CLOCK_MONOTONIC, in nanoseconds, at device frame `frame`, as far as it can be told now.
  package func hostTime(ofFrame frame: Int64) -> UInt64 {
    unsafe engine.pointee.times.hostTime(ofFrame: frame, sampleRate: client.sampleRate)
  }

  /// The device frame at host time `time`, in nanoseconds, as far as it can be told now.
  package func frame(atHostTime time: UInt64) -> Int64 {
    unsafe engine.pointee.times.frame(atHostTime: time, sampleRate: client.sampleRate)
  }

  // MARK: Relay

  /// Has every owner read its events, and the graph do its part, on the calling thread.
  package func relay() { _ = relayOnce() }

  /// - Returns: The seconds after which the graph wants to be called again.
  private func relayOnce() -> Double? {
    let (owners, graph) = seating.withLock { seating in
      (seating.seats.compactMap { $0.owner }, seating.runsGraph ? seating.graph : nil)
    }
    for owner in owners { owner.relay() }
    return [prepareForPeriod(), graph?.tend()].compactMap { $0 }.min()
  }

  /// Has the relay thread look at everything soon. Any thread.
  package func wake() { relayThread.post() }

  /// The event thread's work: reads events, waits for a server that has gone, and makes connections
  /// that have become possible.
  ///
  /// - Returns: The seconds after which it is to be done again even if nothing happens.
  private func relayAll() -> Double? {
    var patience = relayOnce()
    func atMost(_ seconds: Double?) { patience = [patience, seconds].compactMap { $0 }.min() }
    if !isLost { atMost(lookAfterServer()) }
    if isLost { return comeBack() }
    takeConnectionChanges(&patience)
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
    relayThread.post()
  }

  package func serverMayBeLost() {
    mayBeLost.store(true, ordering: .releasing)
    relayThread.post()
  }

  package func rateChanged() {
    mayHaveOtherRate.store(true, ordering: .releasing)
    relayThread.post()
  }

  /// Cycles do not play until the device is back.
  func lose(_ reason: Absence) {
    if reason == .serverGone {
      needsClient.store(true, ordering: .releasing)
    }
    absence.store(reason.rawValue, ordering: .releasing)
    losses.add(1, ordering: .acquiringAndReleasing)
  }

  package func xrun() { xruns.add(1, ordering: .relaxed) }

  package func connectionsChanged() { relayThread.post() }

  /// Notes a connection that was made, to be made again after a return.
  func connected(_ name: String, to destination: String) {
    patchbay.withLock { $0.connected(name, to: destination) }
  }

  /// Notes a connection that was taken away for good.
  func disconnected(_ name: String, from destination: String) {
    patchbay.withLock { $0.disconnected(name, from: destination) }
  }

  package func portAppeared() {
    portsAppeared.store(true, ordering: .releasing)
    relayThread.post()
  }

  /// Ends the client. The device is of no use afterwards.
  package func close() {
    guard !closed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    delist()
    member.withLock { $0 }?.end()
    letGo()
    finished.store(true, ordering: .releasing)
    if !client.relaysItself { relayThread.end() }
  }

  /// Closes the client, if it is open; when this returns it is closed, whoever did it.
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
    seating.withLock { seating in
      if let graph = seating.graph { _ = unsafe Unmanaged.passRetained(graph as AnyObject) }
      for seat in seating.seats { _ = unsafe Unmanaged.passRetained(seat.memory as AnyObject) }
    }
  }
}
