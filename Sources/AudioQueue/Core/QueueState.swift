import Glibc
import RealTime
import Server
import Timeline

/// A notification to the app. A queue delivers its notifications in order.
enum Notice<Returned> {
  /// A buffer that the queue returns. `isReset` is true if a reset or a stop hands it back: the app
  /// may not enqueue it in that callback.
  case buffer(Returned, isReset: Bool)
  /// A change of `QueueChange.isRunning`, with the new value and the number of runs that were over
  /// then.
  case isRunning(Bool, runsOver: Int)
  /// A change of any other property.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
}

/// A property of a queue whose value has changed.
package enum QueueChange: Sendable {
  case isRunning
  case device, deviceSampleRate, deviceChannels
  case channelLayout, channelAssignments
  case magicCookie, metering, codecPolicy
  case converterError
  case isTimePitchEnabled, timePitchAlgorithm, isTimePitchBypassed
  case decodeFrames
}

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

/// A queue's times at the moment at which its server went away.
struct LastTimes: Sendable {
  /// The queue's time; nil if no run was under way or about to begin.
  let frame: Double?
  let device: CycleTimes
  /// The device's rate in Hz.
  let sampleRate: Double

  init(frame: Double?, _ device: Device) {
    self.frame = frame
    let now = device.now
    self.device =
      TimeAnchor(frame: now, microseconds: device.hostTime(ofFrame: now) / 1000).times
    sampleRate = device.client.sampleRate
  }
}

struct BufferRecord {
  let buffer: QueueBuffer
  /// True while the app owns the buffer and may fill, enqueue or free it.
  var isFree = true
}

/// The part of a queue's state that only playback or only recording has.
protocol QueuePart: SendableMetatype {
  /// The callback's description of a returned buffer: its number, or a `Recording`.
  associatedtype Returned
  /// An element of the stream between the app and the process thread.
  associatedtype Item
  associatedtype Memory: QueueMemory
  associatedtype Converter: AnyObject

  /// The number of the returned buffer.
  static func id(of returned: Returned) -> UInt32
  /// Returns the start time of a run that was requested and has not begun.
  static func pendingStart(_ state: QueueState<Self>) -> StartPoint?
  /// Returns the index of the notification to deliver next.
  static func nextNotice(_ state: QueueState<Self>, onlyBuffers: Bool) -> Int?

  /// True if the rendering thread runs the cycles and makes the callbacks.
  var isOffline: Bool { get }
  /// True if the run is over, but the app has not received its last buffers.
  var isEnding: Bool { get }
  /// The number of runs that are over, if the queue counts them.
  var runsOver: Int { get }
  /// Records that the app is about to be told whether the queue runs.
  mutating func willTell(isRunning: Bool, runsOver: Int)
  /// Counts all runs that were requested as over.
  mutating func endRuns()
}

extension QueuePart {
  var isOffline: Bool { false }
  var isEnding: Bool { false }
  var runsOver: Int { 0 }
  mutating func endRuns() {}
}

/// The state of a queue, protected by its monitor.
struct QueueState<Part: QueuePart> {
  /// The state that only playback or only recording has.
  var part: Part

  var phase = QueuePhase.idle
  /// True while a run is under way on the server, updated from the events of the process thread.
  var isRunning = false
  /// The time of the latest start that was not deferred to the end of a run.
  var start = StartPoint(.atOnce)
  /// The number of calls in progress that hand buffers back. While it is not 0, buffers can be
  /// neither enqueued nor converted.
  var resets = 0
  var disposal = QueueDisposal.none
  var presence = ServerPresence.here

  var buffers: [UInt32: BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Items that are not in the ring yet, in order.
  var waiting: [Part.Item] = []
  /// Items in the ring or in use by the process thread, in order.
  var inRing: [Part.Item] = []

  var notices: [Notice<Part.Returned>] = []
  /// The thread that is calling the app back and the notification that it delivers; nil between
  /// callbacks.
  var delivering: (thread: pthread_t, notice: Notice<Part.Returned>)?

  var device: Device?
  var portNames: [String] = []
  /// For each port, the names of the ports that it was connected to.
  var connections: [[String]] = []
  /// The moment at which the connections were made.
  var connectionMark = ConnectionMark()
  var isMetering = false
  /// Converts between the app's buffers and the process thread; nil if the process thread accesses
  /// the buffers directly.
  var converter: Part.Converter?
  /// True while a thread uses the converter.
  var isConverting = false
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

  /// Records that a notification is being delivered: its buffer belongs to the app again.
  mutating func willDeliver(_ notice: Notice<Part.Returned>) {
    switch notice {
    case .buffer(let returned, _): buffers[Part.id(of: returned)]?.isFree = true
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
