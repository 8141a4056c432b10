import Logging
import RealTime
import Server
import Synchronization
import System
import Timeline

/// The control lock: admits one call at a time that changes what the queue does.
final class ControlLock: Sendable {
  private let mutex = Mutex<Void>(())

  func withLock<R>(_ body: () -> R) -> R { mutex.withLock { _ in body() } }
}

/// The state, the control lock, the callbacks and the device of a queue, with all code that playback
/// and recording share. Each queue owns one.
///
/// Any thread that is not real-time.
final class QueueCore<Part: QueuePart>: Sendable {
  typealias State = QueueState<Part>

  let memory: Part.Memory
  let state: Monitor<State>
  /// Set once, before another thread knows of the queue.
  @exclusivity(unchecked) private nonisolated(unsafe) var callbacks: Callbacks?
  /// The stream format if it is PCM, otherwise the PCM format that its packets decode to.
  let format: PCMFormat
  let options: QueueOptions
  /// Held by calls that change what the queue does, never during callbacks.
  let control = ControlLock()
  /// The server, or the device of another queue, to use.
  let target: Mutex<DeviceTarget>
  /// The input slots of a graph to which the queue writes, instead of ports.
  let graphInputs = Mutex<[ClientPort]?>(nil)
  /// Called once the queue has given its device back.
  private let onDisposed = Hook<@Sendable () -> Void>()

  private struct Callbacks {
    let context: any CallbackContext
    let call: @Sendable (Notice<Part.Returned>) -> Void
  }

  init(
    _ part: Part, _ format: PCMFormat, _ options: QueueOptions, memory: Part.Memory,
    target: DeviceTarget
  ) {
    self.format = format
    self.options = options
    self.memory = memory
    self.target = Mutex(target)
    state = Monitor(QueueState(part: part))
  }

  /// Sets where and how the app is called. The queue calls this once, before anything else.
  func callBack<Queue: CoreQueue>(
    _ queue: Queue, on executor: CallbackExecutor,
    _ call: @escaping @Sendable (Queue, Notice<Part.Returned>) -> Void
  ) where Queue.Part == Part {
    let context = makeCallbackContext(executor) { [weak queue] in
      guard let queue else { return }
      withExtendedLifetime(queue) { queue.core.deliver() }
    }
    // Only the context and calls of the queue deliver: they keep it.
    let call: @Sendable (Notice<Part.Returned>) -> Void = { [unowned queue] in call(queue, $0) }
    unsafe callbacks = Callbacks(context: context, call: call)
  }

  /// The callback thread, run loop or dispatch queue.
  var context: any CallbackContext { unsafe callbacks!.context }

  /// Calls the app. Call without holding a lock.
  func call(_ notice: Notice<Part.Returned>) {
    unsafe callbacks!.call(notice)
  }

  // MARK: Changes

  /// Runs `body` while holding the control lock.
  func controlled<R>(evenIfLost: Bool = false, _ body: () throws(QueueError) -> R)
    throws(QueueError) -> R
  {
    let result = control.withLock { () -> Result<R, QueueError> in
      do throws(QueueError) {
        try state.read { state throws(QueueError) in
          if !evenIfLost { try state.checkUsable() }
          try state.checkNotDisposed()
        }
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Runs `body` while holding the control lock. Throws if the queue renders offline.
  func online<R>(_ body: () throws(QueueError) -> R) throws(QueueError) -> R {
    try controlled { () throws(QueueError) in
      try checkOnline()
      return try body()
    }
  }

  /// Runs `body` while no process thread accesses the queue's memory.
  func holding(_ body: () -> Void) throws(QueueError) {
    guard let device = state.read({ $0.device }) else { return body() }
    try holding(device, body)
  }

  /// Runs `body` while the process thread of this device does not access the queue's memory.
  func holding(_ device: Device, _ body: () -> Void) throws(QueueError) {
    do throws(ServerError) {
      try device.holding(memory, body)
    } catch {
      log.error("\(error)")
      throw .invalidated
    }
  }

  func checkOnline() throws(QueueError) {
    if state.read({ $0.part.isOffline }) { throw .invalidOfflineMode }
  }

  /// Throws if the queue is running, has been told to start, or is paused.
  func checkIdle() throws(QueueError) {
    guard state.read({ $0.isIdle }) else { throw .invalidRunState }
  }

  /// Notifies the app on the callback thread that a property has a new value. Does not wait for the
  /// callback.
  func announce(_ change: QueueChange) {
    state.change { $0.notices.append(.changed(change)) }
    context.wake()
  }

  // MARK: The device

  /// Opens the target's device, or one of `server`, and connects the ports that `attach` adds to
  /// it. The caller must hold `control`.
  func open(
    on server: (any Server)? = nil,
    attach: (Device) throws(ServerError) -> [String],
    connect: (Device, _ ports: [String]) throws(ServerError) -> [[String]]
  ) throws(QueueError) -> (Device, ports: [String], connections: [[String]]) {
    do throws(ServerError) {
      let device = try (server.map(DeviceTarget.server) ?? target.withLock { $0 }).open(options)
      let ports = try attach(device)
      do throws(ServerError) {
        return (device, ports, try connect(device, ports))
      } catch {
        device.detach(memory)
        throw error
      }
    } catch {
      log.error("\(error)")
      throw .cannotStart(error)
    }
  }

  /// Connects the queue's ports as its options say.
  ///
  /// - Returns: For each port, the ports that it is now connected to.
  func connect(_ ports: [String], of device: Device) throws(ServerError) -> [[String]] {
    let others: [String]
    switch options.connections {
    case .none, .graphInputs: others = []
    case .physical where graphInputs.withLock({ $0 != nil }): others = []
    case .ports(let ports): others = ports
    case .physical:
      // A single playback channel goes to two outputs.
      let count = memory.direction == .output ? max(2, ports.count) : ports.count
      return try device.connectToCard(ports, memory.direction, count: count)
    }
    var connections: [[String]] = ports.map { _ in [] }
    for (i, other) in others.enumerated() {
      let port = i % ports.count
      try device.connect(ports[port], to: other)
      connections[port].append(other)
    }
    return connections
  }

  /// The ports of the sound card in the queue's direction.
  func soundCardPorts(of device: Device) -> [String] {
    memory.direction == .output ? device.client.physicalOutputs : device.client.physicalInputs
  }

  /// The device's UID: `jack:SERVER/CLIENT` once it is open, `jack:SERVER` before. While the queue
  /// renders offline, the UID of the device that it otherwise plays through.
  var deviceUID: String {
    state.read({ $0.part.isOffline ? nil : $0.device })?.uid ?? target.withLock { $0 }.uid
  }

  /// The device; nil if it is not open or its server is gone.
  var runningDevice: Device? { state.read { $0.isLost || $0.part.isOffline ? nil : $0.device } }

  // MARK: Time

  /// The length of the run so far in device frames.
  var ranFrames: Int64 {
    let reading = memory.readClock()
    return reading.position + reading.ranFrames
  }

  /// Returns the current device frame and the frame of the run at that moment, at the queue's rate.
  func readRun(_ device: Device) -> (now: Int64, frame: Double) {
    // Read the cycle first, then the counter: until a cycle begins, the counter may be ahead of its
    // first frame.
    let reading = memory.readClock()
    let now = device.now
    let frame = DeviceTime.frames(
      reading.position(at: now), atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return (now, frame)
  }

  /// The current device frame and the queue's time at that moment.
  var presentRun: (device: Device, now: Int64, frame: Double)? {
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

  /// Returns the queue's time at device frame `now`, at the queue's rate, before the pending
  /// `start`. The time is negative, or zero if the start has passed and no cycle has begun the run.
  /// Nil for a start without a time.
  private func time(before start: StartPoint, at now: Int64, of device: Device) -> Double? {
    guard let frame = start.frame ?? start.hostTime.map({ device.frame(atHostTime: $0) })
    else { return nil }
    let time = DeviceTime.frames(
      now - frame, atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return min(time, 0)
  }

  // MARK: Buffers

  /// Allocates a buffer of `capacity` bytes for at most `packets` packets; 0 for as many as fit.
  func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer {
    let id = try state.change { state throws(QueueError) in
      try state.checkReturns()
      defer { state.nextBuffer += 1 }
      return state.nextBuffer
    }
    // Without the lock: initializing a large buffer takes long, and callbacks would wait for it.
    guard let buffer = QueueBuffer(id: id, capacity: capacity, packetCapacity: packets) else {
      throw .outOfMemory
    }
    state.change { $0.buffers.insert(buffer) }
    return buffer
  }

  /// Frees a buffer that is not enqueued.
  func freeBuffer(_ id: UInt32) throws(QueueError) {
    try state.change { state throws(QueueError) in
      guard state.buffers[id] != nil else { throw .invalidBuffer }
      guard state.buffers.isFree(id) else { throw .bufferInQueue }
      state.buffers.remove(id)
    }
  }

  // MARK: Disposal

  /// Sets the function that is called once a disposal is complete, on any thread.
  func whenDisposed(_ body: @escaping @Sendable () -> Void) { onDisposed.set(body) }

  func tellDisposed() { onDisposed.function?() }

  /// Ends the queue at once, which is being released: the process thread must not access its memory
  /// afterwards.
  func end() {
    unsafe callbacks?.context.invalidate()
    state.change { $0.disposal = .disposed }
    returnDevice()
  }

  /// Gives the device back for good.
  func returnDevice() {
    let (device, converter) = state.change { state in
      defer { state.device = nil }
      return (state.device, state.converter)
    }
    if let device, !device.retire(memory) { keepMemory(converter) }
  }

  /// Keeps the buffers and the converter for good: a cycle that does not end may still access them.
  func keepMemory(_ converter: Part.Converter?) {
    log.error("a cycle of the server does not end: the memory of the queue is never freed")
    for record in state.read({ $0.buffers.records }) { keepForGood(record.buffer) }
    if let converter { keepForGood(converter) }
  }
}
