import CPlugin

/// The filter types, in the order of the plugins' scale points.
enum FilterType: Int {
  case parametric, lowPass, highPass, resonantLowPass, resonantHighPass, bandPass, bandStop
  case lowShelf, highShelf, resonantLowShelf, resonantHighShelf
}

/// The settings of a filter.
struct FilterSettings: Equatable {
  var type = FilterType.parametric
  /// Frequency in hertz.
  var frequency = 1000.0
  /// Bandwidth in octaves.
  var bandwidth = 1.0
  /// Gain in decibels.
  var gain = 0.0
  var isBypassed = false
}

/// Coefficients of a state-variable filter: the bilinear transform of a second-order filter. Its
/// response is that of the usual biquad. Any interpolation between two sets of coefficients is stable,
/// too.
struct FilterShape {
  /// The prewarped frequency: tan(π · frequency / sample rate).
  var frequency = 1.0
  /// The damping of the resonance: 1/Q.
  var damping = 1.0
  /// The amounts of the input, the band pass (unity gain at its peak) and the low pass in the output.
  var direct = 1.0, band = 0.0, low = 0.0

  init() {}

  /// - Parameter rate: Sample rate in Hz.
  init(_ settings: FilterSettings, rate: Double) {
    // A little below half the sample rate, where the tangent diverges.
    let angle = Double.pi * min(max(settings.frequency, 1) / rate, 0.49)
    frequency = cue_rt_tan(angle)
    let octaves = settings.bandwidth / 2
    // The square root of the amplitude of the shelf or peak.
    let root = cue_rt_amplitude(settings.gain / 2)
    switch settings.type {
    case .parametric, .bandPass, .bandStop:
      // Keeps the lower band edge at its frequency, however close the band is to half the sample rate.
      let edge = frequency / cue_rt_tan(angle / cue_rt_power(2, octaves))
      damping = edge - 1 / edge
    case .resonantLowPass, .resonantHighPass, .resonantLowShelf, .resonantHighShelf:
      let edge = cue_rt_power(2, octaves)
      damping = edge - 1 / edge
    case .lowPass, .highPass, .lowShelf, .highShelf:
      damping = 1.4142135623730951
    }
    if settings.isBypassed { return }
    switch settings.type {
    case .parametric:
      damping /= root
      band = root * root - 1
    case .lowPass, .resonantLowPass:
      direct = 0
      low = 1
    case .highPass, .resonantHighPass:
      band = -1
      low = -1
    case .bandPass:
      direct = 0
      band = 1
    case .bandStop:
      band = -1
    case .lowShelf, .resonantLowShelf:
      frequency /= cue_rt_amplitude(settings.gain / 4)
      band = root - 1
      low = root * root - 1
    case .highShelf, .resonantHighShelf:
      frequency *= cue_rt_amplitude(settings.gain / 4)
      direct = root * root
      band = (1 - root) * root
      low = 1 - root * root
    }
  }

  /// Whether the output equals the input.
  var isFlat: Bool { direct == 1 && band == 0 && low == 0 }

}

/// The change of a filter shape from one frame to the next. Frequency and damping change by a factor,
/// so that each octave takes the same time; the other coefficients change linearly.
struct FilterStep {
  private let frequency, damping, direct, band, low: Double

  init(from start: FilterShape, to end: FilterShape, in frames: Int) {
    let part = 1 / Double(frames)
    frequency = cue_rt_power(end.frequency / start.frequency, part)
    damping = cue_rt_power(end.damping / start.damping, part)
    direct = (end.direct - start.direct) * part
    band = (end.band - start.band) * part
    low = (end.low - start.low) * part
  }

  func apply(_ shape: inout FilterShape) {
    shape.frequency *= frequency
    shape.damping *= damping
    shape.direct += direct
    shape.band += band
    shape.low += low
  }
}

/// The coefficients of one frame, solved for the state, which shortens the dependency between frames.
struct FilterFactors {
  /// The factors of the input and the two states in the output and in each new state.
  private let output, first, second: SIMD3<Double>

  init(_ shape: FilterShape) {
    // Band pass: a1 · first + a2 · (input - second). Low pass: second + a2 · first + a3 · (input -
    // second). The new state is twice the respective output minus the old state.
    let a1 = 1 / (1 + shape.frequency * (shape.frequency + shape.damping))
    let a2 = shape.frequency * a1
    let a3 = shape.frequency * a2
    let band = shape.band * shape.damping
    output = SIMD3(
      shape.direct + band * a2 + shape.low * a3, band * a1 + shape.low * a2,
      shape.low * (1 - a3) - band * a2)
    first = SIMD3(2 * a2, 2 * a1 - 1, -2 * a2)
    second = SIMD3(2 * a3, 2 * a2, 1 - 2 * a3)
  }

  /// Processes one stereo frame.
  @inline(__always)
  func apply(_ input: SIMD2<Double>, _ state: inout FilterState) -> SIMD2<Double> {
    let (a, b) = (state.first, state.second)
    state.first = first.x * input + first.y * a + first.z * b
    state.second = second.x * input + second.y * a + second.z * b
    return output.x * input + output.y * a + output.z * b
  }
}

/// The state of a stereo filter.
struct FilterState {
  var first = SIMD2<Double>.zero
  var second = SIMD2<Double>.zero
}

/// A filter that changes its settings smoothly.
struct Filter: ~Copyable {
  private var settings = FilterSettings()
  private var shape = FilterShape()
  private var target = FilterShape()
  private var step = FilterStep(from: FilterShape(), to: FilterShape(), in: 1)
  private var framesLeft = 0
  private var factors = FilterFactors(FilterShape())
  private var state = FilterState()
  /// Whether the filter changes the signal, now or at the end of the ramp.
  private var isNeeded = false

  mutating func reset() { state = FilterState() }

  /// Changes the settings over `frames` frames, or at once if that is 0.
  mutating func set(_ settings: FilterSettings, rate: Double, in frames: Int) {
    if settings == self.settings && frames > 0 { return }
    self.settings = settings
    target = FilterShape(settings, rate: rate)
    if !isNeeded {
      // The filter is flat, so its frequency and damping can jump.
      shape = FilterShape()
      shape.frequency = target.frequency
      shape.damping = target.damping
    }
    if frames == 0 {
      land()
    } else if isNeeded || !target.isFlat {
      step = FilterStep(from: shape, to: target, in: frames)
      framesLeft = frames
      isNeeded = true
    }
  }

  private mutating func land() {
    framesLeft = 0
    shape = target
    factors = FilterFactors(shape)
    isNeeded = !shape.isFlat
    if !isNeeded { reset() }
  }

  mutating func process(_ block: inout Block) {
    guard isNeeded else { return }
    var i = 0
    while i < block.count && framesLeft > 0 {
      framesLeft -= 1
      if framesLeft == 0 {
        // This frame still needs the filter's state.
        block.wet[i] = FilterFactors(target).apply(block.wet[i], &state)
        land()
      } else {
        step.apply(&shape)
        block.wet[i] = FilterFactors(shape).apply(block.wet[i], &state)
      }
      i += 1
    }
    guard isNeeded else { return }
    let factors = self.factors
    var state = self.state
    while i < block.count {
      block.wet[i] = factors.apply(block.wet[i], &state)
      i += 1
    }
    self.state = state
  }

  mutating func settle() {
    guard isNeeded else { return }
    state.first = settled(state.first)
    state.second = settled(state.second)
  }
}
