/// Device time: JACK's 32-bit frame counter, widened to 64 bits.
///
/// A moment in device time is an `Int64` called a frame. JACK's counter wraps after about a day
/// at 48 kHz; these functions carry on where it wraps. Pure values; safe on every thread.
package enum DeviceTime {
  /// The 64-bit frame that ends in `counter` and lies nearest to `anchor`.
  @_noLocks package static func widen(_ counter: UInt32, near anchor: Int64) -> Int64 {
    anchor &+ Int64(Int32(bitPattern: counter &- UInt32(truncatingIfNeeded: anchor)))
  }

  /// The 64-bit frame of `counter`, seen at `microseconds` on JACK's clock.
  ///
  /// JACK's microsecond clock does not wrap and is the same in every process, so all processes
  /// on a server find the same frame. The result is never negative.
  @_noLocks package static func widen(
    _ counter: UInt32, seenAt microseconds: UInt64, sampleRate: Double
  ) -> Int64 {
    let anchor = Int64(Double(microseconds) * sampleRate / 1_000_000)
    let frame = widen(counter, near: anchor)
    return frame < 0 ? frame &+ (1 << 32) : frame
  }

  /// Frames of a stream at `rate` that pass while the device, at `deviceRate`, moves on by
  /// `deviceFrames`.
  @_noLocks package static func frames(
    _ deviceFrames: Int64, atDeviceRate deviceRate: Double, toRate rate: Double
  ) -> Double {
    rate == deviceRate ? Double(deviceFrames) : Double(deviceFrames) * rate / deviceRate
  }
}
