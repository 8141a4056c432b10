import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server

/// Cost of a graph's cycle in nanoseconds, compared with plain loops over the same number of
/// planes.
struct GraphCost: Row {
  /// "chain": a chain of gain nodes; "mixer": one mixer with many sources.
  var shape: String
  /// Nodes of the chain, or edges to the mixer.
  var count: Int
  /// Frames per cycle.
  var period: Int
  var cycleNanoseconds: Spread
  var loopNanoseconds: Double
  /// Cost that each node or edge adds to a graph of one, in excess of the loop; nil for a graph of
  /// one.
  var slope: Double?

  static func all(_ effort: Effort, found: (GraphCost) -> Void) throws {
    for shape in ["chain", "mixer"] {
      for period in [64, 256] {
        var first: GraphCost?
        for count in effort.graphCounts {
          let row = try GraphCost(shape, count, period, first: first, effort)
          first = first ?? row
          found(row)
        }
      }
    }
  }

  static func plots(_ rows: [GraphCost]) -> [Plot] {
    let rows = rows.filter { $0.period == 256 }
    return [
      Plot(
        name: "graph", title: "A graph's cycle of 256 frames, driven by hand",
        x: "nodes of a chain, sources of a mixer", y: "nanoseconds",
        ["chain", "mixer"].flatMap { shape in
          let rows = rows.filter { $0.shape == shape }
          return [
            Plot.Curve(shape, rows) { (Double($0.count), $0.cycleNanoseconds.median) },
            Plot.Curve("\(shape), plain loop", rows) { (Double($0.count), $0.loopNanoseconds) },
          ]
        })
    ]
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A graph's cycle, against plain loops that do the same (medians, and"
        + " quartiles of \(effort.rounds)); what each node of a chain, or each"
        + " source of a mixer, adds beyond the loop",
      "",
      "shape  count  frames" + right("cycle", 32) + "       loop      each",
    ]
  }

  func lines(after rows: [GraphCost]) -> [String] {
    [
      left(shape, 6) + right("\(count)", 6) + right("\(period)", 8)
        + right("\(cycleNanoseconds.text(1)) ns", 32)
        + right("\(number(loopNanoseconds, 1)) ns", 11)
        + right(slope.map { "\(number($0, 1)) ns" } ?? "-", 10)
    ]
  }

  private init(_ shape: String, _ count: Int, _ period: Int, first: GraphCost?, _ effort: Effort)
    throws
  {
    let run =
      shape == "chain" ? try GraphRun(chain: count, period) : try GraphRun(edges: count, period)
    let cycles = max(2, effort.framesPerRound / period / count)
    var times: (graph: [Double], loop: [Double]) = ([], [])
    for _ in 0..<effort.rounds {
      times.graph.append(CycleCost.nanoseconds(of: cycles, run.cycle))
      times.loop.append(CycleCost.nanoseconds(of: cycles, run.loop))
    }
    self.shape = shape
    self.count = count
    self.period = period
    cycleNanoseconds = Spread(times.graph)
    loopNanoseconds = median(times.loop)
    if let first {
      let graph = cycleNanoseconds.median - first.cycleNanoseconds.median
      let loop = loopNanoseconds - first.loopNanoseconds
      slope = (graph - loop) / Double(count - first.count)
    }
  }
}

/// A gain node with one channel: a minimal plugin.
private final class Amplifier: GraphNode, @unchecked Sendable {
  let name = "amplifier"
  let inputs: Int
  let outputs = 1
  private let gain = UnsafeMutablePointer<Float>.allocate(capacity: 1)

  /// Without an input, the node leaves its output unchanged.
  init(hasInput: Bool) {
    inputs = hasInput ? 1 : 0
    gain.initialize(to: 0.999)
  }
  deinit { gain.deallocate() }

  var processor: cue_node {
    inputs == 0
      ? cue_node(run: { _, _ in }, context: gain, prefetched_bytes: 0)
      : cue_node(
        run: { context, block in
          let gain = context.assumingMemoryBound(to: Float.self).pointee
          let (source, result) = (block.pointee.inputs![0], block.pointee.outputs![0])
          for i in 0..<Int(block.pointee.frames) { result[i] = source[i] * gain }
        }, context: gain, prefetched_bytes: 0)
  }
  func prepare(sampleRate: Double, maximumFrames: Int) {}
}

/// A graph driven by hand, and equivalent plain loops.
private final class GraphRun {
  private let graph: Graph
  private let period: Int
  private var frame: Int64 = 0
  private let output: UnsafeMutablePointer<Float>
  private var planes: [UnsafeMutablePointer<Float>] = []
  private let node = Amplifier(hasInput: true)
  private let isChain: Bool

  convenience init(chain count: Int, _ period: Int) throws {
    try self.init(count, period, isChain: true) { graph, output in
      var last = try graph.add(Amplifier(hasInput: false))
      for _ in 0..<count {
        let next = try graph.add(Amplifier(hasInput: true))
        try graph.connect(last, to: next)
        last = next
      }
      try graph.connect(last, to: output)
    }
  }

  convenience init(edges count: Int, _ period: Int) throws {
    try self.init(count, period, isChain: false) { graph, output in
      let mixer = graph.addMixer(named: "mixer", channels: 1)
      for _ in 0..<count {
        let source = try graph.add(Amplifier(hasInput: false))
        try graph.connect(source, to: mixer, gain: 0.5)
      }
      try graph.connect(mixer, to: output)
    }
  }

  private init(
    _ count: Int, _ period: Int, isChain: Bool, _ build: (Graph, NodeID) throws -> Void
  ) throws {
    self.period = period
    self.isChain = isChain
    graph = Graph(
      types: cue_event_types(sequence: 1, chunk: 2, midi: 3), sampleRate: 48000,
      blockFrames: period)
    output = .allocate(capacity: period)
    output.initialize(repeating: 0, count: period)
    planes = (0...count).map { _ in
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: period)
      plane.initialize(repeating: 0, count: period)
      return plane
    }
    let out = try graph.addOutputs(named: "out", audio: ["out"])
    try build(graph, out)
    graph.wantedPorts[0].give(
      ClientPort(cue_port(port: nil, memory: output, connections: nil)))
    graph.begin()
  }

  deinit {
    output.deallocate()
    for plane in planes { plane.deallocate() }
  }

  func cycle(_ cycles: Int) {
    let engine = graph.cycle
    for _ in 0..<cycles {
      _ = engine.pointee.cycle(frames: period, at: frame)
      frame += Int64(period)
    }
  }

  func loop(_ cycles: Int) {
    isChain ? chain(cycles) : mix(cycles)
  }

  /// Calls the node for one plane after another, as a plugin benchmark does.
  private func chain(_ cycles: Int) {
    let processor = node.processor
    var block = cue_block()
    block.frames = UInt32(period)
    for _ in 0..<cycles {
      for i in 1..<planes.count {
        var source = UnsafePointer(planes[i - 1])
        var result = planes[i]
        withUnsafePointer(to: &source) { source in
          withUnsafePointer(to: &result) { result in
            block.inputs = source
            block.outputs = result
            processor.run(processor.context, &block)
          }
        }
      }
      memcpy(output, planes[planes.count - 1], period * 4)
    }
  }

  private func mix(_ cycles: Int) {
    let sum = planes[0]
    for _ in 0..<cycles {
      for i in 1..<planes.count {
        let source = planes[i]
        if i == 1 {
          for frame in 0..<period { sum[frame] = source[frame] * 0.5 }
        } else {
          for frame in 0..<period { sum[frame] += source[frame] * 0.5 }
        }
      }
      memcpy(output, sum, period * 4)
    }
  }
}
