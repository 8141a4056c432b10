/// The moment at which a player starts.
package enum PlayerStart: BitwiseCopyable, Sendable, Equatable {
  case nextRender
  /// A frame of the renders' time.
  case sample(Double)
  /// Host time in nanoseconds.
  case host(UInt64)
}

package enum PlayerRequest: BitwiseCopyable {
  case play(PlayerSlice)
  case start(PlayerStart, resets: UInt64)
}

/// Something that has happened to a slice.
package struct PlayerEvent: BitwiseCopyable, Equatable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    case began
    /// It began after its first frame should have been played.
    case beganLate
    case ended
    /// The unit was reset.
    case cancelled
  }
  package let id: UInt64
  package let kind: Kind
}
