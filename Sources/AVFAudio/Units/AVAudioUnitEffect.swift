public import AudioToolbox
import AudioUnits
import Foundation
import Synchronization

/// A node that changes sound, frame for frame: an effect, or an instrument that has an input.
open class AVAudioUnitEffect: AVAudioUnit, @unchecked Sendable {
  override init(_ made: MadeUnit) { super.init(made) }

  /// Creates an effect. Ends the program if there is no such component, or it is no effect:
  /// `AVAudioUnit.instantiate` throws instead.
  public init(audioComponentDescription: AudioComponentDescription) {
    super.init(
      MadeUnit(
        audioComponentDescription, for: "AVAudioUnitEffect",
        types: [kAudioUnitType_Effect, kAudioUnitType_MusicEffect, kAudioUnitType_Panner]))
  }

  override var isEffect: Bool { true }

  /// Takes over a preset that the library brings.
  func load(preset number: Int) {
    try? core.setPreset(UnitPreset(number: Int32(number), name: ""))
  }

  /// True if the sound goes through unchanged, bit for bit. The change takes one render, or 20 ms if the effect can fade
  /// by itself.
  open var bypass: Bool {
    get { core.isBypassed ?? false }
    set { core.setBypassed(newValue) }
  }
}
