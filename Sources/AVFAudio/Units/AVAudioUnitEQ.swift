import AudioToolbox
import AudioUnits
import Foundation
import RealTime

/// What a band of an equaliser does.
public enum AVAudioUnitEQFilterType: Int, Sendable {
  /// Raises or lowers a band by `gain`.
  case parametric = 0
  /// Passes what is below `frequency`, with a resonance of 0.7.
  case lowPass = 1
  /// Passes what is above `frequency`, with a resonance of 0.7.
  case highPass = 2
  /// Passes what is below `frequency`, with a resonance after `bandwidth`.
  case resonantLowPass = 3
  /// Passes what is above `frequency`, with a resonance after `bandwidth`.
  case resonantHighPass = 4
  /// Passes a band.
  case bandPass = 5
  /// Stops a band.
  case bandStop = 6
  /// Raises or lowers what is below `frequency` by `gain`.
  case lowShelf = 7
  /// Raises or lowers what is above `frequency` by `gain`.
  case highShelf = 8
  /// The low shelf with a resonance after `bandwidth`.
  case resonantLowShelf = 9
  /// The high shelf with a resonance after `bandwidth`.
  case resonantHighShelf = 10
}

/// The settings of a band of an equaliser. Values outside their ranges are held at the nearest one; NaN has no effect.
@safe
open class AVAudioUnitEQFilterParameters: NSObject, @unchecked Sendable {
  private let unit: AudioUnits.Unit
  private let band: UInt32

  init(_ unit: AudioUnits.Unit, _ band: Int) {
    self.unit = unit
    self.band = UInt32(band)
  }

  private subscript(id: UInt32) -> Float {
    get {
      var value: Float = 0
      _ = unsafe unit.render.pointee.parameter(id + band, scope: 0, element: 0, into: &value)
      return value
    }
    set {
      _ = unsafe unit.render.pointee.setParameter(id + band, scope: 0, element: 0, to: newValue)
    }
  }

  /// `parametric` at first.
  open var filterType: AVAudioUnitEQFilterType {
    get { AVAudioUnitEQFilterType(rawValue: Int(self[kAUNBandEQParam_FilterType])) ?? .parametric }
    set { self[kAUNBandEQParam_FilterType] = Float(newValue.rawValue) }
  }

  /// The frequency in Hz, 20 to half the sample rate. At first 40 Hz in the first band, and an octave more in each of the
  /// next.
  open var frequency: Float {
    get { self[kAUNBandEQParam_Frequency] }
    set { self[kAUNBandEQParam_Frequency] = newValue }
  }

  /// The width in octaves, 0.05 to 5. 0.5 at first.
  open var bandwidth: Float {
    get { self[kAUNBandEQParam_Bandwidth] }
    set { self[kAUNBandEQParam_Bandwidth] = newValue }
  }

  /// The gain in dB, -96 to 24. 0 at first.
  open var gain: Float {
    get { self[kAUNBandEQParam_Gain] }
    set { self[kAUNBandEQParam_Gain] = newValue }
  }

  /// True if the band has no effect, as at first.
  open var bypass: Bool {
    get { self[kAUNBandEQParam_BypassBand] != 0 }
    set { self[kAUNBandEQParam_BypassBand] = newValue ? 1 : 0 }
  }
}

/// An equaliser of up to 16 bands.
open class AVAudioUnitEQ: AVAudioUnitEffect, @unchecked Sendable {
  /// The bands.
  public let bands: [AVAudioUnitEQFilterParameters]

  /// Creates an equaliser.
  ///
  /// - Parameter numberOfBands: 1 to 16; other numbers are held at the nearest one.
  public init(numberOfBands: Int) {
    let made = MadeUnit(.nBandEQ, for: "AVAudioUnitEQ")
    let count = min(max(numberOfBands, 1), LV2Unit.mostBands)
    try? (made.unit as? LV2Unit)?.setBandCount(count)
    bands = (0..<count).map { AVAudioUnitEQFilterParameters(made.unit, $0) }
    super.init(made)
  }

  /// Creates an equaliser of one band.
  public convenience init() { self.init(numberOfBands: 1) }

  /// The gain of all in dB, -96 to 24. 0 at first.
  open var globalGain: Float {
    get { parameter(kAUNBandEQParam_GlobalGain) }
    set { set(kAUNBandEQParam_GlobalGain, to: newValue) }
  }
}
