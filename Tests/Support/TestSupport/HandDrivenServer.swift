import CRealTime
import Foundation
package import RealTime
package import Server
import Synchronization
package import Timeline

/// A simulated server whose cycles the test runs: no threads, no clock, and every frame can be
/// inspected.
///
/// Call `cycle(frames:)` on one thread at a time, and everything else on any thread.
package final class HandDrivenServer: Server, @unchecked Sendable {
  package let name: String
  private var _sampleRate: Double
  /// Sample rate in Hz. A change affects clients opened afterwards.
  package var sampleRate: Double {
    get { lock.withLock { _sampleRate } }
    set { lock.withLock { _sampleRate = newValue } }
  }
  package let maximumFrames: Int
  private let lock = NSLock()
  private var _clients: [HandDrivenClient] = []
  private var _counter: UInt32
  /// Frame counter at the start of the next cycle.
  package var counter: UInt32 {
    get { lock.withLock { _counter } }
    set { lock.withLock { _counter = newValue } }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &_counter
    }
  }
  /// Frames that each read of the counter adds, to simulate elapsed time.
  package var framesPerReading: UInt32 = 0
  /// Whether clients keep the output of their ports.
  package let keepsSamples: Bool
  /// Names of the sound card's input ports.
  package var physicalOutputs = ["system:playback_1", "system:playback_2"]
  /// Names of the sound card's output ports.
  package var physicalInputs = ["system:capture_1", "system:capture_2"]
  /// The function that gives the sample of a client's input, counted from 1, at a frame.
  package var hears: @Sendable (_ frame: UInt32, _ input: Int) -> Float = { _, _ in 0 }
  private var _otherInputs: [String] = []
  private var _isGone = false
  private var _attempts = 0
  /// Number of attempts to reach the server while it is gone.
  package var attempts: Int { lock.withLock { _attempts } }
  /// The error thrown when a client is opened; nil for none.
  package var failure: ServerError?
  /// The period that clients report.
  package var periodFrames = 1024
  private var _cardQuestions = 0
  /// Number of times that clients were asked for the sound card's input ports.
  package var cardQuestions: Int { lock.withLock { _cardQuestions } }
  fileprivate func noteCardQuestion() { lock.withLock { _cardQuestions += 1 } }
  /// Called before a client adds a port, on the thread that adds it.
  package var whenAddingPort: @Sendable () -> Void = {}
  /// The function that changes the times that clients get of a cycle.
  package var times: @Sendable (cue_cycle_time) -> cue_cycle_time = { $0 }
  /// Maximum number of ports of a client.
  package var portLimit = Int.max

  package init(
    name: String = "by-hand", sampleRate: Double = 48000, counter: UInt32 = 0,
    maximumFrames: Int = 8192, keepsSamples: Bool = true
  ) {
    self.name = name
    _sampleRate = sampleRate
    _counter = counter
    self.keepsSamples = keepsSamples
    self.maximumFrames = maximumFrames
  }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    if let failure { throw failure }
    if lock.withLock({ _isGone }) { throw .unknownServer(self.name) }
    let client = HandDrivenClient(self, name: name)
    lock.withLock { _clients.append(client) }
    return client
  }

  package func reopenClient(named name: String) -> (any ServerClient)? {
    lock.withLock { _attempts += 1 }
    return try? openClient(named: name)
  }

  /// Simulates the end of the server and the loss of all clients.
  package func goAway() {
    lock.withLock { _isGone = true }
    for client in clients { client.lose() }
  }

  /// Simulates a new server, which counts from `counter` and runs at `sampleRate`.
  package func comeBack(sampleRate: Double? = nil, counter: UInt32 = 0) {
    lock.withLock {
      _isGone = false
      _counter = counter
      if let sampleRate { _sampleRate = sampleRate }
    }
  }

  /// Changes the period.
  package func changePeriod(to frames: Int) {
    periodFrames = frames
    for client in clients { client.changePeriod(to: frames) }
  }

  /// Changes the sample rate of the running server, as PipeWire does.
  package func changeRate(to sampleRate: Double) {
    self.sampleRate = sampleRate
    for client in clients { client.changeRate() }
  }

  /// Input ports of other clients.
  package var otherInputs: [String] {
    get { lock.withLock { _otherInputs } }
    set {
      lock.withLock { _otherInputs = newValue }
      for client in clients { client.portAppeared() }
    }
  }

  /// Output ports of other clients.
  package var otherOutputs: [String] = []

  /// All clients ever opened, in order, including closed ones.
  package var clients: [HandDrivenClient] { lock.withLock { _clients } }

  /// Runs one cycle in each open client.
  package func cycle(frames: Int) {
    precondition(frames <= maximumFrames, "the ports hold \(maximumFrames) frames")
    let counter = counter
    for client in clients { client.cycle(frames: frames, counter: counter) }
    lock.withLock { _counter &+= UInt32(frames) }
  }

  /// Advances the frame counter by `frames` frames without a cycle.
  package func miss(frames: Int) { lock.withLock { _counter &+= UInt32(frames) } }
}

/// A client of a hand-driven server. It keeps the output of all its ports.
package final class HandDrivenClient: ServerClient, @unchecked Sendable {
  package struct Output {
    package let name: String
    let memory: UnsafeMutablePointer<Float>
    let connections: UnsafeMutablePointer<Int32>
    /// The output of the port, from the frame in which it was registered.
    package var samples: [Float] = []
    package var isRemoved = false
  }
  package let serverName: String
  package let name: String
  package var outputs: [Output] { lock.withLock { _outputs } }
  package struct Input {
    package let name: String
    let memory: UnsafeMutablePointer<Float>
    package var isRemoved = false
  }
  package var inputs: [Input] { lock.withLock { _inputs } }
  /// The client's ports and the ports connected to each.
  package var connections: [String: [String]] { lock.withLock { _connections } }
  package var isClosed: Bool { lock.withLock { _isClosed } }
  /// Weak, because the server retains its clients, closed ones too.
  private weak let server: HandDrivenServer?
  private let keepsSamples: Bool
  private let maximumFrames: Int
  private var _sampleRate: Double
  package var sampleRate: Double { lock.withLock { _sampleRate } }
  /// Held during a cycle, so that closing the client waits for it.
  private let lock = NSLock()
  private var _outputs: [Output] = []
  private var _inputs: [Input] = []
  private var _connections: [String: [String]] = [:]
  private var _isClosed = false
  private var _changes: [ConnectionChange] = []
  private var engine: UnsafeMutablePointer<Engine>?
  private weak var notices: (any ServerNotices)?

  init(_ server: HandDrivenServer, name: String) {
    self.server = server
    serverName = server.name
    self.name = name
    keepsSamples = server.keepsSamples
    maximumFrames = server.maximumFrames
    _sampleRate = server.sampleRate
  }

  deinit {
    _inputs.forEach { $0.memory.deallocate() }
    for output in _outputs {
      output.memory.deallocate()
      output.connections.deallocate()
    }
  }

  private var counter: UInt32 { server?.counter ?? 0 }
  package var anchor: TimeAnchor {
    let counter = counter
    return TimeAnchor(frame: Int64(counter), microseconds: hostTime(ofCounter: counter) / 1000)
  }
  package var hostTime: UInt64 {
    guard let server else { return 0 }
    defer { server.miss(frames: Int(server.framesPerReading)) }
    return hostTime(ofCounter: server.counter)
  }
  package var liveSampleRate: Double { server?.sampleRate ?? sampleRate }
  package func takeSampleRate() {
    let live = liveSampleRate
    lock.withLock { _sampleRate = live }
  }
  package var periodFrames: Int { server?.periodFrames ?? 1024 }
  package var handle: OpaquePointer? { nil }
  package var physicalOutputs: [String] {
    server?.noteCardQuestion()
    return server?.physicalOutputs ?? []
  }
  package var physicalInputs: [String] { server?.physicalInputs ?? [] }

  package func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices) {
    lock.withLock {
      if _isClosed { return }
      self.engine = engine
      self.notices = notices
    }
  }

  package func otherPorts(_ direction: PortDirection, _ kind: PortKind) -> [String] {
    guard let server, kind == .audio else { return [] }
    return direction == .input
      ? server.physicalOutputs + server.otherInputs : server.physicalInputs + server.otherOutputs
  }

  package func addPort(named name: String, _ direction: PortDirection) throws(ServerError)
    -> ClientPort
  {
    server?.whenAddingPort()
    if outputs.count + inputs.count >= server?.portLimit ?? 0 {
      throw .cannotAddPort(name: name, client: self.name)
    }
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: maximumFrames)
    memory.initialize(repeating: .nan, count: maximumFrames)
    let connections = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    connections.initialize(to: 0)
    lock.withLock {
      switch direction {
      case .output:
        _outputs.append(Output(name: name, memory: memory, connections: connections))
      case .input:
        connections.deallocate()
        _inputs.append(Input(name: name, memory: memory))
      }
    }
    return ClientPort(
      cue_port(port: nil, memory: memory, connections: direction == .output ? connections : nil))
  }

  /// Does nothing: the test makes the connections.
  package func isolate(_ port: ClientPort) {}

  package func removePort(_ port: ClientPort) {
    lock.withLock {
      if _isClosed { return }
      for i in _outputs.indices where _outputs[i].memory == port.handle.memory {
        _outputs[i].isRemoved = true
        forget(_outputs[i].name)
      }
      for i in _inputs.indices where _inputs[i].memory == port.handle.memory {
        _inputs[i].isRemoved = true
        forget(_inputs[i].name)
      }
    }
  }

  /// As a real client does, forgets what has changed at a port that it removes. The caller holds the lock.
  private func forget(_ name: String) {
    _connections[name] = nil
    _changes.removeAll { $0.port == name }
  }

  package func connect(_ name: String, to destination: String) throws(ServerError) {
    let inputs = physicalOutputs + (server?.otherInputs ?? [])
    guard inputs.contains(destination) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    rewire(name) { if !$0.contains(destination) { $0.append(destination) } }
    change(.made, name, destination)
  }

  package func disconnect(_ name: String, from destination: String) {
    rewire(name) { $0.removeAll { $0 == destination } }
    change(.ended, name, destination)
  }

  private func change(_ kind: ConnectionChange.Kind, _ port: String, _ other: String) {
    let notices: (any ServerNotices)? = lock.withLock {
      _changes.append(ConnectionChange(kind: kind, port: port, other: other))
      return self.notices
    }
    notices?.connectionsChanged()
  }

  package func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange] {
    lock.withLock {
      defer { _changes = [] }
      return _changes
    }
  }

  package func connections(of name: String) -> [String] { connections[name] ?? [] }

  /// Called between two changes of a port's connections.
  package var onRewire: (@Sendable () -> Void)?

  private func rewire(_ name: String, _ change: (inout [String]) -> Void) {
    lock.withLock {
      change(&_connections[name, default: []])
      for output in _outputs where output.name == name && !output.isRemoved {
        output.connections.pointee = Int32(_connections[name]!.count)
      }
    }
    onRewire?()
  }

  package func connect(_ source: String, toOurs name: String) throws(ServerError) {
    guard (physicalInputs + (server?.otherOutputs ?? [])).contains(source) else {
      throw .noSuchSource(name: source, server: serverName)
    }
    lock.withLock { _connections[name, default: []].append(source) }
    change(.made, name, source)
  }

  /// Returns the simulated host time in nanoseconds. It starts at frame 0.
  private func hostTime(ofCounter counter: UInt32) -> UInt64 {
    UInt64(Double(counter) / sampleRate * 1e9)
  }

  package func close() -> Bool {
    lock.withLock {
      precondition(!_isClosed, "a client is closed once")
      _isClosed = true
      engine = nil
    }
    return true
  }

  /// Notifies the client that its server has gone.
  package func lose() {
    let notices: (any ServerNotices)? = lock.withLock {
      guard engine != nil else { return nil }
      engine = nil
      return self.notices
    }
    notices?.serverLost()
  }

  func changeRate() { lock.withLock { engine == nil ? nil : notices }?.rateChanged() }
  func changePeriod(to frames: Int) {
    lock.withLock { engine == nil ? nil : notices }?.periodChanged(to: frames)
  }
  func portAppeared() { lock.withLock { engine == nil ? nil : notices }?.portAppeared() }

  func cycle(frames: Int, counter: UInt32) {
    lock.withLock {
      guard let engine else { return }
      // Makes samples that the cycle does not write visible.
      for output in _outputs { output.memory.update(repeating: .nan, count: frames) }
      if let hears = server?.hears {
        for (i, input) in _inputs.enumerated() where !input.isRemoved {
          for frame in 0..<frames {
            input.memory[frame] = hears(counter &+ UInt32(frame), i + 1)
          }
        }
      }
      func microseconds(_ counter: UInt32) -> UInt64 { UInt64(Double(counter) / _sampleRate * 1e6) }
      let time = cue_cycle_time(
        counter: counter, microseconds: microseconds(counter),
        next_microseconds: microseconds(counter &+ UInt32(frames)))
      engine.pointee.cycle(UInt32(frames), server?.times(time) ?? time)
      guard keepsSamples else { return }
      for i in _outputs.indices where !_outputs[i].isRemoved {
        _outputs[i].samples += UnsafeBufferPointer(start: _outputs[i].memory, count: frames)
      }
    }
  }

  /// The output of the registered ports, one array per channel.
  package var samples: [[Float]] { outputs.filter { !$0.isRemoved }.map(\.samples) }

  /// The engine, for tests that count the work of a cycle.
  package var bareEngine: UnsafeMutablePointer<Engine>? { lock.withLock { engine } }
}

/// An owner of voices and recorders that only notes whether it lost the server.
package final class PassiveOwner: VoiceOwner {
  private let lost = Atomic<Bool>(false)
  package init() {}
  package var hasLost: Bool { lost.load(ordering: .acquiring) }
  package func readEvents() -> Bool { false }
  package func wakeCallbacks() {}
  package func deviceLost() { lost.store(true, ordering: .releasing) }
}
