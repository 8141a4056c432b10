/// Device frames and host times of one process cycle: the anchor of every conversion between the
/// two.
///
/// Host times are microseconds of the clock that times cycles. Conversions extrapolate from the
/// predicted beginning of the next cycle at the nominal sample rate. They call no library and work
/// on any thread.
package struct CycleTimes: Equatable, Sendable {
  /// Device frame of the cycle's first frame.
  package var frame: Int64
  /// Device frame of the next cycle's first frame.
  package var nextFrame: Int64
  /// Host time at the cycle's first frame.
  package var microseconds: UInt64
  /// Host time at the next cycle's first frame.
  package var nextMicroseconds: UInt64

  @_noLocks package init(
    frame: Int64, nextFrame: Int64, microseconds: UInt64, nextMicroseconds: UInt64
  ) {
    self.frame = frame
    self.nextFrame = nextFrame
    self.microseconds = microseconds
    self.nextMicroseconds = nextMicroseconds
  }

  /// Returns the device frame at `hostTime` nanoseconds, rounded to the nearest frame.
  package func frame(atHostTime hostTime: UInt64, sampleRate: Double) -> Int64 {
    let seconds = (Double(hostTime) - Double(nextMicroseconds) * 1000) / 1e9
    return nextFrame &+ Int64(held: (min(max(seconds, -1e9), 1e9) * sampleRate).rounded())
  }

  /// Returns the host time in nanoseconds at `frame`; 0 for a frame before the clock's origin.
  package func hostTime(ofFrame frame: Int64, sampleRate: Double) -> UInt64 {
    let distance = Double(frame) - Double(nextFrame)
    let time = Double(nextMicroseconds) * 1000 + distance * 1e9 / sampleRate
    return UInt64(held: time.rounded())
  }
}
