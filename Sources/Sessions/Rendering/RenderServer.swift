import Glibc
package import Server
import Synchronization

/// A server without sound cards and without a clock, whose cycles the rendering thread runs as fast as
/// queues are refilled. It freewheels, so a session plays the same samples as on a JACK server in
/// freewheel.
package final class RenderServer: Server {
  /// Frames of a cycle.
  package static let cycleFrames = 1024
  private let sampleRate: Double
  private let tempo: TransportTempo?
  private let name: String
  private static let count = Atomic<Int>(0)
  private let opened = Mutex<RenderClient?>(nil)

  /// - Parameter tempo: Tempo of a transport that rolls with the session; nil for none.
  package init(sampleRate: Double, tempo: TransportTempo? = nil) {
    self.sampleRate = sampleRate
    self.tempo = tempo
    name = "render-\(Self.count.add(1, ordering: .relaxed).newValue)"
  }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    let client = RenderClient(
      server: self.name, name: name, sampleRate: sampleRate, tempo: tempo)
    opened.withLock { $0 = client }
    return client
  }

  package func reopenClient(named name: String) -> (any ServerClient)? { nil }

  /// The client that was opened last; nil if none was.
  var client: RenderClient? { opened.withLock { $0 } }
}
