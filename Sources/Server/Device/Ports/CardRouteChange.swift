/// Connections between ports of this process and ports of the sound card that have been made or ended
/// by other programs, or because a port came or went.
package struct CardRouteChange: Sendable {
  /// Name of the server.
  package let server: String
  package let old: CardRoute
  package let new: CardRoute
  /// Ports of the sound card that have been connected to a port of this process.
  package let gained: CardRoute
  /// Ports of the sound card that have been disconnected from a port of this process.
  package let lost: CardRoute
}
