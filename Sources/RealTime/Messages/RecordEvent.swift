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
