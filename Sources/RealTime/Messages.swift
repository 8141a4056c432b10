/// Changes of a voice's parameters. What is NaN stays as it is.
package struct ParameterChanges: BitwiseCopyable, Sendable {
  /// The gain to go to, 0 to 1.
  package var volume: Float
  /// Seconds that this change of the gain and later ones take.
  package var rampSeconds: Float
  /// The balance, -1 (left) to 1 (right).
  package var pan: Float

  package init(volume: Float = .nan, rampSeconds: Float = .nan, pan: Float = .nan) {
    self.volume = volume
    self.rampSeconds = rampSeconds
    self.pan = pan
  }

  /// Nothing changes.
  package var isEmpty: Bool { volume.isNaN && rampSeconds.isNaN && pan.isNaN }

  /// Adds later changes, which win.
  package mutating func add(_ changes: ParameterChanges) {
    if !changes.volume.isNaN { volume = changes.volume }
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
  }
}

/// One piece of a queue's stream: frames to play, or the end of a run.
@safe
package struct Entry: BitwiseCopyable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// Frames to play.
    case audio
    /// The run ends here: the frame after the last one played is silent, and the voice stops.
    case end
  }
  package let kind: Kind
  package let layout: SampleLayout
  /// Who gets the memory back.
  package let token: UInt32
  let frames: UInt32
  /// 0 if the frames are interleaved, else the distance between the channels' planes in frames.
  let planeFrames: UInt32
  let source: UnsafeRawPointer?
  /// Device frame, counted from the run's first, before which it does not begin; `.min` if it
  /// follows what came before.
  let start: Int64
  /// Take effect on its first frame.
  let changes: ParameterChanges

  /// Frames to play, in memory that stays as it is until the event with `token` comes back.
  package init(
    _ source: UnsafeRawPointer, frames: Int, layout: SampleLayout, planeFrames: Int = 0,
    token: UInt32, start: Int64 = .min, changes: ParameterChanges = ParameterChanges()
  ) {
    kind = .audio
    self.start = start
    self.changes = changes
    self.layout = layout
    self.token = token
    self.frames = UInt32(frames)
    self.planeFrames = UInt32(planeFrames)
    unsafe self.source = source
  }

  /// The end of a run.
  package static var end: Entry { Entry() }

  private init() {
    kind = .end
    layout = .float32(channels: 1)
    token = 0
    frames = 0
    planeFrames = 0
    unsafe source = nil
    start = .min
    changes = ParameterChanges()
  }
}

/// Something that happened in a cycle.
package struct Event: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// The last frame of the entry with `token` has left for the ports.
    case played
    /// The run's first frame left at device frame `frame`.
    case runBegan
    /// The run ended, `position` device frames long; `frame` is the first device frame after it.
    case runEnded
  }
  package let kind: Kind
  package let token: UInt32
  /// Device time.
  package let frame: Int64
  package let position: Int64

  /// What a ring's slots hold before anything was pushed.
  package static var none: Event { Event(.played) }

  @_noLocks init(_ kind: Kind, token: UInt32 = 0, frame: Int64 = 0, position: Int64 = 0) {
    self.kind = kind
    self.token = token
    self.frame = frame
    self.position = position
  }
}
