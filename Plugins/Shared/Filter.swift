import CPlugin

/// The kinds of filter, in the order of the plugins' scale points.
enum FilterType: Int {
  case parametric, lowPass, highPass, resonantLowPass, resonantHighPass, bandPass, bandStop
  case lowShelf, highShelf, resonantLowShelf, resonantHighShelf
}

/// What a filter is to do.
struct FilterSettings: Equatable {
  var type = FilterType.parametric
  /// Hertz.
  var frequency = 1000.0
  /// Octaves.
  var bandwidth = 1.0
  /// Decibels.
  var gain = 0.0
  var isBypassed = false
}

/// The numbers of a state-variable filter: the bilinear transform of a filter of second order, and so the
/// same response as the usual biquad's. Any mixture of two of them is stable, too.
struct FilterShape {
  /// The frequency, as the tangent of half its angle.
  var frequency = 1.0
  /// What a resonance loses: 1/Q.
  var damping = 1.0
  /// How much of the input, of the band pass (as loud as the input at its peak) and of the low pass comes out.
  var direct = 1.0, band = 0.0, low = 0.0

  init() {}

  /// - Parameter rate: Frames per second.
  init(_ settings: FilterSettings, rate: Double) {
    // A little below half the rate, where the tangent ends.
    let angle = Double.pi * min(max(settings.frequency, 1) / rate, 0.49)
    frequency = cue_rt_tan(angle)
    let octaves = settings.bandwidth / 2
    // The root of the shelf's or peak's amplitude.
    let root = cue_rt_amplitude(settings.gain / 2)
    switch settings.type {
    case .parametric, .bandPass, .bandStop:
      // The lower edge of the band lies where it is meant, however near the band is to half the rate.
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

  /// True if what comes in comes out.
  var isFlat: Bool { direct == 1 && band == 0 && low == 0 }

}

/// What a frame adds to a shape on its way to another one: frequency and damping go by a factor, for each
/// octave is as far as the next; the rest goes in a straight line.
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

/// The factors of one frame of a filter, solved for its state, so that a frame waits for little of the one
/// before it.
struct FilterFactors {
  /// What of the input, the first and the second state comes out, and becomes either state.
  private let output, first, second: SIMD3<Double>

  init(_ shape: FilterShape) {
    // The band pass is a1 · first + a2 · (input - second), the low pass second + a2 · first + a3 · (input -
    // second); a state becomes what it lacks to twice its output.
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

  /// One frame, in two channels.
  @inline(__always)
  func apply(_ input: SIMD2<Double>, _ state: inout FilterState) -> SIMD2<Double> {
    let (a, b) = (state.first, state.second)
    state.first = first.x * input + first.y * a + first.z * b
    state.second = second.x * input + second.y * a + second.z * b
    return output.x * input + output.y * a + output.z * b
  }
}

/// What a filter remembers, of two channels.
struct FilterState {
  var first = SIMD2<Double>.zero
  var second = SIMD2<Double>.zero
}

/// A filter that follows its settings smoothly.
struct Filter: ~Copyable {
  private var settings = FilterSettings()
  private var shape = FilterShape()
  private var target = FilterShape()
  private var step = FilterStep(from: FilterShape(), to: FilterShape(), in: 1)
  private var framesLeft = 0
  private var factors = FilterFactors(FilterShape())
  private var state = FilterState()
  /// False if what comes in comes out, and will.
  private var isNeeded = false

  mutating func reset() { state = FilterState() }

  /// Goes over to other settings in as many frames, or at once if there are none.
  mutating func set(_ settings: FilterSettings, rate: Double, in frames: Int) {
    if settings == self.settings && frames > 0 { return }
    self.settings = settings
    target = FilterShape(settings, rate: rate)
    if !isNeeded {
      // Nobody hears where it begins.
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
        // Its state is still needed for this frame.
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
