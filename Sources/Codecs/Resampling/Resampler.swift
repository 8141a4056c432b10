package import CRealTime
import CSoxr

/// A sample rate converter for a stream of float frames, based on soxr. Not real time; one thread
/// at a time.
///
/// The output has as many frames as the input times the ratio of the rates, rounded. Its first
/// frame is aligned with the first input frame.
@safe
package final class Resampler {
  /// An error from soxr, with its message.
  package struct Failure: Error, Hashable, Sendable {
    package let reason: String
  }

  /// Quality of the conversion. Better grades use longer filters.
  package struct Quality: Hashable, Sendable {
    package enum Grade: Sendable {
      case quick, low, medium, high, best

      /// The grade of a quality of Core Audio, 0 to 127, whose steps are 0x20 apart: 0x7F is the best.
      package init(ofQuality quality: UInt32) {
        self =
          switch quality {
          case ..<0x20: .quick
          case ..<0x40: .low
          case ..<0x60: .medium
          case ..<0x7F: .high
          default: .best
          }
      }
    }
    package var grade: Grade
    /// True for a minimum-phase filter: no pre-ringing, but no linear phase. Not available for
    /// `quick`.
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
  private let isVariable: Bool
  /// Input samples that were NaN or infinite. Silence replaced them, since the filter would spread them.
  package private(set) var zeroedSamples: Int64 = 0

  /// Creates a resampler; nil if soxr does not support the rates or channels.
  ///
  /// - Parameters:
  ///   - inputRate: In Hz.
  ///   - outputRate: In Hz.
  package convenience init?(
    from inputRate: Double, to outputRate: Double, channels: Int, quality: Quality = Quality(.best)
  ) {
    unsafe self.init(
      inputRate, outputRate, channels, unsafe soxr_quality_spec(quality.recipe, 0))
  }

  /// Creates a resampler with a variable ratio, initially 1: see `setRatio(_:)`.
  ///
  /// - Parameter mostRatio: The largest ratio that will be set.
  package convenience init?(variableUpTo mostRatio: Double, channels: Int) {
    unsafe self.init(
      mostRatio, 1, channels, unsafe soxr_quality_spec(UInt(SOXR_20_BITQ), UInt(SOXR_VR)),
      isVariable: true)
    setRatio(1)
  }

  private init?(
    _ inputRate: Double, _ outputRate: Double, _ channels: Int, _ quality: soxr_quality_spec_t,
    isVariable: Bool = false
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
    self.isVariable = isVariable
  }

  deinit { unsafe soxr_delete(resampler) }

  /// Sets the ratio of input to output frames for input from now on. Only for resamplers with a
  /// variable ratio.
  package func setRatio(_ ratio: Double) { _ = unsafe soxr_set_io_ratio(resampler, ratio, 0) }

  /// Resamples frames. Each array has one plane of floats per channel. Input samples that are NaN or
  /// infinite become silence in place.
  ///
  /// - Parameters:
  ///   - input: Nil after the end of the stream, to flush the tail. Repeat until nothing is
  ///     produced.
  ///   - inputFrames: Frames in each plane of `input`.
  ///   - output: Planes with space for `room` frames.
  /// - Returns: Frames consumed and frames produced.
  package func process(
    _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames inputFrames: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>>, room: Int
  ) throws(Failure) -> (consumed: Int, produced: Int) {
    var consumed = 0
    var produced = 0
    zeroedSamples +=
      unsafe input?.zeroNotFinite(channels: channels, frames: inputFrames) ?? 0
    let failure = unsafe soxr_process(
      resampler, input, input == nil ? 0 : inputFrames, &consumed,
      UnsafeMutableRawPointer(mutating: output), room, &produced)
    if let failure = unsafe failure { throw unsafe Failure(reason: String(cString: failure)) }
    return (consumed, produced)
  }

  /// The resampler as the process thread calls it, as long as the object exists. It allocates nothing if it
  /// has had input and output of that size before.
  package var realTimeCall: cue_resampler {
    unsafe cue_resampler(
      run: { context, input, count, taken, output, room, given in
        var (consumed, produced) = (0, 0)
        _ = unsafe soxr_process(
          OpaquePointer(context), UnsafeRawPointer(input), Int(count), &consumed,
          UnsafeMutableRawPointer(mutating: output), Int(room), &produced)
        unsafe taken.pointee = UInt32(consumed)
        unsafe given.pointee = UInt32(produced)
      },
      set: isVariable
        ? { context, ratio, _ in _ = unsafe soxr_set_io_ratio(OpaquePointer(context), ratio, 0) }
        : nil, context: UnsafeMutableRawPointer(resampler))
  }

  /// Frames of the output that the input so far lacks: the delay of a stream without an end.
  package var delayFrames: Double { unsafe soxr_delay(resampler) }

  /// Discards the stream. The next input frame starts a new one.
  package func reset() { _ = unsafe soxr_clear(resampler) }
}
