import CAudioToolbox
import Logging
import Server

/// The reason why a call of the hardware API fails.
enum HardwareError: PropertyFailure {
  case badArgument(String)
  case noSuchObject(AudioObjectID)
  case noSuchDevice(AudioObjectID)
  case noSuchStream(AudioObjectID)
  case unknownProperty(AudioObjectPropertySelector, AudioObjectID)
  case wrongSize(AudioObjectPropertySelector, needed: Int, size: Int)
  case notSettable(AudioObjectPropertySelector, AudioObjectID)
  /// The property can be set, but not to this value.
  case refused(String)
  case wrongFormat(String)
  case unsupported(String)
  case server(ServerError)
  case noSuchProc(AudioObjectID)

  var status: OSStatus {
    switch self {
    case .badArgument, .noSuchProc: kAudioHardwareIllegalOperationError
    case .noSuchObject: kAudioHardwareBadObjectError
    case .noSuchDevice: kAudioHardwareBadDeviceError
    case .noSuchStream: kAudioHardwareBadStreamError
    case .unknownProperty: kAudioHardwareUnknownPropertyError
    case .wrongSize: kAudioHardwareBadPropertySizeError
    case .notSettable, .refused: kAudioHardwareIllegalOperationError
    case .wrongFormat: kAudioDeviceUnsupportedFormatError
    case .unsupported: kAudioHardwareUnsupportedOperationError
    case .server: kAudioHardwareNotRunningError
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text), .refused(let text), .wrongFormat(let text), .unsupported(let text):
      text
    case .noSuchObject(let id): "there is no audio object \(id)"
    case .noSuchDevice(let id): "there is no device \(id)"
    case .noSuchStream(let id): "there is no stream \(id)"
    case .unknownProperty(let selector, let id):
      "the object \(id) has no property '\(fourCharacters(selector))'"
    case .wrongSize(let selector, let needed, let size):
      "the property '\(fourCharacters(selector))' has \(needed) bytes, not \(size)"
    case .notSettable(let selector, let id):
      "the property '\(fourCharacters(selector))' of the object \(id) cannot be set"
    case .server(let error): "\(error)"
    case .noSuchProc(let id): "the device \(id) has no such IOProc"
    }
  }

  /// Programs ask for properties to find out whether they exist.
  var level: Logger.Level {
    if case .unknownProperty = self { .debug } else { .warning }
  }
}

/// Runs a call of a device's server.
func onServer<Result>(_ call: @autoclosure () throws(ServerError) -> Result)
  throws(HardwareError) -> Result
{
  do throws(ServerError) { return try call() } catch { throw .server(error) }
}
