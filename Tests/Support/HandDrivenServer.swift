import CRealTime
import Foundation
package import RealTime
package import Server

/// A server whose cycles a test runs: no threads, no clock, every frame in sight.
///
/// Call `cycle(frames:)` from one thread at a time; all else may be called from any.
package final class HandDrivenServer: Server, @unchecked Sendable {
  package let sampleRate: Double
  package let maximumFrames: Int
  private let lock = NSLock()
  private var _clients: [HandDrivenClient] = []
  private var _counter: UInt32
  /// The number of the next cycle's first frame.
  package var counter: UInt32 {
    get { lock.withLock { _counter } }
    set { lock.withLock { _counter = newValue } }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &_counter
    }
  }
  /// False if the clients are to forget what their ports put out.
  package let keepsSamples: Bool
  /// The names of the sound card's inputs.
  package var physicalOutputs = ["system:playback_1", "system:playback_2"]
  /// If set, opening a client fails with it.
  package var failure: ServerError?
  /// The ports that a client may have.
  package var portLimit = Int.max

  package init(
    sampleRate: Double = 48000, counter: UInt32 = 0, maximumFrames: Int = 8192,
    keepsSamples: Bool = true
  ) {
    self.sampleRate = sampleRate
    _counter = counter
    self.keepsSamples = keepsSamples
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
    let counter = counter
    for client in clients { client.cycle(frames: frames, counter: counter) }
    lock.withLock { _counter &+= UInt32(frames) }
  }

  /// Has time go on by `frames` frames in which no client runs a cycle.
  package func miss(frames: Int) { lock.withLock { _counter &+= UInt32(frames) } }
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
  package var outputs: [Output] { lock.withLock { _outputs } }
  /// Ports of ours, and what each was connected to.
  package var connections: [String: [String]] { lock.withLock { _connections } }
  package var isClosed: Bool { lock.withLock { _isClosed } }
  /// Weak: the server keeps its clients, closed ones too.
  private weak let server: HandDrivenServer?
  private let keepsSamples: Bool
  private let maximumFrames: Int
  package let sampleRate: Double
  /// Held through a cycle: who closes the client waits for it.
  private let lock = NSLock()
  private var _outputs: [Output] = []
  private var _connections: [String: [String]] = [:]
  private var _isClosed = false
  private var engine: UnsafeMutablePointer<Engine>?
  private weak var notices: (any ServerNotices)?

  init(_ server: HandDrivenServer, name: String) {
    self.server = server
    self.name = name
    keepsSamples = server.keepsSamples
    maximumFrames = server.maximumFrames
    sampleRate = server.sampleRate
  }

  deinit { _outputs.forEach { $0.memory.deallocate() } }

  package var counter: UInt32 { server?.counter ?? 0 }
  package var deviceFrame: Int64 { Int64(counter) }
  package var handle: OpaquePointer? { nil }
  package var physicalOutputs: [String] { server?.physicalOutputs ?? [] }

  package func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices) {
    lock.withLock {
      self.engine = engine
      self.notices = notices
    }
  }

  package func addPort(named name: String) throws(ServerError) -> OutputPort {
    if outputs.count >= server?.portLimit ?? 0 {
      throw .cannotAddPort(name: name, client: self.name)
    }
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: maximumFrames)
    memory.initialize(repeating: .nan, count: maximumFrames)
    lock.withLock {
      precondition(!_isClosed, "a closed client is not to be used")
      _outputs.append(Output(name: name, memory: memory))
    }
    return OutputPort(cue_port(port: nil, memory: memory, connections: nil))
  }

  package func removePort(_ port: OutputPort) {
    lock.withLock {
      precondition(!_isClosed, "a closed client is not to be used")
      for i in _outputs.indices where _outputs[i].memory == port.place.memory {
        _outputs[i].isRemoved = true
      }
    }
  }

  package func connect(_ name: String, to destination: String) throws(ServerError) {
    guard physicalOutputs.contains(destination) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    lock.withLock { _connections[name, default: []].append(destination) }
  }

  package func disconnect(_ name: String, from destination: String) {
    lock.withLock { _connections[name]?.removeAll { $0 == destination } }
  }

  package func hostTime(ofCounter counter: UInt32) -> UInt64 {
    UInt64(Double(counter) / sampleRate * 1e9)
  }

  package func counter(atHostTime hostTime: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: Int64((Double(hostTime) / 1e9 * sampleRate).rounded()))
  }

  package func close() {
    lock.withLock {
      precondition(!_isClosed, "a client is closed once")
      _isClosed = true
      engine = nil
    }
  }

  /// Tells the client that its server has gone.
  package func lose() {
    let notices = lock.withLock {
      engine = nil
      return self.notices
    }
    notices?.serverLost()
  }

  func cycle(frames: Int, counter: UInt32) {
    lock.withLock {
      guard let engine else { return }
      // What a cycle leaves unwritten shows.
      for output in _outputs { output.memory.update(repeating: .nan, count: frames) }
      let next = counter &+ UInt32(frames)
      engine.pointee.cycle(
        UInt32(frames),
        cue_cycle_time(
          counter: counter, microseconds: hostTime(ofCounter: counter) / 1000,
          next_microseconds: hostTime(ofCounter: next) / 1000))
      guard keepsSamples else { return }
      for i in _outputs.indices where !_outputs[i].isRemoved {
        _outputs[i].samples += UnsafeBufferPointer(start: _outputs[i].memory, count: frames)
      }
    }
  }

  /// What the ports that are there have put out, one array for each channel.
  package var samples: [[Float]] { outputs.filter { !$0.isRemoved }.map(\.samples) }

  /// The engine itself, for tests that count what a cycle does.
  package var bareEngine: UnsafeMutablePointer<Engine>? { lock.withLock { engine } }
}
