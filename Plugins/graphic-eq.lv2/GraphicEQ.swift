/// An equalizer of peaks at fixed frequencies: ten of them, an octave wide, or 31 of a third of an
/// octave.
struct GraphicEQ: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:graphic-eq", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:graphic-eq-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 3 + 31 }

  private var equalizer: Equalizer<31>

  init?(rate: Double) { equalizer = Equalizer(rate: rate) }

  mutating func reset() { equalizer.reset() }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    equalizer.set(gain: controls.value(1, from: -24, to: 24, else: 0), in: frames)
    let hasThirds = controls.isOn(2, else: false)
    var frequency = hasThirds ? 1000 / 50.79683366298238 : 31.25
    for i in 0..<31 {
      let isUsed = hasThirds || i < 10
      equalizer.set(
        i,
        to: FilterSettings(
          frequency: frequency, bandwidth: hasThirds ? 1.0 / 3 : 1,
          gain: isUsed ? controls.value(3 + i, from: -20, to: 20, else: 0) : 0), in: frames)
      // A third of an octave, or a whole one.
      frequency *= hasThirds ? 1.2599210498948732 : isUsed ? 2 : 1
    }
  }

  mutating func process(_ block: inout Block) { equalizer.process(&block) }

  mutating func settle() { equalizer.settle() }
}

typealias Bundle = GraphicEQ
