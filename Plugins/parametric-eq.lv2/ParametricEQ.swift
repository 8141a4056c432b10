/// An equalizer of sixteen filters of any type.
struct ParametricEQ: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:parametric-eq", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:parametric-eq-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 2 + 16 * 5 }

  private var equalizer: Equalizer<16>

  init?(rate: Double) { equalizer = Equalizer(rate: rate) }

  mutating func reset() { equalizer.reset() }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    equalizer.set(gain: controls.value(1, from: -96, to: 24, else: 0), in: frames)
    for i in 0..<16 {
      let first = 2 + 5 * i
      let type = Int(controls.value(first, from: 0, to: 10, else: 0) + 0.5)
      equalizer.set(
        i,
        to: FilterSettings(
          type: FilterType(rawValue: type) ?? .parametric,
          frequency: controls.value(first + 1, from: 1, to: 1e6, else: 1000),
          bandwidth: controls.value(first + 2, from: 0.05, to: 5, else: 1),
          gain: controls.value(first + 3, from: -96, to: 24, else: 0),
          isBypassed: controls.isOn(first + 4, else: false)), in: frames)
    }
  }

  mutating func process(_ block: inout Block) { equalizer.process(&block) }

  mutating func settle() { equalizer.settle() }
}

typealias Bundle = ParametricEQ
