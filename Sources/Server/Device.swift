import CRealTime
import Glibc
import RealTime
package import Synchronization
import Timeline

/// Who listens to what a voice's cycles did.
package protocol VoiceOwner: AnyObject, Sendable {
  /// There are events to be read. Called on the device's own thread, never in a cycle.
  func relay()
  /// The server has gone: no cycle comes any more. Called on the device's own thread.
  func deviceLost()
}

/// One client of a server with the voices that play through it: what a queue calls its device.
///
/// Safe on every thread that is not real time. Owns the engine's memory; changes to what the
/// engine plays are prepared here, applied by one atomic store, and the old memory is given back
/// once no cycle can see it.
@safe
package final class Device: ServerNotices, @unchecked Sendable {
  package let client: any ServerClient
  /// Cycles that came too late since the device was opened.
  package let xruns = Atomic<UInt64>(0)

  private let engine: UnsafeMutablePointer<Engine>
  private let relayThread = Relay()
  private let lost = Atomic<Bool>(false)
  private let hasToldLoss = Atomic<Bool>(false)
  private let closed = Atomic<Bool>(false)

  @safe private struct Seat {
    let voice: VoiceMemory
    weak var owner: (any VoiceOwner)?
    let ports: [OutputPort]
  }
  @safe private struct Seating {
    var seats: [Seat] = []
    /// Voices that were ever seated here.
    var seated = 0
    /// Voices that are seated or about to be: the device closes with the last of them.
    var users = 0
    /// Nothing is seated any more.
    var isOver = false
    var roster: UnsafeMutablePointer<Roster>
    var voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
  }
  private let seating: Mutex<Seating>

  /// Open devices by UID: queues that name one share it.
  private static let open = Mutex<[String: Weak]>([:])
  private struct Weak { weak var device: Device? }
  /// The open device called `uid`, if there is one in this process.
  package static func named(_ uid: String) -> Device? { open.withLock { $0[uid]?.device } }

  /// What queues name to share this client.
  package var uid: String { "jack:\(client.serverName)/\(client.name)" }
  package var isLost: Bool { lost.load(ordering: .acquiring) }

  /// Opens a client on `server` and sets its cycles going.
  package init(_ server: any Server, clientName: String) throws(ServerError) {
    client = try server.openClient(named: clientName)
    let roster = UnsafeMutablePointer<Roster>.allocate(capacity: 1)
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: 1)
    unsafe roster.initialize(to: Roster(voices: voices, count: 0))
    unsafe engine = .allocate(capacity: 1)
    unsafe engine.initialize(
      to: Engine(
        roster: roster, signal: relayThread.signal, client: client.handle,
        anchor: client.deviceFrame))
    seating = unsafe Mutex(Seating(roster: roster, voices: voices))
    do {
      try unsafe client.activate(engine, self)
    } catch {
      client.close()
      throw error
    }
    if client.relaysItself { return }
    relayThread.start { [weak self] in self?.relayAll() }
    Self.open.withLock { $0[uid] = Weak(device: self) }
  }

  deinit {
    seating.withLock { seating in
      unsafe seating.roster.deallocate()
      unsafe seating.voices.deallocate()
    }
    unsafe engine.deinitialize(count: 1)
    unsafe engine.deallocate()
  }

  // MARK: Voices

  /// Gives `voice` a port for each channel and has the cycles play it.
  ///
  /// - Returns: The names of the ports: `out_1` and so on; a later voice's have a number before.
  ///   If that fails and nothing else is seated, the device closes.
  package func seat(_ voice: VoiceMemory, owner: any VoiceOwner) throws(ServerError) -> [String] {
    let number: Int? = seating.withLock { seating in
      if seating.isOver { return nil }
      seating.users += 1
      seating.seated += 1
      return seating.seated
    }
    guard let number else { throw .lost(server: client.serverName) }
    let prefix = number == 1 ? "out_" : "\(number)_out_"
    let portNames = (1...voice.channels).map { "\(prefix)\($0)" }
    var ports: [OutputPort] = []
    do {
      for name in portNames { ports.append(try client.addPort(named: name)) }
    } catch {
      leave(ports)
      throw error
    }
    for (channel, port) in ports.enumerated() { unsafe voice.ports[channel] = port.place }
    let seat = Seat(voice: voice, owner: owner, ports: ports)
    seating.withLock { change(&$0) { $0.append(seat) } }
    // Those who were seated by then are told of the loss; this voice perhaps was not.
    if isLost {
      unseat(voice)
      throw .lost(server: client.serverName)
    }
    return portNames
  }

  /// Takes `voice` out of the cycles and gives its ports back.
  ///
  /// When this returns no cycle touches the voice or the memory of its entries. The device closes
  /// with its last voice. Takes a cycle: the ports are left silent.
  package func unseat(_ voice: VoiceMemory) {
    guard seating.withLock({ $0.seats.contains { $0.voice === voice } }) else { return }
    silence(voice)
    defer { unsafe voice.voice.pointee.release() }
    let ports: [OutputPort]? = seating.withLock { seating in
      guard let seat = seating.seats.first(where: { $0.voice === voice }) else { return nil }
      change(&seating) { seats in seats.removeAll { $0.voice === voice } }
      return seat.ports
    }
    if let ports { leave(ports) }
  }

  /// Ends one voice's use of the device and of `ports`, which no cycle sees.
  private func leave(_ ports: [OutputPort]) {
    func isLast(_ seating: inout Seating) -> Bool {
      if seating.users == 1 { seating.isOver = true }
      return seating.isOver
    }
    var closes = seating.withLock { isLast(&$0) }
    if !closes {
      // Still counted, so that nobody closes the device meanwhile.
      for port in ports { client.removePort(port) }
      closes = seating.withLock { seating in
        defer { seating.users -= 1 }
        return isLast(&seating)
      }
    }
    if closes { close() }
  }

  /// Holds `voice` and lets one cycle write silence to its ports.
  ///
  /// A port that nobody writes any more keeps its last cycle's sound, and JACK plays that again in
  /// every cycle until the port is gone.
  private func silence(_ voice: VoiceMemory) {
    unsafe voice.voice.pointee.hold()
    // A server that is driven by hand has no cycles unless somebody turns it.
    guard unsafe client.handle != nil else { return }
    let next = unsafe engine.pointee.cyclesBegun + 1
    let deadline = HostTime.now + 500_000_000
    while !(unsafe engine.pointee.areOver(next)) {
      if isLost || closed.load(ordering: .acquiring) || HostTime.now > deadline { return }
      usleep(200)
    }
  }

  /// Swaps the roster for one of the seats that `edit` leaves.
  private func change(_ seating: inout Seating, _ edit: (inout [Seat]) -> Void) {
    // Prepare.
    let removed = seating.seats
    edit(&seating.seats)
    let count = seating.seats.count
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(
      capacity: max(1, count))
    for (i, seat) in seating.seats.enumerated() {
      unsafe (voices + i).initialize(to: seat.voice.voice)
    }
    let roster = UnsafeMutablePointer<Roster>.allocate(capacity: 1)
    unsafe roster.initialize(to: Roster(voices: voices, count: count))
    // Apply.
    unsafe engine.pointee.swap(roster)
    let old = unsafe (seating.roster, seating.voices)
    unsafe seating.roster = roster
    unsafe seating.voices = voices
    // Retire.
    if settle() {
      unsafe old.0.deallocate()
      unsafe old.1.deallocate()
    } else {
      // A cycle that never ends may still look at it: keep it for ever.
      for seat in removed { _ = unsafe Unmanaged.passRetained(seat.voice) }
    }
  }

  /// Runs `body` while no cycle is in `voice`. The voice is silent meanwhile.
  package func holding<R>(_ voice: VoiceMemory, _ body: () -> R) throws(ServerError) -> R {
    unsafe voice.voice.pointee.hold()
    defer { unsafe voice.voice.pointee.release() }
    guard settle() else { throw .lost(server: client.serverName) }
    return body()
  }

  /// Waits until every cycle that has begun is over: at most one cycle's work.
  ///
  /// - Returns: False if a cycle has not ended after five seconds: it never will.
  private func settle() -> Bool {
    let count = unsafe engine.pointee.cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while !(unsafe engine.pointee.areOver(count)) {
      if closed.load(ordering: .acquiring) { return true }
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }

  // MARK: Time

  /// Device time now: never before the latest cycle.
  package var now: Int64 {
    let latest = latestFrame
    return max(DeviceTime.widen(client.counter, near: latest), latest)
  }
  /// First device frame of the latest cycle.
  package var latestFrame: Int64 { unsafe engine.pointee.latestFrame }

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

  // JACK's counter names a frame only within half of its range, some hours: what is further off
  // than an hour is counted from now.

  /// CLOCK_MONOTONIC, in nanoseconds, at device frame `frame`, as far as it can be told now.
  package func hostTime(ofFrame frame: Int64) -> UInt64 {
    let now = now
    let seconds = (Double(frame) - Double(now)) / client.sampleRate
    if abs(seconds) > 3600 {
      let time = Double(client.hostTime(ofCounter: UInt32(truncatingIfNeeded: now))) + seconds * 1e9
      return UInt64(min(max(time, 0), 0x1p63))
    }
    return client.hostTime(ofCounter: UInt32(truncatingIfNeeded: frame))
  }

  /// The device frame at host time `time`, in nanoseconds, as far as it can be told now.
  package func frame(atHostTime time: UInt64) -> Int64 {
    let now = now
    let present = client.hostTime(ofCounter: UInt32(truncatingIfNeeded: now))
    let seconds = (Double(time) - Double(present)) / 1e9
    if abs(seconds) > 3600 { return now + Int64(seconds * client.sampleRate) }
    return DeviceTime.widen(client.counter(atHostTime: time), near: now)
  }

  // MARK: Relay

  /// Has every owner read its events, on the calling thread.
  package func relay() {
    let owners = seating.withLock { $0.seats.compactMap { $0.owner } }
    for owner in owners { owner.relay() }
  }

  /// The relay thread's work: reads events, and tells of the loss of the server, once.
  private func relayAll() {
    relay()
    guard isLost, !hasToldLoss.exchange(true, ordering: .relaxed) else { return }
    let owners = seating.withLock { $0.seats.compactMap { $0.owner } }
    for owner in owners { owner.deviceLost() }
  }

  package func serverLost() {
    lost.store(true, ordering: .releasing)
    relayThread.post()
  }

  package func xrun() { xruns.add(1, ordering: .relaxed) }

  /// Ends the client. The device is of no use afterwards.
  package func close() {
    guard !closed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Self.open.withLock { $0[uid] = nil }
    client.close()
    if !client.relaysItself { relayThread.end() }
  }
}
