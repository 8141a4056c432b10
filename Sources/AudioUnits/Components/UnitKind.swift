package import Hardware
import RealTime

/// The audio units of the library itself.
package enum UnitKind: Int, CaseIterable, Sendable {
  case remoteIO, halOutput, defaultOutput, systemOutput, voiceProcessing, genericOutput
  case converter, varispeed, timePitch, newTimePitch
  case multiChannelMixer, stereoMixer, matrixMixer, spatialMixer, embeddedSpatialMixer
  case nBandEQ, parametricEQ, lowPassFilter, highPassFilter, bandPassFilter
  case lowShelfFilter, highShelfFilter, iPodEQ, graphicEQ
  case peakLimiter, dynamicsProcessor, delay, reverb, distortion
  case soundPlayer, filePlayer
  case dlsSynth, midiSynth, sampler

  /// Type, subtype and name.
  private var facts: (type: String, subtype: String, name: String) {
    switch self {
    case .remoteIO: ("auou", "rioc", "RemoteIO")
    case .halOutput: ("auou", "ahal", "HALOutput")
    case .defaultOutput: ("auou", "def ", "DefaultOutput")
    case .systemOutput: ("auou", "sys ", "SystemOutput")
    case .voiceProcessing: ("auou", "vpio", "VoiceProcessingIO")
    case .genericOutput: ("auou", "genr", "GenericOutput")
    case .converter: ("aufc", "conv", "AUConverter")
    case .varispeed: ("aufc", "vari", "AUVarispeed")
    case .timePitch: ("aufc", "tmpt", "AUTimePitch")
    case .newTimePitch: ("aufc", "nutp", "AUNewTimePitch")
    case .multiChannelMixer: ("aumx", "mcmx", "MultiChannelMixer")
    case .stereoMixer: ("aumx", "smxr", "StereoMixer")
    case .matrixMixer: ("aumx", "mxmx", "MatrixMixer")
    case .spatialMixer: ("aumx", "3dmx", "3DMixer")
    case .embeddedSpatialMixer: ("aumx", "3dem", "3DMixerEmbedded")
    case .nBandEQ: ("aufx", "nbeq", Effect.nBandEQ.name)
    case .parametricEQ: ("aufx", "pmeq", Effect.parametricEQ.name)
    case .lowPassFilter: ("aufx", "lpas", Effect.lowPassFilter.name)
    case .highPassFilter: ("aufx", "hpas", Effect.highPassFilter.name)
    case .bandPassFilter: ("aufx", "bpas", Effect.bandPassFilter.name)
    case .lowShelfFilter: ("aufx", "lshf", Effect.lowShelfFilter.name)
    case .highShelfFilter: ("aufx", "hshf", Effect.highShelfFilter.name)
    case .iPodEQ: ("aufx", "ipeq", Effect.iPodEQ.name)
    case .graphicEQ: ("aufx", "greq", Effect.graphicEQ.name)
    case .peakLimiter: ("aufx", "lmtr", Effect.peakLimiter.name)
    case .dynamicsProcessor: ("aufx", "dcmp", Effect.dynamicsProcessor.name)
    case .delay: ("aufx", "dely", Effect.delay.name)
    case .reverb: ("aufx", "rvb2", Effect.reverb.name)
    case .distortion: ("aufx", "dist", Effect.distortion.name)
    case .soundPlayer: ("augn", "sspl", "AUScheduledSoundPlayer")
    case .filePlayer: ("augn", "afpl", "AUAudioFilePlayer")
    case .dlsSynth: ("aumu", "dls ", Effect.dlsSynth.name)
    case .midiSynth: ("aumu", "msyn", Effect.midiSynth.name)
    case .sampler: ("aumu", "samp", Effect.sampler.name)
    }
  }

  package var description: ComponentDescription {
    ComponentDescription(facts.type, facts.subtype)
  }

  /// The component that makes it.
  package var component: UnitComponent {
    guard let component = ComponentList.shared.component(rawValue) else {
      preconditionFailure("the list of components begins with those of the library")
    }
    return component
  }

  /// The name without the manufacturer's.
  package var name: String { facts.name }

  /// The effect or instrument that the unit is; nil for others.
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
    case .graphicEQ: .graphicEQ
    case .peakLimiter: .peakLimiter
    case .dynamicsProcessor: .dynamicsProcessor
    case .delay: .delay
    case .reverb: .reverb
    case .distortion: .distortion
    case .dlsSynth: .dlsSynth
    case .midiSynth: .midiSynth
    case .sampler: .sampler
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
    if let effect { return try effect.makeUnit() }
    switch self {
    case .remoteIO, .halOutput, .defaultOutput, .systemOutput:
      return try OutputUnit(self, on: device())
    case .varispeed: return try StretchUnit(self, isTape: true)
    case .timePitch, .newTimePitch: return try StretchUnit(self, isTape: false)
    case .multiChannelMixer: return try MixerUnit(self, .multiChannel)
    case .stereoMixer: return try MixerUnit(self, .stereo)
    case .spatialMixer, .embeddedSpatialMixer: return try MixerUnit(self, .spatial)
    case .matrixMixer: return try MatrixUnit()
    case .soundPlayer: return try PlayerUnit(self)
    case .filePlayer: return try FilePlayerUnit(self)
    case .voiceProcessing: throw .unsupported("there is no echo cancellation here")
    default: return try PassUnit(self)
    }
  }
}
