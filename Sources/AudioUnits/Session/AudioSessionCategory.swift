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
    case .playAndRecord: [.mixWithOthers, .defaultToSpeaker]
    case .playback: .mixWithOthers
    case .ambient, .soloAmbient, .record, .processing: []
    }
  }
}

/// A special purpose within a category. Nothing processes the signal in any of them.
package enum AudioSessionMode: CaseIterable, Sendable {
  case standard, voiceChat, videoRecording, measurement, gameChat

  package func fits(_ category: AudioSessionCategory) -> Bool {
    switch self {
    case .standard, .measurement: true
    case .voiceChat, .gameChat: category == .playAndRecord
    case .videoRecording: category.records
    }
  }
}

/// Notes on a category. They change no sound: JACK mixes all programs, and the sound card's ports are
/// the speaker.
package struct AudioSessionOptions: OptionSet, Sendable {
  package let rawValue: UInt
  package init(rawValue: UInt) { self.rawValue = rawValue }
  package static let mixWithOthers = Self(rawValue: 1)
  package static let defaultToSpeaker = Self(rawValue: 8)
}
