/// Memory for the process thread to record into.
@safe
package struct Space: BitwiseCopyable {
  package let layout: SampleLayout
  /// Token of the event that hands the memory back.
  package let token: UInt32
  let frames: UInt32
  /// 0 if the frames are interleaved, else the distance between the channels' planes in frames.
  let planeFrames: UInt32
  let memory: UnsafeMutableRawPointer?

  /// Creates a space of `frames` frames. Nothing else may touch the memory until the event with
  /// `token` arrives.
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

  /// Initial value of a ring's slots.
  package static var none: Space { Space() }

  private init() {
    layout = .float32(channels: 1)
    token = 0
    frames = 0
    planeFrames = 0
    unsafe memory = nil
  }
}

/// An event that a recorder reports from a cycle.
package struct RecordEvent: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// The space with `token` holds `frames` frames. The first one is that of `frame` and
    /// `position`.
    case filled
    /// The run's first frame is device frame `frame`.
    case runBegan
    /// No space is queued: frames from `frame` on are lost until there is one.
    case ranOut
    /// The client missed the cycles of the `frames` frames before `frame`. `silence` of them were written as silence.
    case missed
  }
  package let kind: Kind
  package let token: UInt32
  package let frames: Int64
  /// Device frame.
  package let frame: Int64
  /// Device frames since the run began, pauses not counted.
  package let position: Int64
  /// Frames that a space holds as silence, since the client missed their cycles.
  package let silence: Int64

  /// Initial value of a ring's slots.
  package static var none: RecordEvent { RecordEvent(.filled) }

  @_noLocks init(
    _ kind: Kind, token: UInt32 = 0, frames: Int64 = 0, frame: Int64 = 0, position: Int64 = 0,
    silence: Int64 = 0
  ) {
    self.kind = kind
    self.token = token
    self.frames = frames
    self.frame = frame
    self.position = position
    self.silence = silence
  }
}
