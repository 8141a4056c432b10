/// A connection of one of this client's ports that any client made or ended.
package struct ConnectionChange: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case made
    /// Both ports exist, and somebody disconnected them.
    case ended
    /// The other port is gone, or another one has its name now. The connection is to be made again when such a
    /// port is there.
    case interrupted
    /// The other port, to which the connection exists, was called `from` before.
    case renamed(from: String)
  }
  package let kind: Kind
  /// Short name of this client's port.
  package let port: String
  /// Full name of the other port.
  package let other: String
  /// How long a connection that has been made is remembered.
  package var memory = ConnectionMemory.lasting
  /// Whether the other client is gone, with all of its ports.
  package var otherHasLeft = false

  package init(kind: Kind, port: String, other: String) {
    self.kind = kind
    self.port = port
    self.other = other
  }
}
