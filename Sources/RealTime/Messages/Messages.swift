/// Changes of a voice's parameters. NaN leaves a parameter as it is.
package struct ParameterChanges: BitwiseCopyable, Sendable {
  /// Target gain, 0 to 1.
  package var volume: Float
  /// Ramp time in seconds of this gain change and of later ones.
  package var rampSeconds: Float
  /// Balance, -1 (left) to 1 (right).
  package var pan: Float

  package init(volume: Float = .nan, rampSeconds: Float = .nan, pan: Float = .nan) {
    self.volume = volume
    self.rampSeconds = rampSeconds
    self.pan = pan
  }

  /// True if nothing changes.
  package var isEmpty: Bool { volume.isNaN && rampSeconds.isNaN && pan.isNaN }

  /// Adds later changes, which take precedence.
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
  /// True if each cycle that plays a part of the frames wakes the event thread: a converter follows what is played.
  let tellsProgress: Bool
  package let layout: SampleLayout
  /// Token of the event that hands the memory back.
  package let token: UInt32
  let frames: UInt32
  /// 0 if the frames are interleaved, else the distance between the channels' planes in frames.
  let planeFrames: UInt32
  let source: UnsafeRawPointer?
  /// Earliest start, in device frames since the run began; `.min` to follow the entry before
  /// directly.
  let start: Int64
  /// Parameter changes that apply from the first frame on.
  let changes: ParameterChanges

  /// Creates an entry of frames to play. The memory must not change until the event with `token`
  /// arrives.
  package init(
    _ source: UnsafeRawPointer, frames: Int, layout: SampleLayout, planeFrames: Int = 0,
    token: UInt32, start: Int64 = .min, changes: ParameterChanges = ParameterChanges(),
    tellsProgress: Bool = false
  ) {
    kind = .audio
    self.tellsProgress = tellsProgress
    self.start = start
    self.changes = changes
    self.layout = layout
    self.token = token
    self.frames = UInt32(frames)
    self.planeFrames = UInt32(planeFrames)
    unsafe self.source = source
  }

  /// The entry that ends a run.
  package static var end: Entry { Entry() }

  private init() {
    kind = .end
    tellsProgress = false
    layout = .float32(channels: 1)
    token = 0
    frames = 0
    planeFrames = 0
    unsafe source = nil
    start = .min
    changes = ParameterChanges()
  }
}

/// An event that a voice reports from a cycle.
package struct Event: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// The process thread has written the last frame of the entry with `token` to the ports.
    case played
    /// The run's first frame is device frame `frame`.
    case runBegan
    /// The run ended after `position` device frames. `frame` is the first device frame after it.
    case runEnded
  }
  package let kind: Kind
  package let token: UInt32
  /// Device frame.
  package let frame: Int64
  package let position: Int64

  /// Initial value of a ring's slots.
  package static var none: Event { Event(.played) }

  @_noLocks init(_ kind: Kind, token: UInt32 = 0, frame: Int64 = 0, position: Int64 = 0) {
    self.kind = kind
    self.token = token
    self.frame = frame
    self.position = position
  }
}
