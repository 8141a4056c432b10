/// Start time of a queue's run.
package enum StartTime: Equatable, Sendable {
  /// In the next cycle.
  case atOnce
  /// At this device frame, or at once if it is past.
  case frame(Int64)
  /// At the device frame that this host time falls on, in nanoseconds of CLOCK_MONOTONIC.
  case hostTime(UInt64)
}
