package import Server

/// A JACK port of a graph node.
package struct GraphPort: Hashable, Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
}
