import Codecs
import Glibc
import RealTime
import Server
import Timeline

/// Something that a queue tells its app, in order.
enum Notice {
  /// The queue has taken everything out of the buffer; `isReset` if it was handed back unplayed.
  case buffer(UInt32, isReset: Bool)
  /// `QueueChange.isRunning`, and the value that it has changed to.
  case isRunning(Bool)
  /// Another property has changed.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
}

/// A property of a queue whose value has changed.
package enum QueueChange: Sendable {
  case isRunning
  case converterFailure
  case isTimePitchEnabled
  case timePitchAlgorithm
  case isTimePitchBypassed
  case decodeFrames
}

/// What a queue knows, behind its monitor.
struct QueueState {
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
    /// The first frame that is played, and how many are.
    var first: Int
    var frames: Int
    /// Frame of the run, at the queue's rate, before which it does not begin; nil if it follows
    /// what came before.
    var start: Int64?
    /// Frame of the run at which it will begin, if the queue does not run dry.
    var begin: Int64
    /// Take effect on its first frame.
    var changes: ParameterChanges
    var timePitch: TimePitchChanges
  }

  /// A piece of the stream on its way to the ports.
  enum Item {
    case buffer(Piece)
    /// Frames in a slab; the slab's last, or not.
    case slab(Int, frames: Int, isLast: Bool)
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
  /// Calls that are handing buffers back: meanwhile none may be enqueued or converted.
  var resets = 0
  /// Counts resets, so that a conversion under way knows that its result is stale.
  var generation: UInt64 = 0
  var disposal = Disposal.none
  var isLost = false

  var buffers: [UInt32: BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Not yet in the ring, in order.
  var waiting: [Item] = []
  /// In the ring or in the cycle, in order.
  var inRing: [Item] = []

  var notices: [Notice] = []
  /// The thread that is calling the app back, and with what.
  var delivering: (thread: pthread_t, notice: Notice)?

  var device: Device?
  var portNames: [String] = []
  /// For each port what it was connected to.
  var connections: [[String]] = []
  var converter: Converter?
  /// The converter's thread is at work on a buffer.
  var isConverting = false
  /// The converter has taken frames in that it gives out only with an end or a flush.
  var holdsBack = false
  var freeSlabs: [Int] = []
  /// What buffers go through before the cycles.
  var settings = ChainSettings()
  /// Rate and pitch of what is converted next.
  var timePitch = TimePitch.Setting()
  /// What went wrong last in the converter.
  var converterFailure: ConverterFailure?

  /// Parameters as they are in force, if the cycles know of all changes they were sent, and how many
  /// that were.
  var parameters = ParameterChanges(volume: 1, rampSeconds: 0, pan: 0)
  var changesSent: UInt64 = 0
  /// Frame of the run at which what is enqueued next would be played, if the queue did not run dry.
  var tail: Int64 = 0
  /// The start that the last enqueued buffer of the run was given.
  var lastStart: Int64?
  /// Device frame at which the latest run began.
  var beganAt: Int64?
  /// Device frames that the latest finished run lasted.
  var lastedFrames: Int64 = 0

  /// Device frames that are ready to be played.
  var readyFrames: Int {
    inRing.reduce(0) { sum, item in
      switch item {
      case .buffer(let piece): sum + piece.frames
      case .slab(_, let frames, _): sum + frames
      case .end, .flush: sum
      }
    }
  }

  /// True if the calling thread is inside a callback of this queue.
  var isInCallback: Bool {
    guard let delivering else { return false }
    return delivering.thread == pthread_self()
  }

  /// Hands every buffer that is queued back, unplayed.
  mutating func returnAll() {
    for item in inRing + waiting {
      if case .buffer(let piece) = item { notices.append(.buffer(piece.id, isReset: true)) }
    }
    inRing = []
    waiting = []
    holdsBack = false
    ends = 0
    tail = 0
    lastStart = nil
    if let converter { freeSlabs = Array(0..<converter.slabCount) }
  }
}
