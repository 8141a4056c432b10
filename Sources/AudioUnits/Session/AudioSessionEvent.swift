package import Server

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
