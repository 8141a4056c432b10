package import AudioUnits
import CAudioToolbox
import Logging
import Server

/// Reason why a function of the audio unit API fails.
enum AudioUnitError: PropertyFailure {
  case badArgument(String)
  case noSuchUnit
  case noSuchComponent
  case unit(UnitError)
  case hardware(HardwareError)
  /// A code of its own, with the reason.
  case status(OSStatus, String)

  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> AudioUnitError {
    .badArgument("the property \(id) has \(needed) bytes, not \(size)")
  }

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .noSuchUnit: badComponentInstance
    case .noSuchComponent: OSStatus(invalidComponentID)
    case .hardware(let error): error.status
    case .status(let status, _): status
    case .unit(let error):
      switch error {
      case .invalidProperty: kAudioUnitErr_InvalidProperty
      case .invalidParameter: kAudioUnitErr_InvalidParameter
      case .invalidElement: kAudioUnitErr_InvalidElement
      case .invalidScope: kAudioUnitErr_InvalidScope
      case .badArgument: kAudio_ParamError
      case .invalidValue: kAudioUnitErr_InvalidPropertyValue
      case .formatNotSupported: kAudioUnitErr_FormatNotSupported
      case .notWritable: kAudioUnitErr_PropertyNotWritable
      case .notInUse: kAudioUnitErr_PropertyNotInUse
      case .uninitialized: kAudioUnitErr_Uninitialized
      case .initialized: kAudioUnitErr_Initialized
      case .disposed: badComponentInstance
      case .failedInitialization: kAudioUnitErr_FailedInitialization
      case .unauthorized: kAudioUnitErr_Unauthorized
      case .unsupported: kAudioComponentErr_UnsupportedType
      case .tooManyInstances: kAudioComponentErr_TooManyInstances
      case .status(let status): status
      case .server(let error): HardwareError.server(error).status
      case .session(let error): AudioSessionFailure.session(error).status
      }
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .noSuchUnit: "there is no such audio unit"
    case .noSuchComponent: "there is no such component"
    case .hardware(let error): error.reason
    case .status(_, let reason): reason
    case .unit(.invalidProperty(let id)): "the unit has no property \(propertyName(id)) there"
    case .unit(let error): error.reason
    }
  }

  /// Programs ask for properties to find out whether they exist.
  var level: Logger.Level {
    switch self {
    case .unit(.invalidProperty), .unit(.notInUse): .debug
    case .hardware(let error): error.level
    default: .warning
    }
  }
}

/// Returns the result code of the C functions for an error of a unit.
package func status(of error: UnitError) -> OSStatus { AudioUnitError.unit(error).status }

/// Returns the number of a property, or the four characters of a device's.
private func propertyName(_ id: UInt32) -> String {
  id > 0xFFFF ? "'\(fourCharacters(id))'" : "\(id)"
}

/// Runs a call of the units' module.
func onUnit<Result>(_ call: @autoclosure () throws(UnitError) -> Result) throws(AudioUnitError)
  -> Result
{
  do throws(UnitError) { return try call() } catch { throw .unit(error) }
}

/// Passes a value to a call of the units' module.
func onUnit<Value>(_ value: Value, _ call: (Value) throws(UnitError) -> Void)
  throws(AudioUnitError)
{
  do throws(UnitError) { try call(value) } catch { throw .unit(error) }
}
