import AudioUnits
import CAudioToolbox
import Logging
package import Music

/// Reason why a function of MusicPlayer.h fails.
enum MusicFailure: APIFailure {
  case badArgument(String)
  case music(MusicError)
  case file(AudioFileFailure)
  /// A code of its own, with the reason.
  case status(OSStatus, String)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .file(let failure): failure.status
    case .status(let status, _): status
    case .music(let error): Self.status(of: error)
    }
  }

  private static func status(of error: MusicError) -> OSStatus {
    switch error {
    case .badArgument: kAudio_ParamError
    case .trackNotFound: kAudioToolboxErr_TrackNotFound
    case .trackIndex: kAudioToolboxErr_TrackIndexError
    case .endOfTrack: kAudioToolboxErr_EndOfTrack
    case .startOfTrack: kAudioToolboxErr_StartOfTrack
    case .illegalDestination: kAudioToolboxErr_IllegalTrackDestination
    case .noSequence: kAudioToolboxErr_NoSequence
    case .invalidEvent: kAudioToolboxErr_InvalidEventType
    case .invalidType: kAudioToolboxErr_InvalidSequenceType
    case .invalidState: kAudioToolboxErr_InvalidPlayerState
    case .noDestination: kAudioToolboxError_NoTrackDestination
    case .cannotStart(_, let code): code ?? kAudioToolboxErr_CannotDoInCurrentContext
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .file(let failure): failure.reason
    case .status(_, let reason): reason
    case .music(let error): error.reason
    }
  }

  /// Programs go through a track until it ends.
  var level: Logger.Level {
    switch self {
    case .music(.endOfTrack), .music(.startOfTrack): .debug
    case .file(let failure): failure.level
    default: .warning
    }
  }
}

/// Returns the result code of the C functions for an error of a sequence or its player.
package func status(of error: MusicError) -> OSStatus { MusicFailure.music(error).status }

/// Runs a call of the music module.
func onMusic<Result>(_ call: () throws(MusicError) -> Result) throws(MusicFailure) -> Result {
  do throws(MusicError) { return try call() } catch { throw .music(error) }
}
