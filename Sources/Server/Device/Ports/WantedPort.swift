/// A JACK port that a graph needs.
package struct WantedPort: Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
  /// Hands the port to the graph. No cycle uses it yet.
  package let give: @Sendable (ClientPort) -> Void

  package init(
    name: String, direction: PortDirection, isMIDI: Bool,
    give: @escaping @Sendable (ClientPort) -> Void
  ) {
    self.name = name
    self.direction = direction
    self.isMIDI = isMIDI
    self.give = give
  }
}
