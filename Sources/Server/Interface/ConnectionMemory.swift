/// How long a connection of one of this client's ports is remembered. JACK does not tell who made it.
package enum ConnectionMemory: Sendable {
  /// Until somebody ends it. It is made again whenever the other port returns.
  case lasting
  /// Until the other client leaves: it appeared a moment before, or remembers the connection itself. The client,
  /// or the program that connected it, does so at each start.
  case whileOtherRuns
  /// As `whileOtherRuns`, but this client asked for it, and makes it again when the server returns. The other
  /// client makes its connections itself otherwise.
  case ownWhileOtherRuns
  /// While it exists: the other client made it for its own run.
  case present
}
