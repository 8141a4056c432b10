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

  /// Returns the device, after opening and connecting it if necessary. The caller must hold
  /// `control`.
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
      portNames = try device.attach(memory, owner: self, places: places)
      prepareRendering(on: device)
      do throws(ServerError) {
        connections = try connect(portNames, of: device)
      } catch {
        device.detach(memory)
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
      device.detach(memory)
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

  /// The graph input slots for the channels; nil if they go to ports. Offline there is no graph.
  private var places: [ClientPort]? {
    guard case .places(let places) = options.connections else { return nil }
    return state.read { $0.offlineServer } == nil ? places : nil
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port, the ports that it is now connected to.
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
      // Sound card outputs beyond the queue's channels stay unconnected; a single channel goes to
      // two.
      let port = i % ports.count
      try device.connect(ports[port], to: destination)
      connections[port].append(destination)
    }
    return connections
  }

  // MARK: Properties

  /// True from the first frame of a run to its last. A callback about a change sees the value that
  /// it reports, even if a short run is over by then.
  package var isRunning: Bool {
    state.read { state in
      if state.isInCallback, case .isRunning(let value) = state.delivering?.notice { return value }
      return state.isRunning
    }
  }

  /// True if there is no run and none is pending, such as after the last frame of a run. False
  /// between the loss of a server and its return.
  package var hasEnded: Bool { state.read { $0.phase == .idle } }

  /// Returns the device's sample rate in Hz. Opens the device.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try online { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// Returns the number of sound card outputs. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    try online { () throws(QueueError) in try openDevice() }.client.physicalOutputs.count
  }

  /// The device's UID: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before. While the queue
  /// renders offline, the UID of the device that it otherwise plays through.
  package var deviceUID: String {
    state.read({ $0.isOffline ? nil : $0.device })?.uid ?? target.withLock { $0 }.uid
  }

  /// Selects the device to play through. `jack:SERVER` creates a separate client on that server;
  /// `jack:SERVER/CLIENT` shares an open client of this process. Call only before a start.
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
      // The assignments stay valid: it is the same device, only the port order changes.
      state.change { $0.assignments = assignments }
    }
  }

  /// Gives the device back; enqueued buffers wait for the next one. The caller must hold `control`,
  /// and there must be no run.
  func closeDevice() {
    let (device, converter) = takeOut()
    // The process thread could read the converter's staging buffers until now.
    if let device, !device.detach(memory) { keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      emptyRing(&state)
      state.isPrimed = false
      // The assignments referred to outputs of that device.
      if state.assignments != nil { state.notices.append(.changed(.channelAssignments)) }
      state.assignments = nil
    }
  }

  /// The length of the run so far in device frames.
  var ranFrames: Int64 {
    let reading = unsafe memory.voice.pointee.clock.read()
    return reading.position + reading.ranFrames
  }

  /// True while the server is gone. Calls that control the queue then throw `invalidated`; it can
  /// still be disposed of.
  package var isLost: Bool { state.read { $0.isLost } }

  /// The reason why the queue plays nothing at present; nil if its server runs cycles.
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

  /// The queue's time; see `Queue`. It stops while the queue is paused and advances while the queue
  /// is dry.
  package var currentTime: (frame: Double, hostTime: UInt64)? {
    presentRun.map { ($0.frame, $0.device.hostTime(ofFrame: $0.now)) }
  }

  /// Returns the current device frame and the frame of the run at that moment, at the queue's rate.
  private func readRun(_ device: Device) -> (now: Int64, frame: Double) {
    // Read the cycle first, then the counter: until a cycle begins, the counter may be ahead of its
    // first frame.
    let reading = unsafe memory.voice.pointee.clock.read()
    let now = device.now
    let frame = DeviceTime.frames(
      reading.position(at: now), atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return (now, frame)
  }

  /// Returns the earliest frame of the run at which a buffer enqueued now can begin. Buffers
  /// enqueued after the end of a run belong to the next run.
  func presentFrame(_ state: QueueState) -> Int64 {
    guard let device = state.device, state.isRunning, state.ends == 0 else { return 0 }
    return Int64(readRun(device).frame.rounded(.up))
  }

  /// Returns the host time in nanoseconds of a frame of the run, at the queue's rate. Nil if no run
  /// has begun or is scheduled for a given time.
  package func hostTime(ofRunFrame frame: Int64) -> UInt64? {
    guard let run = presentRun, !run.device.client.deliversEventsItself else { return nil }
    let deviceRate = run.device.client.sampleRate
    let deviceFrames = (Double(frame) - run.frame) * deviceRate / format.sampleRate
    return run.device.hostTime(ofFrame: run.now + Int64(deviceFrames.rounded()))
  }

  /// Returns the frame of the run, at the queue's rate, at a host time in nanoseconds. Requires a
  /// run, or one that is scheduled for a given time.
  package func runFrame(atHostTime hostTime: UInt64) throws(QueueError) -> Int64 {
    try checkOnline()
    guard let run = presentRun else { throw .invalidRunState }
    let deviceFrames = Double(run.device.frame(atHostTime: hostTime) - run.now)
    return Int64(
      (run.frame + deviceFrames * format.sampleRate / run.device.client.sampleRate).rounded())
  }

  /// The current device frame and the queue's time at that moment.
  private var presentRun: (device: Device, now: Int64, frame: Double)? {
    // One consistent reading: the run may begin at any moment.
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
