/// An equalizer of ten peaks, one octave wide and one octave apart, set by a single preset control.
struct PresetEQ: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:preset-eq", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:preset-eq-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 3 }

  private var equalizer: Equalizer<10>

  init?(rate: Double) { equalizer = Equalizer(rate: rate) }

  mutating func reset() { equalizer.reset() }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    let number = Int(controls.value(1, from: 0, to: 21, else: 0) + 0.5)
    equalizer.set(gain: controls.value(2, from: -24, to: 24, else: 0), in: frames)
    let gains = (Preset(rawValue: number) ?? .flat).gains
    var frequency = 31.25
    for i in gains.indices {
      equalizer.set(i, to: FilterSettings(frequency: frequency, gain: gains[i]), in: frames)
      frequency *= 2
    }
  }

  mutating func process(_ block: inout Block) { equalizer.process(&block) }

  mutating func settle() { equalizer.settle() }
}

typealias Bundle = PresetEQ
