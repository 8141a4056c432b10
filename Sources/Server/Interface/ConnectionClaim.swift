/// A value of the property `urn:cuejack:connections`, by which a client says who remembers its connections.
package enum ConnectionClaim: String, Sendable {
  /// The client makes them itself, for its own run: nobody is to remember them.
  case own
  /// The client remembers them itself: others forget them when it leaves, and do not make again what has been
  /// removed meanwhile.
  case kept
}
