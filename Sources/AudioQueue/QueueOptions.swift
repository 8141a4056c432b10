package import Server

/// How a queue appears on the server.
package struct QueueOptions: Sendable {
  package enum Connections: Sendable {
    /// Port by port to or from the sound card; one channel that is played is heard on the first two.
    case physical
    /// Port by port to or from these. One channel that is played is connected to all; what is more
    /// than the channels of a queue that records is mixed in from the first on.
    case ports([String])
    /// None: a queue that plays has no ports, and plays into these places, one for each channel, of the
    /// graph of the device that it is given. The same as `none` for one that records.
    case places([ClientPort])
    case none
  }
  /// The name of the client.
  package var clientName: String
  package var connections: Connections

  package init(clientName: String, connections: Connections = .physical) {
    self.clientName = clientName
    self.connections = connections
  }
}

/// What the app is called with; the calls come one at a time, in order, on the queue's place.
package struct QueueHandlers<Queue, Buffer>: Sendable {
  /// A buffer comes back.
  package var bufferDone: @Sendable (Queue, Buffer) -> Void
  package var changed: @Sendable (Queue, QueueChange) -> Void

  package init(
    bufferDone: @escaping @Sendable (Queue, Buffer) -> Void,
    changed: @escaping @Sendable (Queue, QueueChange) -> Void
  ) {
    self.bufferDone = bufferDone
    self.changed = changed
  }
}
