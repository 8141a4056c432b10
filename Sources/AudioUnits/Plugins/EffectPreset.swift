/// A preset of an effect of the library.
struct EffectPreset: Sendable {
  let name: String
  /// Values of parameters by number. The others have their standard values.
  let values: [UInt32: Float]
  /// Values of controls of the plugin that are no parameters.
  let controls: [String: Float]

  init(_ name: String, _ values: [UInt32: Float], controls: [String: Float] = [:]) {
    self.name = name
    self.values = values
    self.controls = controls
  }
}

// In the order of Apple's numbers. The values are the library's own.

extension EffectPreset {
  /// - Parameters:
  ///   - decay: Seconds in which the sound falls by 60 dB.
  ///   - delay: Milliseconds before the first reflection.
  ///   - size: Metres.
  ///   - cut: The frequency in Hz above which there is no reverberation.
  ///   - treble: The decay of high frequencies, as a factor.
  private static func room(
    _ name: String, decay: Float, delay: Float, size: Float, cut: Float, treble: Float
  ) -> EffectPreset {
    EffectPreset(
      name, [2: delay / 1000, 4: decay],
      controls: ["size": size, "high_cut": cut, "high_mult": treble])
  }

  static let reverbs = [
    room("Small Room", decay: 0.5, delay: 2, size: 10, cut: 6000, treble: 0.5),
    room("Medium Room", decay: 0.8, delay: 5, size: 14, cut: 6500, treble: 0.5),
    room("Large Room", decay: 1.2, delay: 8, size: 20, cut: 7000, treble: 0.5),
    room("Medium Hall", decay: 1.8, delay: 15, size: 28, cut: 7600, treble: 0.5),
    room("Large Hall", decay: 2.6, delay: 24, size: 40, cut: 7600, treble: 0.5),
    room("Plate", decay: 2, delay: 0.1, size: 14, cut: 12_000, treble: 0.9),
    room("Medium Chamber", decay: 1.3, delay: 8, size: 18, cut: 9000, treble: 0.7),
    room("Large Chamber", decay: 2, delay: 12, size: 26, cut: 9000, treble: 0.7),
    room("Cathedral", decay: 5, delay: 30, size: 60, cut: 5500, treble: 0.4),
    room("Large Room 2", decay: 1, delay: 10, size: 24, cut: 5000, treble: 0.4),
    room("Medium Hall 2", decay: 2.1, delay: 20, size: 30, cut: 9000, treble: 0.6),
    room("Medium Hall 3", decay: 1.6, delay: 12, size: 26, cut: 6000, treble: 0.45),
    room("Large Hall 2", decay: 3.2, delay: 30, size: 46, cut: 9000, treble: 0.6),
  ]

  static let distortions = [
    EffectPreset("Drums Bit Brush", [3: 30, 4: 60, 5: 60]),
    EffectPreset("Drums Buffer Beats", [0: 120, 1: 2, 2: 60, 3: 20, 4: 30, 5: 40]),
    EffectPreset("Drums LoFi", [3: 45, 4: 45, 5: 100]),
    EffectPreset("Multi Broken Speaker", [3: 25, 4: 50, 5: 40, 6: 0.5, 7: 8, 8: 12, 9: 60]),
    EffectPreset("Multi Cellphone Concert", [0: 8, 1: 1, 2: 40, 3: 50, 4: 40, 5: 70, 8: 6, 9: 40]),
    EffectPreset("Multi Decimated 1", [3: 20, 4: 20, 5: 100]),
    EffectPreset("Multi Decimated 2", [3: 40, 4: 20, 5: 100]),
    EffectPreset("Multi Decimated 3", [3: 30, 4: 60, 5: 100]),
    EffectPreset("Multi Decimated 4", [3: 70, 4: 70, 5: 100]),
    EffectPreset("Multi Distorted Funk", [7: 4, 8: 6, 9: 70, 10: 60, 13: 10]),
    EffectPreset("Multi Distorted Cubed", [6: 0.2, 8: 20, 9: 100]),
    EffectPreset("Multi Distorted Squared", [6: 0.2, 7: 20, 9: 100]),
    EffectPreset("Multi Echo 1", [0: 500, 1: 5, 2: 50]),
    EffectPreset("Multi Echo 2", [0: 350, 1: 12, 2: 70]),
    EffectPreset("Multi Echo Tight 1", [0: 60, 1: 3, 2: 50]),
    EffectPreset("Multi Echo Tight 2", [0: 30, 1: 6, 2: 70]),
    EffectPreset(
      "Multi Everything Is Broken",
      [
        0: 90, 1: 4, 2: 40, 3: 60, 4: 70, 5: 80, 7: 10, 8: 15, 9: 60, 10: 220, 11: 1700, 13: 40,
      ]),
    EffectPreset("Speech Alien Chatter", [0: 12, 1: 4, 2: 50, 10: 90, 11: 440, 13: 80]),
    EffectPreset(
      "Speech Cosmic Interference",
      [0: 200, 1: 3, 2: 30, 3: 30, 5: 30, 10: 1200, 11: 3100, 13: 60]),
    EffectPreset("Speech Golden Pi", [10: 161.8, 11: 314.2, 13: 100]),
    EffectPreset("Speech Radio Tower", [3: 40, 4: 50, 5: 60, 8: 15, 9: 60, 10: 2500, 13: 15]),
    EffectPreset("Speech Waves", [0: 40, 1: 8, 2: 60, 10: 5, 11: 0.7, 12: 30, 13: 90]),
  ]
}
