import CSoxr

/// Converts a stream of float frames from one rate to another, through soxr. Not real time; one
/// thread at a time.
///
/// The whole stream comes out: as many frames as went in, times the ratio of the rates (rounded),
/// the first of them aligned with the first that went in.
@safe
package final class Resampler {
  /// soxr gave an error; what it says.
  package struct Failure: Error, Hashable, Sendable {
    package let reason: String
  }

  /// How well the rate is converted: the better, the longer the filter.
  package struct Quality: Hashable, Sendable {
    package enum Grade: Sendable { case quick, low, medium, high, best }
    package var grade: Grade
    /// No ringing before the sound, but the phase is not linear. Not for `quick`.
    package var isMinimumPhase: Bool

    package init(_ grade: Grade, isMinimumPhase: Bool = false) {
      self.grade = grade
      self.isMinimumPhase = isMinimumPhase
    }

    fileprivate var recipe: UInt {
      let grade =
        switch grade {
        case .quick: SOXR_QQ
        case .low: SOXR_LQ
        case .medium: SOXR_MQ
        case .high: SOXR_20_BITQ
        case .best: SOXR_28_BITQ
        }
      return UInt(grade) | UInt(isMinimumPhase ? SOXR_MINIMUM_PHASE : SOXR_LINEAR_PHASE)
    }
  }

  private let resampler: soxr_t
  private let channels: Int

  /// A resampler, or nil if soxr takes no such rates or channels.
  ///
  /// - Parameters:
  ///   - inputRate: Hz.
  ///   - outputRate: Hz.
  package convenience init?(
    from inputRate: Double, to outputRate: Double, channels: Int, quality: Quality = Quality(.best)
  ) {
    unsafe self.init(
      inputRate, outputRate, channels, unsafe soxr_quality_spec(quality.recipe, 0))
  }

  /// A resampler whose ratio may change as it goes: see `setRatio(_:)`. It begins with 1.
  ///
  /// - Parameter mostRatio: The largest ratio that it will be given.
  package convenience init?(variableUpTo mostRatio: Double, channels: Int) {
    unsafe self.init(
      mostRatio, 1, channels, unsafe soxr_quality_spec(UInt(SOXR_20_BITQ), UInt(SOXR_VR)))
    setRatio(1)
  }

  private init?(
    _ inputRate: Double, _ outputRate: Double, _ channels: Int, _ quality: soxr_quality_spec_t
  ) {
    var failure: soxr_error_t?
    var io = unsafe soxr_io_spec(SOXR_FLOAT32_S, SOXR_FLOAT32_S)
    var quality = unsafe quality
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

  /// Has frames that are taken from now on become `1 / ratio` times as many. Only for one whose ratio
  /// may change.
  package func setRatio(_ ratio: Double) { _ = unsafe soxr_set_io_ratio(resampler, ratio, 0) }

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
  ) throws(Failure) -> (consumed: Int, produced: Int) {
    var consumed = 0
    var produced = 0
    let failure = unsafe soxr_process(
      resampler, input, input == nil ? 0 : inputFrames, &consumed,
      UnsafeMutableRawPointer(mutating: output), room, &produced)
    if let failure = unsafe failure { throw unsafe Failure(reason: String(cString: failure)) }
    return (consumed, produced)
  }

  /// Forgets the stream: the next frame that goes in is a first one.
  package func reset() { _ = unsafe soxr_clear(resampler) }
}
