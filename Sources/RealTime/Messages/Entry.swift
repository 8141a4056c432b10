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
