package import Server

/// Reason why a session refuses something.
package enum AudioSessionRefusal: Error, Sendable {
  /// The category does not allow it.
  case incompatibleCategory(String)
  case badValue(String)
  /// The server cannot be reached, or has gone.
  case noHardware(ServerError)

  /// The error in words.
  package var reason: String {
    switch self {
    case .incompatibleCategory(let reason), .badValue(let reason): reason
    case .noHardware(let error): "\(error)"
    }
  }
}
