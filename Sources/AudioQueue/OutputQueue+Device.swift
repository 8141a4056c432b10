import Codecs
import Logging
import RealTime
import Server
import Synchronization
package import Timeline

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
    /// Cycles of the client that came too late.
    package var xruns: UInt64
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
        connections = try connect(portNames, of: device.client)
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
    state.change { state in
      state.portNames = portNames
      state.connections = connections
    }
    return device
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port what it is connected to now.
  private func connect(_ ports: [String], of client: any ServerClient) throws(ServerError)
    -> [[String]]
  {
    let destinations =
      switch options.connections {
      case .none: [String]()
      case .ports(let destinations): destinations
      case .physicalOutputs: Array(client.physicalOutputs.prefix(max(2, ports.count)))
      }
    var connections: [[String]] = ports.map { _ in [] }
    for (i, destination) in destinations.enumerated() {
      // The sound card's outputs beyond the queue's channels stay free; one channel takes two.
      let port = i % ports.count
      try client.connect(ports[port], to: destination)
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

  /// Has the cycles measure each channel's level. Costs nothing while it is off.
  package func setMetering(_ on: Bool) { unsafe memory.voice.pointee.setMetering(on) }

  /// Each channel's highest sample since the last call and its latest RMS; 1 is full scale.
  package func takeLevels() -> [(peak: Float, rms: Float)] {
    (0..<format.channels).map { unsafe memory.voice.pointee.takeLevel(ofChannel: $0) }
  }

  /// The rate of the device in Hz. Opens it.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try controlled { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// The channels of the sound card. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    try controlled { () throws(QueueError) in try openDevice() }.client.physicalOutputs.count
  }

  /// The UID of the device: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before.
  package var deviceUID: String {
    if let device = state.read({ $0.device }) { return device.uid }
    switch target.withLock({ $0 }) {
    case .device(let device): return device.uid
    case .server(let server): return "jack:\((server as? JackServer)?.name ?? "default")"
    }
  }

  /// Has the queue play through another device: `jack:SERVER` is a client of its own on that
  /// server, `jack:SERVER/CLIENT` shares an open client of this process. Before a start.
  package func setDeviceUID(_ uid: String) throws(QueueError) {
    try controlled { () throws(QueueError) in
      guard state.read({ $0.phase == .idle && !$0.isRunning }) else { throw .invalidRunState }
      if uid == deviceUID { return }
      let new: Target
      if let device = Device.named(uid) {
        new = .device(device)
      } else if uid.hasPrefix("jack:"), !uid.contains("/"), uid.count > 5 {
        let server = JackServer(named: String(uid.dropFirst(5)))
        guard server.isRunning else { throw .invalidDevice(uid) }
        new = .server(server)
      } else {
        throw .invalidDevice(uid)
      }
      closeDevice()
      target.withLock { $0 = new }
    }
  }

  /// Gives the device back; what is enqueued waits for the next one. Holding `control`, no run.
  private func closeDevice() {
    let (device, converter) = takeOut()
    device?.unseat(memory)
    // The cycles have read the converter's slabs until now.
    withExtendedLifetime(converter) {}
    state.change { emptyRing(&$0) }
  }

  /// Device frames that the run has lasted so far.
  var ranFrames: Int64 {
    let reading = unsafe memory.voice.pointee.clock.read()
    return reading.position + reading.ranFrames
  }

  /// True once the server has gone: the queue can only be disposed of.
  package var isLost: Bool { state.read { $0.isLost } }

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
        xruns: state.device?.xruns.load(ordering: .relaxed) ?? 0)
    }
  }

  // MARK: Time

  /// Frames at the queue's rate since the run began; nil if none has begun. Stands still while
  /// the queue is paused and goes on while it is dry.
  package var currentFrame: Double? {
    let (device, isRunning) = state.read { ($0.device, $0.isRunning) }
    guard let device, isRunning else { return nil }
    return runFrame(device)
  }

  private func runFrame(_ device: Device) -> Double {
    let reading = unsafe memory.voice.pointee.clock.read()
    let since = min(max(device.now - reading.cycleFrame, 0), reading.ranFrames)
    return DeviceTime.frames(
      reading.position + since, atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
  }

  /// The frame of the run at which something that is enqueued now can begin at the earliest: what is
  /// enqueued after the end of a run belongs to the next.
  func presentFrame(_ state: QueueState) -> Int64 {
    guard let device = state.device, state.isRunning, state.ends == 0 else { return 0 }
    return Int64(runFrame(device).rounded(.up))
  }

  /// Host time, in nanoseconds, of a frame of the run, at the queue's rate; nil if no run has begun.
  package func hostTime(ofRunFrame frame: Int64) -> UInt64? {
    guard let (device, presentFrame) = presentRun else { return nil }
    let deviceFrames = (Double(frame) - presentFrame) * device.client.sampleRate / format.sampleRate
    return device.hostTime(ofFrame: device.now + Int64(deviceFrames.rounded()))
  }

  /// The frame of the run, at the queue's rate, at a host time, in nanoseconds. Needs a run.
  package func runFrame(atHostTime hostTime: UInt64) throws(QueueError) -> Int64 {
    guard let (device, presentFrame) = presentRun else { throw .invalidRunState }
    let deviceFrames = Double(device.frame(atHostTime: hostTime) - device.now)
    return Int64(
      (presentFrame + deviceFrames * format.sampleRate / device.client.sampleRate).rounded())
  }

  private var presentRun: (device: Device, frame: Double)? {
    guard let device = state.read({ $0.isRunning ? $0.device : nil }) else { return nil }
    return (device, runFrame(device))
  }

  /// A device frame, and the host time that goes with it in nanoseconds of CLOCK_MONOTONIC.
  package typealias Moment = (frame: Int64, hostTime: UInt64)

  /// The device, if it is open and its server there.
  private var runningDevice: Device? { state.read { $0.isLost ? nil : $0.device } }

  /// Device time now; nil if the device is not open.
  package var deviceTime: Moment? {
    guard let device = runningDevice else { return nil }
    let now = device.now
    return (now, device.hostTime(ofFrame: now))
  }

  /// A time in both of its forms. Needs an open device.
  package func deviceTime(of time: StartTime) throws(QueueError) -> Moment {
    guard let device = runningDevice else { throw .invalidRunState }
    switch time {
    case .atOnce: return (device.now, device.hostTime(ofFrame: device.now))
    case .frame(let frame): return (frame, device.hostTime(ofFrame: frame))
    case .hostTime(let hostTime): return (device.frame(atHostTime: hostTime), hostTime)
    }
  }

  /// The first time, not earlier than `time`, at which a run that is asked for soon can begin. Needs
  /// an open device.
  package func nearestStart(to time: StartTime) throws(QueueError) -> Moment {
    guard let device = runningDevice, let earliest = device.earliestStart else {
      throw .invalidRunState
    }
    let wanted = try deviceTime(of: time)
    if time != .atOnce && wanted.frame >= earliest { return wanted }
    return (earliest, device.hostTime(ofFrame: earliest))
  }
}
