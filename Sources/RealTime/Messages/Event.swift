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
