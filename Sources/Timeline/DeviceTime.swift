/// Device time: JACK's 32-bit frame counter, extended to 64 bits.
///
/// A moment in device time is an `Int64` called a frame. JACK's counter wraps after about a day at
/// 48 kHz; these functions continue beyond that. Pure functions; any thread.
package enum DeviceTime {
  /// Returns the 64-bit frame nearest to `anchor` whose low 32 bits are `counter`.
  @_noLocks package static func widen(_ counter: UInt32, near anchor: Int64) -> Int64 {
    anchor &+ Int64(Int32(bitPattern: counter &- UInt32(truncatingIfNeeded: anchor)))
  }

  /// Returns the 64-bit frame of `counter`, read at `microseconds` on JACK's clock.
  ///
  /// JACK's microsecond clock does not wrap and is the same in every process. So all processes on a
  /// server compute the same frame. The result is never negative.
  @_noLocks package static func widen(
    _ counter: UInt32, seenAt microseconds: UInt64, sampleRate: Double
  ) -> Int64 {
    let anchor = Int64(held: Double(microseconds) * sampleRate / 1_000_000)
    let frame = widen(counter, near: anchor)
    return frame < 0 ? frame &+ (1 << 32) : frame
  }

  /// Returns the frames of a stream at `rate` that pass while the device, at `deviceRate`, advances
  /// by `deviceFrames`.
  @_noLocks package static func frames(
    _ deviceFrames: Int64, atDeviceRate deviceRate: Double, toRate rate: Double
  ) -> Double {
    rate == deviceRate ? Double(deviceFrames) : Double(deviceFrames) * rate / deviceRate
  }
}
