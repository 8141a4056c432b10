import AudioQueue
import Graph
import RealTime
import Server
import Synchronization
import System
import Timeline

/// Starting, stopping, pausing and locating, for the whole session or a group, on one frame.
extension SessionEngine {
  /// The number of groups: tracks in no group count as the first one, which is named after nothing.
  package var groupNames: [String?] { runs.withLock { $0.map { $0.group?.name } } }

  /// Returns the number of the group with a name; nil if there is none.
  package func group(named name: String) -> Int? {
    runs.withLock { $0.firstIndex { $0.group?.name.isSameName(as: name) == true } }
  }

  /// The groups that the user's start and stop concern: all that wait for no event of their own.
  package var manualGroups: [Int] {
    runs.withLock { runs in
      runs.indices.filter { runs[$0].group == nil || runs[$0].group?.trigger == .manual }
    }
  }

  /// What a group does.
  package func motion(ofGroup index: Int) -> Motion { runs.withLock { $0[index].motion } }

  /// The state of a group in one word: `waiting` if it is to start on a frame that has not come, else its motion.
  package func motionWord(ofGroup index: Int) -> String {
    let run = runs.withLock { $0[index] }
    let isWaiting = run.motion == .playing && run.isScheduled && run.anchor > device.now
    return isWaiting ? "waiting" : run.motion.rawValue
  }

  /// The state of the session in one word, as for a group.
  package var motionWord: String {
    isSounding ? "playing" : isPlaying ? "waiting" : isPaused ? "paused" : "stopped"
  }

  /// Whether a group plays.
  package var isPlaying: Bool { runs.withLock { $0.contains { $0.motion == .playing } } }

  /// Whether a group is heard: one that plays, and does not wait for its frame. For a session that follows or
  /// leads the transport, whether that rolls.
  package var isSounding: Bool {
    if usesTransport { return device.transport?.isRolling ?? false }
    let now = device.now
    return runs.withLock { $0.contains { $0.motion == .playing && $0.anchor <= now } }
  }

  /// Whether a group is paused, and none plays.
  package var isPaused: Bool {
    !isPlaying && runs.withLock { $0.contains { $0.motion == .paused } }
  }

  /// Whether no sound is left to be heard: no group plays one or is paused. A session without sounds has
  /// played all unless it records.
  package var hasPlayedAll: Bool {
    let waits = runs.withLock { runs in
      runs.contains { run in
        run.motion == .paused
          || run.motion == .playing && run.tracks.contains { players[$0] != nil }
      }
    }
    let document = document
    let late = document.tracks.indices.map { document.delay(ofTrack: $0) }.max() ?? 0
    let end = latestEnd.load(ordering: .relaxed) + Int64(plan.timeline.frames(of: late))
    return !waits && (!isRecording || players.contains { $0 != nil }) && device.now >= end
  }

  /// The position of a group in device frames: the present one while it plays, else that of the next start.
  /// While the server is away it stands still.
  package func position(ofGroup index: Int) -> Int64 {
    let run = runs.withLock { $0[index] }
    guard run.motion == .playing else { return run.origin }
    if let position = interruption.withLock({ $0?.positions[index] }) { return position }
    let now = device.isLost ? device.latestFrame : device.now
    return run.origin + max(0, now - run.anchor)
  }

  // MARK: Starting

  /// Starts groups, or lets them go on, all on one frame.
  ///
  /// - Parameters:
  ///   - groups: Numbers of groups; those that play already go on as they are.
  ///   - frame: The device frame at which the position that they are at leaves the ports; nil for as soon
  ///     as all of them can.
  /// - Returns: The frame; nil if there was nothing to start.
  @discardableResult
  package func start(_ groups: [Int], at frame: Int64? = nil) throws(SessionRunError) -> Int64? {
    try control.withLock { _ throws(SessionRunError) in
      let waiting = runs.withLock { runs in groups.filter { runs[$0].motion != .playing } }
      if waiting.isEmpty { return nil }
      if device.isLost { throw .server(.lost(server: device.client.serverName)) }
      return try begin(waiting, at: frame)
    }
  }

  /// Device frames before a start in which all tracks can be told to start.
  func lead(_ count: Int, attempt: Int) -> Int64 {
    let rate = plan.timeline.sampleRate
    let cycles = Double(4 + count / 4) * Double(device.periodFrames)
    return Int64(held: (0.05 * rate + cycles) * Double(1 << attempt)) + Int64(session.latencyFrames)
  }

  /// Starts groups that wait, all on one frame or each so many frames later.
  ///
  /// - Parameters:
  ///   - wanted: The device frame of the start; nil for as soon as possible.
  ///   - delays: Frames by which groups start later, by their numbers.
  func begin(_ groups: [Int], at wanted: Int64?, later delays: [Int: Int64] = [:])
    throws(SessionRunError) -> Int64
  {
    let list = runs.withLock { runs in groups.map { (delay: delays[$0] ?? 0, run: runs[$0]) } }
    let tracks = list.flatMap(\.run.tracks)
    let latency = Int64(session.latencyFrames)
    var origins: [Int: (position: Int64, delay: Int64)] = [:]
    for (delay, run) in list {
      for track in run.tracks { origins[track] = (run.origin, delay) }
    }
    let starts = origins
    try SessionRunError.host { () throws(HostError) in try session.setOpen(tracks, true) }
    // The recordings have their ports before the frame is chosen.
    let recording = prepareRecordings()
    awaitSettled(seconds: 0.5)
    let plan = plan
    var attempt = 0
    while true {
      let frame =
        wanted
        ?? (isLive || device.now > 0 ? device.now + lead(tracks.count, attempt: attempt) : latency)
      startRecordings(recording, at: frame)
      try forEachPlayer(of: tracks) { index, player throws(QueueError) in
        guard !player.isOver, let start = starts[index],
          let run = plan.tracks[index].run(from: start.position)
        else { return }
        self.beginnings.withLock { $0[index] = start.position + run.delay }
        try player.queue.start(at: .frame(frame - latency + start.delay + run.delay))
      }
      // A machine that was too busy tries again, later.
      if isLive, wanted == nil, attempt < 4, isTooLate(for: frame), !device.isLost {
        for (_, run) in list { try rewind(run.tracks, to: run.origin, halts: true) }
        restartRecordings(recording)
        attempt += 1
        continue
      }
      runs.withLock { runs in
        for group in groups {
          runs[group].motion = .playing
          runs[group].anchor = frame + (delays[group] ?? 0)
          runs[group].sourceAnchor = runs[group].anchor - latency
          runs[group].lastCourse = nil
          runs[group].waitsForTime = false
          runs[group].isScheduled = wanted != nil
        }
      }
      return frame
    }
  }

  /// Whether a start at a device frame that was ordered by now may have come too late.
  func isTooLate(for frame: Int64) -> Bool {
    device.isTooLate(for: frame - Int64(session.latencyFrames))
  }

  // MARK: Stopping

  /// Stops groups on one frame, and goes back to the beginning.
  package func stop(_ groups: [Int]) throws(SessionRunError) {
    try control.withLock { _ throws(SessionRunError) in
      try halt(groups) { _, _, _ in (.stopped, 0) }
    }
    if !isPlaying { stopRecordings() }
  }

  /// Pauses groups that play, on one frame. `start` goes on at the position at which they were.
  package func pause(_ groups: [Int]) throws(SessionRunError) {
    try control.withLock { _ throws(SessionRunError) in
      let playing = runs.withLock { runs in groups.filter { runs[$0].motion == .playing } }
      try halt(playing) { _, run, frame in (.paused, run.origin + max(0, frame - run.anchor)) }
    }
    if !isPlaying { stopRecordings() }
  }

  /// Moves groups to a position in device frames. Those that play go on there, on one frame.
  ///
  /// - Parameter frame: As in `start`.
  package func locate(_ groups: [Int], to position: Int64, at frame: Int64? = nil)
    throws(SessionRunError)
  {
    try control.withLock { _ throws(SessionRunError) in
      let playing = runs.withLock { runs in groups.filter { runs[$0].motion == .playing } }
      try halt(groups) { _, run, _ in
        (run.motion == .playing ? .paused : run.motion, max(0, position))
      }
      if !playing.isEmpty { _ = try begin(playing, at: frame) }
    }
  }

  /// Fades groups out on one frame, stops their queues, and prepares a run from another position.
  ///
  /// - Parameter next: Returns what a group does then, and its position, from its number and the device
  ///   frame at which the fade begins.
  func halt(_ groups: [Int], _ next: (Int, Run, Int64) -> (Motion, Int64))
    throws(SessionRunError)
  {
    let list = runs.withLock { runs in groups.map { runs[$0] } }
    let playing = list.filter { $0.motion == .playing }.flatMap(\.tracks)
    let latest = device.latestFrame
    // The edit should reach the next cycle.
    var fade = latest + Int64(device.periodFrames)
    if !playing.isEmpty, !device.isLost {
      try SessionRunError.host { () throws(HostError) in try session.setOpen(playing, false) }
      awaitSettled(seconds: 0.5)
      // The cycle that it did reach.
      if let begun = session.graph.latestFade, begun > latest { fade = begun }
    }
    let frame = fade + Int64(session.latencyFrames)
    for (number, run) in zip(groups, list) {
      let (motion, position) = next(number, run, frame)
      runs.withLock { runs in
        runs[number].motion = motion
        runs[number].origin = position
        runs[number].lastCourse = nil
      }
    }
    // All queues stop before one is refilled.
    if !playing.isEmpty {
      try forEachPlayer(of: playing) { _, player throws(QueueError) in try player.halt() }
    }
    for number in groups {
      let run = runs.withLock { $0[number] }
      try rewind(run.tracks, to: run.origin)
    }
  }

  /// Prepares some tracks for a run from a position, in which they do not play.
  func rewind(_ tracks: [Int], to position: Int64, halts: Bool = false) throws(SessionRunError) {
    if halts {
      try forEachPlayer(of: tracks) { _, player throws(QueueError) in try player.halt() }
    }
    let plan = plan
    try forEachPlayer(of: tracks) { index, player throws(QueueError) in
      guard let run = plan.tracks[index].run(from: position) else { return try player.halt() }
      _ = try player.rewind(to: run.frame)
    }
  }

  // MARK: Triggers

  /// The groups that a MIDI note starts.
  package func groups(triggeredBy number: Int, _ channel: Int) -> [Int] {
    runs.withLock { runs in
      runs.indices.filter {
        guard case .note(let note) = runs[$0].group?.trigger else { return false }
        return note.isMeant(by: number, channel)
      }
    }
  }

  /// The groups that an OSC message with this address starts.
  package func groups(triggeredBy address: String) -> [Int] {
    runs.withLock { runs in runs.indices.filter { runs[$0].group?.trigger == .osc(address) } }
  }
}
