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
