import Glibc
import Server
import Timeline

enum QueuePhase {
  /// No run, or the last run has ended.
  case idle
  /// No run, but frames were prepared for a start that has not come yet. Playback only.
  case primed
  /// Told to start: waiting for the start time, running, or finishing the last buffers.
  case started
  case paused

  var isIdle: Bool { self == .idle || self == .primed }
}

enum QueueDisposal { case none, draining, disposed }

/// Tells whether the queue's server is there.
enum ServerPresence: Equatable {
  case here
  /// The server is gone. `interruptsRun` is true if a run was under way: it goes on once the server
  /// is back.
  case gone(interruptsRun: Bool)
  /// The server came back, but the queue could not return to it. It can only be disposed of.
  case unusable
}

/// The state of a queue, protected by its monitor.
///
/// Each callback changes what stands first here and in the part: with a thousand queues, each further cache line takes
/// time.
struct QueueState<Part: QueuePart> {
  var phase = QueuePhase.idle
  /// True while a run is under way on the server, updated from the events of the process thread.
  var isRunning = false
  /// The number of calls in progress that hand buffers back. While it is not 0, buffers can be
  /// neither enqueued nor converted.
  var resets = 0
  var disposal = QueueDisposal.none
  var presence = ServerPresence.here

  var buffers = BufferTable()
  /// Items that are not in the ring yet, in order.
  var waiting: [Part.Item] = []
  /// Items in the ring or in use by the process thread, in order.
  var inRing: [Part.Item] = []

  var notices: [Notice<Part.Returned>] = []
  /// The thread that is calling the app back and the notification that it delivers; nil between
  /// callbacks.
  var delivering: (thread: pthread_t, notice: Notice<Part.Returned>)?

  var device: Device?
  /// Converts between the app's buffers and the process thread; nil if the process thread accesses
  /// the buffers directly.
  var converter: Part.Converter?
  /// True while a thread uses the converter.
  var isConverting = false

  /// The state that only playback or only recording has.
  var part: Part

  /// The time of the latest start that was not deferred to the end of a run.
  var start = StartPoint(.atOnce)
  var nextBuffer: UInt32 = 1
  var portNames: [String] = []
  /// For each port, the names of the ports that it was connected to.
  var connections: [[String]] = []
  /// The moment at which the connections were made.
  var connectionMark = ConnectionMark()
  var isMetering = false
  /// The magic cookie, as the app gave it.
  var cookie: [UInt8] = []

  /// The device frame at which the latest run began.
  var beganAt: Int64?
  /// The length of the latest finished run in device frames.
  var lastedFrames: Int64 = 0

  /// The times when the server went away; nil if it never has.
  var lastTimes: LastTimes?

  /// True while the server is gone, or if the queue could not return to it.
  var isLost: Bool { presence != .here }

  /// True while the server is gone during a run, which goes on when it is back.
  var isInterrupted: Bool { presence == .gone(interruptsRun: true) }

  /// True if there is no run and none was requested.
  var isIdle: Bool { phase.isIdle && !isRunning }

  /// The start time of a run that was requested and has not begun.
  var pendingStart: StartPoint? {
    isRunning || phase != .started ? nil : Part.pendingStart(self)
  }

  /// True if the calling thread is inside a callback of this queue.
  var isInCallback: Bool {
    guard let delivering else { return false }
    return delivering.thread == pthread_self()
  }

  /// Throws unless the server is there.
  func checkUsable() throws(QueueError) {
    try checkNotDisposed()
    if isLost { throw .invalidated }
  }

  /// Throws if the queue accepts no more calls, even of those that need no server.
  func checkReturns() throws(QueueError) {
    try checkNotDisposed()
    if presence == .unusable { throw .invalidated }
  }

  /// Throws if the queue has been disposed of or a disposal is pending.
  func checkNotDisposed() throws(QueueError) {
    switch disposal {
    case .none: break
    case .draining: throw .disposalPending
    case .disposed: throw .disposed
    }
  }

  /// Throws if the app may not enqueue at this moment: while buffers are handed back, and in the
  /// callback that hands one back.
  func checkNotResetting() throws(QueueError) {
    if resets > 0 { throw .enqueueDuringReset }
    if isInCallback, case .buffer(_, isReset: true) = delivering?.notice {
      throw .enqueueDuringReset
    }
  }

  /// Removes the notification to deliver next, and records that the calling thread delivers it; nil if there is none,
  /// or another delivery is in progress.
  mutating func takeNotice(onlyBuffers: Bool) -> Notice<Part.Returned>? {
    guard delivering == nil, disposal == .none,
      let index = Part.nextNotice(self, onlyBuffers: onlyBuffers)
    else { return nil }
    let notice = notices.remove(at: index)
    willDeliver(notice)
    delivering = (pthread_self(), notice)
    return notice
  }

  /// Records that a notification is being delivered: its buffer belongs to the app again.
  mutating func willDeliver(_ notice: Notice<Part.Returned>) {
    switch notice {
    case .buffer(let returned, _): buffers.setFree(true, Part.id(of: returned))
    case .isRunning(let isRunning, let runsOver):
      part.willTell(isRunning: isRunning, runsOver: runsOver)
    case .changed: break
    }
  }

  /// Records that the queue runs or no longer runs, and notifies the app.
  mutating func setRunning(_ isRunning: Bool) {
    self.isRunning = isRunning
    notices.append(.isRunning(isRunning, runsOver: part.runsOver))
  }

  // MARK: The server

  /// Records that the server is gone. For the app, a run that is under way goes on.
  mutating func leaveServer(at times: LastTimes) {
    lastTimes = times
    switch presence {
    case .here: presence = .gone(interruptsRun: isRunning)
    case .gone(let before): presence = .gone(interruptsRun: before || isRunning)
    case .unusable: break
    }
    isRunning = false
  }

  /// Records that the run is over, and notifies the app.
  mutating func endRun() {
    guard isRunning || isInterrupted else { return }
    if isInterrupted { presence = .gone(interruptsRun: false) }
    setRunning(false)
  }

  /// Records that the queue cannot return to its server: a run is over then.
  mutating func giveUpServer() {
    part.endRuns()
    endRun()
    presence = .unusable
  }

  /// Records that the server is back. An interrupted run goes on.
  mutating func returnToServer() {
    guard case .gone(let interruptsRun) = presence else { return }
    presence = .here
    isRunning = interruptsRun
  }
}
