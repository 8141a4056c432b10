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

/// An event that a session reports.
package enum AudioSessionEvent: Sendable {
  package enum RouteChangeReason: Sendable {
    case newDevice, oldDevice, categoryChange, noSuitableRoute
  }

  /// The server has gone.
  case interruptionBegan
  /// The server is back.
  case interruptionEnded
  case routeChanged(RouteChangeReason, old: CardRoute, new: CardRoute)
  /// The number of the sound card's inputs has changed.
  case inputsChanged(from: Int, to: Int)
  /// The number of the sound card's outputs has changed.
  case outputsChanged(Int)
  case volumeChanged(Float)
}
