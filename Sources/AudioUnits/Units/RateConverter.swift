import CRealTime
import Codecs
import RealTime

/// The sample rate converter of a bus, which has had silence already: so a render gets frames at once and
/// allocates nothing.
@safe
final class RateConverter: @unchecked Sendable {
  private let resampler: Resampler
  /// Delay of its output in seconds.
  let delaySeconds: Double

  /// - Returns: Nil if the rates cannot be converted.
  init?(from inputRate: Double, to outputRate: Double, channels: Int, maximumFrames: Int) {
    guard
      let resampler = Resampler(
        from: inputRate, to: outputRate, channels: channels, quality: Resampler.Quality(.high))
    else { return nil }
    self.resampler = resampler
    let input = Planes(channels: channels, capacity: UnitSetup.framesToResample)
    let output = Planes(channels: channels, capacity: maximumFrames)
    var silent = 0.0
    // Until its output flows, and then as long again, so that its buffers have their final size.
    for _ in 0..<10_000 {
      let made = try? unsafe resampler.process(
        input.pointers(), frames: UnitSetup.framesToResample, into: output.pointers(),
        room: maximumFrames)
      guard let made else { return nil }
      silent += made.produced > 0 ? 1 : 0
      if silent > 64 { break }
    }
    delaySeconds = resampler.delayFrames / outputRate
  }

  /// The converter as renders call it.
  var call: cue_resampler { unsafe resampler.realTimeCall }
}
