/// Time at which runs resume after their server returned, the same for every client that was on it.
package struct ReturnTime: Equatable, Sendable {
  /// Host time, in microseconds on the clock that times cycles, of the first audible frame.
  package var microseconds: UInt64
  /// Host time, in microseconds, at which the last cycle of any client ended. Runs of clients that
  /// ended earlier skip the frames up to there.
  package var lossMicroseconds: UInt64
  /// The same moment as a device frame; nil unless device frames are the same in every process, as
  /// on jackd.
  package var frame: Int64?
}
