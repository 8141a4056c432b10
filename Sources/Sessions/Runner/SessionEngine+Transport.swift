import Glibc
import RealTime
import Server
import Synchronization
import System
import Timeline

/// JACK's transport: a session that follows or leads it is where the transport is, to the frame.
///
/// jackd asks the session to get ready before the transport rolls. The session prepares its tracks, chooses
/// a frame, and lets the transport roll there. A transport that rolls already is followed a fraction of a
/// second later, as on PipeWire, which asks nobody.
extension SessionEngine {
  /// Whether the session's start, stop and position are the transport's.
  package var usesTransport: Bool { isLive && document.transport.mode != .none }

  /// Becomes the transport's timebase if the session leads it, and takes part in its starts if a group
  /// follows it. Another program that is the timebase stays so. Call it for each new client.
  func joinTransport(_ document: SessionDocument) {
    guard isLive else { return }
    if document.transport.mode == .lead {
      let tempo = TransportTempo(
        bpm: document.transport.bpm, beatsPerBar: document.transport.beatsPerBar,
        beatUnit: document.transport.beatUnit)
      if !device.client.becomeTimebase(tempo) {
        options.onMessage("transport: another program is the timebase of the JACK server already")
      }
    }
    let follows = !followers(runs.withLock { $0 }, nil).isEmpty
    let sync = follows ? device.client.joinTransportStarts() : nil
    transportStart.withLock {
      $0 = TransportStart(
        follows: follows, follower: TransportFollower(sync, after: $0.follower))
    }
  }

  /// The session's part in starts of the transport.
  struct TransportStart: Sendable {
    /// Whether a group is where the transport is.
    var follows = false
    /// Whether the transport rolled when the session looked last.
    var wasRolling = false
    var follower = TransportFollower()
  }

  /// Whether the transport has started, stopped or asked the session since `service` looked.
  package var transportHasChanged: Bool {
    let start = transportStart.withLock { $0 }
    guard start.follows, let state = device.transport else { return false }
    return start.follower.isAsked || state.isRolling != start.wasRolling
  }

  /// The transport's position now, in device frames; nil if the session ignores it.
  package var transportPosition: Int64? {
    guard usesTransport, let state = device.transport else { return nil }
    let missed = transportStart.withLock { $0.follower.missed }
    return state.position + (state.isRolling ? max(0, device.now - state.frame) + missed : 0)
  }

  /// Waits until the transport stands still, for a second at most.
  package func awaitTransportStop() {
    let deadline = HostTime.now + 1_000_000_000
    while device.transport?.isRolling == true, HostTime.now < deadline { usleep(1000) }
  }

  /// The groups that are where the transport is, each with the transport's frame at its beginning.
  private func followers(_ runs: [Run], _ state: TransportReading?) -> [(number: Int, zero: Int64)]
  {
    var followers: [(number: Int, zero: Int64)] = []
    for (number, run) in runs.enumerated() where !run.tracks.isEmpty {
      switch run.group?.trigger {
      case nil, .manual:
        if document.transport.mode != .none { followers.append((number, 0)) }
      case .rolls: followers.append((number, 0))
      case .beat(let beat): followers.append((number, frame(ofBeat: beat, state)))
      default: break
      }
    }
    return followers
  }

  /// Returns the transport's frame at one of its beats: by the tempo of the transport, or by the
  /// session's if it has none or the session leads.
  private func frame(ofBeat beat: Double, _ state: TransportReading?) -> Int64 {
    guard document.transport.mode != .lead, let state, let beats = state.beats else {
      return plan.timeline.frame(of: .beat(beat))
    }
    let framesPerBeat = 60 * plan.timeline.sampleRate / beats.perMinute
    let told = Double(state.position) + (beat - beats.position) * framesPerBeat
    // At one tempo from the beginning, the frame is exact.
    let exact = beat * framesPerBeat
    let isConstant = abs(told - exact) <= beats.slack * framesPerBeat + 1
    return Int64(held: (isConstant ? exact : told).rounded())
  }

  /// Moves the groups to where the transport is. The caller holds the control lock.
  func followTransport() throws(SessionRunError) {
    guard isLive, !device.isLost else { return }
    let runs = self.runs.withLock { $0 }
    let state = device.transport
    let followers = self.followers(runs, state)
    guard !followers.isEmpty else { return }
    var missed: Int64 = 0
    let step = transportStart.withLock { start in
      start.wasRolling = state?.isRolling ?? false
      return start.follower.step(on: device) { missed = $0 }
    }
    if missed != 0 {
      options.onMessage(TransportFollower.words(missed: missed, on: device))
    }
    switch step {
    case .getReady(let number, let position):
      try getReady(for: (number, position), followers)
    case .wait(let position): try hold(followers, runs, at: position, isPaused: true)
    case .stand(let position):
      try hold(followers, runs, at: position, isPaused: position > 0)
      if !self.runs.withLock({ $0.contains { $0.motion == .playing } }) { stopRecordings() }
    case .roll(let offset): if let state { try follow(followers, runs, state, offset: offset) }
    case nil: break
    }
  }

  /// Lets groups play that are not where the rolling transport is.
  ///
  /// - Parameter transportOffset: The transport's position at device frame 0.
  private func follow(
    _ followers: [(number: Int, zero: Int64)], _ runs: [Run], _ state: TransportReading,
    offset transportOffset: Int64
  ) throws(SessionRunError) {
    for (number, zero) in followers {
      // The group's position at device frame 0.
      let offset = transportOffset - zero
      let run = runs[number]
      if run.motion == .playing, abs(run.origin - run.anchor - offset) <= slack(of: run, state) {
        continue
      }
      if run.motion != .playing, device.now + offset >= end(of: run) { continue }
      try chase(number, offset: offset)
    }
  }

  /// Frames by which a group that starts at a beat may be off: the transport counts in ticks.
  private func slack(of run: Run, _ state: TransportReading) -> Int64 {
    guard case .beat = run.group?.trigger, let beats = state.beats else { return 0 }
    return Int64(held: (beats.slack * 60 * plan.timeline.sampleRate / beats.perMinute).rounded(.up))
  }

  /// The position at which all tracks of a group are over.
  private func end(of run: Run) -> Int64 {
    run.tracks.map { plan.tracks[$0].end ?? .max }.max() ?? 0
  }

  /// Stops groups, and prepares them for a start at a frame of the transport.
  private func hold(
    _ followers: [(number: Int, zero: Int64)], _ runs: [Run], at position: Int64, isPaused: Bool
  ) throws(SessionRunError) {
    let moved = followers.filter { follower in
      let run = runs[follower.number]
      return run.motion == .playing || run.origin != max(0, position - follower.zero)
    }
    if moved.isEmpty { return }
    let zeros = Dictionary(uniqueKeysWithValues: moved.map { ($0.number, $0.zero) })
    try halt(moved.map(\.number)) { number, _, _ in
      (isPaused ? .paused : .stopped, max(0, position - (zeros[number] ?? 0)))
    }
  }

  /// Gets the groups ready for a position of the transport, and lets it roll at the frame at which they
  /// start.
  private func getReady(
    for request: (number: UInt32, position: Int64), _ followers: [(number: Int, zero: Int64)]
  ) throws(SessionRunError) {
    let position = request.position
    let zeros = Dictionary(uniqueKeysWithValues: followers.map { ($0.number, $0.zero) })
    let groups = followers.map(\.number)
    var attempt = 0
    while true {
      try halt(groups) { number, run, _ in
        let frame = max(0, position - (zeros[number] ?? 0))
        return (frame < end(of: run) ? .paused : .stopped, frame)
      }
      let runs = self.runs.withLock { $0 }
      let waiting = groups.filter { runs[$0].origin < end(of: runs[$0]) }
      let tracks = waiting.map { runs[$0].tracks.count }.reduce(0, +)
      let period = Int64(device.periodFrames)
      let cycles = (lead(tracks, attempt: attempt) + period - 1) / period + 1
      // The transport rolls at the beginning of a cycle.
      let frame = device.latestFrame + cycles * period
      if !waiting.isEmpty {
        _ = try begin(waiting, at: frame, later: zeros.mapValues { max(0, $0 - position) })
      }
      if isTooLate(for: frame), attempt < 3, !device.isLost {
        restartRecordings(recorders.withLock { $0.map(\.name) })
        attempt += 1
        continue
      }
      transportStart.withLock {
        $0.follower.answer(request.number, rollingAt: frame, periodFrames: Int(period))
      }
      return
    }
  }

  /// Starts a group where the transport will be soon.
  ///
  /// - Parameter offset: The group's position at device frame 0.
  private func chase(_ number: Int, offset: Int64) throws(SessionRunError) {
    try halt([number]) { _, run, _ in (.paused, run.origin) }
    let tracks = runs.withLock { $0[number].tracks }
    let soon = device.now + lead(tracks.count, attempt: 1)
    let begin = max(soon, -offset)
    runs.withLock { $0[number].origin = begin + offset }
    try rewind(tracks, to: begin + offset)
    _ = try self.begin([number], at: begin)
    // If the machine was too busy, the next look at the transport tries again.
    if begin == soon, isTooLate(for: begin) {
      runs.withLock { $0[number].motion = .paused }
    }
  }

  /// Takes part in the transport of a server that has returned. One that the session leads goes on where
  /// the session is.
  func rejoinTransport() {
    let document = document
    joinTransport(document)
    guard document.transport.mode == .lead else { return }
    let followers = self.followers(runs.withLock { $0 }, nil)
    guard let (number, zero) = followers.first(where: { motion(ofGroup: $0.number) == .playing })
    else {
      return
    }
    device.client.locateTransport(to: position(ofGroup: number) + zero)
    device.client.startTransport()
  }
}
