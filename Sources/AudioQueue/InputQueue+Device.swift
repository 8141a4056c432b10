import Codecs
import Logging
import RealTime
package import Server
import Synchronization
import Timeline

extension InputQueue {
  /// What a run has come to.
  package struct Statistics: Sendable {
    package var serverName: String
    package var clientName: String
    package var portNames: [String]
    /// For each port the full names of the ports that it was connected to when it was made.
    package var connections: [[String]]
    /// Device frame at which the latest run began.
    package var beganAt: Int64?
    /// Device frames that the latest run lasted, pauses left out.
    package var lastedFrames: Int64
    /// How often there was no buffer, and the device frames that were lost so.
    package var underruns: Int
    package var lostFrames: UInt64
    /// Device frames of cycles of the client that did not come.
    package var missedFrames: Int64
  }

  /// The device, opened and connected if need be. Holding `control`.
  func openDevice() throws(QueueError) -> Device {
    if let device = state.read({ $0.device }) { return device }
    let device: Device
    let portNames: [String]
    let connections: [[String]]
    do throws(ServerError) {
      switch target.withLock({ $0 }) {
      case .server(let server): device = try Device(server, clientName: options.clientName)
      case .device(let shared): device = shared
      }
      portNames = try device.seat(memory, owner: self)
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
    let converter: RecordConverter?
    do throws(QueueError) {
      converter = try makeConverter(deviceRate)
    } catch {
      device.unseat(memory)
      throw error
    }
    state.change { state in
      state.device = device
      state.portNames = portNames
      state.connections = connections
      state.connectionMark = device.connectionMark
      state.converter = converter
      if let converter { pushSlabs(of: converter) }
      pump(&state)
    }
    if let converter { startConverting(with: converter) }
    return device
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port what it is connected to now.
  private func connect(_ ports: [String], of device: Device) throws(ServerError)
    -> [[String]]
  {
    let sources =
      switch options.connections {
      case .none, .places: [String]()
      case .ports(let sources): sources
      case .physical: Array(device.client.physicalInputs.prefix(ports.count))
      }
    var connections: [[String]] = ports.map { _ in [] }
    for (i, source) in sources.enumerated() {
      let port = i % ports.count
      try device.connect(ports[port], to: source)
      connections[port].append(source)
    }
    return connections
  }

  // MARK: Properties

  /// True from the first frame of a run until its last buffer comes. Whoever is being told of a change
  /// sees the value that he is told of, even if a short run is over by then.
  package var isRunning: Bool {
    state.read { state in
      if state.isInCallback, case .isRunning(let value) = state.delivering?.notice { return value }
      return state.isRunning || state.isEnding
    }
  }

  /// What went wrong last on the way to the buffers since the queue was made; nil if nothing has.
  package var converterError: QueueError? { state.read { $0.converterError } }

  /// Has the app told, on its place and after this has returned, that a property has another value.
  package func announce(_ change: QueueChange) {
    state.change { $0.notices.append(.changed(change)) }
    context.wake()
  }

  /// Throws if the queue runs, is told to or is paused.
  package func checkIdle() throws(QueueError) {
    guard state.read({ $0.phase == .idle && !$0.isRunning }) else { throw .invalidRunState }
  }

  /// What has broken the queue's time since it was made: a gap is its running dry.
  package var discontinuities: Discontinuities {
    state.read { state in
      Discontinuities(
        interruptions: UInt64(state.interruptions), starvations: UInt64(state.underruns),
        restarts: state.device?.restarts.load(ordering: .relaxed) ?? 0,
        rateChanges: state.device?.rateChanges.load(ordering: .relaxed) ?? 0)
    }
  }

  /// True while the server that the queue recorded from is gone.
  package var isLost: Bool { state.read { $0.isLost } }

  /// Why the queue records nothing at present; nil if its server runs its cycles.
  package var absence: Absence? { state.read { $0.isLost ? $0.device : nil }?.latestAbsence }

  /// The rate of the device in Hz. Opens it.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try controlled { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// The inputs of the sound card. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    try controlled { () throws(QueueError) in try openDevice() }.client.physicalInputs.count
  }

  /// The UID of the device: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before.
  package var deviceUID: String {
    state.read({ $0.device })?.uid ?? target.withLock { $0 }.uid
  }

  /// Has the queue record from another device: `jack:SERVER` is a client of its own on that
  /// server, `jack:SERVER/CLIENT` shares an open client of this process. Before a start.
  package func setDeviceUID(_ uid: String) throws(QueueError) {
    try controlled { () throws(QueueError) in
      try checkIdle()
      if uid == deviceUID { return }
      let new = try OutputQueue.Target(uid: uid)
      closeDevice()
      target.withLock { $0 = new }
      announce(.device)
    }
  }

  package func setPortOrder(_ order: [Int]) throws(QueueError) {
    try controlled { () throws(QueueError) in
      if memory.portOrder == order { return }
      try checkIdle()
      closeDevice()
      memory.portOrder = order
    }
  }

  /// Gives the device back; the buffers wait for the next one. Holding `control`, no run.
  func closeDevice() {
    // Without a device nobody fills the ring, and without a converter its thread ends.
    let (device, converter) = state.change { state in
      defer {
        state.device = nil
        state.converter = nil
      }
      return (state.device, state.converter)
    }
    state.wait { $0.isConverting ? nil : () }
    // The cycles have seen the converter's slabs until now.
    if let device, !device.unseat(memory) { keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      _ = unsafe memory.recorder.pointee.stop()
      state.waiting = state.inRing + state.waiting
      state.inRing = []
    }
  }

  /// Device frames that the run has lasted so far.
  var ranFrames: Int64 {
    let reading = unsafe memory.recorder.pointee.clock.read()
    return reading.position + reading.ranFrames
  }

  package var statistics: Statistics {
    state.read { state in
      Statistics(
        serverName: state.device?.client.serverName ?? "",
        clientName: state.device?.client.name ?? "",
        portNames: state.portNames,
        connections: state.connections,
        beganAt: state.beganAt,
        lastedFrames: state.isRunning ? ranFrames : state.lastedFrames,
        underruns: state.underruns,
        lostFrames: unsafe memory.recorder.pointee.lostFrames.load(ordering: .relaxed),
        missedFrames: state.missedFrames)
    }
  }

  // MARK: Time

  /// The queue's time: see `Queue`. Stands still while the queue is paused and goes on while there is no
  /// buffer.
  package var currentTime: (frame: Double, hostTime: UInt64)? {
    // One reading: the run may begin at any moment.
    let (device, isRunning, start) = state.read {
      ($0.device, $0.isRunning, $0.isLost ? nil : $0.pendingStart)
    }
    guard let device else { return nil }
    // First the cycle, then the counter: until a cycle begins the counter may be ahead of its first frame.
    let reading = unsafe memory.recorder.pointee.clock.read()
    let now = device.now
    var time = start.flatMap { self.time(before: $0, at: now, of: device) }
    if isRunning {
      time = DeviceTime.frames(
        reading.position(at: now), atDeviceRate: device.client.sampleRate,
        toRate: format.sampleRate)
    }
    return time.map { ($0, device.hostTime(ofFrame: now)) }
  }

  package var connectionMark: ConnectionMark { state.read { $0.connectionMark } }

  package var runningDevice: Device? { state.read { $0.isLost ? nil : $0.device } }
}

extension OutputQueue.Target {
  /// What a device's UID names: a server for a client of one's own, or an open client of this process.
  init(uid: String) throws(QueueError) {
    if let device = Device.named(uid) {
      self = .device(device)
    } else if uid.hasPrefix("jack:"), !uid.contains("/"), uid.count > 5 {
      let server = JackServer(named: String(uid.dropFirst(5)))
      guard server.isRunning else { throw .invalidDevice(uid) }
      self = .server(server)
    } else {
      throw .invalidDevice(uid)
    }
  }

  /// What queues name it by.
  var uid: String {
    switch self {
    case .device(let device): device.uid
    case .server(let server): "jack:\((server as? JackServer)?.name ?? "default")"
    }
  }
}
