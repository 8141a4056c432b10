/// The beginning of a server's latest cycle: the transport's frame, and the host time.
package struct TransportMoment: Equatable, Sendable {
  package var frame: Int64
  /// Host time in microseconds, as the server read its clock; not smoothed.
  package var microseconds: UInt64

  package init(frame: Int64, microseconds: UInt64) {
    self.frame = frame
    self.microseconds = microseconds
  }
}
