import CRealTime
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Synchronization
import TestSupport

/// A node defined by a test: `work` processes a block.
class TestNode: GraphNode, @unchecked Sendable {
  let name: String
  let inputs: Int
  let outputs: Int
  let eventInputs: Int
  let eventOutputs: Int
  /// The arguments of all calls of `prepare`, in order.
  private(set) var prepared: [(rate: Double, frames: Int)] = []
  var refuses = false
  /// The duration of each call of `prepare`.
  var preparationMilliseconds: UInt32 = 0

  init(
    _ name: String, inputs: Int = 1, outputs: Int = 1, eventInputs: Int = 0, eventOutputs: Int = 0
  ) {
    self.name = name
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
  }

  var latencyFrames: Int { 0 }
  var takesControllers: Bool { false }

  /// The graph retains the node for as long as it may run.
  var processor: cue_node {
    cue_node(
      run: { context, block in
        Unmanaged<TestNode>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.work(block.pointee)
        }
      }, context: Unmanaged.passUnretained(self).toOpaque(), prefetched_bytes: 0)
  }

  func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {
    if refuses { throw .unknownPlugin(uri: name) }
    prepared.append((sampleRate, maximumFrames))
    usleep(1000 * preparationMilliseconds)
  }

  func work(_ block: cue_block) {}
}

/// A node whose outputs are the inputs with the same number, times a gain.
final class Gain: TestNode, @unchecked Sendable {
  let gain: Float
  init(_ name: String, _ gain: Float = 1, channels: Int = 1) {
    self.gain = gain
    super.init(name, inputs: channels, outputs: channels)
  }
  override func work(_ block: cue_block) {
    for channel in 0..<outputs {
      for i in 0..<Int(block.frames) {
        block.outputs![channel][i] = block.inputs![channel][i] * gain
      }
    }
  }
}

/// A node that delays its input and reports this latency.
final class Delay: TestNode, @unchecked Sendable {
  private let frames: Atomic<Int>
  /// The delay in the last cycle.
  private let taken: Atomic<Int>
  private let history = UnsafeMutablePointer<Float>.allocate(capacity: 1024)
  private var at = 0

  init(_ name: String, _ frames: Int) {
    self.frames = Atomic(frames)
    taken = Atomic(frames)
    history.initialize(repeating: 0, count: 1024)
    super.init(name)
  }
  deinit { history.deallocate() }

  override var latencyFrames: Int { taken.load(ordering: .acquiring) }
  /// Sets the delay from the next cycle on.
  func change(to frames: Int) { self.frames.store(frames, ordering: .releasing) }

  override func work(_ block: cue_block) {
    let frames = frames.load(ordering: .acquiring)
    if frames != taken.load(ordering: .relaxed) {
      taken.store(frames, ordering: .releasing)
      block.attention?.pointee = true
    }
    for i in 0..<Int(block.frames) {
      history[at & 1023] = block.inputs![0][i]
      block.outputs![0][i] = history[(at - frames) & 1023]
      at += 1
    }
  }
}

/// A source that evaluates a function of the device frame.
final class Generator: TestNode, @unchecked Sendable {
  private let sample: (Int64) -> Float
  init(_ name: String, _ sample: @escaping (Int64) -> Float) {
    self.sample = sample
    super.init(name, inputs: 0)
  }
  override func work(_ block: cue_block) {
    for i in 0..<Int(block.frames) { block.outputs![0][i] = sample(block.frame + Int64(i)) }
  }
}

/// The URIDs that plugins use.
let types = cue_event_types(
  sequence: urid("http://lv2plug.in/ns/ext/atom#Sequence"),
  chunk: urid("http://lv2plug.in/ns/ext/atom#Chunk"),
  midi: urid("http://lv2plug.in/ns/ext/midi#MidiEvent"))

/// A hand-driven graph.
final class Rig {
  let graph: Graph
  /// First frame of the next cycle.
  var frame: Int64 = 0
  /// The output of each output port, by name.
  private(set) var heard: [String: [Float]] = [:]
  private var ports: [String: UnsafeMutablePointer<Float>] = [:]
  private var outputs: [String] = []
  /// The function that gives the sample of an input port, by name and frame.
  var plays: (String, Int64) -> Float = { _, _ in 0 }

  /// - Parameter threads: The threads that run each block, however short.
  init(blockFrames: Int = 1024, fadeSeconds: Double = 0.01, threads: Int = 1) {
    graph = Graph(
      types: types, sampleRate: 48000, blockFrames: blockFrames, fadeSeconds: fadeSeconds,
      threads: GraphThreads(threads, leastWork: 0))
  }

  deinit { ports.values.forEach { $0.deallocate() } }

  /// Starts cycles. All port nodes must have been added.
  func begin() {
    for wanted in graph.wantedPorts where !wanted.isMIDI {
      let memory = UnsafeMutablePointer<Float>.allocate(capacity: 8192)
      memory.initialize(repeating: .nan, count: 8192)
      ports[wanted.name] = memory
      if wanted.direction == .output {
        outputs.append(wanted.name)
        heard[wanted.name] = []
      }
      wanted.give(ClientPort(cue_port(port: nil, memory: memory, connections: nil)))
    }
    graph.begin()
  }

  /// Runs one cycle. Samples that it does not write become visible.
  @discardableResult func cycle(_ frames: Int) -> Bool {
    for (name, memory) in ports {
      if outputs.contains(name) {
        memory.update(repeating: .nan, count: frames)
      } else {
        for i in 0..<frames { memory[i] = plays(name, frame + Int64(i)) }
      }
    }
    let happened = graph.cycle.pointee.cycle(frames: frames, at: frame)
    for name in outputs { heard[name]! += UnsafeBufferPointer(start: ports[name]!, count: frames) }
    frame += Int64(frames)
    if happened { _ = graph.service() }
    return happened
  }

  func run(_ frames: Int, period: Int = 64) {
    var left = frames
    while left > 0 {
      cycle(min(left, period))
      left -= period
    }
  }

  /// Runs cycles until every edit is complete.
  func settle(period: Int = 64) {
    while !graph.isSettled {
      cycle(period)
      _ = graph.service()
    }
  }

  /// Clears the recorded output, runs cycles and returns their output.
  func listen(_ frames: Int, period: Int = 64, to port: String = "out") -> [Float] {
    forget()
    run(frames, period: period)
    return heard[port]!
  }
  func forget() { for name in outputs { heard[name] = [] } }
}

extension Graph {
  /// Replaces the wires of a chain of nodes by those of another one, in one edit.
  func rewire(_ old: [NodeID], to new: [NodeID]) throws {
    try edit { wiring throws(HostError) in
      for (a, b) in zip(old, old.dropFirst()) { try wiring.disconnect(Wire(from: a, to: b)) }
      for (a, b) in zip(new, new.dropFirst()) { try wiring.connect(a, to: b) }
    }
  }
}
