package import Server

/// Reason why an audio unit refuses something.
package enum UnitError: Error, Sendable {
  case invalidProperty(UInt32)
  case invalidParameter(UInt32)
  case invalidElement(UInt32)
  case invalidScope(UInt32)
  case badArgument(String)
  case invalidValue(String)
  case formatNotSupported(String)
  case notWritable(String)
  /// A property that the unit has, but without a value.
  case notInUse(String)
  case uninitialized
  case initialized
  case disposed
  case failedInitialization(String)
  case unauthorized(String)
  case unsupported(String)
  case tooManyInstances
  /// A code that a unit of the app has returned.
  case status(Int32)
  case server(ServerError)
  case session(AudioSessionRefusal)

  /// The error in words.
  package var reason: String {
    switch self {
    case .invalidProperty(let id): "the unit has no property \(id) there"
    case .invalidParameter(let id): "the unit has no parameter \(id) there"
    case .invalidElement(let element): "the unit has no bus \(element)"
    case .invalidScope(let scope): "the unit has no scope \(scope)"
    case .badArgument(let reason), .invalidValue(let reason), .formatNotSupported(let reason),
      .unsupported(let reason), .notWritable(let reason), .notInUse(let reason),
      .failedInitialization(let reason), .unauthorized(let reason):
      reason
    case .uninitialized: "the unit is not initialised"
    case .initialized: "the unit is initialised"
    case .disposed: "the unit was disposed of"
    case .tooManyInstances: "there are too many audio units"
    case .status(let status): "the app's unit has returned \(status)"
    case .server(let error): "\(error)"
    case .session(let error): error.reason
    }
  }
}
