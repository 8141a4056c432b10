import Codecs
import RealTime
import Server
import Synchronization
import System
import Timeline

/// A queue that leaves to its core what playback and recording have in common.
protocol CoreQueue: Queue, VoiceOwner {
  associatedtype Part: QueuePart
  var core: QueueCore<Part> { get }
  /// Returns the device, after opening and connecting it if necessary. The caller must hold the
  /// control lock.
  func openDevice() throws(QueueError) -> Device
  /// Gives the device back; enqueued buffers wait for the next one. The caller must hold the control
  /// lock, and there must be no run.
  func closeDevice()
}

extension CoreQueue {
  var state: Monitor<QueueState<Part>> { core.state }
  var memory: Part.Memory { core.memory }
  var control: ControlLock { core.control }
  var context: any CallbackContext { core.context }
  var options: QueueOptions { core.options }

  package var format: PCMFormat { core.format }

  // MARK: Buffers

  package func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer {
    try core.allocateBuffer(capacity: capacity, packets: packets)
  }

  package func freeBuffer(_ id: UInt32) throws(QueueError) { try core.freeBuffer(id) }

  // MARK: State

  package func checkNotDisposed() throws(QueueError) {
    try state.read { state throws(QueueError) in try state.checkNotDisposed() }
  }

  package func checkIdle() throws(QueueError) { try core.checkIdle() }

  package func checkOnline() throws(QueueError) { try core.checkOnline() }

  package func announce(_ change: QueueChange) { core.announce(change) }

  package func whenDisposed(_ body: @escaping @Sendable () -> Void) { core.whenDisposed(body) }

  /// True from the first frame of a run to its last, also while the server is gone in between, and for a
  /// recording queue until its last buffer is delivered. A callback about a change sees the value that it reports, even if a short run is
  /// over by then.
  package var isRunning: Bool {
    state.read { state in
      if state.isInCallback, case .isRunning(let value, _) = state.delivering?.notice {
        return value
      }
      return state.isRunning || state.isInterrupted || state.part.isEnding
    }
  }

  package var isLost: Bool { state.read { $0.isLost } }

  package var loss: Loss? { state.read { $0.isLost ? $0.device : nil }?.loss }

  package func wakeCallbacks() { context.wake() }

  // MARK: Device

  package var deviceUID: String { core.deviceUID }

  package var runningDevice: Device? { core.runningDevice }

  package var timesAtLoss: (device: CycleTimes, sampleRate: Double)? {
    state.read { state in state.isLost ? state.lastTimes.map { ($0.device, $0.sampleRate) } : nil }
  }

  package var connectionMark: ConnectionMark { state.read { $0.connectionMark } }

  /// Returns the device's sample rate in Hz. Opens the device.
  package func deviceSampleRate() throws(QueueError) -> Double {
    try core.online { () throws(QueueError) in try openDevice() }.client.sampleRate
  }

  /// Returns the number of sound card ports in the queue's direction. Opens the device.
  package func deviceChannels() throws(QueueError) -> Int {
    core.soundCardPorts(of: try core.online { () throws(QueueError) in try openDevice() }).count
  }

  /// Selects the device. `jack:SERVER` creates a separate client on that server; `jack:SERVER/CLIENT`
  /// shares an open client of this process. Call only before a start.
  package func setDeviceUID(_ uid: String) throws(QueueError) {
    try core.online { () throws(QueueError) in
      try checkIdle()
      if uid == deviceUID { return }
      let new = try DeviceTarget(uid: uid)
      closeDevice()
      core.target.withLock { $0 = new }
      announce(.device)
    }
  }

  package func deviceCannotReturn() {
    control.withLock { state.change { $0.giveUpServer() } }
    context.wake()
  }

  /// The queue's time; see `Queue`. It stops while the queue is paused, and advances while no buffer
  /// is enqueued.
  package var currentTime: (frame: Double, hostTime: UInt64)? {
    // Without its server, a run stands where it was.
    if let last = state.read({ $0.isLost && !$0.phase.isIdle ? $0.lastTimes?.frame : nil }) {
      return (last, HostTime.now)
    }
    if let run = core.presentRun { return (run.frame, run.device.hostTime(ofFrame: run.now)) }
    // A start without a time is at frame 0 until its first cycle.
    let isStarting = state.read { !$0.isLost && $0.pendingStart != nil }
    guard isStarting, let device = core.runningDevice else { return nil }
    return (0, device.hostTime(ofFrame: device.now))
  }

  // MARK: Levels

  /// True while the process thread measures each channel's level. Metering costs nothing while it
  /// is off.
  package var isMetering: Bool {
    get { state.read { $0.isMetering } }
    set {
      state.change { state in
        guard state.isMetering != newValue else { return }
        state.isMetering = newValue
        memory.setMetering(newValue)
        state.notices.append(.changed(.metering))
      }
      context.wake()
    }
  }

  /// The level of each channel in the latest cycle, measured at the ports. Silence while the queue
  /// is not running. Nil while metering is off.
  package var levels: [Level]? {
    let (isMetering, isSilent) = state.read { ($0.isMetering, $0.device == nil || $0.isLost) }
    guard isMetering else { return nil }
    return (0..<format.channels).map {
      isSilent ? Level(peak: 0, rms: 0) : memory.level(ofChannel: $0)
    }
  }

  package func takePeaks() -> [Float] {
    (0..<format.channels).map { memory.takePeak(ofChannel: $0) }
  }
}

extension StartPoint {
  /// The same start as a host time, if it is a frame of this device: another server counts frames
  /// differently.
  func withoutFrame(of device: Device) -> StartPoint {
    frame.map { StartPoint(.hostTime(device.hostTime(ofFrame: $0))) } ?? self
  }
}
