import Codecs
import Glibc
import RealTime
import Server
import Timeline

/// Something that a queue tells its app, in order.
enum Notice: QueueNotice {
  /// The queue has taken everything out of the buffer; `isReset` if it was handed back unplayed.
  case buffer(UInt32, isReset: Bool)
  /// `QueueChange.isRunning`, and the value that it has changed to.
  case isRunning(Bool)
  /// Any other property.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
  var isPlayedBuffer: Bool { if case .buffer(_, isReset: false) = self { true } else { false } }
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

/// What a queue knows, behind its monitor.
struct QueueState: CallingState {
  enum Phase {
    /// No run, or one that has ended.
    case idle
    /// Told to start: waiting for its time, running, or playing its last buffers.
    case started
    case paused
  }
  enum Disposal { case none, draining, disposed }

  /// What is to be played of a buffer, and how.
  struct Piece {
    let id: UInt32
    /// The first frame that is played, and how many are; of packets as far as that is known.
    var first: Int
    var frames: Int
    /// What the buffer holds if that is packets.
    var packets: Packets?
    /// Frame of the run, at the queue's rate, before which it does not begin; nil if it follows
    /// what came before.
    var start: Int64?
    /// Frame of the run at which it will begin, if the queue does not run dry.
    var begin: Int64
    /// Take effect on its first frame.
    var changes: ParameterChanges
    var timePitch: TimePitchChanges
  }

  /// Frames of a slab, and how they are played.
  struct SlabPiece {
    let slab: Slab
    let first: Int
    let frames: Int
    /// They are the slab's last.
    let isLast: Bool
    /// Device frame of the run before which they do not begin; `.min` if they follow what came before.
    let start: Int64
    let changes: ParameterChanges
  }

  /// A piece of the stream on its way to the ports.
  enum Item {
    case buffer(Piece)
    /// Frames in a slab, only in the ring.
    case slab(SlabPiece)
    /// Frames that the converter has converted for a former rate of the device, only waiting.
    case replay(Int)
    /// The end of a run.
    case end
    /// The converter gives out all it holds back.
    case flush
  }

  struct BufferRecord {
    let buffer: QueueBuffer
    /// The app has it: it can be filled, enqueued and freed.
    var isFree = true
  }

  var phase = Phase.idle
  /// The value of the property: follows what the cycles have done.
  var isRunning = false
  /// Ends of runs that are on their way.
  var ends = 0
  /// The times of starts that were asked for while a run was ending, in order.
  var starts: [StartPoint] = []
  /// The voice has been told of the first of them.
  var isRestarting = false
  /// The voice has been told to begin a run, and has not yet: it is not one of `starts`.
  var isBeginning = false
  /// The time of the latest start that was not put off to the end of a run.
  var start = StartPoint(.atOnce)
  var pendingStart: StartPoint? {
    if isRunning || phase != .started { return nil }
    return isBeginning ? start : starts.first
  }
  /// Calls that are handing buffers back: meanwhile none may be enqueued or converted.
  var resets = 0
  /// Counts resets, so that a conversion under way knows that its result is stale.
  var generation: UInt64 = 0
  var disposal = Disposal.none
  /// The server has gone, or is back and the queue could not be carried over.
  var isLost = false
  /// The queue cannot be converted to the rate that the device has come back with.
  var cannotReturn = false
  /// A run was under way when it went.
  var wasRunning = false

  var buffers: [UInt32: BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Not yet in the ring, in order.
  var waiting: [Item] = []
  /// How many of them, at the beginning, the converter has converted for a former rate of the device.
  var replays = 0
  /// In the ring or in the cycle, in order.
  var inRing: [Item] = []

  var notices: [Notice] = []
  /// The thread that is calling the app back, and with what.
  var delivering: (thread: pthread_t, notice: Notice)?

  /// What the queue renders to; nil if it plays through a device.
  var offlineServer: OfflineServer?
  /// The queue renders offline: `OutputQueue.render` runs the cycles.
  var isOffline: Bool { offlineServer != nil }
  /// A run has begun since it does.
  var hasRendered = false
  /// Frames of the render format that have been rendered, or skipped, since the latest start.
  var renderedFrames: Int64 = 0
  /// The thread that renders.
  var renderer: pthread_t?

  var device: Device?
  /// What is known of the device that was open last, so that a change can be told of.
  var lastDevice: DeviceFacts?
  var portNames: [String] = []
  /// For each port what it was connected to.
  var connections: [[String]] = []
  /// For each channel the port that it goes to, if it goes to ports of a device.
  var portOrder: [Int] = []
  /// For each channel the output that the app wants it to go to; nil if it has not said.
  var assignments: [Int]?
  /// Something was readied for a start that has not come.
  var isPrimed = false
  var isMetering = false
  var converter: Converter?
  /// When the connections were made.
  var connectionMark = ConnectionMark()
  /// The converter's thread is at work on a buffer.
  var isConverting = false
  /// The converter has taken frames in that it gives out only with an end or a flush.
  var holdsBack = false
  /// Slabs of the converter's pool that nobody reads.
  var freeSlabs: [Slab] = []
  /// Device frames that calls wait for to be ready.
  var primeTargets: [Int] = []
  /// What buffers go through before the cycles.
  var settings = ChainSettings()
  /// Rate and pitch of what is converted next.
  var timePitch = TimePitch.Setting()
  /// What the app gave for the decoder.
  var cookie: [UInt8] = []
  /// What went wrong last in the converter.
  var converterFailure: ConverterFailure?

  /// Parameters as they are in force, if the cycles know of all changes they were sent, and how many
  /// that were.
  var parameters = ParameterChanges(volume: 1, rampSeconds: 0, pan: 0)
  var changesSent: UInt64 = 0
  /// The balance of one channel has left the centre once.
  var needsSecondPort = false
  /// A second port is needed and can be had.
  var lacksSecondPort: Bool {
    needsSecondPort && device != nil && !isOffline && portNames.count == 1
  }
  /// Frame of the run at which what is enqueued next would be played, if the queue did not run dry.
  var tail: Int64 = 0
  /// The last start that a buffer was given which belongs to the run and has not been played.
  var lastStart: Int64? {
    for items in [waiting, inRing] {
      for item in items.reversed() {
        if case .end = item { return nil }
        if case .buffer(let piece) = item, let start = piece.start { return start }
      }
    }
    return nil
  }
  /// Device frame at which the latest run began.
  var beganAt: Int64?
  /// Device frames that the latest finished run lasted.
  var lastedFrames: Int64 = 0

  /// Device frames that are ready to be played. What the cycles can read as it is need not be in the ring.
  var readyFrames: Int {
    (converter == nil ? inRing + waiting : inRing).reduce(0) { sum, item in
      switch item {
      case .buffer(let piece): sum + piece.frames
      case .slab(let piece): sum + piece.frames
      case .replay, .end, .flush: sum
      }
    }
  }

  mutating func willDeliver(_ notice: Notice) {
    if case .buffer(let id, _) = notice { buffers[id]?.isFree = true }
  }

  /// The place of the notice that the app is to be told next.
  ///
  /// While the server is gone the app could not enqueue a buffer that has been played: it gets it when
  /// the server is back.
  func nextNotice(onlyBuffers: Bool) -> Int? {
    if isOffline && renderer != pthread_self() && !onlyBuffers {
      // Buffers that were played come on the thread that renders; meanwhile all else does too.
      return renderer == nil ? notices.firstIndex { !$0.isPlayedBuffer } : nil
    }
    return notices.firstIndex { notice in
      switch notice {
      case .buffer(_, let isReset): isReset || !isLost
      case .isRunning, .changed: !onlyBuffers
      }
    }
  }

  /// Hands every buffer that is queued back, unplayed.
  mutating func returnAll() {
    for item in inRing + waiting {
      if case .buffer(let piece) = item { notices.append(.buffer(piece.id, isReset: true)) }
    }
    inRing = []
    waiting = []
    replays = 0
    holdsBack = false
    ends = 0
    tail = 0
    isPrimed = false
    if let converter { freeSlabs = converter.pool }
  }
}
