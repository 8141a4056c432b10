package import Server

/// The client name and the connections of a queue on its server.
package struct QueueOptions: Sendable {
  package enum Connections: Sendable {
    /// One port after another to or from the sound card. A single playback channel goes to the
    /// first two outputs.
    case physical
    /// One port after another to or from these ports. A single playback channel goes to all of
    /// them. A recording queue with fewer channels mixes the remaining ports in, starting with the
    /// first channel.
    case ports([String])
    /// No ports of its own: a playback queue writes to these input slots of the device's graph, one
    /// per channel. For a recording queue the same as `none`.
    case graphInputs([ClientPort])
    case none
  }
  /// The client name on the server.
  package var clientName: String
  package var connections: Connections
  /// Largest volume that a playback queue accepts; larger ones are lowered to it.
  package var maximumVolume: Float = 1

  package init(clientName: String, connections: Connections = .physical) {
    self.clientName = clientName
    self.connections = connections
  }
}
