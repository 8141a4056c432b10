/// An instant in device time and in host time.
package struct TimeAnchor: Equatable, Sendable {
  package var frame: Int64
  /// Host time in microseconds, on the clock that times cycles; 0 if unknown.
  package var microseconds: UInt64

  package init(frame: Int64, microseconds: UInt64) {
    self.frame = frame
    self.microseconds = microseconds
  }

  /// Times of an empty cycle that begins at this instant.
  package var times: CycleTimes {
    CycleTimes(
      frame: frame, nextFrame: frame, microseconds: microseconds, nextMicroseconds: microseconds)
  }
}
