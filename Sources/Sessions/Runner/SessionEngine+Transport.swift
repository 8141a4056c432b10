import RealTime
import Server
import Synchronization

/// JACK's transport: a session that follows or leads it is where the transport is.
///
/// The session's thread looks at the transport some ten times per second, so that a start, a stop or a
/// locate is followed a fraction of a second later: from then on the session is at the transport's position to
/// the frame.
extension SessionEngine {
  /// Whether the session's start, stop and position are the transport's.
  package var usesTransport: Bool { isLive && document.transport.mode != .none }

  /// Becomes the transport's timebase if the session leads it. Another program that is the timebase stays
  /// so.
  func leadTransport(_ document: SessionDocument) {
    guard isLive, document.transport.mode == .lead else { return }
    let tempo = TransportTempo(
      bpm: document.transport.bpm, beatsPerBar: document.transport.beatsPerBar,
      beatUnit: document.transport.beatUnit)
    if !device.client.becomeTimebase(tempo) {
      options.onMessage("transport: another program is the timebase of the JACK server already")
    }
  }

  /// The groups that are where the transport is, each with the transport's frame at its beginning.
  private func followers(_ runs: [Run]) -> [(number: Int, zero: Int64)] {
    var followers: [(number: Int, zero: Int64)] = []
    for (number, run) in runs.enumerated() {
      switch run.group?.trigger {
      case nil, .manual:
        if document.transport.mode != .none { followers.append((number, 0)) }
      case .rolls: followers.append((number, 0))
      case .beat(let beat): followers.append((number, plan.timeline.frame(of: .beat(beat))))
      default: break
      }
    }
    return followers
  }

  /// Moves the groups to where the transport is. The caller holds the control lock.
  func followTransport() throws(SessionRunError) {
    guard isLive, !device.isLost else { return }
    let runs = self.runs.withLock { $0 }
    let followers = self.followers(runs)
    guard !followers.isEmpty, let state = device.client.transport else { return }
    guard state.isRolling else {
      let moved = followers.filter { follower in
        let run = runs[follower.number]
        return run.motion == .playing || run.origin != max(0, state.frame - follower.zero)
      }
      if moved.isEmpty { return }
      for (number, zero) in moved {
        try halt([number]) { _, _ in
          (state.frame > 0 ? .paused : .stopped, max(0, state.frame - zero))
        }
      }
      if !self.runs.withLock({ $0.contains { $0.motion == .playing } }) { stopRecordings() }
      return
    }
    // The transport's frame at a device frame: cycles begin on multiples of the period.
    let period = Int64(max(1, device.periodFrames))
    let latest = device.latestFrame
    let raw = device.frame(atHostTime: state.hostTime) - latest
    let frame = latest + Int64((Double(raw) / Double(period)).rounded()) * period
    for (number, zero) in followers {
      let offset = state.frame - zero - frame
      let run = runs[number]
      if run.motion == .playing, run.origin - run.anchor == offset { continue }
      let ends = run.tracks.map { plan.tracks[$0].end ?? .max }
      if run.motion != .playing, device.now + offset >= ends.max() ?? 0 { continue }
      try chase(number, offset: offset)
    }
  }

  /// Starts a group where the transport will be soon.
  ///
  /// - Parameter offset: The group's position at device frame 0.
  private func chase(_ number: Int, offset: Int64) throws(SessionRunError) {
    try halt([number]) { run, _ in (.paused, run.origin) }
    let tracks = runs.withLock { $0[number].tracks }
    let soon = device.now + lead(tracks.count, attempt: 1)
    let begin = max(soon, -offset)
    runs.withLock { $0[number].origin = begin + offset }
    try rewind(tracks, to: begin + offset)
    _ = try self.begin([number], at: begin)
    // If the machine was too busy, the next look at the transport tries again.
    let first = begin - Int64(session.latencyFrames) - Int64(device.periodFrames)
    if begin == soon, device.now >= first { runs.withLock { $0[number].motion = .paused } }
  }
}
