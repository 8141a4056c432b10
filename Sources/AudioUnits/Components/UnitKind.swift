package import Hardware

/// Numbers that identify a component: four characters each, in a big-endian number.
package struct ComponentDescription: Hashable, Sendable {
  package let type: UInt32
  package let subtype: UInt32
  package let manufacturer: UInt32

  package init(type: UInt32, subtype: UInt32, manufacturer: UInt32) {
    self.type = type
    self.subtype = subtype
    self.manufacturer = manufacturer
  }

  /// - Precondition: Four ASCII characters each.
  init(_ type: StaticString, _ subtype: StaticString) {
    self.init(
      type: fourCharacterCode(type), subtype: fourCharacterCode(subtype),
      manufacturer: fourCharacterCode("appl"))
  }

  /// Returns true if `other` is this component. 0 in this description stands for anything.
  package func matches(_ other: ComponentDescription) -> Bool {
    (type == 0 || type == other.type) && (subtype == 0 || subtype == other.subtype)
      && (manufacturer == 0 || manufacturer == other.manufacturer)
  }
}

private func fourCharacterCode(_ text: StaticString) -> UInt32 {
  "\(text)".utf8.reduce(0) { $0 << 8 | UInt32($1) }
}

/// The audio units that there are.
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
