/// The category of an audio session: it decides whether the program may play and record.
package enum AudioSessionCategory: CaseIterable, Sendable {
  case ambient, soloAmbient, playback, record, playAndRecord, processing

  package var plays: Bool {
    switch self {
    case .ambient, .soloAmbient, .playback, .playAndRecord: true
    case .record, .processing: false
    }
  }

  package var records: Bool { self == .record || self == .playAndRecord }

  /// Options that the category takes.
  package var options: AudioSessionOptions {
    switch self {
    case .playAndRecord:
      [
        .mixWithOthers, .duckOthers, .allowBluetooth, .defaultToSpeaker, .interruptSpokenAudio,
        .allowBluetoothA2DP, .allowAirPlay, .overrideMutedMicrophone,
      ]
    case .playback: [.mixWithOthers, .duckOthers, .interruptSpokenAudio]
    case .record: [.allowBluetooth, .overrideMutedMicrophone]
    case .ambient, .soloAmbient, .processing: []
    }
  }
}

/// A special purpose within a category. Nothing processes the signal in any of them.
package enum AudioSessionMode: CaseIterable, Sendable {
  case standard, voiceChat, videoRecording, measurement, gameChat
  case moviePlayback, videoChat, spokenAudio, voicePrompt

  package func fits(_ category: AudioSessionCategory) -> Bool {
    switch self {
    case .standard, .measurement: true
    case .voiceChat, .gameChat, .videoChat: category == .playAndRecord
    case .videoRecording: category.records
    case .moviePlayback: category == .playback
    case .spokenAudio, .voicePrompt: category.plays
    }
  }
}

/// Notes on a category. They change no sound: JACK mixes all programs, and the sound card's ports are
/// the speaker.
package struct AudioSessionOptions: OptionSet, Sendable {
  package let rawValue: UInt
  package init(rawValue: UInt) { self.rawValue = rawValue }
  package static let mixWithOthers = Self(rawValue: 1)
  package static let duckOthers = Self(rawValue: 2)
  package static let allowBluetooth = Self(rawValue: 4)
  package static let defaultToSpeaker = Self(rawValue: 8)
  package static let interruptSpokenAudio = Self(rawValue: 0x10)
  package static let allowBluetoothA2DP = Self(rawValue: 0x20)
  package static let allowAirPlay = Self(rawValue: 0x40)
  package static let overrideMutedMicrophone = Self(rawValue: 0x80)
}
