// Integers of numbers that somebody else has chosen: a caller, a file, another JACK client, a plugin.
// A plain conversion of NaN, of an infinity or of a number out of range ends the process.

extension Int64 {
  /// Creates the integer part of `value`, held to ±2⁶⁰. NaN becomes 0.
  ///
  /// Sums of a few such numbers do not overflow.
  @_noLocks package init(held value: Double) {
    self = value.isNaN ? 0 : Int64(Swift.min(Swift.max(value, -0x1p60), 0x1p60))
  }
}

extension Int {
  /// Creates the integer part of `value`, held to ±2⁶⁰. NaN becomes 0.
  @_noLocks package init(held value: Double) { self = Int(Int64(held: value)) }
}

extension UInt64 {
  /// Creates the integer part of `value`, held to 0...2⁶³. NaN becomes 0.
  @_noLocks package init(held value: Double) {
    self = value.isNaN ? 0 : UInt64(Swift.min(Swift.max(value, 0), 0x1p63))
  }
}

extension UInt32 {
  /// Creates the integer part of `value`, held to the range of the type. NaN becomes 0.
  @_noLocks package init(held value: Double) {
    self = value.isNaN ? 0 : UInt32(Swift.min(Swift.max(value, 0), 0xFFFF_FFFF))
  }
}

extension Double {
  /// True for a number of frames that a clock can reach; false for NaN and infinities, too.
  @inlinable package var isFrameTime: Bool { @_noLocks get { magnitude < 0x1p60 } }
}
