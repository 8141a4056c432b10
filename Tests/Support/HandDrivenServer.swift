import CRealTime
import Foundation
package import RealTime
package import Server

/// A server whose cycles a test runs: no threads, no clock, every frame in sight.
///
/// Open the clients first, then call `cycle(frames:)` from one thread.
package final class HandDrivenServer: Server, @unchecked Sendable {
  package let sampleRate: Double
  package let maximumFrames: Int
  private let lock = NSLock()
  private var _clients: [HandDrivenClient] = []
  /// The number of the next cycle's first frame.
  package var counter: UInt32
  /// The names of the sound card's inputs.
  package var physicalOutputs = ["system:playback_1", "system:playback_2"]
  /// If set, opening a client fails with it.
  package var failure: ServerError?

  package init(sampleRate: Double = 48000, counter: UInt32 = 0, maximumFrames: Int = 8192) {
    self.sampleRate = sampleRate
    self.counter = counter
    self.maximumFrames = maximumFrames
  }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    if let failure { throw failure }
    let client = HandDrivenClient(self, name: name)
    lock.withLock { _clients.append(client) }
    return client
  }

  /// Every client that was opened, in order, closed ones too.
  package var clients: [HandDrivenClient] { lock.withLock { _clients } }

  /// Runs one cycle in every open client.
  package func cycle(frames: Int) {
    precondition(frames <= maximumFrames, "the ports hold \(maximumFrames) frames")
    for client in clients { client.cycle(frames: frames, counter: counter) }
    counter &+= UInt32(frames)
  }
}

/// A client of a server that is driven by hand. Keeps all that its ports have put out.
package final class HandDrivenClient: ServerClient, @unchecked Sendable {
  package struct Output {
    package let name: String
    let memory: UnsafeMutablePointer<Float>
    /// What the port put out, from the frame in which it was added.
    package var samples: [Float] = []
    package var isRemoved = false
  }
  package let serverName = "by-hand"
  package let name: String
  package var outputs: [Output] = []
  /// Ports of ours, and what each was connected to.
  package var connections: [String: [String]] = [:]
  package private(set) var isClosed = false
  private let server: HandDrivenServer
  private var engine: UnsafeMutablePointer<Engine>?
  private weak var notices: (any ServerNotices)?

  init(_ server: HandDrivenServer, name: String) {
    self.server = server
    self.name = name
  }

  deinit { outputs.forEach { $0.memory.deallocate() } }

  package var sampleRate: Double { server.sampleRate }
  package var counter: UInt32 { server.counter }
  package var deviceFrame: Int64 { Int64(server.counter) }
  package var handle: OpaquePointer? { nil }
  package var physicalOutputs: [String] { server.physicalOutputs }

  package func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices) {
    self.engine = engine
    self.notices = notices
  }

  package func addPort(named name: String) throws(ServerError) -> OutputPort {
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: server.maximumFrames)
    memory.initialize(repeating: .nan, count: server.maximumFrames)
    outputs.append(Output(name: name, memory: memory))
    return OutputPort(cue_port(port: nil, memory: memory))
  }

  package func removePort(_ port: OutputPort) {
    for i in outputs.indices where outputs[i].memory == port.place.memory {
      outputs[i].isRemoved = true
    }
  }

  package func connect(_ name: String, to destination: String) throws(ServerError) {
    guard server.physicalOutputs.contains(destination) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    connections[name, default: []].append(destination)
  }

  package func hostTime(ofCounter counter: UInt32) -> UInt64 {
    UInt64(Double(counter) / sampleRate * 1e9)
  }

  package func counter(atHostTime hostTime: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: Int64((Double(hostTime) / 1e9 * sampleRate).rounded()))
  }

  package func close() {
    isClosed = true
    engine = nil
  }

  /// Tells the client that its server has gone.
  package func lose() {
    engine = nil
    notices?.serverLost()
  }

  func cycle(frames: Int, counter: UInt32) {
    guard let engine else { return }
    // What a cycle leaves unwritten shows.
    for output in outputs { output.memory.update(repeating: .nan, count: frames) }
    let next = counter &+ UInt32(frames)
    engine.pointee.cycle(
      UInt32(frames),
      cue_cycle_time(
        counter: counter, microseconds: hostTime(ofCounter: counter) / 1000,
        next_microseconds: hostTime(ofCounter: next) / 1000))
    for i in outputs.indices where !outputs[i].isRemoved {
      outputs[i].samples += UnsafeBufferPointer(start: outputs[i].memory, count: frames)
    }
  }

  /// What the ports that are there have put out, one array for each channel.
  package var samples: [[Float]] { outputs.filter { !$0.isRemoved }.map(\.samples) }

  /// The engine itself, for tests that count what a cycle does.
  package var bareEngine: UnsafeMutablePointer<Engine>? { engine }
}
