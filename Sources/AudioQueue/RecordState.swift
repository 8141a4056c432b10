package import Codecs
import Glibc
import Server
import Timeline

/// What an app is told of a buffer that comes back from recording.
package struct Recording: Sendable {
  package let buffer: UInt32
  /// Frames that it holds; 0 if it was handed back empty.
  package let frames: Int
  package let bytes: Int
  /// Where the packets lie, if they vary in size.
  package let packets: [PacketExtent]
  /// Frames, at the queue's rate, from the run's beginning to the buffer's first frame.
  package let startFrame: Int64
  /// CLOCK_MONOTONIC, in nanoseconds, of the first frame.
  package let hostTime: UInt64
}

/// Something that a recording queue tells its app, in order.
enum RecordNotice: QueueNotice {
  /// `isReset` if the buffer is handed back by a reset or a stop, and may not be enqueued in turn.
  case buffer(Recording, isReset: Bool)
  /// `QueueChange.isRunning`, and the value that it has changed to.
  case isRunning(Bool)
  /// Any other property.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
}

/// What a recording queue knows, behind its monitor.
struct RecordState: CallingState {
  var phase = QueueState.Phase.idle
  var isRunning = false
  /// The time of the latest start.
  var start = StartPoint(.atOnce)
  var pendingStart: StartPoint? { isRunning || phase != .started ? nil : start }
  /// Whether the run ends by itself.
  var ending = Ending.none
  enum Ending {
    case none
    /// It ends when every buffer that is enqueued is full; others are refused.
    case whenFull
    /// Nothing is left to be filled: a thread is about to end the run.
    case now
    /// The run is over, and the app has not been told.
    case over
  }
  /// Device frames that the run had lasted when the last buffer was full.
  var fullAt = Int64.max
  /// The run is over, but the app has not been told of its last buffers.
  var isEnding = false
  var resets = 0
  var disposal = QueueState.Disposal.none
  var isLost = false
  /// The queue cannot be converted from the rate that the device has come back with.
  var cannotReturn = false
  /// A run was under way when the server went; unless it was paused, host time after its last frame.
  var wasRunning = false
  var lostAt: UInt64?
  /// When the run is to go on, if others are to go on at that time as well.
  var resumption: StartPoint?

  var buffers: [UInt32: QueueState.BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Not yet in the ring, in order; all that are enqueued if there is a converter.
  var waiting: [UInt32] = []
  /// In the ring or in the cycle, in order.
  var inRing: [UInt32] = []

  var notices: [RecordNotice] = []
  var delivering: (thread: pthread_t, notice: RecordNotice)?

  var device: Device?
  /// When the connections were made.
  var connectionMark = ConnectionMark()
  var portNames: [String] = []
  /// For each port what it was connected to.
  var connections: [[String]] = []
  var converter: RecordConverter?
  /// Somebody is at work with the converter.
  var isConverting = false
  /// What the cycles have filled for the converter, in order.
  var slabs: [RecordConverter.Slab] = []

  /// Device frame at which the latest run began.
  var beganAt: Int64?
  /// Device frames that the latest finished run lasted.
  var lastedFrames: Int64 = 0
  /// What the app gave; of no use here.
  var cookie: [UInt8] = []
  /// Of the encoder, if there is one.
  var encoding: Encoding?
  /// What went wrong last; nil if nothing has.
  var converterError: QueueError?
  /// How often there was no buffer.
  var underruns = 0
  /// How often cycles did not come while a run was going, and the frames of them.
  var interruptions = 0
  var missedFrames: Int64 = 0
  var isMetering = false

  func nextNotice(onlyBuffers: Bool) -> Int? {
    onlyBuffers ? notices.firstIndex { $0.isBuffer } : notices.indices.first
  }

  mutating func willDeliver(_ notice: RecordNotice) {
    switch notice {
    case .buffer(let recording, _): buffers[recording.buffer]?.isFree = true
    case .isRunning(false):
      isEnding = false
      if ending == .over { ending = .none }
    case .isRunning, .changed: break
    }
  }
}
