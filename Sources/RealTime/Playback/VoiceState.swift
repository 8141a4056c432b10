import Timeline

/// State of a voice. Only the process thread uses it, or the control thread while it holds the
/// voice.
@safe
struct VoiceState: BitwiseCopyable {
  var phase = RunPhase.stopped
  var start = StartPoint(word: 0)
  /// Frames of the run to skip, unheard, when it resumes.
  var skip = 0
  /// Set if a run that resumes after `start` also skips the frames in between, to stay aligned with
  /// other queues.
  var keepsStep = false
  /// Device frames since the run began.
  var position: Int64 = 0
  var current: Entry?
  /// Set once `current` has begun: its start time is reached and its parameter changes apply.
  var hasBegun = false
  /// Frames of `current` already played.
  var offset = 0
  /// Frames of all entries already played.
  var playedFrames: UInt64 = 0
  var parameters = VoiceParameters()
  /// Set if a mono voice plays through two ports, each with its side of the balance.
  var isSpread = false
  /// Set if a cycle in freewheel waited for entries and none came.
  var hasWaitedInVain = false
  /// Gain of the output and of the device at the end of the latest cycle; not a number before the first
  /// one.
  var outputGain = Float.nan
  var deviceGain = Float.nan
  /// First device frame of the latest cycle played.
  var cycleFrame = Int64.min

  var isArmed: Bool { @_noLocks get { if case .armed = phase { true } else { false } } }
}
