import CSoxr

/// Converts a stream of float frames from one rate to another, through soxr. Not real time; one
/// thread at a time.
///
/// The whole stream comes out: as many frames as went in, times the ratio of the rates (rounded),
/// the first of them aligned with the first that went in.
@safe
package final class Resampler {
  private let resampler: soxr_t
  private let channels: Int

  /// A resampler, or nil if soxr takes no such rates or channels.
  ///
  /// - Parameters:
  ///   - inputRate: Hz.
  ///   - outputRate: Hz.
  package init?(from inputRate: Double, to outputRate: Double, channels: Int) {
    var failure: soxr_error_t?
    var io = unsafe soxr_io_spec(SOXR_FLOAT32_S, SOXR_FLOAT32_S)
    var quality = unsafe soxr_quality_spec(UInt(SOXR_VHQ), 0)
    var runtime = unsafe soxr_runtime_spec(1)
    guard
      let resampler = unsafe soxr_create(
        inputRate, outputRate, UInt32(channels), &failure, &io, &quality, &runtime),
      unsafe failure == nil
    else { return nil }
    unsafe self.resampler = resampler
    self.channels = channels
  }

  deinit { unsafe soxr_delete(resampler) }

  /// Takes frames in and gives frames out; each array has a plane of floats for each channel.
  ///
  /// - Parameters:
  ///   - input: Nil when the stream has ended and only its tail is wanted: to be called again
  ///     until it produces nothing.
  ///   - inputFrames: Frames that each plane of `input` holds.
  ///   - output: Planes with room for `room` frames.
  /// - Returns: Frames taken and frames given.
  package func process(
    _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames inputFrames: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>>, room: Int
  ) -> (consumed: Int, produced: Int) {
    var consumed = 0
    var produced = 0
    _ = unsafe soxr_process(
      resampler, input, input == nil ? 0 : inputFrames, &consumed,
      UnsafeMutableRawPointer(mutating: output), room, &produced)
    return (consumed, produced)
  }

  /// Frames that would come out if the stream ended now.
  package var heldFrames: Int { Int(unsafe soxr_delay(resampler).rounded(.up)) }

  /// Forgets the stream: the next frame that goes in is a first one.
  package func reset() { _ = unsafe soxr_clear(resampler) }
}
