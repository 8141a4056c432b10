/// When a run of a queue begins.
package enum StartTime: Equatable, Sendable {
  /// In the next cycle.
  case atOnce
  /// At this device frame; at once if it is past.
  case frame(Int64)
  /// At the device frame that this host time falls on, in nanoseconds of CLOCK_MONOTONIC.
  case hostTime(UInt64)
}
