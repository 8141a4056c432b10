import RealTime
import Server

/// A server without sound cards and without a clock. The rendering thread runs its cycles.
final class OfflineServer: Server {
  /// The render format.
  let format: PCMFormat
  let layout: SampleLayout
  /// The mix for each channel of the format; nil for the default that follows from the channel
  /// counts.
  let sources: Sources?

  /// For each channel of a format, its source ports and their gains.
  struct Sources {
    /// The number of ports.
    let count: Int
    let channels: [[(port: Int, factor: Float)]]
  }

  /// Creates a server; nil if queues do not support the format.
  ///
  /// - Parameter mix: For each port, its gain in each channel of the format.
  init?(_ format: PCMFormat, mix: [[Float]]? = nil) {
    guard let layout = format.layout else { return nil }
    self.format = format
    self.layout = layout
    sources = mix.map { mix in
      Sources(
        count: mix.count,
        channels: (0..<format.channels).map { channel in
          mix.indices.filter { mix[$0][channel] != 0 }.map { (port: $0, factor: mix[$0][channel]) }
        })
    }
  }

  func openClient(named name: String) -> any ServerClient { OfflineClient(self, name: name) }
  func reopenClient(named name: String) -> (any ServerClient)? { nil }
}
