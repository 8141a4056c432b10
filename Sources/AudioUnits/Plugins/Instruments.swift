import PluginHost
import RealTime

// The instruments of the library, with the numbers and ranges of their parameters in the C API. All of them
// are the plugin that plays SoundFonts.

extension Effect {
  /// FluidSynth's own gain, 0.2, is 0 dB.
  private static let level = ControlScale.line(factor: 1, plus: -13.9794)

  private static func synth(_ name: String) -> Effect {
    Effect(name, uri: SoundFontPlugin.uri) { _, _, _ in
      [
        ControlledParameter(0, "tuning", .cents, -1200...1200, 0, "tuning"),
        ControlledParameter(1, "volume", .decibels, -120...40, 0, "gain", level),
        ControlledParameter(
          2, "reverb volume", .decibels, -120...40, 0, "reverb_level", .amplitude(factor: 0.9)),
      ]
    }
  }
  static let dlsSynth = synth("DLSMusicDevice")
  static let midiSynth = synth("AUMIDISynth")

  static let sampler: Effect = {
    var effect = Effect("AUSampler", uri: SoundFontPlugin.uri) { _, _, _ in
      [
        ControlledParameter(900, "gain", .decibels, -90...12, 0, "gain", level),
        ControlledParameter(901, "coarse tuning", .semitones, -24...24, 0, "coarse_tuning"),
        ControlledParameter(902, "fine tuning", .cents, -99...99, 0, "tuning"),
        ControlledParameter(903, "stereo pan", .pan, -1...1, 0, "pan"),
      ]
    }
    // All channels have one instrument.
    effect.fixed = [("program", 0)]
    return effect
  }()
}
