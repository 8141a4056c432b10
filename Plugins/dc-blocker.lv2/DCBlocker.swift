import CPlugin

/// A first-order high pass with a cutoff below the audible range.
struct DCBlocker: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:dc-blocker", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:dc-blocker-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 2 }

  private let rate: Double
  /// The integrator coefficient g / (1 + g) of the low pass, where g = tan(π · cutoff / sample rate).
  private var share = Ramp(0)
  private var state = SIMD2<Double>.zero

  init?(rate: Double) { self.rate = rate }

  mutating func reset() { state = .zero }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    let cutoff = controls.value(1, from: 1, to: 100, else: 10)
    let tangent = cue_rt_tan(Double.pi * min(cutoff / rate, 0.49))
    share.aim(at: tangent / (1 + tangent), in: frames)
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count {
      let half = (block.wet[i] - state) * share.next()
      let low = state + half
      state = low + half
      block.wet[i] -= low
    }
  }

  mutating func settle() { state = settled(state) }
}

typealias Bundle = DCBlocker
