import Codecs
import Glibc
import RealTime
import Server
import Timeline

/// The part of a playback queue's state that a recording queue does not have.
struct PlaybackPart: QueuePart {
  typealias Memory = VoiceMemory
  typealias Converter = AudioQueue.Converter

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
    /// The buffers whose last frame is the last of these, or that ended without a further frame.
    var ended: [Piece]
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

  /// Offline rendering; nil if the queue plays through a device.
  var offline: OfflineRun?
  /// True if the queue was told to stop after nothing before its first start: that run ends at once, unless a
  /// buffer comes before the start.
  var endsEmpty = false
  /// The frame of the run at which the next enqueued buffer would play unless the queue runs dry.
  var tail: Int64 = 0
  /// The numbers of converted frames that were put into the ring, and that have been played.
  var pushedFrames: UInt64 = 0
  var playedFrames: UInt64 = 0
  /// Settings of the processing chain between the buffers and the ring.
  var settings = ChainSettings()
  var runs = QueueRuns()
  /// The number of run ends that are enqueued and have not been reached.
  var ends = 0
  /// The times of starts that were requested while a run was ending, in order.
  var starts: [StartPoint] = []
  /// True once the voice knows the first of these starts.
  var isRestarting = false
  /// True from the call that tells the voice to begin a run until the run begins. That run is not
  /// in `starts`.
  var isBeginning = false
  /// The number of resets. A conversion in progress compares it to detect that its result is stale.
  var generation: UInt64 = 0
  /// The number of items at the beginning of `waiting` that were converted for a previous device
  /// rate.
  var replays = 0

  /// Properties of the device that was open last, kept to detect a change.
  var lastDevice: DeviceFacts?
  /// For each channel, the index of its device port; empty for channel order.
  var portOrder: [Int] = []
  /// For each channel, the sound card output that the app has assigned; nil if it has assigned
  /// none.
  var assignments: [Int]?
  /// True if the converter holds frames that it outputs only at an end or a flush.
  var holdsBack = false
  /// The buffers that the converter has read to their end and whose last frame is not in the ring
  /// yet, in order.
  var held: [Piece] = []
  /// True while another converter takes the place of this one: no conversion begins.
  var changesConverter = false
  /// True while a start waits for the first converted frames.
  var isStarting = false
  /// The length of the server's cycles in frames.
  var periodFrames = 1024
  /// The length of the next cycles, from the time when the server announces it until they have it.
  var announcedPeriodFrames: Int?
  /// The free staging buffers of the converter's pool.
  var freeStagingBuffers: [StagingBuffer] = []
  /// The number of device frames that each waiting `prime` call needs.
  var primeTargets: [Int] = []
  /// Rate and pitch of the frames that are converted next.
  var timePitch = TimePitch.Setting()
  /// The latest failure of the converter.
  var converterFailure: ConverterFailure?

  /// The parameters in force once the process thread has taken every change sent to it, and the
  /// number of changes sent.
  var parameters = ParameterChanges(volume: 1, rampSeconds: 0, pan: 0)
  var changesSent: UInt64 = 0
  /// True once the balance of a one-channel queue has left the centre.
  var needsSecondPort = false

  // MARK: QueuePart

  static func id(of returned: UInt32) -> UInt32 { returned }

  static func pendingStart(_ state: PlaybackState) -> StartPoint? {
    state.part.isBeginning ? state.start : state.part.starts.first
  }

  /// The length of the present cycles or of the next ones, whichever is longer.
  var longestPeriodFrames: Int { max(periodFrames, announcedPeriodFrames ?? 0) }

  /// Sets the length of the present cycles.
  mutating func setPeriod(_ frames: Int) {
    periodFrames = frames
    if announcedPeriodFrames == frames { announcedPeriodFrames = nil }
  }

  /// The number of converted frames in the ring.
  var framesInRing: Int { pushedFrames > playedFrames ? Int(pushedFrames - playedFrames) : 0 }

  /// True if `OutputQueue.render` runs the cycles.
  var isOffline: Bool { offline != nil }

  var runsOver: Int { runs.over }

  mutating func willTell(isRunning: Bool, runsOver: Int) { runs.toldOver = runsOver }

  mutating func endRuns() { runs.over = runs.started }

  /// Returns the index of the notification to deliver next.
  static func nextNotice(_ state: PlaybackState, onlyBuffers: Bool) -> Int? {
    if let offline = state.part.offline, offline.renderer != pthread_self() && !onlyBuffers {
      // Only the rendering thread delivers played buffers. While it renders, it delivers all other
      // notifications too.
      guard offline.renderer == nil else { return nil }
      return state.notices.firstIndex { notice in
        if case .buffer(_, isReset: false) = notice { false } else { true }
      }
    }
    return state.notices.firstIndex { !onlyBuffers || $0.isBuffer }
  }
}
