import AudioToolbox
import AudioUnits
import Foundation

/// The rooms of `AVAudioUnitReverb`.
public enum AVAudioUnitReverbPreset: Int, Sendable {
  /// 0.5 s.
  case smallRoom = 0
  /// 0.8 s.
  case mediumRoom = 1
  /// 1.2 s.
  case largeRoom = 2
  /// 1.8 s.
  case mediumHall = 3
  /// 2.6 s.
  case largeHall = 4
  /// 2 s, bright and at once.
  case plate = 5
  /// 1.3 s.
  case mediumChamber = 6
  /// 2 s.
  case largeChamber = 7
  /// 5 s.
  case cathedral = 8
  /// 1 s, dull.
  case largeRoom2 = 9
  /// 2.1 s, bright.
  case mediumHall2 = 10
  /// 1.6 s, dull.
  case mediumHall3 = 11
  /// 3.2 s, bright.
  case largeHall2 = 12
}

/// Reverberation, by Debian's `dragonfly-reverb-lv2`. Creating one without that package ends the program.
open class AVAudioUnitReverb: AVAudioUnitEffect, @unchecked Sendable {
  /// Creates a reverberation.
  public init() { super.init(MadeUnit(.reverb, for: "AVAudioUnitReverb")) }

  /// Takes over a room. The mix stays.
  open func loadFactoryPreset(_ preset: AVAudioUnitReverbPreset) {
    load(preset: preset.rawValue)
  }

  /// The part of the reverberation in percent, 0 to 100, as at first.
  open var wetDryMix: Float {
    get { parameter(kReverb2Param_DryWetMix) }
    set { set(kReverb2Param_DryWetMix, to: newValue) }
  }
}
