import CAudioToolbox

/// A sound card in a route: a client of the server, and those of its ports that are in the route.
struct RoutedCard: Equatable {
  /// Name of the client.
  let name: String
  /// Full names of its ports.
  var ports: [String]
}
