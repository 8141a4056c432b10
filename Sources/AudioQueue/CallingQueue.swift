import Glibc
import Logging
import RealTime
import Server
import Synchronization
import Timeline

/// Something that a queue tells its app.
protocol QueueNotice {
  /// True if the app gets a buffer with it.
  var isBuffer: Bool { get }
  /// A property has changed.
  static func changed(_ change: QueueChange) -> Self
}

/// The part of a queue's state that has to do with its buffers and with calling the app.
protocol CallingState {
  associatedtype Notice: QueueNotice
  var buffers: [UInt32: QueueState.BufferRecord] { get set }
  var nextBuffer: UInt32 { get set }
  var notices: [Notice] { get set }
  /// The thread that is calling the app back, and with what.
  var delivering: (thread: pthread_t, notice: Notice)? { get set }
  /// Calls that are handing buffers back.
  var resets: Int { get set }
  var disposal: QueueState.Disposal { get }
  var isLost: Bool { get }
  var device: Device? { get }
  /// The start of a run that has been asked for and has not begun.
  var pendingStart: StartPoint? { get }
  /// The cycles measure levels.
  var isMetering: Bool { get set }
  /// The thread that renders the queue's sound delivers, not a context.
  var isOffline: Bool { get }
  /// The place of the notice that the app is to be told next.
  func nextNotice(onlyBuffers: Bool) -> Int?
  /// Notes that the app is being told: a buffer is the app's again.
  mutating func willDeliver(_ notice: Notice)
}

extension CallingState {
  var isOffline: Bool { false }

  /// True if the calling thread is inside a callback of this queue.
  var isInCallback: Bool {
    guard let delivering else { return false }
    return delivering.thread == pthread_self()
  }

  /// Throws if the queue takes no calls any more.
  func checkUsable() throws(QueueError) {
    try checkNotDisposed()
    if isLost { throw .invalidated }
  }

  /// Throws if the queue has been disposed of, or is about to be.
  func checkNotDisposed() throws(QueueError) {
    switch disposal {
    case .none: break
    case .draining: throw .disposalPending
    case .disposed: throw .disposed
    }
  }
}

/// What runs in the cycles for a queue, and measures levels.
protocol MeteringMemory: CycleMemory {
  func setMetering(_ on: Bool)
  /// The level of a channel in the latest cycle.
  func level(ofChannel channel: Int) -> Level
  /// The highest sample of a channel since the last call.
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

/// Lets one call at a time change what a queue does.
final class Turn: Sendable {
  private let mutex = Mutex<Void>(())

  func withLock<R>(_ body: () -> R) -> R { mutex.withLock { _ in body() } }
}

/// A queue as far as its buffers, its calls to the app and its place in the cycles go.
protocol CallingQueue: AnyObject, Sendable {
  associatedtype State: CallingState
  associatedtype Memory: MeteringMemory
  var format: PCMFormat { get }
  var memory: Memory { get }
  var state: Monitor<State> { get }
  var control: Turn { get }
  /// Where the app is called back.
  var context: any CallbackContext { get }
  /// Calls the app. Without a lock.
  func call(_ notice: State.Notice)
}

extension CallingQueue {
  // MARK: Changes

  /// Runs `body` alone among the calls that change what the queue does.
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

  /// Runs `body` while no cycle of this device is in the queue's memory.
  func holding(_ device: Device, _ body: () -> Void) throws(QueueError) {
    do throws(ServerError) {
      try device.holding(memory, body)
    } catch {
      log.error("\(error)")
      throw .invalidated
    }
  }

  // MARK: Time

  /// Returns the queue's time at device frame `now`, at the queue's rate, before the pending `start`: below zero,
  /// or zero if that time has passed and no cycle has begun the run. Nil for a start without a time.
  func time(before start: StartPoint, at now: Int64, of device: Device) -> Double? {
    guard let frame = start.frame ?? start.hostTime.map({ device.frame(atHostTime: $0) })
    else { return nil }
    let time = DeviceTime.frames(
      now - frame, atDeviceRate: device.client.sampleRate, toRate: format.sampleRate)
    return min(time, 0)
  }

  // MARK: Levels

  /// True while the cycles measure each channel's level. Costs nothing while it is off.
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

  /// Each channel's level in the latest cycle, as it went to the ports or came from them; silence while
  /// the queue stands still. Nil while levels are not measured.
  package var levels: [Level]? {
    let (isMetering, isSilent) = state.read { ($0.isMetering, $0.device == nil || $0.isLost) }
    guard isMetering else { return nil }
    return (0..<format.channels).map {
      isSilent ? Level(peak: 0, rms: 0) : memory.level(ofChannel: $0)
    }
  }

  /// Each channel's highest sample since the last call; 1 is full scale.
  package func takePeaks() -> [Float] {
    (0..<format.channels).map { memory.takePeak(ofChannel: $0) }
  }

  // MARK: Buffers

  /// Allocates a buffer of `capacity` bytes; one that records gets at most `packets` packets, if that is
  /// not 0.
  package func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer {
    let id = try state.change { state throws(QueueError) in
      try state.checkUsable()
      defer { state.nextBuffer += 1 }
      return state.nextBuffer
    }
    // Without the lock: writing much memory takes long, and callbacks would wait for it.
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

  /// Throws if the queue has been disposed of, or is about to be.
  package func checkNotDisposed() throws(QueueError) {
    try state.change { state throws(QueueError) in try state.checkNotDisposed() }
  }

  // MARK: Calling back

  /// Calls the app with the notices that have come, one after the other, on the calling thread.
  ///
  /// Does nothing while another call of this function is under way: callbacks never nest.
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

  /// Calls the app with the next notice, on the calling thread.
  ///
  /// - Returns: False if there is none, or another call is under way.
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

  /// Sees to it that the app has every buffer that is being handed back before this returns; in a
  /// callback the rest follow when it is over.
  ///
  /// - Parameter isDisposing: True if a run loop that nobody runs is not worth waiting for.
  func handBack(isDisposing: Bool = false) {
    defer { state.change { $0.resets -= 1 } }
    if state.read({ $0.isInCallback }) {
      context.wake()
      return
    }
    if context.isCurrent || state.read({ $0.isOffline }) { deliver(onlyBuffers: true) }
    context.wake()
    func isDone(_ state: inout State) -> Void? {
      // A queue that is being disposed of calls no more.
      if state.disposal != .none { return () }
      let isCalling = state.delivering?.notice.isBuffer ?? false
      return isCalling || state.notices.contains { $0.isBuffer } ? nil : ()
    }
    if state.wait(seconds: Self.shortPatience, for: isDone) != nil { return }
    let isWorthWaiting = !isDisposing || context.isServed
    if isWorthWaiting, state.wait(seconds: Self.patience - Self.shortPatience, for: isDone) != nil {
      return
    }
    // A callback waits for something that our caller holds, or the app's loop does not run. No
    // callback may come once we have returned: the buffers go back without one.
    state.change { state in
      for notice in state.notices where notice.isBuffer { state.willDeliver(notice) }
      state.notices.removeAll { $0.isBuffer }
    }
    log.warning("buffers were handed back without a callback: the app's callback did not return")
  }

  /// Waits until no other thread calls the app any more. None begins to: the queue has been disposed of.
  ///
  /// A callback may wait for a lock that the caller of Dispose holds, so the wait has an end.
  ///
  /// - Parameter isPatient: False to give a callback only the time to return that it needs if it waits for
  ///   nothing.
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

  /// Keeps, for ever, what a cycle that does not end may still read or write: the buffers and the converter.
  func keepMemory(_ converter: AnyObject?) {
    log.error("a cycle of the server does not end: the memory of the queue is never freed")
    for record in state.read({ Array($0.buffers.values) }) {
      _ = unsafe Unmanaged.passRetained(record.buffer)
    }
    if let converter { _ = unsafe Unmanaged.passRetained(converter) }
  }

  /// Seconds to wait for a callback of the app that may be waiting for us.
  static var patience: Double { 1 }
  /// The same for one that nobody asked to be waited for.
  static var shortPatience: Double { 0.1 }
  /// The same for one that would go on with what its caller is about to free.
  static var longPatience: Double { 5 }
}
