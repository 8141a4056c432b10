import Codecs
import Logging
import RealTime
package import Server
import Synchronization
import Timeline

extension OutputQueue {
  /// What a run has come to.
  package struct Statistics: Sendable {
    package var serverName: String
    package var clientName: String
    package var portNames: [String]
    /// For each port the full names of the ports that it was connected to when it was made.
    package var connections: [[String]]
    /// Device frame at which the latest run began.
    package var beganAt: Int64?
    /// Device frames that the latest run lasted.
    package var lastedFrames: Int64
    /// How often the queue ran dry, and the frames of silence that made.
    package var starvations: UInt64
    package var starvedFrames: UInt64
    /// Frames that passed unheard, because cycles did not come.
    package var unheardFrames: UInt64
    /// Cycles of the client that came too late.
    package var xruns: UInt64
    /// How often the server went away and came back.
    package var restarts: UInt64
  }

  /// The device, opened and connected if need be. Holding `control`.
  func openDevice() throws(QueueError) -> Device {
    if let device = state.read({ $0.device }) { return device }
    let device: Device
    let portNames: [String]
    let connections: [[String]]
    do throws(ServerError) {
      if let server = state.read({ $0.offlineServer }) {
        device = try Device(server, clientName: options.clientName)
      } else {
        switch target.withLock({ $0 }) {
        case .server(let server): device = try Device(server, clientName: options.clientName)
        case .device(let shared): device = shared
        }
      }
      unsafe memory.voice.pointee.closeSecondPort()
      memory.portOrder = state.read { $0.isOffline ? [] : $0.portOrder }
      portNames = try device.seat(memory, owner: self, places: places)
      prepareRendering(on: device)
      do throws(ServerError) {
        connections = try connect(portNames, of: device)
      } catch {
        device.unseat(memory)
        throw error
      }
    } catch {
      log.error("\(error)")
      throw .cannotStart(error)
    }
    let deviceRate = device.client.sampleRate
    unsafe memory.voice.pointee.setSampleRate(deviceRate)
    do throws(QueueError) {
      install(device, try makeConverter(deviceRate))
    } catch {
      device.unseat(memory)
      throw error
    }
    let facts = DeviceFacts(device)
    state.change { state in
      if !state.isOffline { noteDevice(facts, &state) }
      state.portNames = portNames
      state.connections = connections
      state.connectionMark = device.connectionMark
    }
    try openSecondPort(of: device)
    context.wake()
    return device
  }

  /// Where the channels go if not to ports. Offline there is no graph.
  private var places: [ClientPort]? {
    guard case .places(let places) = options.connections else { return nil }
    return state.read { $0.offlineServer } == nil ? places : nil
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port what it is connected to now.
  private func connect(_ ports: [String], of device: Device) throws(ServerError)
    -> [[String]]
  {
    if let assignments = state.read({ $0.assignments }) {
      return try assign(ports, to: assignments, of: device)
    }
    let destinations =
      switch options.connections {
      case .none, .places: [String]()
      case .ports(let destinations): destinations
      case .physical: Array(device.client.physicalOutputs.prefix(max(2, ports.count)))
      }
    var connections: [[String]] = ports.map { _ in [] }
    for (i, destination) in destinations.enumerated() {
      // The sound card's outputs beyond the queue's channels stay free; one channel takes two.
      let port = i % ports.count
      try device.connect(ports[port], to: destination)
      connections[port].append(destination)
    }
    return connections
  }

  // MARK: Properties

  /// True from the first frame of a run to its last. Whoever is being told of a change sees the value
  /// that he is told of, even if a short run is over by then.
  package var isRunning: Bool {
    state.read { state in
      if state.isInCallback, case .isRunning(let value) = state.delivering?.notice { return value }
      return state.isRunning
    }
  }

  /// True if there is no run and none is to come, as after the last frame of one: not between a server
  /// that went away and the next.
  package var hasEnded: Bool { state.read { $0.phase == .idle } }

  /// The rate of the device in Hz. Opens it.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try online { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// The channels of the sound card. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    try online { () throws(QueueError) in try openDevice() }.client.physicalOutputs.count
  }

  /// The UID of the device: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before. While the queue
  /// renders offline, that of the device that it plays on otherwise.
  package var deviceUID: String {
    state.read({ $0.isOffline ? nil : $0.device })?.uid ?? target.withLock { $0 }.uid
  }

  /// Has the queue play through another device: `jack:SERVER` is a client of its own on that
  /// server, `jack:SERVER/CLIENT` shares an open client of this process. Before a start.
  package func setDeviceUID(_ uid: String) throws(QueueError) {
    try online { () throws(QueueError) in
      try checkIdle()
      if uid == deviceUID { return }
      let new = try Target(uid: uid)
      closeDevice()
      target.withLock { $0 = new }
      announce(.device)
    }
  }

  package func setPortOrder(_ order: [Int]) throws(QueueError) {
    try controlled { () throws(QueueError) in
      if state.read({ $0.portOrder == order }) { return }
      try checkNotPrimed()
      let assignments = state.change { state in
        state.portOrder = order
        return state.assignments
      }
      guard state.read({ $0.device != nil && !$0.isOffline }) else { return }
      state.change { $0.assignments = nil }
      closeDevice()
      // They are channels of the same device, whatever their ports.
      state.change { $0.assignments = assignments }
    }
  }

  /// Gives the device back; what is enqueued waits for the next one. Holding `control`, no run.
  func closeDevice() {
    let (device, converter) = takeOut()
    // The cycles have read the converter's slabs until now.
    if let device, !device.unseat(memory) { keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      emptyRing(&state)
      state.isPrimed = false
      // They were outputs of that device.
      if state.assignments != nil { state.notices.append(.changed(.channelAssignments)) }
      state.assignments = nil
    }
  }

  /// Device frames that the run has lasted so far.
  var ranFrames: Int64 {
    let reading = unsafe memory.voice.pointee.clock.read()
    return reading.position + reading.ranFrames
  }

  /// True while the server is gone: the queue can only be disposed of.
  package var isLost: Bool { state.read { $0.isLost } }

  /// Why the queue plays nothing at present; nil if its server runs its cycles.
  package var absence: Absence? { state.read { $0.isLost ? $0.device : nil }?.latestAbsence }

  package var statistics: Statistics {
    let voice = unsafe memory.voice
    return state.read { state in
      let lasted: Int64
      if state.isRunning {
        lasted = ranFrames
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
        xruns: state.device?.xruns.load(ordering: .relaxed) ?? 0,
        restarts: state.device?.restarts.load(ordering: .relaxed) ?? 0)
    }
  }

  // MARK: Time

  /// The queue's time: see `Queue`. Stands still while the queue is paused and goes on while it is dry.
  package var currentTime: (frame: Double, hostTime: UInt64)? {
    presentRun.map { ($0.frame, $0.device.hostTime(ofFrame: $0.now)) }
  }

  /// Device time now, and the frame of the run at that moment, at the queue's rate.
  private func readRun(_ device: Device) -> (now: Int64, frame: Double) {
    // First the cycle, then the counter: until a cycle begins the counter may be ahead of its first frame.
    let reading = unsafe memory.voice.pointee.clock.read()
    let now = device.now
    let frame = DeviceTime.frames(
      reading.position(at: now), atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return (now, frame)
  }

  /// The frame of the run at which something that is enqueued now can begin at the earliest: what is
  /// enqueued after the end of a run belongs to the next.
  func presentFrame(_ state: QueueState) -> Int64 {
    guard let device = state.device, state.isRunning, state.ends == 0 else { return 0 }
    return Int64(readRun(device).frame.rounded(.up))
  }

  /// Host time, in nanoseconds, of a frame of the run, at the queue's rate; nil if no run has begun or is to
  /// begin at a given time.
  package func hostTime(ofRunFrame frame: Int64) -> UInt64? {
    guard let run = presentRun, !run.device.client.relaysItself else { return nil }
    let deviceRate = run.device.client.sampleRate
    let deviceFrames = (Double(frame) - run.frame) * deviceRate / format.sampleRate
    return run.device.hostTime(ofFrame: run.now + Int64(deviceFrames.rounded()))
  }

  /// The frame of the run, at the queue's rate, at a host time, in nanoseconds. Needs a run, or one that is
  /// to begin at a given time.
  package func runFrame(atHostTime hostTime: UInt64) throws(QueueError) -> Int64 {
    try checkOnline()
    guard let run = presentRun else { throw .invalidRunState }
    let deviceFrames = Double(run.device.frame(atHostTime: hostTime) - run.now)
    return Int64(
      (run.frame + deviceFrames * format.sampleRate / run.device.client.sampleRate).rounded())
  }

  /// Device time now, and the queue's time at that moment.
  private var presentRun: (device: Device, now: Int64, frame: Double)? {
    // One reading: the run may begin at any moment.
    let (device, isRunning, start) = state.read {
      ($0.device, $0.isRunning, $0.isLost ? nil : $0.pendingStart)
    }
    guard let device else { return nil }
    if isRunning {
      let (now, frame) = readRun(device)
      return (device, now, frame)
    }
    let now = device.now
    guard let start, let time = time(before: start, at: now, of: device) else { return nil }
    return (device, now, time)
  }

  package var connectionMark: ConnectionMark { state.read { $0.connectionMark } }

  package var runningDevice: Device? { state.read { $0.isLost || $0.isOffline ? nil : $0.device } }
}
