import AudioUnits
import CAudioToolbox
import CoreFoundation
import Hardware

/// A property of the audio session, and the value that a program sets.
struct AudioSessionProperty {
  typealias Entry = PropertyEntry<AudioSessionFailure>

  private let session: AudioSession
  private let input: PropertyInput<AudioSessionFailure>

  init(
    _ session: AudioSession, _ id: AudioSessionPropertyID, _ data: UnsafeRawPointer? = nil,
    _ size: UInt32 = 0
  ) {
    self.session = session
    input = unsafe PropertyInput(id, data, size)
  }

  /// The properties whose changes listeners hear of.
  static let withListeners = [
    kAudioSessionProperty_CurrentHardwareInputNumberChannels,
    kAudioSessionProperty_CurrentHardwareOutputNumberChannels,
    kAudioSessionProperty_AudioInputAvailable, kAudioSessionProperty_InputGainAvailable,
    kAudioSessionProperty_CurrentHardwareOutputVolume, kAudioSessionProperty_ServerDied,
    kAudioSessionProperty_InputGainScalar, kAudioSessionProperty_AudioRouteChange,
  ]

  /// Returns the property's entry.
  func entry() throws(AudioSessionFailure) -> Entry {
    switch input.id {
    case kAudioSessionProperty_PreferredHardwareSampleRate:
      .value(session.preferredSampleRate).setting(
        try onSession(input.value(), session.setPreferredSampleRate))
    case kAudioSessionProperty_PreferredHardwareIOBufferDuration:
      .value(Float32(session.preferredBufferDuration)).setting(
        try onSession(Double(input.value(Float32.self)), session.setPreferredBufferDuration))
    case kAudioSessionProperty_AudioCategory:
      .value(session.category.code).setting(try setCategory(input.value()))
    case kAudioSessionProperty_Mode: .value(session.mode.code).setting(try setMode(input.value()))
    case kAudioSessionProperty_OverrideCategoryMixWithOthers: option(.mixWithOthers)
    case kAudioSessionProperty_OverrideCategoryDefaultToSpeaker: option(.defaultToSpeaker)
    case kAudioSessionProperty_OverrideAudioRoute:
      .unreadable(bytes: 4).setting(try overrideRoute(input.value()))
    case kAudioSessionProperty_CurrentHardwareOutputVolume: .value(session.volume)
    case kAudioSessionProperty_InputGainAvailable: .flag(false)
    case kAudioSessionProperty_CurrentHardwareSampleRate:
      .value(try onSession(session.sampleRate))
    case kAudioSessionProperty_CurrentHardwareInputNumberChannels:
      .value(UInt32(try onSession(session.inputChannels)))
    case kAudioSessionProperty_CurrentHardwareOutputNumberChannels:
      .value(UInt32(try onSession(session.outputChannels)))
    case kAudioSessionProperty_CurrentHardwareInputLatency:
      .value(Float32(try onSession(session.inputLatency)))
    case kAudioSessionProperty_CurrentHardwareOutputLatency:
      .value(Float32(try onSession(session.outputLatency)))
    case kAudioSessionProperty_CurrentHardwareIOBufferDuration:
      .value(Float32(try onSession(session.bufferDuration)))
    case kAudioSessionProperty_OtherAudioIsPlaying: .flag(try onSession(session.othersPlay))
    case kAudioSessionProperty_AudioInputAvailable:
      .flag(try onSession(session.inputChannels > 0))
    case kAudioSessionProperty_AudioRoute: .string(try onSession(session.route.name))
    case kAudioSessionProperty_AudioRouteDescription:
      .object(try onSession(session.route.description(of: session.device.serverName)))
    case kAudioSessionProperty_InterruptionType: .value(try interruptionType())
    case kAudioSessionProperty_ServerDied, kAudioSessionProperty_InputGainScalar:
      .unreadable(bytes: 4)
    case kAudioSessionProperty_AudioRouteChange: .unreadable(bytes: 8)
    default: throw .unknownProperty(input.id)
    }
  }

  private func interruptionType() throws(AudioSessionFailure) -> UInt32 {
    guard AudioSessionListeners.shared.isEndingInterruption else { throw .notReadable(input.id) }
    return UInt32(kAudioSessionInterruptionType_ShouldResume)
  }

  private func option(_ option: AudioSessionOptions) -> Entry {
    .flag(session.options.contains(option)).setting(
      try onSession(input.flag()) { (isOn) throws(AudioSessionRefusal) in
        try session.setOption(option, isOn)
      })
  }

  private func setCategory(_ code: UInt32) throws(AudioSessionFailure) {
    guard let category = AudioSessionCategory(code: code) else { throw .badValue(input.id, code) }
    session.setCategory(category)
  }

  private func setMode(_ code: UInt32) throws(AudioSessionFailure) {
    guard let mode = AudioSessionMode(code: code) else { throw .badValue(input.id, code) }
    try onSession(mode, session.setMode)
  }

  private func overrideRoute(_ code: UInt32) throws(AudioSessionFailure) {
    let (none, speaker) = (
      kAudioSessionOverrideAudioRoute_None, kAudioSessionOverrideAudioRoute_Speaker
    )
    guard [none, speaker].contains(code) else { throw .badValue(input.id, code) }
    try onSession(code == speaker, session.overrideOutput)
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
  /// The mode's code; for a mode that only Swift has, that of the nearest one.
  var code: UInt32 {
    switch self {
    case .standard, .moviePlayback, .spokenAudio, .voicePrompt: kAudioSessionMode_Default
    case .voiceChat, .videoChat: kAudioSessionMode_VoiceChat
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
