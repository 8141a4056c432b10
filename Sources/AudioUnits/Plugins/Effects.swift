import Glibc
import PluginHost
import RealTime

// The effects of the library, with the numbers and ranges of their parameters in the C API.

extension ControlledParameter {
  /// A parameter that moves one control.
  init(
    _ id: UInt32, _ name: String, _ meaning: UnitParameter.Meaning, _ range: ClosedRange<Float>,
    _ standard: Float, _ control: String, _ scale: ControlScale = .same, names: [String] = []
  ) {
    self.init(
      id, name, meaning, range, standard, links: [(control, scale)], names: names)
  }

  init(
    _ id: UInt32, _ name: String, _ meaning: UnitParameter.Meaning, _ range: ClosedRange<Float>,
    _ standard: Float, links: [(control: String, scale: ControlScale)], names: [String] = []
  ) {
    self.init(
      parameter: UnitParameter(
        id: id, name: name, meaning: meaning, range: range, standard: standard, valueNames: names,
        isLogarithmic: meaning == .hertz), links: links)
  }

  /// A frequency up to half the sample rate.
  init(
    _ id: UInt32, _ name: String, from low: Float, _ nyquist: Float, _ standard: Float,
    _ control: String = "frequency_1"
  ) {
    let most = max(low, nyquist)
    self.init(id, name, .hertz, low...most, min(standard, most), control)
  }
}

// MARK: Equalisers

extension Effect {
  private static let equaliser = "urn:cuejack:plugins:parametric-eq-mono"
  // The plugin's numbers of filter types are those of kAUNBandEQFilterType_….
  private static let (peak, lowPass, highPass): (Float, Float, Float) = (0, 3, 4)
  private static let (bandPass, lowShelf, highShelf): (Float, Float, Float) = (5, 7, 8)

  /// A filter with the first band of the equaliser.
  private init(
    _ name: String, type: Float, _ parameters: @escaping @Sendable (Float) -> [ControlledParameter]
  ) {
    self.init(name, uri: Self.equaliser) { _, nyquist, _ in parameters(nyquist) }
    fixed = [("type_1", type)]
  }

  static let parametricEQ = Effect("ParametricEQ", type: peak) { nyquist in
    [
      ControlledParameter(0, "center frequency", from: 20, nyquist, 2000),
      ControlledParameter(1, "Q", .generic, 0.1...20, 1, "bandwidth_1", .quality),
      ControlledParameter(2, "gain", .decibels, -20...20, 0, "gain_1"),
    ]
  }

  /// The resonance of -20 to 40 dB is held within the plugin's 0.05 to 5 octaves.
  private static func resonant(_ name: String, type: Float, _ standard: Float) -> Effect {
    Effect(name, type: type) { nyquist in
      [
        ControlledParameter(0, "cutoff frequency", from: 10, nyquist, standard),
        ControlledParameter(1, "resonance", .decibels, -20...40, 0, "bandwidth_1", .resonance),
      ]
    }
  }
  static let lowPassFilter = resonant("AULowpass", type: lowPass, 6900)
  static let highPassFilter = resonant("AUHipass", type: highPass, 6900)

  static let bandPassFilter = Effect("AUBandpass", type: bandPass) { nyquist in
    [
      ControlledParameter(0, "center frequency", from: 20, nyquist, 5000),
      ControlledParameter(
        1, "bandwidth", .cents, 100...6000, 600, "bandwidth_1", .line(factor: 1 / 1200)),
    ]
  }
  static let lowShelfFilter = Effect("AULowShelfFilter", type: lowShelf) { nyquist in
    [
      ControlledParameter(0, "cutoff frequency", from: 10, nyquist, 80),
      ControlledParameter(1, "gain", .decibels, -40...24, 0, "gain_1"),
    ]
  }
  static let highShelfFilter = Effect("AUHighShelfFilter", type: highShelf) { nyquist in
    [
      ControlledParameter(0, "cutoff frequency", from: 10, nyquist, 10000),
      ControlledParameter(1, "gain", .decibels, -40...24, 0, "gain_1"),
    ]
  }

  static let nBandEQ: Effect = {
    var effect = Effect("AUNBandEQ", uri: equaliser) { plugin, nyquist, bands in
      let names = plugin.port("type_1")?.scalePoints.map(\.label) ?? []
      return [ControlledParameter(0, "global gain", .decibels, -96...24, 0, "gain")]
        + (1...bands).flatMap { band -> [ControlledParameter] in
          let id = UInt32(band - 1)
          // One octave apart, the last one at 16 kHz at most.
          let standard = min(16_000, 40 * Float(1 << min(band - 1, 9)))
          return [
            ControlledParameter(
              1000 + id, "bypass \(band)", .boolean, 0...1, 1, "bypass_\(band)"),
            ControlledParameter(
              2000 + id, "type \(band)", .indexed, 0...10, 0, "type_\(band)", names: names),
            ControlledParameter(
              3000 + id, "frequency \(band)", from: 20, nyquist, standard, "frequency_\(band)"),
            ControlledParameter(
              4000 + id, "gain \(band)", .decibels, -96...24, 0, "gain_\(band)"),
            ControlledParameter(
              5000 + id, "bandwidth \(band)", .octaves, 0.05...5, 0.5, "bandwidth_\(band)"),
          ]
        }
    }
    effect.isBanded = true
    return effect
  }()

  static let iPodEQ: Effect = {
    var effect = Effect("AUiPodEQ", uri: "urn:cuejack:plugins:preset-eq-mono") { plugin, _, _ in
      let names = plugin.port("preset")?.scalePoints.map(\.label) ?? []
      let most = Float(max(1, names.count - 1))
      return [ControlledParameter(0, "preset", .indexed, 0...most, 0, "preset", names: names)]
    }
    effect.presetControl = "preset"
    return effect
  }()

  static let graphicEQ = Effect("AUGraphicEQ", uri: "urn:cuejack:plugins:graphic-eq-mono") {
    plugin, _, _ in
    let names = plugin.port("bands")?.scalePoints.map(\.label) ?? []
    return (0..<31).map { band in
      let control = "gain_\(band + 1)"
      let name = plugin.port(control)?.name ?? control
      return ControlledParameter(UInt32(band), name, .decibels, -20...20, 0, control)
    } + [
      ControlledParameter(10000, "number of bands", .indexed, 0...1, 1, "bands", names: names)
    ]
  }
}

// MARK: Dynamics

extension Effect {
  static let peakLimiter: Effect = {
    let milliseconds = ControlScale.line(factor: 1000)
    var effect = Effect("AUPeakLimiter", uri: "urn:cuejack:plugins:limiter-mono") { _, _, _ in
      [
        ControlledParameter(
          0, "attack time", .seconds, 0.001...0.03, 0.012, "attack", milliseconds),
        ControlledParameter(
          1, "decay time", .seconds, 0.001...0.06, 0.024, "release", milliseconds),
        ControlledParameter(2, "pre-gain", .decibels, -40...40, 0, "gain"),
      ]
    }
    effect.fixed = [("ceiling", 0)]
    return effect
  }()

  static let dynamicsProcessor = Effect(
    "AUDynamicsProcessor", uri: "urn:cuejack:plugins:dynamics-mono"
  ) { _, _, _ in
    [
      ControlledParameter(0, "threshold", .decibels, -40...20, -20, "threshold"),
      ControlledParameter(1, "headroom", .decibels, 0.1...40, 5, "headroom"),
      ControlledParameter(2, "expansion ratio", .ratio, 1...50, 2, "ratio"),
      ControlledParameter(3, "expansion threshold", .decibels, -120...0, -120, "floor"),
      ControlledParameter(4, "attack time", .seconds, 0.0001...0.2, 0.05, "attack"),
      ControlledParameter(5, "release time", .seconds, 0.01...3, 0.05, "release"),
      ControlledParameter(6, "overall gain", .decibels, -40...40, 0, "gain"),
    ]
  }
}

// MARK: Echoes, reverberation and distortion

extension Effect {
  static let delay: Effect = {
    var effect = Effect("AUDelay", uri: "urn:cuejack:plugins:delay-mono") { _, nyquist, _ in
      [
        ControlledParameter(0, "dry/wet mix", .percent, 0...100, 50, "mix"),
        ControlledParameter(1, "delay time", .seconds, 0...2, 1, "time"),
        ControlledParameter(2, "feedback", .percent, -100...100, 50, "feedback"),
        ControlledParameter(3, "lowpass cutoff frequency", from: 10, nyquist, 15000, "cutoff"),
      ]
    }
    effect.tail = { value in
      if value(0) == 0 { return 0 }
      // The plugin's feedback ends at 99.9 %, so there is a last echo.
      let feedback = min(abs(value(2)), 99.9) / 100
      let repeats = feedback > 0 ? (-tailDecibels / (20 * log10(feedback))).rounded(.up) : 0
      return value(1) * (1 + repeats)
    }
    return effect
  }()

  /// The late reverberation gets the mix, the early reflections half of it, and the dry sound the rest.
  static let reverb: Effect = {
    var effect = Effect("AUReverb2", uri: "https://github.com/michaelwillis/dragonfly-reverb") {
      _, _, _ in
      [
        ControlledParameter(
          0, "dry/wet mix", .percent, 0...100, 100,
          links: [
            ("late_level", .same), ("early_level", .line(factor: 0.5)),
            ("dry_level", .line(factor: -1, plus: 100)),
          ]),
        ControlledParameter(
          2, "minimum delay time", .seconds, 0.0001...0.1, 0.008, "delay", .line(factor: 1000)),
        ControlledParameter(4, "decay time at 0 Hz", .seconds, 0.1...10, 1, "decay"),
      ]
    }
    effect.package = "dragonfly-reverb-lv2"
    effect.presets = (EffectPreset.reverbs, [0])
    effect.tail = { value in
      // The decay time is that of 60 dB.
      value(0) == 0 ? 0 : value(2) + value(4) * tailDecibels / 60
    }
    return effect
  }()

  static let distortion: Effect = {
    var effect = Effect("AUDistortion", uri: "urn:cuejack:plugins:distortion-mono") { _, _, _ in
      [
        ControlledParameter(0, "delay", .milliseconds, 0.1...500, 0.1, "delay"),
        ControlledParameter(1, "decay", .generic, 0.1...50, 1, "decay"),
        ControlledParameter(2, "delay mix", .percent, 0...100, 0, "delay_mix"),
        ControlledParameter(3, "decimation", .percent, 0...100, 0, "decimation"),
        ControlledParameter(4, "rounding", .percent, 0...100, 0, "rounding"),
        ControlledParameter(5, "decimation mix", .percent, 0...100, 0, "decimation_mix"),
        ControlledParameter(6, "linear term", .linearGain, 0...1, 1, "linear"),
        ControlledParameter(7, "squared term", .linearGain, 0...20, 0, "squared"),
        ControlledParameter(8, "cubic term", .linearGain, 0...20, 0, "cubic"),
        ControlledParameter(9, "polynomial mix", .percent, 0...100, 0, "polynomial_mix"),
        ControlledParameter(10, "ring mod freq 1", .hertz, 0.5...8000, 100, "frequency_1"),
        ControlledParameter(11, "ring mod freq 2", .hertz, 0.5...8000, 100, "frequency_2"),
        ControlledParameter(12, "ring mod balance", .percent, 0...100, 50, "balance"),
        ControlledParameter(13, "ring mod mix", .percent, 0...100, 0, "ring_mix"),
        ControlledParameter(14, "soft clip gain", .decibels, -80...20, -6, "drive"),
        ControlledParameter(15, "final mix", .percent, 0...100, 50, "mix"),
      ]
    }
    effect.presets = (EffectPreset.distortions, [14, 15])
    return effect
  }()
}
