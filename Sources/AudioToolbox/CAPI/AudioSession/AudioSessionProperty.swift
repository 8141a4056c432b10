import AudioUnits
import CAudioToolbox
import CoreFoundation
import Hardware

/// A property of the audio session: its size, and what programs may do with it.
struct AudioSessionProperty {
  let id: AudioSessionPropertyID
  let byteCount: Int
  let isReadable: Bool
  let isSettable: Bool
  let hasListeners: Bool

  private enum Use { case read, set, listen }

  init(_ id: AudioSessionPropertyID) throws(AudioSessionFailure) {
    let (type, uses): (Any.Type, Set<Use>)
    switch id {
    case kAudioSessionProperty_PreferredHardwareSampleRate:
      (type, uses) = (Float64.self, [.read, .set])
    case kAudioSessionProperty_PreferredHardwareIOBufferDuration:
      (type, uses) = (Float32.self, [.read, .set])
    case kAudioSessionProperty_AudioCategory, kAudioSessionProperty_Mode,
      kAudioSessionProperty_OverrideCategoryMixWithOthers,
      kAudioSessionProperty_OverrideCategoryDefaultToSpeaker:
      (type, uses) = (UInt32.self, [.read, .set])
    case kAudioSessionProperty_OverrideAudioRoute: (type, uses) = (UInt32.self, [.set])
    case kAudioSessionProperty_CurrentHardwareSampleRate: (type, uses) = (Float64.self, [.read])
    case kAudioSessionProperty_CurrentHardwareInputLatency,
      kAudioSessionProperty_CurrentHardwareOutputLatency,
      kAudioSessionProperty_CurrentHardwareIOBufferDuration:
      (type, uses) = (Float32.self, [.read])
    case kAudioSessionProperty_CurrentHardwareInputNumberChannels,
      kAudioSessionProperty_CurrentHardwareOutputNumberChannels,
      kAudioSessionProperty_AudioInputAvailable, kAudioSessionProperty_InputGainAvailable:
      (type, uses) = (UInt32.self, [.read, .listen])
    case kAudioSessionProperty_CurrentHardwareOutputVolume:
      (type, uses) = (Float32.self, [.read, .listen])
    case kAudioSessionProperty_OtherAudioIsPlaying, kAudioSessionProperty_InterruptionType:
      (type, uses) = (UInt32.self, [.read])
    case kAudioSessionProperty_ServerDied: (type, uses) = (UInt32.self, [.listen])
    case kAudioSessionProperty_InputGainScalar: (type, uses) = (Float32.self, [.listen])
    case kAudioSessionProperty_AudioRouteChange: (type, uses) = (UInt.self, [.listen])
    case kAudioSessionProperty_AudioRouteDescription, kAudioSessionProperty_AudioRoute:
      (type, uses) = (UInt.self, [.read])
    default: throw .unknownProperty(id)
    }
    self.id = id
    byteCount = type == UInt.self || type == Float64.self ? 8 : 4
    isReadable = uses.contains(.read)
    isSettable = uses.contains(.set)
    hasListeners = uses.contains(.listen)
  }
}

/// The properties of the audio session.
struct AudioSessionProperties {
  let session: AudioSession

  /// Returns the value of a property.
  func value(_ id: AudioSessionPropertyID) throws(AudioSessionFailure) -> CopiedValue {
    guard try AudioSessionProperty(id).isReadable else { throw .notReadable(id) }
    if let value = setting(id) { return value }
    if id == kAudioSessionProperty_InterruptionType {
      guard AudioSessionListeners.shared.isEndingInterruption else { throw .notReadable(id) }
      return CopiedValue(UInt32(kAudioSessionInterruptionType_ShouldResume))
    }
    return try translatingErrors { () throws(AudioSessionRefusal) in try hardware(id) }
  }

  /// Returns a value that the program has set; nil for a property that it cannot set.
  private func setting(_ id: AudioSessionPropertyID) -> CopiedValue? {
    switch id {
    case kAudioSessionProperty_PreferredHardwareSampleRate:
      CopiedValue(session.preferredSampleRate)
    case kAudioSessionProperty_PreferredHardwareIOBufferDuration:
      CopiedValue(Float32(session.preferredBufferDuration))
    case kAudioSessionProperty_AudioCategory: CopiedValue(session.category.code)
    case kAudioSessionProperty_Mode: CopiedValue(session.mode.code)
    case kAudioSessionProperty_OverrideCategoryMixWithOthers:
      flag(session.options.contains(.mixWithOthers))
    case kAudioSessionProperty_OverrideCategoryDefaultToSpeaker:
      flag(session.options.contains(.defaultToSpeaker))
    case kAudioSessionProperty_CurrentHardwareOutputVolume: CopiedValue(session.volume)
    case kAudioSessionProperty_InputGainAvailable: flag(false)
    default: nil
    }
  }

  /// Returns what the hardware reports.
  private func hardware(_ id: AudioSessionPropertyID) throws(AudioSessionRefusal) -> CopiedValue {
    switch id {
    case kAudioSessionProperty_CurrentHardwareSampleRate: CopiedValue(try session.sampleRate)
    case kAudioSessionProperty_CurrentHardwareInputNumberChannels:
      CopiedValue(UInt32(try session.inputChannels))
    case kAudioSessionProperty_CurrentHardwareOutputNumberChannels:
      CopiedValue(UInt32(try session.outputChannels))
    case kAudioSessionProperty_CurrentHardwareInputLatency:
      CopiedValue(Float32(try session.inputLatency))
    case kAudioSessionProperty_CurrentHardwareOutputLatency:
      CopiedValue(Float32(try session.outputLatency))
    case kAudioSessionProperty_CurrentHardwareIOBufferDuration:
      CopiedValue(Float32(try session.bufferDuration))
    case kAudioSessionProperty_OtherAudioIsPlaying: flag(try session.othersPlay)
    case kAudioSessionProperty_AudioInputAvailable: flag(try session.inputChannels > 0)
    case kAudioSessionProperty_AudioRoute: CopiedValue(string: try session.route.name)
    default:
      CopiedValue(object: try session.route.description(of: session.device.serverName))
    }
  }

  private func flag(_ on: Bool) -> CopiedValue { CopiedValue(UInt32(on ? 1 : 0)) }

  /// Sets a property.
  func set(_ id: AudioSessionPropertyID, _ data: UnsafeRawBufferPointer) throws(AudioSessionFailure)
  {
    let property = try AudioSessionProperty(id)
    guard property.isSettable else { throw .notSettable(id) }
    guard data.count == property.byteCount else {
      throw .wrongSize(id, needed: property.byteCount, size: UInt32(clamping: data.count))
    }
    switch id {
    case kAudioSessionProperty_PreferredHardwareSampleRate:
      let rate = unsafe data.loadUnaligned(as: Float64.self)
      try translatingErrors { () throws(AudioSessionRefusal) in
        try session.setPreferredSampleRate(rate)
      }
    case kAudioSessionProperty_PreferredHardwareIOBufferDuration:
      let seconds = unsafe Double(data.loadUnaligned(as: Float32.self))
      try translatingErrors { () throws(AudioSessionRefusal) in
        try session.setPreferredBufferDuration(seconds)
      }
    default: try set(id, unsafe data.loadUnaligned(as: UInt32.self))
    }
  }

  private func set(_ id: AudioSessionPropertyID, _ value: UInt32) throws(AudioSessionFailure) {
    switch id {
    case kAudioSessionProperty_AudioCategory:
      guard let category = AudioSessionCategory(code: value) else { throw .badValue(id, value) }
      session.setCategory(category)
    case kAudioSessionProperty_Mode:
      guard let mode = AudioSessionMode(code: value) else { throw .badValue(id, value) }
      try translatingErrors { () throws(AudioSessionRefusal) in try session.setMode(mode) }
    case kAudioSessionProperty_OverrideAudioRoute:
      guard
        [kAudioSessionOverrideAudioRoute_None, kAudioSessionOverrideAudioRoute_Speaker]
          .contains(value)
      else { throw .badValue(id, value) }
      try translatingErrors { () throws(AudioSessionRefusal) in
        try session.overrideOutput(toSpeaker: value == kAudioSessionOverrideAudioRoute_Speaker)
      }
    default:
      let option: AudioSessionOptions =
        id == kAudioSessionProperty_OverrideCategoryMixWithOthers
        ? .mixWithOthers : .defaultToSpeaker
      try translatingErrors { () throws(AudioSessionRefusal) in
        try session.setOption(option, value != 0)
      }
    }
  }
}

extension AudioSessionCategory {
  /// The category's code.
  var code: UInt32 {
    switch self {
    case .ambient: kAudioSessionCategory_AmbientSound
    case .soloAmbient: kAudioSessionCategory_SoloAmbientSound
    case .playback: kAudioSessionCategory_MediaPlayback
    case .record: kAudioSessionCategory_RecordAudio
    case .playAndRecord: kAudioSessionCategory_PlayAndRecord
    case .processing: kAudioSessionCategory_AudioProcessing
    }
  }

  init?(code: UInt32) {
    guard let category = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = category
  }
}

extension AudioSessionMode {
  /// The mode's code.
  var code: UInt32 {
    switch self {
    case .standard: kAudioSessionMode_Default
    case .voiceChat: kAudioSessionMode_VoiceChat
    case .videoRecording: kAudioSessionMode_VideoRecording
    case .measurement: kAudioSessionMode_Measurement
    case .gameChat: kAudioSessionMode_GameChat
    }
  }

  init?(code: UInt32) {
    guard let mode = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = mode
  }
}
