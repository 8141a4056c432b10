import Glibc
import Logging
import RealTime
import Server
import Synchronization
import System
import Timeline

/// A notification from a queue to its app.
protocol QueueNotice {
  /// True if the notification returns a buffer.
  var isBuffer: Bool { get }
  /// Creates the notification of a property change.
  static func changed(_ change: QueueChange) -> Self
}

/// The part of a queue's state that concerns buffers and callbacks.
protocol CallingState {
  associatedtype Notice: QueueNotice
  var buffers: [UInt32: QueueState.BufferRecord] { get set }
  var nextBuffer: UInt32 { get set }
  var notices: [Notice] { get set }
  /// The thread that is calling the app back and the notification that it delivers; nil between
  /// callbacks.
  var delivering: (thread: pthread_t, notice: Notice)? { get set }
  /// The number of calls in progress that hand buffers back.
  var resets: Int { get set }
  var disposal: QueueState.Disposal { get }
  var isLost: Bool { get }
  var device: Device? { get }
  /// The start time of a run that was requested and has not begun.
  var pendingStart: StartPoint? { get }
  /// True if the process thread measures levels.
  var isMetering: Bool { get set }
  /// True if the rendering thread makes the callbacks instead of a callback context.
  var isOffline: Bool { get }
  /// Returns the index of the notification to deliver next.
  func nextNotice(onlyBuffers: Bool) -> Int?
  /// Records that a notification is being delivered: its buffer belongs to the app again.
  mutating func willDeliver(_ notice: Notice)
}

extension CallingState {
  var isOffline: Bool { false }

  /// True if the calling thread is inside a callback of this queue.
  var isInCallback: Bool {
    guard let delivering else { return false }
    return delivering.thread == pthread_self()
  }

  /// Throws if the queue accepts no more calls.
  func checkUsable() throws(QueueError) {
    try checkNotDisposed()
    if isLost { throw .invalidated }
  }

  /// Throws if the queue has been disposed of or a disposal is pending.
  func checkNotDisposed() throws(QueueError) {
    switch disposal {
    case .none: break
    case .draining: throw .disposalPending
    case .disposed: throw .disposed
    }
  }
}

/// A queue's voice or recorder on the process thread, which can measure levels.
protocol MeteringMemory: CycleMemory {
  func setMetering(_ on: Bool)
  /// Returns the level of a channel in the latest cycle.
  func level(ofChannel channel: Int) -> Level
  /// Returns the highest sample of a channel since the last call.
  func takePeak(ofChannel channel: Int) -> Float
}

extension VoiceMemory: MeteringMemory {
  func setMetering(_ on: Bool) { unsafe voice.pointee.setMetering(on) }
  func level(ofChannel channel: Int) -> Level { unsafe voice.pointee.level(ofChannel: channel) }
  func takePeak(ofChannel channel: Int) -> Float {
    unsafe voice.pointee.takePeak(ofChannel: channel)
  }
}

extension RecorderMemory: MeteringMemory {
  func setMetering(_ on: Bool) { unsafe recorder.pointee.setMetering(on) }
  func level(ofChannel channel: Int) -> Level { unsafe recorder.pointee.level(ofChannel: channel) }
  func takePeak(ofChannel channel: Int) -> Float {
    unsafe recorder.pointee.takePeak(ofChannel: channel)
  }
}

/// The control lock: admits one call at a time that changes what the queue does.
final class ControlLock: Sendable {
  private let mutex = Mutex<Void>(())

  func withLock<R>(_ body: () -> R) -> R { mutex.withLock { _ in body() } }
}

/// The common implementation of both queue kinds: buffers, callbacks, levels and the control lock.
protocol CallingQueue: AnyObject, Sendable {
  associatedtype State: CallingState
  associatedtype Memory: MeteringMemory
  var format: PCMFormat { get }
  var memory: Memory { get }
  var state: Monitor<State> { get }
  var control: ControlLock { get }
  /// The callback thread, run loop or dispatch queue.
  var context: any CallbackContext { get }
  /// Calls the app. Call without holding a lock.
  func call(_ notice: State.Notice)
}

extension CallingQueue {
  // MARK: Changes

  /// Runs `body` while holding the control lock.
  func controlled<R>(evenIfLost: Bool = false, _ body: () throws(QueueError) -> R)
    throws(QueueError) -> R
  {
    let result = control.withLock { () -> Result<R, QueueError> in
      do throws(QueueError) {
        try state.change { state throws(QueueError) in
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

  /// Runs `body` while the process thread of this device does not access the queue's memory.
  func holding(_ device: Device, _ body: () -> Void) throws(QueueError) {
    do throws(ServerError) {
      try device.holding(memory, body)
    } catch {
      log.error("\(error)")
      throw .invalidated
    }
  }

  // MARK: Time

  /// Returns the queue's time at device frame `now`, at the queue's rate, before the pending
  /// `start`. The time is negative, or zero if the start has passed and no cycle has begun the run.
  /// Nil for a start without a time.
  func time(before start: StartPoint, at now: Int64, of device: Device) -> Double? {
    guard let frame = start.frame ?? start.hostTime.map({ device.frame(atHostTime: $0) })
    else { return nil }
    let time = DeviceTime.frames(
      now - frame, atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return min(time, 0)
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

  /// Returns each channel's highest sample since the last call. 1 is full scale.
  package func takePeaks() -> [Float] {
    (0..<format.channels).map { memory.takePeak(ofChannel: $0) }
  }

  // MARK: Buffers

  /// Allocates a buffer of `capacity` bytes. A recording queue puts at most `packets` packets into
  /// it, unless that is 0.
  package func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer {
    let id = try state.change { state throws(QueueError) in
      try state.checkUsable()
      defer { state.nextBuffer += 1 }
      return state.nextBuffer
    }
    // Without the lock: initializing a large buffer takes long, and callbacks would wait for it.
    guard let buffer = QueueBuffer(id: id, capacity: capacity, packetCapacity: packets) else {
      throw .outOfMemory
    }
    state.change { $0.buffers[id] = QueueState.BufferRecord(buffer: buffer) }
    return buffer
  }

  /// Frees a buffer that is not enqueued.
  package func freeBuffer(_ id: UInt32) throws(QueueError) {
    try state.change { state throws(QueueError) in
      guard let record = state.buffers[id] else { throw .invalidBuffer }
      guard record.isFree else { throw .bufferInQueue }
      state.buffers[id] = nil
    }
  }

  /// Throws if the queue has been disposed of or a disposal is pending.
  package func checkNotDisposed() throws(QueueError) {
    try state.change { state throws(QueueError) in try state.checkNotDisposed() }
  }

  // MARK: Callbacks

  /// Delivers the pending notifications to the app, one after another, on the calling thread.
  ///
  /// Does nothing while another call of this function is in progress: callbacks never nest.
  func deliver(onlyBuffers: Bool = false) {
    var budget = state.read { $0.notices.count }
    while budget > 0, deliverNext(onlyBuffers: onlyBuffers) { budget -= 1 }
    if budget > 0 { return }
    let hasMore = state.read { state in
      state.nextNotice(onlyBuffers: false) != nil && state.delivering == nil
        && state.disposal == .none
    }
    if hasMore { context.wake() }
  }

  /// Delivers the next notification to the app on the calling thread.
  ///
  /// - Returns: False if there is none, or another delivery is in progress.
  func deliverNext(onlyBuffers: Bool = false) -> Bool {
    let notice = state.change { state -> State.Notice? in
      guard state.delivering == nil, state.disposal == .none,
        let index = state.nextNotice(onlyBuffers: onlyBuffers)
      else { return nil }
      let notice = state.notices.remove(at: index)
      state.willDeliver(notice)
      state.delivering = (pthread_self(), notice)
      return notice
    }
    guard let notice else { return false }
    call(notice)
    state.change { $0.delivering = nil }
    return true
  }

  /// Waits until the app has received every buffer that is being handed back. Inside a callback it
  /// does not wait: the remaining buffers follow after that callback.
  ///
  /// - Parameter isDisposing: True to give up early on a run loop that is not running.
  func handBack(isDisposing: Bool = false) {
    defer { state.change { $0.resets -= 1 } }
    if state.read({ $0.isInCallback }) {
      context.wake()
      return
    }
    if context.isCurrent || state.read({ $0.isOffline }) { deliver(onlyBuffers: true) }
    context.wake()
    func isDone(_ state: inout State) -> Void? {
      // A disposed queue makes no more callbacks.
      if state.disposal != .none { return () }
      let isCalling = state.delivering?.notice.isBuffer ?? false
      return isCalling || state.notices.contains { $0.isBuffer } ? nil : ()
    }
    if state.wait(seconds: Self.shortPatience, for: isDone) != nil { return }
    let isWorthWaiting = !isDisposing || context.isServed
    if isWorthWaiting, state.wait(seconds: Self.patience - Self.shortPatience, for: isDone) != nil {
      return
    }
    // Either a callback waits for a lock that the caller holds, or the app's run loop is not
    // running. No callback may follow this return, so the buffers go back without one.
    state.change { state in
      for notice in state.notices where notice.isBuffer { state.willDeliver(notice) }
      state.notices.removeAll { $0.isBuffer }
    }
    log.warning("buffers were handed back without a callback: the app's callback did not return")
  }

  /// Waits until no other thread is inside a callback. No new callback begins: the queue is
  /// disposed of.
  ///
  /// A callback may wait for a lock that the caller of AudioQueueDispose holds, so the wait is
  /// limited.
  ///
  /// - Parameter isPatient: False to wait only as long as a callback needs that does not block.
  func awaitCallback(isPatient: Bool) {
    func isOver(_ state: inout State) -> Void? {
      state.delivering == nil || state.isInCallback ? () : nil
    }
    if state.wait(seconds: Self.shortPatience, for: isOver) != nil || !isPatient { return }
    if state.wait(seconds: Self.patience - Self.shortPatience, for: isOver) != nil { return }
    log.warning("AudioQueueDispose waits for a callback that has not returned for one second")
    if state.wait(seconds: Self.longPatience - Self.patience, for: isOver) != nil { return }
    log.error(
      """
      AudioQueueDispose returns while a callback still runs: it has not returned for five seconds. It may \
      wait for a lock that the caller of AudioQueueDispose holds
      """)
  }

  /// Leaks the buffers and the converter on purpose: a cycle that does not end may still access
  /// them.
  func keepMemory(_ converter: AnyObject?) {
    log.error("a cycle of the server does not end: the memory of the queue is never freed")
    for record in state.read({ Array($0.buffers.values) }) {
      _ = unsafe Unmanaged.passRetained(record.buffer)
    }
    if let converter { _ = unsafe Unmanaged.passRetained(converter) }
  }

  /// Seconds to wait for an app callback that may itself be waiting for this call.
  static var patience: Double { 1 }
  /// Seconds to wait for a callback if the caller did not ask to wait.
  static var shortPatience: Double { 0.1 }
  /// Seconds to wait for a callback that would continue to use memory the caller is about to free.
  static var longPatience: Double { 5 }
}
