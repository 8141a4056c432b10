import Codecs
import Logging
import RealTime
package import Server
import Synchronization
import System
import Timeline

extension OutputQueue {
  /// Statistics of a run.
  package struct Statistics: Sendable {
    package var serverName: String
    package var clientName: String
    package var portNames: [String]
    /// For each port, the full names of the ports that it was connected to when it was created.
    package var connections: [[String]]
    /// The device frame at which the latest run began.
    package var beganAt: Int64?
    /// The length of the latest run in device frames.
    package var lastedFrames: Int64
    /// The number of times that the queue ran dry, and the silent frames that resulted.
    package var starvations: UInt64
    package var starvedFrames: UInt64
    /// Device frames not played because cycles did not run, or played in a cycle with which the
    /// driver's counter restarted.
    package var unheardFrames: UInt64
    /// Cycles of the client that ran too late.
    package var xruns: UInt64
    /// The number of times that the server went away and came back.
    package var restarts: UInt64
  }

  func openDevice() throws(QueueError) -> Device {
    if let device = state.read({ $0.device }) { return device }
    unsafe memory.voice.pointee.closeSecondPort()
    memory.portOrder = state.read { $0.part.isOffline ? [] : $0.part.portOrder }
    let (device, portNames, connections) = try core.open(
      on: state.read { $0.part.offline?.server },
      attach: { device throws(ServerError) in
        let names = try device.attach(memory, owner: self, destinations: graphInputs)
        prepareRendering(on: device)
        return names
      },
      connect: { (device, ports) throws(ServerError) in
        guard let assignments = state.read({ $0.part.assignments }) else {
          return try core.connect(ports, of: device)
        }
        return try assign(ports, to: assignments, of: device)
      })
    let deviceRate = device.client.sampleRate
    unsafe memory.voice.pointee.setSampleRate(deviceRate)
    do throws(QueueError) {
      install(device, try makeConverter(deviceRate))
    } catch {
      device.detach(memory)
      throw error
    }
    let facts = DeviceFacts(device)
    state.change { state in
      if !state.part.isOffline { noteDevice(facts, &state) }
      state.portNames = portNames
      state.connections = connections
      state.connectionMark = device.connectionMark
    }
    try openSecondPort(of: device)
    context.wake()
    return device
  }

  /// The graph input slots for the channels; nil if they go to ports. Offline there is no graph.
  private var graphInputs: [ClientPort]? {
    if state.read({ $0.part.isOffline }) { return nil }
    if let inputs = core.graphInputs.withLock({ $0 }) { return inputs }
    guard case .graphInputs(let inputs) = options.connections else { return nil }
    return inputs
  }

  /// Lets the queue write to input slots of a device's graph, one for each channel; nil lets it have ports of
  /// a client of its own again.
  ///
  /// - Throws: `QueueError.invalidRunState` unless the queue is idle.
  package func play(through route: (device: Device, inputs: [ClientPort])?, else server: any Server)
    throws(QueueError)
  {
    try core.online { () throws(QueueError) in
      try checkNotPrimed()
      closeDevice()
      core.graphInputs.withLock { $0 = route?.inputs }
      core.target.withLock { $0 = route.map { .device($0.device) } ?? .server(server) }
      announce(.device)
    }
  }

  // MARK: Properties

  /// The runs so far.
  package var runs: QueueRuns { state.read { $0.part.runs } }

  package var isPaused: Bool { state.read { $0.phase == .paused } }

  /// True if a start now would begin a run that has something to play or an end to reach, because
  /// no run is under way or the present one is paused or told to end.
  package var canBeginRun: Bool {
    state.read { state in
      state.phase == .paused || state.part.ends > state.part.runs.started - state.part.runs.over
    }
  }

  /// True if there is no run and none is pending, such as after the last frame of a run. False
  /// between the loss of a server and its return.
  package var hasEnded: Bool { state.read { $0.phase.isIdle } }

  package func setPortOrder(_ order: [Int]) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      if state.read({ $0.part.portOrder == order }) { return }
      try checkNotPrimed()
      let assignments = state.change { state in
        state.part.portOrder = order
        return state.part.assignments
      }
      guard state.read({ $0.device != nil && !$0.part.isOffline }) else { return }
      state.change { $0.part.assignments = nil }
      closeDevice()
      // The assignments stay valid: it is the same device, only the port order changes.
      state.change { $0.part.assignments = assignments }
    }
  }

  func closeDevice() {
    let (device, converter) = takeOut()
    // The process thread could read the converter's staging buffers until now.
    if let device, !device.detach(memory) { core.keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      emptyRing(&state)
      state.unprime()
      // The assignments referred to outputs of that device.
      if state.part.assignments != nil { state.notices.append(.changed(.channelAssignments)) }
      state.part.assignments = nil
    }
  }

  package var statistics: Statistics {
    let voice = unsafe memory.voice
    return state.read { state in
      let lasted: Int64
      if state.isRunning {
        lasted = core.ranFrames
      } else {
        lasted = state.lastedFrames
      }
      return Statistics(
        serverName: state.device?.client.serverName ?? "",
        clientName: state.device?.client.name ?? "",
        portNames: state.portNames,
        connections: state.connections,
        beganAt: state.beganAt,
        lastedFrames: lasted,
        starvations: unsafe voice.pointee.starvations.load(ordering: .relaxed),
        starvedFrames: unsafe voice.pointee.starvedFrames.load(ordering: .relaxed),
        unheardFrames: unsafe voice.pointee.unheardFrames.load(ordering: .relaxed),
        xruns: state.device?.xruns ?? 0,
        restarts: state.device?.restarts ?? 0)
    }
  }

  // MARK: Time

  /// Device frame at which the present run's first frame was due, by where the run is now: a server that
  /// was away moves it. Nil unless the latest cycle played.
  package var runOrigin: Int64? {
    guard state.read({ $0.isRunning && !$0.isLost }) else { return nil }
    let reading = memory.readClock()
    return reading.ranFrames > 0 ? reading.frame - reading.position : nil
  }

  /// Returns the earliest frame of the run at which a buffer enqueued now can begin. Buffers
  /// enqueued after the end of a run belong to the next run.
  func presentFrame(_ state: PlaybackState) -> Int64 {
    guard let device = state.device, state.part.ends == 0 else { return 0 }
    if state.isInterrupted { return Int64(held: (state.lastTimes?.frame ?? 0).rounded(.up)) }
    guard state.isRunning else { return 0 }
    return Int64(held: core.readRun(device).frame.rounded(.up))
  }

  /// Returns the host time in nanoseconds of a frame of the run, at the queue's rate. Nil if no run
  /// has begun or is scheduled for a given time.
  package func hostTime(ofRunFrame frame: Int64) -> UInt64? {
    guard let run = core.presentRun, !run.device.client.deliversEventsItself else { return nil }
    let deviceRate = run.device.client.sampleRate
    let deviceFrames = (Double(frame) - run.frame) * deviceRate / format.sampleRate
    return run.device.hostTime(ofFrame: run.now + Int64(held: deviceFrames.rounded()))
  }

  /// Returns the frame of the run, at the queue's rate, at a host time in nanoseconds. Requires a
  /// run, or one that is scheduled for a given time.
  package func runFrame(atHostTime hostTime: UInt64) throws(QueueError) -> Int64 {
    try checkOnline()
    guard let run = core.presentRun else { throw .invalidRunState }
    let deviceFrames = Double(run.device.frame(atHostTime: hostTime) - run.now)
    return Int64(
      held: (run.frame + deviceFrames * format.sampleRate / run.device.client.sampleRate).rounded())
  }
}
