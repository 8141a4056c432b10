package import Hardware

/// The audio units of the library itself.
package enum UnitKind: Int, CaseIterable, Sendable {
  case remoteIO, halOutput, defaultOutput, systemOutput, voiceProcessing, genericOutput
  case converter
  case multiChannelMixer, stereoMixer

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
    case .voiceProcessing: throw .unsupported("there is no echo cancellation here")
    }
  }
}
