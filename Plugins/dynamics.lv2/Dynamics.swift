import CPlugin

/// A compressor with a headroom that it never exceeds, and an expander below a second threshold. Both
/// channels get the gain of the louder one.
struct Dynamics: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:dynamics", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:dynamics-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 8 }

  private let rate: Double
  private var threshold = -20.0
  private var headroom = 5.0
  private var ratio = 2.0
  private var floor = -200.0
  /// The part of the distance to a higher or lower level that one frame covers.
  private var attack = 1.0
  private var release = 1.0
  private var gain = Ramp(1)
  /// The level that follows the peaks.
  private var level = 0.0
  private var reduction = 0.0

  init?(rate: Double) { self.rate = rate }

  mutating func reset() {
    level = 0
    reduction = 0
  }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    threshold = controls.value(1, from: -40, to: 20, else: -20)
    headroom = controls.value(2, from: 0.1, to: 40, else: 5)
    ratio = controls.value(3, from: 1, to: 50, else: 2)
    floor = controls.value(4, from: -200, to: 20, else: -200)
    attack = 1 - cue_rt_exp(-1 / (controls.value(5, from: 0.0001, to: 0.2, else: 0.05) * rate))
    release = 1 - cue_rt_exp(-1 / (controls.value(6, from: 0.01, to: 3, else: 0.05) * rate))
    gain.aim(at: cue_rt_amplitude(controls.value(7, from: -40, to: 40, else: 0)), in: frames)
  }

  /// Returns the change of a level, in decibels.
  private func change(at decibels: Double) -> Double {
    var change = 0.0
    let over = decibels - threshold
    // Begins with the slope of the line, and ends at the headroom.
    if over > 0 { change = headroom * (1 - cue_rt_exp(-over / headroom)) - over }
    if decibels < floor { change -= (ratio - 1) * (floor - decibels) }
    return max(change, -200)
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count {
      let sound = settled(block.wet[i])
      let peak = max(abs(sound.x), abs(sound.y))
      level += (peak - level) * (peak > level ? attack : release)
      reduction = change(at: 20 * cue_rt_log10(max(level, 1e-10)))
      block.wet[i] = sound * (cue_rt_amplitude(reduction) * gain.next())
    }
  }

  mutating func settle() {
    if level < 1e-30 { level = 0 }
  }

  mutating func report(_ controls: inout Controls) {
    controls.write(max(-120, reduction), to: 8)
    controls.write(20 * cue_rt_log10(max(level, 1e-6)), to: 9)
  }
}

typealias Bundle = Dynamics
