import CRealTime
import Codecs
import RealTime

extension Unit {
  /// The quality of conversion, 0 to 127; nil if the unit has none that can be set.
  package var quality: UInt32? { hasQuality ? try? read { $0.quality } : nil }

  package func setQuality(_ quality: UInt32) throws(UnitError) {
    guard quality <= 127 else { throw .invalidValue("a quality is 0 to 127, not \(quality)") }
    try change { $0.quality = quality }
  }
}

/// A converter between the source of an input and the unit.
protocol BusConverter: AnyObject, Sendable {
  /// The converter as renders call it. It allocates nothing.
  var call: cue_resampler { get }
  /// Delay of its output in seconds.
  var delaySeconds: Double { get }
  /// How much sound it collects before it gives it, in seconds.
  var burstSeconds: Double { get }
  /// True if it never changes the speed.
  var keepsSpeed: Bool { get }
}

/// The sample rate converter of a bus, which has had silence already: so a render gets frames at once and
/// allocates nothing.
@safe
final class RateConverter: BusConverter, @unchecked Sendable {
  private let resampler: Resampler
  let delaySeconds: Double
  let burstSeconds: Double
  let keepsSpeed = true

  init(_ shape: BusShape) throws(UnitError) {
    let (from, to) = shape.rates
    let unknown = UnitError.formatNotSupported("there is no conversion from \(from) to \(to) Hz")
    guard shape.isConvertible,
      let resampler = Resampler(
        from: from, to: to, channels: shape.format.channels,
        quality: Resampler.Quality(.init(ofQuality: shape.quality)))
    else { throw unknown }
    self.resampler = resampler
    guard let burst = unsafe warmUp(resampler.realTimeCall, shape) else { throw unknown }
    burstSeconds = burst
    delaySeconds = resampler.delayFrames / to
  }

  var call: cue_resampler { unsafe resampler.realTimeCall }
}

extension BusShape {
  /// False if the rates differ by a factor with which the preparation would take minutes.
  var isConvertible: Bool { (1.0 / 256...256).contains(rate / format.sampleRate) }
}

/// Gives a converter silence until its output flows, and then as long again, so that its buffers have their
/// final size.
///
/// - Returns: How much sound it collects before it gives it, in seconds. Nil if no output comes.
func warmUp(_ converter: cue_resampler, _ shape: BusShape) -> Double? {
  let count = UnitSetup.framesToResample
  let channels = shape.format.channels
  let input = Planes(channels: channels, capacity: count)
  let output = Planes(channels: channels, capacity: shape.frames)
  var left = 0
  var silent = 0
  // Input and output of the converter in seconds, and the range of their difference once there is output.
  var (takenSeconds, givenSeconds) = (0.0, 0.0)
  var (least, most) = (Double.infinity, -Double.infinity)
  for _ in 0..<10_000 {
    if left == 0 { left = count }
    var (taken, given): (UInt32, UInt32) = (0, 0)
    unsafe cue_rt_resample(
      converter, input.pointers(), UInt32(left), &taken, output.pointers(), UInt32(shape.frames),
      &given)
    left -= Int(taken)
    silent += given > 0 ? 1 : 0
    takenSeconds += Double(taken) / shape.rates.from
    givenSeconds += Double(given) / shape.rates.to
    if silent > 0 {
      least = min(least, takenSeconds - givenSeconds)
      most = max(most, takenSeconds - givenSeconds)
    }
    if silent > 64 { return most - least }
  }
  return nil
}
