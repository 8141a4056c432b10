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
    runs.withLock { $0.firstIndex { $0.group?.name == name } }
  }

  /// The groups that the user's start and stop concern: all that wait for no event of their own.
  package var manualGroups: [Int] {
    runs.withLock { runs in
      runs.indices.filter { runs[$0].group == nil || runs[$0].group?.trigger == .manual }
    }
  }

  /// What a group does.
  package func motion(ofGroup index: Int) -> Motion { runs.withLock { $0[index].motion } }

  /// Whether a group plays.
  package var isPlaying: Bool { runs.withLock { $0.contains { $0.motion == .playing } } }

  /// Whether a group is paused, and none plays.
  package var isPaused: Bool {
    !isPlaying && runs.withLock { $0.contains { $0.motion == .paused } }
  }

  /// The position of a group in device frames: the present one while it plays, else that of the next start.
  package func position(ofGroup index: Int) -> Int64 {
    let run = runs.withLock { $0[index] }
    guard run.motion == .playing else { return run.origin }
    return run.origin + max(0, device.now - run.anchor)
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
    return Int64((0.05 * rate + cycles) * Double(1 << attempt)) + Int64(session.latencyFrames)
  }

  func begin(_ groups: [Int], at wanted: Int64?) throws(SessionRunError) -> Int64 {
    let list = runs.withLock { runs in groups.map { runs[$0] } }
    let tracks = list.flatMap(\.tracks)
    let latency = Int64(session.latencyFrames)
    var origins: [Int: Int64] = [:]
    for run in list { for track in run.tracks { origins[track] = run.origin } }
    let starts = origins
    try SessionRunError.host { () throws(HostError) in try session.setOpen(tracks, true) }
    awaitSettled(seconds: 0.5)
    let plan = plan
    var attempt = 0
    while true {
      let frame =
        wanted
        ?? (isLive || device.now > 0 ? device.now + lead(tracks.count, attempt: attempt) : latency)
      try forEachPlayer(of: tracks) { index, player throws(QueueError) in
        guard !player.isOver, let run = plan.tracks[index].run(from: starts[index] ?? 0) else {
          return
        }
        try player.queue.start(at: .frame(frame - latency + run.delay))
      }
      // A machine that was too busy tries again, later.
      if isLive, wanted == nil, attempt < 4,
        device.now >= frame - latency - Int64(device.periodFrames),
        !device.isLost
      {
        for run in list { try rewind(run.tracks, to: run.origin, halts: true) }
        attempt += 1
        continue
      }
      runs.withLock { runs in
        for group in groups {
          runs[group].motion = .playing
          runs[group].anchor = frame
        }
      }
      startRecordings(at: frame)
      return frame
    }
  }

  // MARK: Stopping

  /// Stops groups on one frame, and goes back to the beginning.
  package func stop(_ groups: [Int]) throws(SessionRunError) {
    try control.withLock { _ throws(SessionRunError) in
      try halt(groups) { _, _ in (.stopped, 0) }
    }
    if !isPlaying { stopRecordings() }
  }

  /// Pauses groups that play, on one frame. `start` goes on at the position at which they were.
  package func pause(_ groups: [Int]) throws(SessionRunError) {
    try control.withLock { _ throws(SessionRunError) in
      let playing = runs.withLock { runs in groups.filter { runs[$0].motion == .playing } }
      try halt(playing) { run, frame in (.paused, run.origin + max(0, frame - run.anchor)) }
    }
  }

  /// Moves groups to a position in device frames. Those that play go on there, on one frame.
  ///
  /// - Parameter frame: As in `start`.
  package func locate(_ groups: [Int], to position: Int64, at frame: Int64? = nil)
    throws(SessionRunError)
  {
    try control.withLock { _ throws(SessionRunError) in
      let playing = runs.withLock { runs in groups.filter { runs[$0].motion == .playing } }
      try halt(groups) { run, _ in (run.motion == .playing ? .paused : run.motion, max(0, position))
      }
      if !playing.isEmpty { _ = try begin(playing, at: frame) }
    }
  }

  /// Fades groups out on one frame, stops their queues, and prepares a run from another position.
  ///
  /// - Parameter next: Returns what a group does then, and its position, from the device frame at which
  ///   the fade begins.
  func halt(_ groups: [Int], _ next: (Run, Int64) -> (Motion, Int64))
    throws(SessionRunError)
  {
    let list = runs.withLock { runs in groups.map { runs[$0] } }
    let playing = list.filter { $0.motion == .playing }.flatMap(\.tracks)
    // The edit reaches the next cycle.
    let frame = device.latestFrame + Int64(device.periodFrames) + Int64(session.latencyFrames)
    if !playing.isEmpty, !device.isLost {
      try SessionRunError.host { () throws(HostError) in try session.setOpen(playing, false) }
      awaitSettled(seconds: 0.5)
    }
    for (number, run) in zip(groups, list) {
      let (motion, position) = next(run, frame)
      runs.withLock { runs in
        runs[number].motion = motion
        runs[number].origin = position
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

  /// Starts the groups whose start is a frame or a host time, at that time. Times that are past are
  /// reported.
  package func arm() throws(SessionRunError) {
    let waiting = runs.withLock { runs in
      runs.enumerated().filter { $1.motion == .stopped }.map { ($0, $1.group) }
    }
    for (index, group) in waiting {
      let frame: Int64
      switch group?.trigger {
      case .frame(let number):
        frame =
          number < 1 << 32
          ? DeviceTime.widen(UInt32(truncatingIfNeeded: number), near: device.now) : number
      case .hostTime(let time): frame = device.frame(atHostTime: UInt64(time))
      default: continue
      }
      if frame <= device.now + Int64(session.latencyFrames) {
        options.onMessage("groups[\(group?.name ?? "")].trigger: the start frame \(frame) is past")
        continue
      }
      try start([index], at: frame)
    }
  }

  /// The groups that a MIDI note starts.
  func groups(triggeredBy number: Int, _ channel: Int) -> [Int] {
    runs.withLock { runs in
      runs.indices.filter {
        guard case .note(let note) = runs[$0].group?.trigger else { return false }
        return note.isStruck(by: number, channel)
      }
    }
  }

  /// The groups that an OSC message with this address starts.
  package func groups(triggeredBy address: String) -> [Int] {
    runs.withLock { runs in runs.indices.filter { runs[$0].group?.trigger == .osc(address) } }
  }
}
