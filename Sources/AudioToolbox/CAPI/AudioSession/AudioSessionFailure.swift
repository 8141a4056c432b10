package import AudioUnits
import CAudioToolbox
import Logging

/// The reason why a call for the audio session fails.
enum AudioSessionFailure: PropertyFailure {
  case badArgument(String)
  case notInitialized
  case alreadyInitialized
  case unknownProperty(AudioSessionPropertyID)
  case notReadable(AudioSessionPropertyID)
  case notSettable(AudioSessionPropertyID)
  case notListenable(AudioSessionPropertyID)
  /// The property does not take a value.
  case badValue(AudioSessionPropertyID, UInt32)
  case wrongSize(AudioSessionPropertyID, needed: Int, size: Int)
  case session(AudioSessionRefusal)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .notInitialized: kAudioSessionNotInitialized
    case .alreadyInitialized: kAudioSessionAlreadyInitialized
    case .unknownProperty, .notReadable, .notSettable, .notListenable, .badValue,
      .session(.badValue):
      kAudioSessionUnsupportedPropertyError
    case .wrongSize: kAudioSessionBadPropertySizeError
    case .session(.incompatibleCategory): kAudioSessionIncompatibleCategory
    case .session(.noHardware): kAudioServicesNoHardwareError
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text): text
    case .notInitialized: "AudioSessionInitialize has not been called"
    case .alreadyInitialized: "AudioSessionInitialize has been called before"
    case .unknownProperty(let id): "there is no property '\(fourCharacters(id))'"
    case .notReadable(let id): "the property '\(fourCharacters(id))' cannot be read now"
    case .notSettable(let id): "the property '\(fourCharacters(id))' cannot be set"
    case .notListenable(let id): "the property '\(fourCharacters(id))' has no listeners"
    case .badValue(let id, let value):
      "the property '\(fourCharacters(id))' does not take '\(fourCharacters(value))'"
    case .wrongSize(let id, let needed, let size):
      "the property '\(fourCharacters(id))' has \(needed) bytes, not \(size)"
    case .session(let error): error.reason
    }
  }
}

extension AudioSessionRefusal {
  /// The result code.
  package var status: OSStatus { AudioSessionFailure.session(self).status }
}

/// Runs a call of the session.
func onSession<Result>(_ call: @autoclosure () throws(AudioSessionRefusal) -> Result)
  throws(AudioSessionFailure) -> Result
{
  do throws(AudioSessionRefusal) { return try call() } catch { throw .session(error) }
}

/// Passes a value to a call of the session.
func onSession<Value>(_ value: Value, _ call: (Value) throws(AudioSessionRefusal) -> Void)
  throws(AudioSessionFailure)
{
  do throws(AudioSessionRefusal) { try call(value) } catch { throw .session(error) }
}
