/// Memory on its way to the cycle, to be filled with what is recorded.
@safe
package struct Space: BitwiseCopyable {
  package let layout: SampleLayout
  /// Who gets the memory back.
  package let token: UInt32
  let frames: UInt32
  /// 0 if the frames are interleaved, else the distance between the channels' planes in frames.
  let planeFrames: UInt32
  let memory: UnsafeMutableRawPointer?

  /// Memory for `frames` frames that nobody else touches until the event with `token` comes back.
  package init(
    _ memory: UnsafeMutableRawPointer, frames: Int, layout: SampleLayout, planeFrames: Int = 0,
    token: UInt32
  ) {
    self.layout = layout
    self.token = token
    self.frames = UInt32(frames)
    self.planeFrames = UInt32(planeFrames)
    unsafe self.memory = memory
  }

  /// What a ring's slots hold before anything was pushed.
  package static var none: Space { Space() }

  private init() {
    layout = .float32(channels: 1)
    token = 0
    frames = 0
    planeFrames = 0
    unsafe memory = nil
  }
}

/// Something that happened in a cycle that records.
package struct RecordEvent: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// The space with `token` holds `frames` frames, the first of them that of `frame` and `position`.
    case filled
    /// The run's first frame is that of device frame `frame`.
    case runBegan
    /// There is no space: what comes from `frame` on is lost until there is.
    case ranOut
    /// The cycles of the `frames` frames before `frame` did not come.
    case missed
  }
  package let kind: Kind
  package let token: UInt32
  package let frames: Int64
  /// Device time.
  package let frame: Int64
  /// Device frames since the run began, pauses left out.
  package let position: Int64

  /// What a ring's slots hold before anything was pushed.
  package static var none: RecordEvent { RecordEvent(.filled) }

  @_noLocks init(
    _ kind: Kind, token: UInt32 = 0, frames: Int64 = 0, frame: Int64 = 0, position: Int64 = 0
  ) {
    self.kind = kind
    self.token = token
    self.frames = frames
    self.frame = frame
    self.position = position
  }
}
