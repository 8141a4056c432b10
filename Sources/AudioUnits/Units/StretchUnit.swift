import CRealTime
import Codecs
import Glibc
import RealTime

/// A unit whose input runs at another speed than its output: as on a tape, or with a pitch of its own.
final class StretchUnit: Unit, @unchecked Sendable {
  private let isTape: Bool
  private let switches = SwitchMemory()
  /// The least and the largest speed.
  private var speeds: ClosedRange<Double> { isTape ? 0.25...4 : 0.03125...32 }

  /// - Throws: `UnitError.unsupported` if this build is without Rubber Band, which pitches need.
  init(_ kind: UnitKind, isTape: Bool) throws(UnitError) {
    if !isTape, !TimePitch.isAvailable {
      throw .unsupported("\(kind.name) needs Rubber Band, and this build is without it")
    }
    self.isTape = isTape
    let format = try Self.standardFormat
    unsafe super.init(kind.name, inputs: [format], outputs: [format], Self.makeRender())
    makeParameters()
  }

  override package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    if side != nil { return [] }
    return [
      UnitParameter(
        id: 0, name: isTape ? "playback rate" : "rate", meaning: .ratio,
        range: Float(speeds.lowerBound)...Float(speeds.upperBound), standard: 1),
      UnitParameter(
        id: 1, name: isTape ? "playback cents" : "pitch", meaning: .cents, range: -2400...2400,
        standard: 0),
    ]
  }

  override var hasQuality: Bool { true }

  /// A bypassed unit runs at speed 1, through the same converter, so that its delay stays.
  override package var isBypassed: Bool? { unsafe switches.switches.pointee.bypass }
  override package func setBypassed(_ on: Bool) { unsafe switches.switches.pointee.bypass(on) }

  /// That of a tape is as long as the speed makes it.
  override package var latencySeconds: Double {
    guard isTape, isBypassed == false else { return super.latencySeconds }
    var (rate, cents): (Float, Float) = (1, 0)
    _ = unsafe render.pointee.parameter(0, scope: 0, element: 0, into: &rate)
    _ = unsafe render.pointee.parameter(1, scope: 0, element: 0, into: &cents)
    let speed = Double(rate) * pow(2, Double(cents) / 1200)
    return super.latencySeconds / min(max(speed, speeds.lowerBound), speeds.upperBound)
  }

  override func converter(_ shape: BusShape) throws(UnitError) -> (any BusConverter)? {
    guard shape.isInput else { return nil }
    return try StretchConverter(shape, speeds, isTape: isTape)
  }

  override func kernel(inputs: Int) -> Kernel {
    guard let parameters = latestParameters else { preconditionFailure("no parameters") }
    let memory = StretchMemory(parameters, speeds, switches, isTape: isTape)
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runStretch($0, $1) }, context: UnsafeMutableRawPointer(memory.stretch)),
      owner: memory)
  }
}

/// The converter of a `StretchUnit`, which has had silence at its least and its largest speed.
@safe
private final class StretchConverter: BusConverter, @unchecked Sendable {
  let call: cue_resampler
  let delaySeconds: Double
  let burstSeconds: Double
  let keepsSpeed = false
  private let owner: AnyObject

  init(_ shape: BusShape, _ speeds: ClosedRange<Double>, isTape: Bool) throws(UnitError) {
    let (slowest, fastest) = (speeds.lowerBound, speeds.upperBound)
    let rates = shape.format.sampleRate / shape.rate
    let channels = shape.format.channels
    let failure = UnitError.formatNotSupported(
      "there is no change of speed from \(shape.format.sampleRate) to \(shape.rate) Hz")
    guard shape.isConvertible else { throw failure }
    /// Gives a converter silence at all extremes.
    ///
    /// - Returns: The longest sound in seconds that it collects.
    func prepare(_ call: cue_resampler) throws(UnitError) -> Double {
      var longest = 0.0
      let low = isTape ? fastest : Stretch.mostShortening * 0.25
      for (speed, pitch) in [(fastest, 4), (slowest, 0.25), (low, 0.25), (1, 1.0)] {
        unsafe cue_rt_set_ratio(call, speed * rates, pitch * rates)
        guard let burst = unsafe warmUp(call, shape) else { throw failure }
        longest = max(longest, burst)
      }
      return longest
    }
    if isTape {
      let most = max(1, fastest * rates)
      // The delay is measured with another one: what it gets changes when memory is allocated.
      guard let resampler = Resampler(variableUpTo: most, channels: channels),
        let other = Resampler(variableUpTo: most, channels: channels)
      else { throw failure }
      owner = resampler
      unsafe call = unsafe resampler.realTimeCall
      burstSeconds = try unsafe prepare(call)
      _ = try unsafe prepare(other.realTimeCall)
      delaySeconds = unsafe Self.delayFrames(other.realTimeCall, shape) / shape.rate
    } else {
      #if RubberBand
        guard
          let stream = PitchStream(
            sampleRate: shape.rate, channels: channels, maximumInput: UnitSetup.framesToResample,
            isFiner: shape.quality >= 0x60)
        else { throw failure }
        owner = stream
        unsafe call = unsafe stream.realTimeCall
        burstSeconds = try unsafe prepare(call)
        delaySeconds = unsafe Self.delayFrames(call, shape) / shape.rate
      #else
        throw failure
      #endif
    }
  }
}

extension StretchConverter {
  /// Returns the delay of a converter at speed 1, in frames of its output: that of the energy of a tone. What it has
  /// collected before is a part of that, which neither soxr nor Rubber Band tells.
  fileprivate static func delayFrames(_ call: cue_resampler, _ shape: BusShape) -> Double {
    let count = UnitSetup.framesToResample
    let input = Planes(channels: shape.format.channels, capacity: count)
    let output = Planes(channels: shape.format.channels, capacity: shape.frames)
    let toneParts = 32
    var made = 0
    var (power, moment) = (0.0, 0.0)
    for part in 0..<256 {
      for frame in 0..<count {
        let sample = sin(Double(frame) * .pi / 8)
        unsafe input.pointers()[0][frame] = part < toneParts ? Float(sample) : 0
      }
      var left = count
      for _ in 0..<1024 where left > 0 {
        var (taken, given): (UInt32, UInt32) = (0, 0)
        unsafe cue_rt_resample(
          call, input.pointers(at: count - left), UInt32(left), &taken, output.pointers(),
          UInt32(shape.frames), &given)
        left -= Int(taken)
        for frame in 0..<Int(given) {
          let sample = Double(unsafe output.pointers()[0][frame])
          power += sample * sample
          moment += sample * sample * Double(made + frame)
        }
        made += Int(given)
      }
    }
    let middle = Double(toneParts * count - 1) / 2 * shape.rate / shape.format.sampleRate
    return power > 0 ? max(0, moment / power - middle) : 0
  }
}

/// Memory of a `Stretch`.
@safe
private final class StretchMemory: @unchecked Sendable {
  let stretch: UnsafeMutablePointer<Stretch>
  private let told: UnsafeMutablePointer<SIMD2<Float>>
  private let parameters: ParameterMemory
  private let switches: SwitchMemory

  init(
    _ parameters: ParameterMemory, _ speeds: ClosedRange<Double>, _ switches: SwitchMemory,
    isTape: Bool
  ) {
    self.parameters = parameters
    self.switches = switches
    unsafe told = .allocate(capacity: 1)
    unsafe told.initialize(to: SIMD2(.nan, .nan))
    unsafe stretch = .allocate(capacity: 1)
    unsafe stretch.initialize(
      to: Stretch(
        parameters.slots, isTape: isTape, speeds: speeds, switches: switches.switches, told: told))
  }

  deinit {
    unsafe stretch.deinitialize(count: 1)
    unsafe stretch.deallocate()
    unsafe told.deallocate()
  }
}
