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
