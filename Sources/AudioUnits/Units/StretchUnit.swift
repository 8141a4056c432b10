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
    let delay: () -> Double
    if isTape {
      guard
        let resampler = Resampler(
          variableUpTo: max(1, fastest * rates), channels: channels)
      else { throw failure }
      owner = resampler
      unsafe call = unsafe resampler.realTimeCall
      delay = { unsafe Self.delayFrames(resampler.realTimeCall, shape) ?? 0 }
    } else {
      #if RubberBand
        guard
          let stream = PitchStream(
            sampleRate: shape.rate, channels: channels, maximumInput: UnitSetup.framesToResample,
            isFiner: shape.quality >= 0x60)
        else { throw failure }
        owner = stream
        unsafe call = unsafe stream.realTimeCall
        delay = { Double(stream.delayFrames) }
      #else
        throw failure
      #endif
    }
    var bursts: [Double] = []
    for (speed, pitch) in [
      (fastest, 4), (slowest, 0.25), (fastest, 0.25), (1, 1.0),
    ] {
      unsafe cue_rt_set_ratio(call, speed * rates, pitch * rates)
      guard let burst = unsafe warmUp(call, shape) else { throw failure }
      bursts.append(burst)
    }
    burstSeconds = bursts.max()!
    delaySeconds = delay() / shape.rate
  }
}

extension StretchConverter {
  /// Returns the delay of a tape in frames of its output at speed 1, or nil if none is found: soxr does not tell it. Gives
  /// the tape a step, and then silence.
  fileprivate static func delayFrames(_ tape: cue_resampler, _ shape: BusShape) -> Double? {
    let channels = shape.format.channels
    let count = UnitSetup.framesToResample
    let input = Planes(channels: channels, capacity: count)
    let output = Planes(channels: channels, capacity: shape.frames)
    var made = 0
    var delay: Double?
    for level in [1, 0] as [Float] {
      for channel in 0..<channels {
        unsafe input.pointers()[channel].update(repeating: level, count: count)
      }
      for _ in 0..<256 {
        var left = count
        for _ in 0..<1024 where left > 0 {
          var (taken, given): (UInt32, UInt32) = (0, 0)
          unsafe cue_rt_resample(
            tape, input.pointers(), UInt32(left), &taken, output.pointers(), UInt32(shape.frames),
            &given)
          left -= Int(taken)
          let end = (0..<Int(given)).first { unsafe output.pointers()[0][$0] >= 0.5 }
          if delay == nil, let end { delay = Double(made + end) }
          made += Int(given)
        }
      }
    }
    return delay
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
