package import Hardware

/// The audio units of the library itself.
package enum UnitKind: Int, CaseIterable, Sendable {
  case remoteIO, halOutput, defaultOutput, systemOutput, voiceProcessing, genericOutput
  case converter
  case multiChannelMixer, stereoMixer
  case nBandEQ, parametricEQ, lowPassFilter, highPassFilter, bandPassFilter
  case lowShelfFilter, highShelfFilter, iPodEQ

  package var description: ComponentDescription {
    switch self {
    case .remoteIO: ComponentDescription("auou", "rioc")
    case .halOutput: ComponentDescription("auou", "ahal")
    case .defaultOutput: ComponentDescription("auou", "def ")
    case .systemOutput: ComponentDescription("auou", "sys ")
    case .voiceProcessing: ComponentDescription("auou", "vpio")
    case .genericOutput: ComponentDescription("auou", "genr")
    case .converter: ComponentDescription("aufc", "conv")
    case .multiChannelMixer: ComponentDescription("aumx", "mcmx")
    case .stereoMixer: ComponentDescription("aumx", "smxr")
    case .nBandEQ: ComponentDescription("aufx", "nbeq")
    case .parametricEQ: ComponentDescription("aufx", "pmeq")
    case .lowPassFilter: ComponentDescription("aufx", "lpas")
    case .highPassFilter: ComponentDescription("aufx", "hpas")
    case .bandPassFilter: ComponentDescription("aufx", "bpas")
    case .lowShelfFilter: ComponentDescription("aufx", "lshf")
    case .highShelfFilter: ComponentDescription("aufx", "hshf")
    case .iPodEQ: ComponentDescription("aufx", "ipeq")
    }
  }

  /// The name without the manufacturer's.
  package var name: String {
    switch self {
    case .remoteIO: "RemoteIO"
    case .halOutput: "HALOutput"
    case .defaultOutput: "DefaultOutput"
    case .systemOutput: "SystemOutput"
    case .voiceProcessing: "VoiceProcessingIO"
    case .genericOutput: "GenericOutput"
    case .converter: "AUConverter"
    case .multiChannelMixer: "MultiChannelMixer"
    case .stereoMixer: "StereoMixer"
    default: effect?.name ?? ""
    }
  }

  /// The effect that the unit is; nil for others.
  var effect: Effect? {
    switch self {
    case .nBandEQ: .nBandEQ
    case .parametricEQ: .parametricEQ
    case .lowPassFilter: .lowPassFilter
    case .highPassFilter: .highPassFilter
    case .bandPassFilter: .bandPassFilter
    case .lowShelfFilter: .lowShelfFilter
    case .highShelfFilter: .highShelfFilter
    case .iPodEQ: .iPodEQ
    default: nil
    }
  }

  /// True for the units that a device calls.
  package var isOutputUnit: Bool {
    switch self {
    case .remoteIO, .halOutput, .defaultOutput, .systemOutput: true
    default: false
    }
  }

  /// True for the unit of a graph that asks all others for sound.
  var drivesGraphs: Bool { isOutputUnit || self == .genericOutput || self == .voiceProcessing }

  /// Makes an audio unit.
  ///
  /// - Parameter device: Returns the default device, for output units.
  package func make(on device: () -> HardwareDevice) throws(UnitError) -> Unit {
    switch self {
    case .remoteIO, .halOutput, .defaultOutput, .systemOutput:
      return try OutputUnit(self, on: device())
    case .genericOutput, .converter: return try PassUnit(self)
    case .multiChannelMixer, .stereoMixer: return try MixerUnit(self)
    case .nBandEQ, .parametricEQ, .lowPassFilter, .highPassFilter, .bandPassFilter,
      .lowShelfFilter, .highShelfFilter, .iPodEQ:
      guard let effect else { preconditionFailure("a kind of effect is none") }
      return try effect.makeUnit()
    case .voiceProcessing: throw .unsupported("there is no echo cancellation here")
    }
  }
}
