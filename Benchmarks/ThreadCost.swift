import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import System
import TestSupport

/// Cost of chains of plugins side by side, on one thread and on several: cycles driven by hand.
struct ThreadCost: Row {
  var plugin: String
  /// Chains, and plugins in each.
  var chains: Int
  var length: Int
  /// Threads of the second measurement: as many as there are processors, at most four.
  var threads: Int
  var oneThreadMicroseconds: Spread
  var threadsMicroseconds: Spread

  /// Frames of a cycle.
  static let period = 256

  static func all(_ effort: Effort, found: (ThreadCost) -> Void) throws {
    let world = World()
    let uris = [
      "http://gareus.org/oss/lv2/fil4#mono", "http://plugin.org.uk/swh-plugins/triplePara",
      "http://lv2plug.in/plugins/eg-amp",
    ]
    for uri in uris {
      guard (try? world.description(of: uri)) != nil else {
        progress("there is no <\(uri)> here: it is left out")
        continue
      }
      let name = String(uri.split(separator: "/").last!.prefix { $0 != "#" })
      progress("threads: \(name)")
      for (chains, length) in effort.threadedChains {
        let threads = min(4, availableProcessors)
        let runs = try [1, threads].map {
          try ThreadedRun(uri, chains, length, threads: $0, in: world)
        }
        var times = runs.map { _ in [Double]() }
        let cycles = max(16, effort.framesPerRound / period)
        // Before the first round, the graph finds out whether several threads are faster.
        for run in runs { run.cycle(effort.rounds * 8) }
        for _ in 0..<effort.rounds / 8 + 1 {
          for (i, run) in runs.enumerated() {
            times[i].append(CycleCost.nanoseconds(of: cycles, run.cycle) / 1000)
          }
        }
        found(
          ThreadCost(
            plugin: name, chains: chains, length: length, threads: threads,
            oneThreadMicroseconds: Spread(times[0]), threadsMicroseconds: Spread(times[1])))
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Chains of plugins side by side, cycles of \(period) frames driven by hand, on one thread and with --threads"
        + " (medians, and quartiles)",
      "",
      "plugin       chains  plugins of each" + right("one thread", 29) + right("threads", 32)
        + "   ratio",
    ]
  }

  func lines(after rows: [ThreadCost]) -> [String] {
    [
      left(plugin, 12) + right("\(chains)", 7) + right("\(length)", 17)
        + right("\(oneThreadMicroseconds.text(1)) µs", 30)
        + right("\(threads): \(threadsMicroseconds.text(1)) µs", 32)
        + right(number(threadsMicroseconds.median / oneThreadMicroseconds.median, 2), 8)
    ]
  }
}

/// A graph of chains side by side, driven by hand.
private final class ThreadedRun {
  private let graph: Graph
  private var planes: [UnsafeMutablePointer<Float>] = []
  private var frame: Int64 = 0

  init(_ uri: String, _ chains: Int, _ length: Int, threads: Int, in world: World) throws {
    graph = Graph(
      sampleRate: 48000, blockFrames: ThreadCost.period, threads: GraphThreads(threads))
    let input = try graph.addInputs(named: "in", audio: ["in"])
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    for _ in 0..<chains {
      var last = input
      for _ in 0..<length {
        let plugin = try PluginInstance(
          uri, in: world,
          settings: PluginSettings(sampleRate: 48000, maximumFrames: ThreadCost.period))
        let next = try graph.add(plugin)
        try graph.connect(Wire(from: last, to: next))
        last = next
      }
      try graph.connect(Wire(from: last, to: output))
    }
    var noise = SystemRandomNumberGenerator()
    for port in graph.wantedPorts {
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: ThreadCost.period)
      for i in 0..<ThreadCost.period { plane[i] = Float.random(in: -0.1...0.1, using: &noise) }
      port.give(ClientPort(cue_port(port: nil, memory: plane, connections: nil)))
      planes.append(plane)
    }
    graph.begin()
  }

  deinit {
    graph.halt()
    for plane in planes { plane.deallocate() }
  }

  func cycle(_ cycles: Int) {
    let mode = cue_rt_float_mode()
    cue_rt_flush_denormals()
    for _ in 0..<cycles {
      _ = graph.cycle.pointee.cycle(frames: ThreadCost.period, at: frame)
      frame += Int64(ThreadCost.period)
    }
    cue_rt_set_float_mode(mode)
  }
}
