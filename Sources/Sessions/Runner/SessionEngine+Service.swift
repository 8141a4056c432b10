import AudioQueue
import Graph
import Server
import Synchronization
import System
import Timeline

/// Periodic work of the session thread for a running session, and the return of the server.
extension SessionEngine {
  /// The playback that the loss of the server has interrupted.
  struct Interruption: Sendable {
    /// The positions of the groups that played, by their numbers.
    var positions: [Int: Int64] = [:]
    /// The tracks of these groups that were still to start. They are not heard meanwhile.
    var waiting: Set<Int> = []
    /// Host time in nanoseconds until which the tracks that played are to be heard again; 0 while the
    /// server is away.
    var deadline: UInt64 = 0
  }

  /// Completes runs that have ended, and follows the transport and a server that has returned. Call it some
  /// ten times per second, and when the transport has changed.
  package func service() {
    tellFailedSounds(isLast: false)
    control.withLock { _ in
      do throws(SessionRunError) {
        if device.isLost { return try interrupt() }
        guard try followAnchors() else { return }
        let restarts = device.restarts
        if restarts != seenRestarts.exchange(restarts, ordering: .relaxed) { rejoinTransport() }
        try followTransport()
        try followTimes()
      } catch {
        options.onMessage("\(error)")
      }
      let ended = runs.withLock { runs in
        runs.indices.filter { index in
          runs[index].motion == .playing
            && runs[index].tracks.allSatisfy { players[$0]?.isOver ?? true }
        }
      }
      // A run without sound ends only when it is stopped.
      for index in ended
      where runs.withLock({ $0[index].tracks }).contains(where: { players[$0] != nil }) {
        end(index)
      }
    }
  }

  /// Whether `service` need not be called until something is asked, or the server goes away: nothing plays, records or
  /// follows the transport or MIDI messages, and the server is there.
  package var isStill: Bool {
    session.tap == nil && !transportStart.withLock { $0.follows } && !isPlaying
      && recorders.withLock { $0.isEmpty } && !device.isLost && interruption.withLock { $0 == nil }
  }

  /// Notes that all tracks of a group are over, and goes back to the beginning.
  private func end(_ index: Int) {
    let tracks = runs.withLock { runs in
      runs[index].lastCourse = runs[index].course
      runs[index].motion = .stopped
      runs[index].origin = 0
      return runs[index].tracks
    }
    latestEnd.store(device.now, ordering: .relaxed)
    tellFailedSounds(isLast: true)
    do throws(SessionRunError) {
      try rewind(tracks, to: 0)
    } catch {
      options.onMessage("\(error)")
    }
    if runs.withLock({ $0.allSatisfy { $0.motion != .playing } }) { stopRecordings() }
  }

  // MARK: Missing sound

  /// Tells of sound that cannot be read or decoded: when the first of a file is found, and all of it at the end
  /// of a run.
  func tellFailedSounds(isLast: Bool) {
    for (index, player) in players.enumerated() {
      guard let player else { continue }
      let count = player.faultCount
      guard count > 0, isLast || count > soundFailures.withLock({ $0[index].count }) else {
        continue
      }
      let faults = player.faults
      let old = soundFailures.withLock { failures in
        defer { failures[index] = faults }
        return failures[index]
      }
      let new = faults.filter { !old.contains($0) }
      if !new.isEmpty { options.onFailure() }
      for fault in new { options.onMessage(fault) }
    }
  }

  /// Returns what was told of a track's sound that is missing; empty if none is.
  package func failure(ofTrack index: Int) -> String {
    soundFailures.withLock { $0[index].joined(separator: "; ") }
  }

  // MARK: A server that was away

  /// Nanoseconds in which a track that played is heard again after the server's return.
  private static let patienceNanoseconds: UInt64 = 3_000_000_000

  /// Notes where the groups are when the server goes away. Tracks that are still to start would start at
  /// their host time, although the others are late by then: they are silent until they are ordered anew.
  private func interrupt() throws(SessionRunError) {
    if interruption.withLock({ $0 != nil }) { return }
    var new = Interruption()
    let frame = device.latestFrame
    for (number, run) in runs.withLock({ $0 }).enumerated() where run.motion == .playing {
      new.positions[number] = run.origin + max(0, frame - run.anchor)
      new.waiting.formUnion(tracks(of: run, from: run.anchor, startingAfter: frame))
    }
    let found = new
    interruption.withLock { $0 = found }
    try SessionRunError.host { () throws(HostError) in
      try session.setOpen(Array(found.waiting), false)
    }
  }

  /// The tracks of a group that are still to start at a device frame, if the group began at `anchor`.
  private func tracks(of run: Run, from anchor: Int64, startingAfter frame: Int64) -> [Int] {
    let latency = Int64(session.latencyFrames)
    return run.tracks.filter { index in
      guard players[index] != nil, let start = plan.tracks[index].run(from: run.origin) else {
        return false
      }
      return anchor - latency + start.delay > frame
    }
  }

  /// Follows the groups that play to where their tracks are: a server that was away, and one that counts
  /// frames anew, moves all of them alike. Tracks that are still to start are moved with them.
  ///
  /// - Returns: False as long as it is not known where a group is, after the server's return.
  private func followAnchors() throws(SessionRunError) -> Bool {
    var isKnown = true
    let present = interruption.withLock { interruption in
      if interruption?.deadline == 0 {
        interruption?.deadline = HostTime.now + Self.patienceNanoseconds
      }
      return interruption
    }
    for (number, run) in runs.withLock({ $0 }).enumerated() where run.motion == .playing {
      let isPatient = HostTime.now < present?.deadline ?? 0
      // The queues return one after another.
      if isPatient, run.tracks.contains(where: { players[$0]?.queue.isLost == true }) {
        isKnown = false
        continue
      }
      // A track that was still to start plays unheard since the return, from some frame or other.
      let unheard = present?.waiting.intersection(run.tracks) ?? []
      let heard = run.tracks.filter { !unheard.contains($0) }
      let found = anchor(of: run, by: heard)
      if let present, found == nil, let position = present.positions[number] {
        // Tracks that played are heard again in a moment.
        if isPatient, heard.contains(where: { players[$0]?.isOver == false }) {
          isKnown = false
          continue
        }
        // No track is heard at this position: the group starts anew there.
        try halt([number]) { _, _, _ in (.paused, position) }
        _ = try begin([number], at: nil)
      }
      guard let anchor = found, anchor != run.anchor || present != nil else { continue }
      let latency = Int64(session.latencyFrames)
      runs.withLock {
        $0[number].anchor = anchor
        $0[number].sourceAnchor = anchor - latency
      }
      let waiting = Set(tracks(of: run, from: anchor, startingAfter: device.now)).union(unheard)
      try join(waiting.filter { players[$0]?.queue.isLost == false }, run, from: anchor)
    }
    if isKnown, present != nil { interruption.withLock { $0 = nil } }
    return isKnown
  }

  /// The device frame at which a group's position was its origin, by where some of its tracks are; nil if
  /// none of them is heard.
  private func anchor(of run: Run, by tracks: [Int]) -> Int64? {
    let latency = Int64(session.latencyFrames)
    let beginnings = beginnings.withLock { $0 }
    return tracks.lazy.compactMap { index -> Int64? in
      guard let player = self.players[index], !player.isOver, let origin = player.queue.runOrigin,
        let beginning = beginnings[index]
      else { return nil }
      return origin + latency - (beginning - run.origin)
    }.first
  }

  /// Lets tracks of a group that plays join the others: at their start if that is still ahead, else where
  /// they would be.
  private func join(_ tracks: [Int], _ run: Run, from anchor: Int64) throws(SessionRunError) {
    if tracks.isEmpty { return }
    let latency = Int64(session.latencyFrames)
    let plan = plan
    // They play unheard, or wait for a frame that is no longer theirs.
    try forEachPlayer(of: tracks) { _, player throws(QueueError) in try player.halt() }
    try SessionRunError.host { () throws(HostError) in try session.setOpen(tracks, true) }
    var attempt = 0
    var late = tracks
    while !late.isEmpty {
      let soon = device.now + lead(late.count, attempt: attempt)
      let position = run.origin + soon - anchor
      try forEachPlayer(of: late) { index, player throws(QueueError) in
        guard let start = plan.tracks[index].run(from: position) else { return try player.halt() }
        _ = try player.rewind(to: start.frame)
        self.beginnings.withLock { $0[index] = position + start.delay }
        try player.queue.start(at: .frame(soon - latency + start.delay))
      }
      // A machine that was too busy tries again, with those whose frame may have passed.
      guard isLive, attempt < 4, isTooLate(for: soon), !device.isLost else { return }
      late = late.filter { index in
        plan.tracks[index].run(from: position).map { isTooLate(for: soon + $0.delay) } ?? false
      }
      attempt += 1
    }
  }
}
