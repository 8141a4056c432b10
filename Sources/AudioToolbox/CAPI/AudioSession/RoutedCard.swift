import CAudioToolbox

/// A sound card in a route: a client of the server, and those of its ports that are in the route.
package struct RoutedCard: Equatable {
  /// Name of the client.
  package let name: String
  /// Full names of its ports.
  package var ports: [String]
}
