import Glibc
import Logging
import RealTime
import Synchronization
import System
import Timeline

/// A device's way through the loss of its server: it went away, changed its rate or runs no cycles. Event thread.
///
/// `LossDetector` and the server's reports add to `Losses`. From then on the event thread calls `comeBack`, which
/// takes one step at a time:
///
///     present ── leave ──> muted ── resumeInPlace ──> present
///                            │ giveClientUp, if the client is lost
///                            v
///                      withoutClient ── reopen ──> replaced ── resumeInPlace ──> present
///
/// A loss on the way begins again at the step that it calls for. Before runs resume, `ReturnAgreement` agrees with
/// all other clients of the server on the time (`ReturnTable`).
final class ServerReturn: Sendable {
  private enum Stage {
    /// Cycles run and are audible.
    case present
    /// Cycles run, or may run again, and are silent.
    case muted
    /// The client is closed.
    case withoutClient
    /// Another client has taken the place of the lost one, and is silent yet.
    case replaced
  }
  private struct Away {
    var stage = Stage.present
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
  }

  /// Number of times that the server went away and came back.
  let restarts = Atomic<UInt64>(0)
  /// Number of changes of the server's sample rate, restarts included.
  let rateChanges = Atomic<UInt64>(0)

  private let away = Mutex(Away())
  private let server: any Server
  private let cycles: ClientCycles
  private let notices: DeviceNotices
  private let attachments: Attachments
  private let graph: GraphAttachment
  private let detector: LossDetector
  private let agreement: ReturnAgreement
  private var connections: Connections { attachments.connections }

  init(to server: any Server, _ graph: GraphAttachment) {
    self.server = server
    self.graph = graph
    attachments = graph.attachments
    notices = graph.notices
    cycles = attachments.cycles
    detector = LossDetector(cycles, notices)
    agreement = ReturnAgreement(cycles)
  }

  /// Notes that the device's cycles run.
  func enter() {
    agreement.enter()
    LostServers.shared.enter(cycles.client.serverName)
  }
  /// Notes that the device is being closed.
  func end() { agreement.end() }

  /// Looks for a loss.
  ///
  /// - Returns: The seconds after which to look again; nil after a loss, or if the caller drives the cycles.
  func check() -> Double? { detector.check() }

  /// Leaves the server if that has not happened yet, and returns to it once it answers again.
  ///
  /// - Returns: The seconds after which to try again; 0 if the device is back.
  func comeBack(_ device: Device) -> Double {
    if stage == .present { leave() }
    if cycles.losses.needsClient.load(ordering: .acquiring), stage != .withoutClient {
      giveClientUp()
    }
    // A client that was not closed in time may still run the engine.
    if cycles.link.isAbandoned { return 3600 }
    // A loss from here on counts as a loss after this return.
    let seen = cycles.losses.count
    if stage != .withoutClient { return resumeInPlace(device, seen) ? 0 : 0.02 }
    if reopen(device, seen) { return 0 }
    // Retry less and less often a server that keeps refusing something.
    return away.withLock { away in
      defer { away.failures = min(away.failures + 1, 4) }
      return away.failures == 0 || away.stage == .replaced ? 0.5 : 0.5 * Double(1 << away.failures)
    }
  }

  private var stage: Stage { away.withLock { $0.stage } }

  // MARK: Leaving

  /// Mutes all cycles and tells the owners.
  private func leave() {
    cycles.engine.setMuted(true)
    _ = cycles.engine.settle()
    // Take the changes up to here. Connections that a server removes while it ends are not changes
    // that anybody wants.
    var patience: Double?
    connections.note(connections.takeChanges(&patience))
    let times = cycles.engine.times
    let rate = cycles.client.sampleRate
    away.withLock { away in
      away = Away(
        stage: .muted, lossMicroseconds: times.nextMicroseconds, cycles: cycles.engine.cyclesBegun,
        periodFrames: Int(times.nextFrame - times.frame), sampleRate: rate, preparedRate: rate)
    }
    agreement.leave(at: times.nextMicroseconds)
    LostServers.shared.leave(cycles.client.serverName, cycles.losses.present)
    for owner in attachments.owners { owner.deviceLost() }
  }

  /// Removes the voices from the cycles in their present state, and closes the client.
  private func giveClientUp() {
    attachments.withLock { state in
      _ = attachments.change(&state) { $0.isAway = true }
    }
    graph.runningGraph?.halt()
    cycles.link.close(orElse: attachments.keepMemory)
    // A thread of JACK's may have ended in the middle of a cycle.
    cycles.engine.rebase(
      to: nil, anchor: TimeAnchor(frame: cycles.engine.times.frame, microseconds: 0))
    attachments.removePorts()
    connections.lose()
    away.withLock { $0.stage = .withoutClient }
    cycles.engine.setMuted(false)
  }

  // MARK: Returning

  /// Returns to a server that is still there, once it runs regular cycles at one rate.
  private func resumeInPlace(_ device: Device, _ seen: UInt64) -> Bool {
    let client = cycles.client
    let away = self.away.withLock { $0 }
    if unsafe client.handle != nil {
      // Cycles have written silence to the ports, and come from one driver.
      guard cycles.engine.cyclesBegun > away.cycles + 2, cycles.engine.cyclesInARow >= 2 else {
        return false
      }
    }
    cycles.engine.adoptSampleRate(of: client)
    prepareOwners(for: client)
    guard let resumption = agreement.agree(seen, loss: away.lossMicroseconds) else { return false }
    resume(resumption, from: away, at: client.sampleRate)
    attachments.withLock { state in
      if state.isAway { _ = attachments.change(&state) { $0.isAway = false } }
    }
    cycles.engine.setMuted(false)
    finishReturn(of: device, seen, rateChanged: client.sampleRate != away.sampleRate)
    return true
  }

  /// Opens another client, if a server answers, and restores everything on it.
  private func reopen(_ device: Device, _ seen: UInt64) -> Bool {
    let away = self.away.withLock { $0 }
    guard let fresh = server.reopenClient(named: cycles.client.name) else { return false }
    DeviceRegistry.shared.remove(named: device.uid)
    guard cycles.link.replace(with: fresh) else {
      fresh.close()
      return true
    }
    // From here on there is a client, even if the rest fails.
    self.away.withLock { $0.stage = .replaced }
    cycles.losses.needsClient.store(false, ordering: .releasing)
    notices.mayBeLost.store(false, ordering: .relaxed)
    do throws(ServerError) {
      cycles.engine.rebase(to: fresh, anchor: ClientCycles.anchor(for: fresh))
      cycles.engine.setSampleRate(fresh.sampleRate)
      try unsafe fresh.activate(cycles.engine.engine, notices)
      cycles.engine.adoptSampleRate(of: fresh)
      prepareOwners(for: fresh)
      try graph.restorePorts(on: fresh)
      try VoicePorts(attachments: attachments).restorePorts(on: fresh)
      connections.makeMissing(attachments.direction(of:))
      // From here on, the connections carry what cycles play.
      try cycles.awaitHeard(cycles.connectionMark)
    } catch {
      log.error("\(error)")
      cycles.losses.needsClient.store(true, ordering: .releasing)
      return false
    }
    let graph = graph.graph
    graph?.begin()
    guard let resumption = agreement.agree(seen, loss: away.lossMicroseconds) else { return false }
    resume(resumption, from: away, at: fresh.sampleRate)
    attachments.withLock { state in
      _ = attachments.change(&state) { $0.isAway = false }
    }
    if let graph { fresh.setLatencies(graph.latencies) }
    finishReturn(of: device, seen, rateChanged: fresh.sampleRate != away.sampleRate)
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
      for owner in attachments.owners { owner.deviceWillReturn(from: before, to: rate) }
    }
    graph.graph?.prepare(sampleRate: rate, blockFrames: client.periodFrames)
  }

  /// Prepares every run to resume as agreed. No cycle runs a voice.
  private func resume(_ resumption: ReturnTime, from away: Away, at rate: Double) {
    if resumption.microseconds == 0 { return }
    // The last cycles of any two clients are whole cycles apart.
    let gap = Double(resumption.lossMicroseconds) - Double(away.lossMicroseconds)
    let period = max(Double(away.periodFrames), 1)
    let cycles = (max(0, gap) / 1e6 * away.sampleRate / period).rounded()
    let skip = Int(held: (cycles * period * rate / away.sampleRate).rounded())
    let hostTime = StartPoint(.hostTime(resumption.microseconds * 1000))
    let start = resumption.frame.map { StartPoint(.frame($0)) } ?? hostTime
    for owner in attachments.owners {
      owner.deviceWillResume(at: start, or: hostTime, skipping: skip)
    }
  }

  private func finishReturn(of device: Device, _ seen: UInt64, rateChanged: Bool) {
    let isRestart = stage == .replaced
    if isRestart { restarts.add(1, ordering: .relaxed) }
    if rateChanged { rateChanges.add(1, ordering: .relaxed) }
    away.withLock { $0.stage = .present }
    detector.restart()
    cycles.losses.recover(from: seen)
    if cycles.link.lifetime == .open { DeviceRegistry.shared.add(device, named: device.uid) }
    cycles.awaitCycles(1)
    LostServers.shared.enter(cycles.client.serverName)
    for owner in attachments.owners { owner.deviceReturned() }
    if isRestart { device.showAgain() }
  }
}
