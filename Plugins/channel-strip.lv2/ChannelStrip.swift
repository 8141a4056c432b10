import CPlugin

/// A channel strip with gain, pan and mute.
struct ChannelStrip: Effect, ~Copyable {
  // The mono plugin has two outputs as well, because it pans its input.
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:channel-strip", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:channel-strip-mono", inputs: 1, outputs: 2)
    )
  }
  static var controlInputs: Int { 4 }

  private var left = Ramp(1)
  private var right = Ramp(1)

  init?(rate: Double) {}

  mutating func reset() {}

  /// Applies equal-power pan: the squares of the two factors add up to 2, and each is 1 in the centre.
  mutating func update(_ controls: inout Controls, in frames: Int) {
    let decibels = controls.value(1, from: -90, to: 24, else: 0)
    let pan = controls.value(2, from: -1, to: 1, else: 0)
    let isMuted = controls.isOn(3, else: false)
    let gain = isMuted || decibels == -90 ? 0 : cue_rt_amplitude(decibels) * 1.4142135623730951
    let angle = (pan + 1) * Double.pi / 4
    left.aim(at: pan == 1 ? 0 : gain * cue_rt_cos(angle), in: frames)
    right.aim(at: pan == -1 ? 0 : gain * cue_rt_sin(angle), in: frames)
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count { block.wet[i] *= SIMD2(left.next(), right.next()) }
  }

  mutating func settle() {}
}

typealias Bundle = ChannelStrip
