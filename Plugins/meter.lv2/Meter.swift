import CPlugin

/// A peak and RMS meter. The output equals the input bit by bit.
struct Meter: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:meter", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:meter-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 1 }
  static var changesSound: Bool { false }

  /// The lowest level shown, in decibels.
  private static var silence: Double { -120 }

  private var isOn = true
  private var peak = SIMD2<Double>.zero
  private var meanSquare = SIMD2<Double>.zero
  /// Factor per frame of the peak's decay, 20 dB per second.
  private let fall: Double
  /// Coefficient per frame of the exponential moving average, with a time constant of 300 ms.
  private let share: Double

  init?(rate: Double) {
    fall = cue_rt_amplitude(-20 / rate)
    share = 1 - cue_rt_exp(-1 / (0.3 * rate))
  }

  mutating func reset() {
    peak = .zero
    meanSquare = .zero
  }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    isOn = controls.isOn(0, else: true)
    if !isOn { reset() }
  }

  mutating func process(_ block: inout Block) {
    guard isOn else { return }
    for i in 0..<block.count {
      let sound = block.wet[i]
      let power = sound * sound
      let fallen = peak * fall
      peak = fallen.replacing(with: pointwiseMax(sound, -sound), where: power .>= fallen * fallen)
      meanSquare += (power - meanSquare) * share
    }
  }

  mutating func settle() {
    peak = settled(peak)
    meanSquare = settled(meanSquare)
  }

  /// Writes the levels. A mono plugin has no ports for the second channel.
  mutating func report(_ controls: inout Controls) {
    for channel in 0..<2 {
      controls.write(max(Self.silence, 20 * cue_rt_log10(peak[channel])), to: 1 + 2 * channel)
      controls.write(max(Self.silence, 10 * cue_rt_log10(meanSquare[channel])), to: 2 + 2 * channel)
    }
  }
}

typealias Bundle = Meter
