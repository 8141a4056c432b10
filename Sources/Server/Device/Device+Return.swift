import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization
import System
import Timeline

// How a device stops playing and restores everything after the server went away, changed its rate,
// or stalled. All on the device's event thread.

/// Reason why a device plays nothing.
package enum Absence: UInt8, Sendable {
  /// The server has gone: the device waits for another one of the same name.
  case serverGone = 1
  /// The server runs no cycles.
  case stalled
  /// The server has changed its sample rate.
  case rateChange
}

/// The event thread's state for a device that is away.
struct Away {
  enum Stage {
    /// The device is not away.
    case none
    /// Cycles run, or may run again, and are silent.
    case muted
    /// The client is closed.
    case closed
  }
  var stage = Stage.none
  /// Host time, in microseconds, at which the last audible cycle ended.
  var lossMicroseconds: UInt64 = 0
  /// Cycles that had begun when the device was muted.
  var cycles: UInt64 = 0
  /// Frames of the last audible cycle.
  var periodFrames = 0
  /// Sample rate of that cycle, in Hz.
  var sampleRate = 0.0
  /// Sample rate that voices are prepared for, in Hz.
  var preparedRate = 0.0
  /// Number of failed attempts to open another client.
  var failures = 0
  /// The watchdog's: the cycles that had begun at its last check, and the number of checks without
  /// a new one.
  var watchedCycles: UInt64 = 0
  var idleLooks = 0
  var lookedAt: UInt64 = 0
}

/// The moment at which a client's connections were made: see `Device.awaitHeard`.
package struct ConnectionMark: Sendable {
  /// Number of the cycle after which jackd has made the connections audible.
  package var cycle: UInt64 = 0
  package var counterJumps: UInt64 = 0
  package var hostTime: UInt64 = 0
  package init() {}
}

extension Device {
  /// Reason why the device plays nothing at present, or why it last played nothing; nil if there
  /// was none.
  package var latestAbsence: Absence? { Absence(rawValue: absence.load(ordering: .acquiring)) }

  // MARK: The watchdog

  /// Seconds between two checks of the cycles.
  private static let lookInterval = 0.4
  /// Checks without a new cycle after which the server counts as stalled: two seconds.
  private static let idleLooksAllowed = 5

  /// Checks that the server is there and runs cycles at the rate that voices are prepared for.
  ///
  /// - Returns: The seconds after which to check again; nil if the caller drives the cycles.
  func watchServer() -> Double? {
    if mayBeLost.exchange(false, ordering: .acquiringAndReleasing) {
      // PipeWire 0.3.65 reports any error like this. A daemon that is alive continues to run
      // cycles.
      let before = unsafe engine.pointee.cyclesBegun
      let deadline = HostTime.now + 500_000_000
      while unsafe engine.pointee.cyclesBegun < before + 3, HostTime.now < deadline,
        !closed.load(ordering: .acquiring)
      { usleep(2000) }
      if unsafe engine.pointee.cyclesBegun < before + 3 {
        lostServer.store(true, ordering: .relaxed)
        lose(.serverGone)
        return nil
      }
      log.debug("the server reported an error and runs on")
    }
    let isOther = mayHaveOtherRate.exchange(false, ordering: .acquiringAndReleasing)
    let isMuted = unsafe engine.pointee.runsAtOtherRate
    if isOther || isMuted,
      client.liveSampleRate != client.sampleRate
    {
      lose(.rateChange)
      return nil
    }
    guard unsafe client.handle != nil else { return nil }
    let isIdle = away.withLock { away in
      let now = HostTime.now
      if Double(now - away.lookedAt) < Self.lookInterval * 0.9e9 { return false }
      away.lookedAt = now
      let cycles = unsafe engine.pointee.cyclesBegun
      let stands = cycles == away.watchedCycles && !isFreewheeling.load(ordering: .relaxed)
      away.watchedCycles = cycles
      away.idleLooks = stands ? away.idleLooks + 1 : 0
      return away.idleLooks >= Self.idleLooksAllowed
    }
    if isIdle {
      lose(.stalled)
      return nil
    }
    return Self.lookInterval
  }

  // MARK: Leaving and returning

  /// Leaves the server if that has not happened yet, and returns to it once it answers again.
  ///
  /// - Returns: The seconds after which to try again; 0 if the device is back.
  func comeBack() -> Double {
    if away.withLock({ $0.stage }) == .none { leave() }
    if needsClient.load(ordering: .acquiring), away.withLock({ $0.stage }) == .muted {
      giveClientUp()
    }
    // A client that was not closed in time may still run the engine.
    if isAbandoned.load(ordering: .acquiring) { return 3600 }
    // A loss from here on counts as a loss after this return.
    let seen = losses.load(ordering: .acquiring)
    if away.withLock({ $0.stage }) == .muted { return resumeInPlace(seen) ? 0 : 0.02 }
    if reopen(seen) { return 0 }
    // Retry less and less often a server that keeps refusing something.
    return away.withLock { away in
      defer { away.failures = min(away.failures + 1, 4) }
      return away.failures == 0 || away.stage == .muted ? 0.5 : 0.5 * Double(1 << away.failures)
    }
  }

  /// Mutes all cycles and tells the owners.
  private func leave() {
    unsafe engine.pointee.setMuted(true)
    _ = settle()
    // Take the changes up to here. Connections that a server removes while it ends are not changes
    // that anybody wants.
    var patience: Double?
    takeConnectionChanges(&patience)
    let times = unsafe engine.pointee.times
    away.withLock { away in
      away.stage = .muted
      away.lossMicroseconds = times.nextMicroseconds
      away.cycles = unsafe engine.pointee.cyclesBegun
      away.periodFrames = Int(times.nextFrame - times.frame)
      away.sampleRate = client.sampleRate
      away.preparedRate = client.sampleRate
      away.failures = 0
      away.idleLooks = 0
    }
    member.withLock { $0 }?.leave(at: times.nextMicroseconds)
    for owner in owners { owner.deviceLost() }
  }

  private var owners: [any VoiceOwner] {
    attachments.withLock { $0.entries.compactMap { $0.owner } }
  }

  /// Removes the voices from the cycles in their present state, and closes the client.
  private func giveClientUp() {
    attachments.withLock { attachments in
      attachments.isAway = true
      change(&attachments) { _ in }
    }
    attachments.withLock { $0.runsGraph ? $0.graph : nil }?.halt()
    letGo()
    // A thread of JACK's may have ended in the middle of a cycle.
    unsafe engine.pointee.rebase(
      client: nil, anchor: TimeAnchor(frame: latestFrame, microseconds: 0))
    attachments.withLock { attachments in
      attachments.users -= attachments.retired
      attachments.entries.removeAll { $0.retiredUntil != nil }
      for i in attachments.entries.indices { attachments.entries[i].ports = [] }
      attachments.graphPorts = attachments.graphPorts.mapValues {
        GraphPlace(port: unsafe ClientPort(cue_port()), direction: $0.direction)
      }
    }
    patchbay.withLock { $0.lose() }
    away.withLock { $0.stage = .closed }
    unsafe engine.pointee.setMuted(false)
  }

  /// Returns to a server that is still there, once it runs regular cycles at one rate.
  private func resumeInPlace(_ seen: UInt64) -> Bool {
    let client = client
    let away = self.away.withLock { $0 }
    if unsafe client.handle != nil {
      // Cycles have written silence to the ports, and come from one driver.
      guard unsafe engine.pointee.cyclesBegun > away.cycles + 2,
        unsafe engine.pointee.cyclesInARow >= 2
      else { return false }
    }
    adoptSampleRate(of: client)
    prepareOwners(for: client)
    guard let resumption = agree(seen) else { return false }
    resume(resumption, from: away, at: client.sampleRate)
    attachments.withLock { attachments in
      guard attachments.isAway else { return }
      attachments.isAway = false
      change(&attachments) { _ in }
    }
    unsafe engine.pointee.setMuted(false)
    finishReturn(seen, rateChanged: client.sampleRate != away.sampleRate)
    return true
  }

  /// Prepares voices, recorders and the graph for the client's rate, if that has changed.
  private func prepareOwners(for client: any ServerClient) {
    let rate = client.sampleRate
    let before = away.withLock { away in
      defer { away.preparedRate = rate }
      return away.preparedRate
    }
    if rate != before {
      for owner in owners { owner.deviceWillReturn(from: before, to: rate) }
    }
    attachments.withLock { $0.graph }?.prepare(sampleRate: rate, blockFrames: client.periodFrames)
  }

  /// Copies the server's present rate to the client and the engine.
  func adoptSampleRate(of client: any ServerClient) {
    client.takeSampleRate()
    unsafe engine.pointee.setSampleRate(client.sampleRate)
  }

  /// Opens another client, if a server answers, and restores everything on it.
  private func reopen(_ seen: UInt64) -> Bool {
    let old = client
    let away = self.away.withLock { $0 }
    guard let fresh = server.reopenClient(named: old.name) else { return false }
    delist()
    let isWanted = link.withLock { link in
      if closed.load(ordering: .acquiring) { return false }
      link = Link(client: fresh)
      return true
    }
    guard isWanted else {
      fresh.close()
      return true
    }
    // From here on there is a client, even if the rest fails.
    self.away.withLock { $0.stage = .muted }
    needsClient.store(false, ordering: .releasing)
    mayBeLost.store(false, ordering: .relaxed)
    let mark: ConnectionMark
    do throws(ServerError) {
      unsafe engine.pointee.rebase(client: fresh.handle, anchor: Self.anchor(for: fresh))
      unsafe engine.pointee.setSampleRate(fresh.sampleRate)
      try unsafe fresh.activate(engine, self)
      adoptSampleRate(of: fresh)
      prepareOwners(for: fresh)
      try restorePorts(on: fresh)
      makeMissingConnections()
      mark = connectionMark
      // From here on, the connections carry what cycles play.
      try awaitHeard(mark)
    } catch {
      log.error("\(error)")
      needsClient.store(true, ordering: .releasing)
      return false
    }
    let graph = attachments.withLock { $0.graph }
    graph?.begin()
    guard let resumption = agree(seen) else { return false }
    resume(resumption, from: away, at: fresh.sampleRate)
    attachments.withLock { attachments in
      attachments.isAway = false
      change(&attachments) { _ in }
    }
    if let graph { fresh.setLatencies(graph.latencies) }
    finishReturn(seen, rateChanged: fresh.sampleRate != away.sampleRate)
    return true
  }

  /// Agrees on a time to resume with all other clients that were on the server.
  ///
  /// - Returns: Nil after another loss meanwhile. A time of 0 if the caller drives the cycles: runs
  ///   resume in the next one.
  private func agree(_ seen: UInt64) -> Resumption? {
    let loss = away.withLock { $0.lossMicroseconds }
    guard unsafe client.handle != nil else {
      return Resumption(microseconds: 0, lossMicroseconds: loss)
    }
    guard let member = member.withLock({ $0 }) else {
      return Resumption(
        microseconds: ReturnTable.now + ReturnTable.leadMicroseconds, lossMicroseconds: loss)
    }
    member.beReady()
    let deadline = HostTime.now + 2 * ReturnTable.patienceMicroseconds * 1000
    while losses.load(ordering: .acquiring) == seen, !closed.load(ordering: .acquiring) {
      let decision = member.decision { microseconds in
        client.isPipeWire ? nil : frame(atHostTime: microseconds * 1000)
      }
      if let decision { return decision }
      if HostTime.now > deadline {
        member.stay()
        return Resumption(
          microseconds: ReturnTable.now + ReturnTable.leadMicroseconds, lossMicroseconds: loss)
      }
      usleep(2000)
    }
    member.leave(at: loss)
    return nil
  }

  /// Prepares every run to resume as agreed. No cycle runs a voice.
  private func resume(_ resumption: Resumption, from away: Away, at rate: Double) {
    if resumption.microseconds == 0 { return }
    // The last cycles of any two clients are whole cycles apart.
    let gap = Double(resumption.lossMicroseconds) - Double(away.lossMicroseconds)
    let period = max(Double(away.periodFrames), 1)
    let cycles = (max(0, gap) / 1e6 * away.sampleRate / period).rounded()
    let skip = Int((cycles * period * rate / away.sampleRate).rounded())
    let hostTime = StartPoint(.hostTime(resumption.microseconds * 1000))
    let start = resumption.frame.map { StartPoint(.frame($0)) } ?? hostTime
    for owner in owners { owner.deviceWillResume(at: start, or: hostTime, skipping: skip) }
  }

  private func finishReturn(_ seen: UInt64, rateChanged: Bool) {
    if lostServer.exchange(false, ordering: .relaxed) { restarts.add(1, ordering: .relaxed) }
    if rateChanged { rateChanges.add(1, ordering: .relaxed) }
    away.withLock { away in
      away.stage = .none
      away.idleLooks = 0
      away.lookedAt = HostTime.now
    }
    survived.store(seen, ordering: .releasing)
    if !closed.load(ordering: .acquiring) { enlist() }
    awaitCycles(1)
    for owner in owners { owner.deviceReturned() }
  }

  /// Adds the ports of each voice and recorder, and of the graph, again under their names.
  private func restorePorts(on client: any ServerClient) throws(ServerError) {
    for port in attachments.withLock({ $0.graph })?.wantedPorts ?? [] {
      let made = try Self.add(port, to: client)
      port.give(made)
      attachments.withLock {
        $0.graphPorts[port.name] = GraphPlace(port: made, direction: port.direction)
      }
    }
    let entries = attachments.withLock { $0.entries }
    var failed: [Attachment] = []
    var failure: ServerError?
    for attachment in entries {
      var ports: [ClientPort] = []
      do throws(ServerError) {
        for name in attachment.portNames {
          ports.append(try client.addPort(named: name, attachment.memory.direction))
        }
      } catch {
        for port in ports { client.removePort(port) }
        failed.append(attachment)
        failure = error
        continue
      }
      let isAttached = attachments.withLock { attachments in
        guard let i = attachments.entries.firstIndex(where: { $0.memory === attachment.memory })
        else {
          return false
        }
        for channel in 0..<min(ports.count, attachment.memory.channels) {
          let port = attachment.memory.port(ofChannel: channel)
          unsafe attachment.memory.ports[channel] = ports[port].place
        }
        if let give = attachment.giveSecondPort { give(ports[1]) }
        attachments.entries[i].ports = ports
        return true
      }
      if !isAttached { for port in ports { client.removePort(port) } }
    }
    guard let failure else { return }
    let hasGraph = attachments.withLock { $0.graph != nil }
    if failed.count == entries.count, !hasGraph { throw failure }
    log.error("\(failure): \(failed.count) of \(entries.count) queues do not return")
    giveUp(failed)
  }

  /// Detaches voices and recorders that a returned server refused ports; the others play on.
  private func giveUp(_ failed: [Attachment]) {
    attachments.withLock { attachments in
      let before = attachments.entries.count
      attachments.entries.removeAll { attachment in
        failed.contains { $0.memory === attachment.memory }
      }
      attachments.users -= before - attachments.entries.count
    }
    patchbay.withLock { $0.forget(failed.flatMap(\.portNames)) }
    for attachment in failed { attachment.owner?.deviceCannotReturn() }
  }

  /// Makes the connections whose other port exists.
  func makeMissingConnections() {
    for (port, destination) in patchbay.withLock({ $0.missing }) {
      do throws(ServerError) {
        try connect(port, to: destination)
      } catch {
        log.debug("not connected yet: \(error)")
      }
    }
  }

  /// Connects port `name` of a voice, a recorder or the graph to the port with the full name
  /// `other`. The connection is made again after each return of the server.
  package func connect(_ name: String, to other: String) throws(ServerError) {
    let direction = attachments.withLock { attachments in
      attachments.graphPorts[name]?.direction
        ?? attachments.entries.first { $0.portNames.contains(name) }?.memory.direction
    }
    switch direction {
    case .input: try client.connect(other, toOurs: name)
    case .output, nil: try client.connect(name, to: other)
    }
    connected(name, to: other)
  }

  /// Removes such a connection for good, if it exists.
  package func disconnect(_ name: String, from destination: String) {
    client.disconnect(name, from: destination)
    disconnected(name, from: destination)
  }

  /// Waits until `count` more cycles are over. Returns at once if the caller drives the cycles.
  func awaitCycles(_ count: UInt64) {
    awaitCycle(unsafe engine.pointee.cyclesBegun + count)
  }

  /// The present moment, for `awaitHeard`. Read it once all connections are made.
  package var connectionMark: ConnectionMark {
    var mark = ConnectionMark()
    // The next cycle knows of the connections, or the one after if the server was just announcing
    // another change.
    mark.cycle = unsafe engine.pointee.cyclesBegun + 2
    mark.counterJumps = unsafe engine.pointee.counterJumps
    mark.hostTime = HostTime.now
    return mark
  }

  /// Nanoseconds that PipeWire may take to move a client to another driver after a connection.
  private static let timeToMove: UInt64 = 100_000_000

  /// Waits until cycles are regular and audible over the connections made by `mark`. Returns at
  /// once if the caller drives the cycles.
  ///
  /// jackd needs two cycles. PipeWire moves a client to the driver of the port that it is connected
  /// to, without notice. Then the counter jumps, and from the second regular cycle on everything is
  /// audible. A client that is not moved sees no jump.
  ///
  /// - Throws: `ServerError.noCycles` if that takes more than five seconds.
  package func awaitHeard(_ mark: ConnectionMark) throws(ServerError) {
    let client = client
    guard unsafe client.handle != nil else { return }
    let seen = losses.load(ordering: .acquiring)
    let deadline = HostTime.now + 5_000_000_000
    func isHeard() -> Bool {
      guard unsafe engine.pointee.areOver(mark.cycle) else { return false }
      guard client.isPipeWire else { return true }
      return unsafe engine.pointee.cyclesInARow >= 2
        && (engine.pointee.counterJumps != mark.counterJumps
          || HostTime.now > mark.hostTime + Self.timeToMove)
    }
    while !isHeard() {
      if losses.load(ordering: .acquiring) != seen || closed.load(ordering: .acquiring) { return }
      if HostTime.now > deadline {
        throw .noCycles(client: client.name, server: client.serverName)
      }
      usleep(200)
    }
  }

  /// Waits until cycle `last` is over, for two seconds at most. Returns at once if the caller
  /// drives the cycles.
  private func awaitCycle(_ last: UInt64) {
    guard unsafe client.handle != nil else { return }
    let losses = losses.load(ordering: .acquiring)
    let deadline = HostTime.now + 2_000_000_000
    while !(unsafe engine.pointee.areOver(last)) {
      if self.losses.load(ordering: .acquiring) != losses || closed.load(ordering: .acquiring)
        || HostTime.now > deadline
      {
        return
      }
      usleep(200)
    }
  }
}
