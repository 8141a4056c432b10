package import Codecs
import Glibc
import Server
import Timeline

/// A recorded buffer as the app receives it.
package struct Recording: Sendable {
  package let buffer: UInt32
  /// The number of frames in the buffer; 0 if it was handed back empty.
  package let frames: Int
  package let bytes: Int
  /// Offsets and sizes of the packets, if they vary in size.
  package let packets: [PacketExtent]
  /// Frames, at the queue's rate, from the beginning of the run to the buffer's first frame.
  package let startFrame: Int64
  /// Time of the first frame in nanoseconds of CLOCK_MONOTONIC.
  package let hostTime: UInt64
}

/// A notification from a recording queue to its app. The queue delivers notifications in order.
enum RecordNotice: QueueNotice {
  /// A buffer that the queue returns. `isReset` is true after a reset or a stop: the app may not
  /// enqueue it in that callback.
  case buffer(Recording, isReset: Bool)
  /// A change of `QueueChange.isRunning`, with the new value.
  case isRunning(Bool)
  /// A change of any other property.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
}

/// The state of a recording queue, protected by its monitor.
struct RecordState: CallingState {
  var phase = QueueState.Phase.idle
  var isRunning = false
  /// The time of the latest start.
  var start = StartPoint(.atOnce)
  var pendingStart: StartPoint? { isRunning || phase != .started ? nil : start }
  /// The way in which the run is about to end.
  var ending = Ending.none
  enum Ending {
    case none
    /// The run ends when every enqueued buffer is full. The queue accepts no other buffers.
    case whenFull
    /// No buffer is left to fill: a thread is about to end the run.
    case now
    /// The run is over and the app has not been notified.
    case over
  }
  /// The length of the run in device frames when the last buffer was full.
  var fullAt = Int64.max
  /// True if the run is over but the app has not received its last buffers.
  var isEnding = false
  var resets = 0
  var disposal = QueueState.Disposal.none
  var isLost = false
  /// True if the queue cannot be converted from the device's rate after the server returned.
  var cannotReturn = false
  /// True if a run was under way when the server went away, and the host time after its last frame.
  /// A paused run has no such time.
  var wasRunning = false
  var lostAt: UInt64?
  /// The time at which the run resumes together with other queues.
  var resumption: StartPoint?

  var buffers: [UInt32: QueueState.BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Buffers that are not in the ring yet, in order. With a converter all enqueued buffers.
  var waiting: [UInt32] = []
  /// Buffers in the ring or being filled by the process thread, in order.
  var inRing: [UInt32] = []

  var notices: [RecordNotice] = []
  var delivering: (thread: pthread_t, notice: RecordNotice)?

  var device: Device?
  /// The moment at which the connections were made.
  var connectionMark = ConnectionMark()
  var portNames: [String] = []
  /// For each port, the names of the ports that it was connected to.
  var connections: [[String]] = []
  var converter: RecordConverter?
  /// True while a thread uses the converter.
  var isConverting = false
  /// Staging buffers that the process thread has filled for the converter, in order.
  var stagingBuffers: [RecordConverter.StagingBuffer] = []

  /// The device frame at which the latest run began.
  var beganAt: Int64?
  /// The length of the latest finished run in device frames.
  var lastedFrames: Int64 = 0
  /// The magic cookie of the app; kept, but not used.
  var cookie: [UInt8] = []
  /// Properties of the encoder, if there is one.
  var encoding: Encoding?
  /// The latest failure; nil if nothing has failed.
  var converterError: QueueError?
  /// The number of times that no buffer was available.
  var underruns = 0
  /// The number of times that cycles failed to run during a run, and the frames missed by that.
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
