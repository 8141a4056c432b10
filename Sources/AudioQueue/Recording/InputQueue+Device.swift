import Codecs
import Logging
import RealTime
package import Server
import Synchronization
import System
import Timeline

extension InputQueue {
  /// Statistics of a run.
  package struct Statistics: Sendable {
    package var serverName: String
    package var clientName: String
    package var portNames: [String]
    /// For each port, the full names of the ports that it was connected to when it was created.
    package var connections: [[String]]
    /// The device frame at which the latest run began.
    package var beganAt: Int64?
    /// The length of the latest run in device frames, pauses excluded.
    package var lastedFrames: Int64
    /// The number of times that no buffer was available, and the device frames lost by that.
    package var underruns: Int
    package var lostFrames: UInt64
    /// Device frames missed because the client's cycles did not run.
    package var missedFrames: Int64
  }

  /// Returns the device, after opening and connecting it if necessary. The caller must hold
  /// `control`.
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
      portNames = try device.attach(memory, owner: self)
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
    let converter: RecordConverter?
    do throws(QueueError) {
      converter = try makeConverter(deviceRate)
    } catch {
      device.detach(memory)
      throw error
    }
    state.change { state in
      state.device = device
      state.portNames = portNames
      state.connections = connections
      state.connectionMark = device.connectionMark
      state.converter = converter
      if let converter { pushStagingBuffers(of: converter) }
      pump(&state)
    }
    if let converter { startConverting(with: converter) }
    return device
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port, the ports that it is now connected to.
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

  /// True from the first frame of a run until its last buffer is delivered. A callback about a
  /// change sees the value that it reports, even if a short run is over by then.
  package var isRunning: Bool {
    state.read { state in
      if state.isInCallback, case .isRunning(let value) = state.delivering?.notice { return value }
      return state.isRunning || state.isEnding
    }
  }

  /// The latest conversion or buffer failure since the queue was created; nil if there was none.
  package var converterError: QueueError? { state.read { $0.converterError } }

  /// Notifies the app on the callback thread that a property has a new value. Does not wait for the
  /// callback.
  package func announce(_ change: QueueChange) {
    state.change { $0.notices.append(.changed(change)) }
    context.wake()
  }

  /// Throws if the queue is running, has been told to start, or is paused.
  package func checkIdle() throws(QueueError) {
    guard state.read({ $0.phase == .idle && !$0.isRunning }) else { throw .invalidRunState }
  }

  /// Counts of the events that have interrupted the queue's time since its creation. A starvation
  /// is a lack of buffers.
  package var discontinuities: Discontinuities {
    state.read { state in
      Discontinuities(
        interruptions: UInt64(state.interruptions), starvations: UInt64(state.underruns),
        restarts: state.device?.restarts.load(ordering: .relaxed) ?? 0,
        rateChanges: state.device?.rateChanges.load(ordering: .relaxed) ?? 0)
    }
  }

  /// True while the queue's server is gone.
  package var isLost: Bool { state.read { $0.isLost } }

  /// The reason why the queue records nothing at present; nil if its server runs cycles.
  package var absence: Absence? { state.read { $0.isLost ? $0.device : nil }?.latestAbsence }

  /// Returns the device's sample rate in Hz. Opens the device.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try controlled { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// Returns the number of sound card inputs. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    try controlled { () throws(QueueError) in try openDevice() }.client.physicalInputs.count
  }

  /// The device's UID: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before.
  package var deviceUID: String {
    state.read({ $0.device })?.uid ?? target.withLock { $0 }.uid
  }

  /// Selects the device to record from. `jack:SERVER` creates a separate client on that server;
  /// `jack:SERVER/CLIENT` shares an open client of this process. Call only before a start.
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

  /// Gives the device back; buffers wait for the next one. The caller must hold `control`, and
  /// there must be no run.
  func closeDevice() {
    // Without a device no thread fills the ring, and without a converter its worker thread ends.
    let (device, converter) = state.change { state in
      defer {
        state.device = nil
        state.converter = nil
      }
      return (state.device, state.converter)
    }
    state.wait { $0.isConverting ? nil : () }
    // The process thread could write to the converter's staging buffers until now.
    if let device, !device.detach(memory) { keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      _ = unsafe memory.recorder.pointee.stop()
      state.waiting = state.inRing + state.waiting
      state.inRing = []
    }
  }

  /// The length of the run so far in device frames.
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

  /// The queue's time; see `Queue`. It stops while the queue is paused and advances while no buffer
  /// is enqueued.
  package var currentTime: (frame: Double, hostTime: UInt64)? {
    // One consistent reading: the run may begin at any moment.
    let (device, isRunning, start) = state.read {
      ($0.device, $0.isRunning, $0.isLost ? nil : $0.pendingStart)
    }
    guard let device else { return nil }
    // Read the cycle first, then the counter: until a cycle begins, the counter may be ahead of its
    // first frame.
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
  /// Resolves a device UID: a server, on which a new client is created, or an open client of this
  /// process.
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

  /// The device UID that refers to this target.
  var uid: String {
    switch self {
    case .device(let device): device.uid
    case .server(let server): "jack:\((server as? JackServer)?.name ?? "default")"
    }
  }
}
