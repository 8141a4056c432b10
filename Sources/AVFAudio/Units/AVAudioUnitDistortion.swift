import AudioToolbox
import AudioUnits
import Foundation

/// The sounds of `AVAudioUnitDistortion`.
public enum AVAudioUnitDistortionPreset: Int, Sendable {
  /// Fewer rates and bits.
  case drumsBitBrush = 0
  /// Fewer rates and bits, with an echo.
  case drumsBufferBeats = 1
  /// Fewer rates and bits.
  case drumsLoFi = 2
  /// Fewer bits and a bent curve.
  case multiBrokenSpeaker = 3
  /// Fewer rates, with a short echo.
  case multiCellphoneConcert = 4
  /// Fewer rates and bits.
  case multiDecimated1 = 5
  /// Fewer rates and bits.
  case multiDecimated2 = 6
  /// Fewer rates and bits.
  case multiDecimated3 = 7
  /// Fewer rates and bits.
  case multiDecimated4 = 8
  /// A bent curve with a ring modulator.
  case multiDistortedFunk = 9
  /// A cubic curve.
  case multiDistortedCubed = 10
  /// A square curve.
  case multiDistortedSquared = 11
  /// Echoes of 500 ms.
  case multiEcho1 = 12
  /// Echoes of 350 ms.
  case multiEcho2 = 13
  /// Echoes of 60 ms.
  case multiEchoTight1 = 14
  /// Echoes of 30 ms.
  case multiEchoTight2 = 15
  /// All of it.
  case multiEverythingIsBroken = 16
  /// A ring modulator with a short echo.
  case speechAlienChatter = 17
  /// A high ring modulator with echoes.
  case speechCosmicInterference = 18
  /// A ring modulator of 161.8 and 314.2 Hz.
  case speechGoldenPi = 19
  /// Fewer rates and bits, and a bent curve.
  case speechRadioTower = 20
  /// A slow ring modulator with echoes.
  case speechWaves = 21
}

/// Echoes, fewer rates and bits, ring modulation, bent curves and a soft limit.
open class AVAudioUnitDistortion: AVAudioUnitEffect, @unchecked Sendable {
  /// Creates a distortion with the soft limit alone.
  public init() { super.init(MadeUnit(.distortion, for: "AVAudioUnitDistortion")) }

  /// Takes over a sound. The gain and the mix stay.
  open func loadFactoryPreset(_ preset: AVAudioUnitDistortionPreset) {
    load(preset: preset.rawValue)
  }

  /// The gain before the soft limit in dB, -80 to 20. -6 at first.
  open var preGain: Float {
    get { parameter(kDistortionParam_SoftClipGain) }
    set { set(kDistortionParam_SoftClipGain, to: newValue) }
  }

  /// The part of the distorted sound in percent, 0 to 100. 50 at first.
  open var wetDryMix: Float {
    get { parameter(kDistortionParam_FinalMix) }
    set { set(kDistortionParam_FinalMix, to: newValue) }
  }
}
