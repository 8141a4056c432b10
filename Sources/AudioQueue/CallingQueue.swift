import Glibc
import Logging
import Server

/// Something that a queue tells its app.
protocol QueueNotice {
  /// True if the app gets a buffer with it.
  var isBuffer: Bool { get }
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

/// A queue as far as its buffers and its calls to the app go.
protocol CallingQueue: AnyObject, Sendable {
  associatedtype State: CallingState
  var state: Monitor<State> { get }
  /// Where the app is called back.
  var context: any CallbackContext { get }
  /// Calls the app. Without a lock.
  func call(_ notice: State.Notice)
}

extension CallingQueue {
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
  func handBack() {
    defer { state.change { $0.resets -= 1 } }
    if state.read({ $0.isInCallback }) {
      context.wake()
      return
    }
    if context.isCurrent || state.read({ $0.isOffline }) { deliver(onlyBuffers: true) }
    context.wake()
    let isDone: Void? = state.wait(seconds: Self.patience) { state in
      // A queue that is being disposed of calls no more.
      if state.disposal != .none { return () }
      let isCalling = state.delivering?.notice.isBuffer ?? false
      return isCalling || state.notices.contains { $0.isBuffer } ? nil : ()
    }
    guard isDone == nil else { return }
    // A callback waits for something that our caller holds, or the app's loop does not run. No
    // callback may come once we have returned: the buffers go back without one.
    state.change { state in
      for notice in state.notices where notice.isBuffer { state.willDeliver(notice) }
      state.notices.removeAll { $0.isBuffer }
    }
    log.warning("buffers were handed back without a callback: the app's callback did not return")
  }

  /// Seconds to wait for a callback of the app that may be waiting for us.
  static var patience: Double { 1 }
}
