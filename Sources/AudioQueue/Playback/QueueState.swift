import Codecs
import Glibc
import RealTime
import Server
import Timeline

/// A notification to the app. The queue delivers notifications in order.
enum Notice: QueueNotice {
  /// A buffer that the queue returns to the app. `isReset` is true if it was handed back unplayed.
  case buffer(UInt32, isReset: Bool)
  /// A change of `QueueChange.isRunning`, with the new value.
  case isRunning(Bool)
  /// A change of any other property.
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

/// The state of a playback queue, protected by its monitor.
struct QueueState: CallingState {
  enum Phase {
    /// No run, or the last run has ended.
    case idle
    /// Told to start: waiting for the start time, running, or playing the last buffers.
    case started
    case paused
  }
  enum Disposal { case none, draining, disposed }

  /// A part of a buffer that is to be played, with its start time and parameter changes.
  struct Piece {
    let id: UInt32
    /// The first frame to play and the number of frames. An estimate if packets do not say how many
    /// frames they hold.
    var first: Int
    var frames: Int
    /// The packets in the buffer; nil if it holds linear PCM.
    var packets: Packets?
    /// The earliest frame of the run, at the queue's rate, at which it may begin; nil if it follows
    /// the previous buffer directly.
    var start: Int64?
    /// The frame of the run at which it will begin unless the queue runs dry.
    var begin: Int64
    /// Parameter, rate and pitch changes that take effect on its first frame.
    var changes: ParameterChanges
    var timePitch: TimePitchChanges
  }

  /// Frames of a staging buffer, with their start time and parameter changes.
  struct StagingPiece {
    let stagingBuffer: StagingBuffer
    let first: Int
    let frames: Int
    /// True if these are the last frames of the staging buffer.
    let isLast: Bool
    /// The earliest device frame of the run at which they may begin; `.min` if they follow the
    /// previous frames directly.
    let start: Int64
    let changes: ParameterChanges
  }

  /// An element of the stream on its way to the ports.
  enum Item {
    case buffer(Piece)
    /// Frames in a staging buffer. Occurs only in `inRing`.
    case stagingBuffer(StagingPiece)
    /// Frames that were converted for a previous device rate, by their index in the converter.
    /// Occurs only in `waiting`.
    case replay(Int)
    /// The end of a run.
    case end
    /// A flush: the converter outputs all frames that it holds back.
    case flush
  }

  struct BufferRecord {
    let buffer: QueueBuffer
    /// True while the app owns the buffer and may fill, enqueue or free it.
    var isFree = true
  }

  var phase = Phase.idle
  /// The value of the `isRunning` property, updated from the events of the process thread.
  var isRunning = false
  /// The number of run ends that are enqueued and have not been reached.
  var ends = 0
  /// The times of starts that were requested while a run was ending, in order.
  var starts: [StartPoint] = []
  /// True once the voice knows the first of these starts.
  var isRestarting = false
  /// True from the call that tells the voice to begin a run until the run begins. That run is not
  /// in `starts`.
  var isBeginning = false
  /// The time of the latest start that was not deferred to the end of a run.
  var start = StartPoint(.atOnce)
  var pendingStart: StartPoint? {
    if isRunning || phase != .started { return nil }
    return isBeginning ? start : starts.first
  }
  /// The number of calls in progress that hand buffers back. While it is not 0, buffers can be
  /// neither enqueued nor converted.
  var resets = 0
  /// The number of resets. A conversion in progress compares it to detect that its result is stale.
  var generation: UInt64 = 0
  var disposal = Disposal.none
  /// True while the server is gone, or if the queue could not resume after the server returned.
  var isLost = false
  /// True if the queue cannot be converted to the device's rate after the server returned.
  var cannotReturn = false
  /// True if a run was under way when the server went away.
  var wasRunning = false

  var buffers: [UInt32: BufferRecord] = [:]
  var nextBuffer: UInt32 = 1
  /// Items that are not in the ring yet, in order.
  var waiting: [Item] = []
  /// The number of items at the beginning of `waiting` that were converted for a previous device
  /// rate.
  var replays = 0
  /// Items in the ring or being played by the process thread, in order.
  var inRing: [Item] = []

  var notices: [Notice] = []
  /// The thread that is calling the app back and the notification that it delivers; nil between
  /// callbacks.
  var delivering: (thread: pthread_t, notice: Notice)?

  /// The server for offline rendering; nil if the queue plays through a device.
  var offlineServer: OfflineServer?
  /// True if the queue renders offline: `OutputQueue.render` runs the cycles.
  var isOffline: Bool { offlineServer != nil }
  /// True once a `render` call has begun since offline rendering was selected.
  var hasRendered = false
  /// Frames of the render format that were rendered or skipped since the latest start.
  var renderedFrames: Int64 = 0
  /// The thread that is inside a `render` call.
  var renderer: pthread_t?

  var device: Device?
  /// Properties of the device that was open last, kept to detect a change.
  var lastDevice: DeviceFacts?
  var portNames: [String] = []
  /// For each port, the names of the ports that it was connected to.
  var connections: [[String]] = []
  /// For each channel, the index of its device port; empty for channel order.
  var portOrder: [Int] = []
  /// For each channel, the sound card output that the app has assigned; nil if it has assigned
  /// none.
  var assignments: [Int]?
  /// True if frames were prepared for a start that has not come yet.
  var isPrimed = false
  var isMetering = false
  var converter: Converter?
  /// The moment at which the connections were made.
  var connectionMark = ConnectionMark()
  /// True while a thread is converting a buffer.
  var isConverting = false
  /// True if the converter holds frames that it outputs only at an end or a flush.
  var holdsBack = false
  /// The free staging buffers of the converter's pool.
  var freeStagingBuffers: [StagingBuffer] = []
  /// The number of device frames that each waiting `prime` call needs.
  var primeTargets: [Int] = []
  /// Settings of the processing chain between the buffers and the ring.
  var settings = ChainSettings()
  /// Rate and pitch of the frames that are converted next.
  var timePitch = TimePitch.Setting()
  /// The decoder's magic cookie, as the app gave it.
  var cookie: [UInt8] = []
  /// The latest failure of the converter.
  var converterFailure: ConverterFailure?

  /// The parameters in force once the process thread has taken every change sent to it, and the
  /// number of changes sent.
  var parameters = ParameterChanges(volume: 1, rampSeconds: 0, pan: 0)
  var changesSent: UInt64 = 0
  /// Set once the balance of a one-channel queue has left the centre.
  var needsSecondPort = false
  /// True if a second port is needed and can be opened.
  var lacksSecondPort: Bool {
    needsSecondPort && device != nil && !isOffline && portNames.count == 1
  }
  /// The frame of the run at which the next enqueued buffer would play unless the queue runs dry.
  var tail: Int64 = 0
  /// The start time of the last buffer that has one, belongs to the run and has not been played.
  var lastStart: Int64? {
    for items in [waiting, inRing] {
      for item in items.reversed() {
        if case .end = item { return nil }
        if case .buffer(let piece) = item, let start = piece.start { return start }
      }
    }
    return nil
  }
  /// The device frame at which the latest run began.
  var beganAt: Int64?
  /// The length of the latest finished run in device frames.
  var lastedFrames: Int64 = 0

  /// The number of device frames that are ready to play. Without a converter the process thread
  /// reads app buffers directly, so waiting buffers count too.
  var readyFrames: Int {
    (converter == nil ? inRing + waiting : inRing).reduce(0) { sum, item in
      switch item {
      case .buffer(let piece): sum + piece.frames
      case .stagingBuffer(let piece): sum + piece.frames
      case .replay, .end, .flush: sum
      }
    }
  }

  mutating func willDeliver(_ notice: Notice) {
    if case .buffer(let id, _) = notice { buffers[id]?.isFree = true }
  }

  /// Returns the index of the notification to deliver next.
  ///
  /// While the server is gone the app could not enqueue a played buffer again. Such a buffer is
  /// returned once the server is back.
  func nextNotice(onlyBuffers: Bool) -> Int? {
    if isOffline && renderer != pthread_self() && !onlyBuffers {
      // Only the rendering thread delivers played buffers. While it renders, it delivers all other
      // notifications too.
      return renderer == nil ? notices.firstIndex { !$0.isPlayedBuffer } : nil
    }
    return notices.firstIndex { notice in
      switch notice {
      case .buffer(_, let isReset): isReset || !isLost
      case .isRunning, .changed: !onlyBuffers
      }
    }
  }

  /// Hands back every enqueued buffer as not played.
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
    if let converter { freeStagingBuffers = converter.pool }
  }
}
