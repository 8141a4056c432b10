import Server
import Timeline

typealias RecordState = QueueState<RecordPart>

/// The part of a recording queue's state that a playback queue does not have.
struct RecordPart: QueuePart {
  typealias Memory = RecorderMemory
  typealias Converter = RecordConverter
  /// The number of a buffer. With a converter all enqueued buffers wait.
  typealias Item = UInt32

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
  /// True if the run is over, but the app has not received its last buffers.
  var isEnding = false
  /// The host time after the last frame of a run that the loss of the server interrupted; nil for a
  /// paused run.
  var lostAt: UInt64?
  /// The time at which the run resumes together with other queues.
  var resumption: StartPoint?
  /// Staging buffers that the process thread has filled for the converter, in order.
  var stagingBuffers: [RecordConverter.StagingBuffer] = []
  /// Properties of the encoder, if there is one.
  var encoding: Encoding?
  /// The latest failure; nil if nothing has failed.
  var converterError: QueueError?
  /// The number of times that no buffer was available.
  var underruns = 0
  /// The number of times that cycles failed to run during a run, and the frames missed by that.
  var interruptions = 0
  var missedFrames: Int64 = 0
  /// Those of the missed frames that are silence in a buffer, at the queue's rate; the others are missing between two
  /// buffers.
  var silencedFrames: Int64 = 0

  // MARK: QueuePart

  static func id(of returned: Recording) -> UInt32 { returned.buffer }

  static func pendingStart(_ state: RecordState) -> StartPoint? { state.start }

  static func nextNotice(_ state: RecordState, onlyBuffers: Bool) -> Int? {
    onlyBuffers ? state.notices.firstIndex { $0.isBuffer } : state.notices.indices.first
  }

  mutating func willTell(isRunning: Bool, runsOver: Int) {
    if isRunning { return }
    isEnding = false
    if ending == .over { ending = .none }
  }
}
