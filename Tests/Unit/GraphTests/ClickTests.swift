import CRealTime
import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// A sine through a graph that is edited a thousand times without a click.
@Suite(.serialized) struct ClickTests {
  /// A chain of two nodes without a parallel path.
  private struct Chain {
    let rig = Rig()
    let source: NodeID
    let first: NodeID
    let second: NodeID
    let output: NodeID
    init(_ first: TestNode = Gain("first"), _ second: TestNode = Gain("second")) throws {
      source = try rig.graph.add(Generator("source", sine))
      self.first = try rig.graph.add(first)
      self.second = try rig.graph.add(second)
      output = try rig.graph.addOutputs(named: "out", audio: ["out"])
      try rig.graph.connect(source, to: self.first)
      try rig.graph.connect(self.first, to: self.second)
      try rig.graph.connect(self.second, to: output)
      rig.begin()
      rig.run(256)
      rig.forget()
    }
  }

  /// All paths have the same gain, so the sine stays exact.
  @Test func rewiringIsNotHeard() throws {
    let chain = try Chain()
    let graph = chain.rig.graph
    var random = SplitMix(state: 1)
    var order = [chain.first, chain.second]
    for _ in 0..<400 {
      let new = [
        [], [chain.first], [chain.second], [chain.first, chain.second],
        [chain.second, chain.first],
      ].randomElement(using: &random)!
      try graph.rewire(
        [chain.source] + order + [chain.output], to: [chain.source] + new + [chain.output])
      order = new
      // Also in the middle of a crossfade.
      if Bool.random(using: &random) { chain.rig.settle() } else { chain.rig.run(64) }
    }
    chain.rig.settle()
    let heard = chain.rig.heard["out"]!
    let (step, silent) = clicks(heard)
    expectTrue(step <= sineStep * 1.0001)
    expectEqual(silent, 0)
    let wrong = heard.enumerated().count {
      !(abs($0.element - sine(256 + Int64($0.offset))) <= 1e-5)
    }
    expectEqual(wrong, 0)
  }

  @Test func bypassingAndReplacingIsNotHeard() throws {
    let chain = try Chain()
    for i in 0..<400 {
      switch i % 3 {
      case 0: try chain.rig.graph.setBypassed(chain.first, i % 2 == 0)
      case 1: try chain.rig.graph.replace(chain.second, with: Gain("second"))
      default:
        let new = try chain.rig.graph.add(Gain("new"))
        try chain.rig.graph.insert(new, between: chain.first, and: chain.second)
        chain.rig.settle()
        try chain.rig.graph.remove(new, joins: true)
      }
      if i % 4 != 0 { chain.rig.settle() } else { chain.rig.run(128) }
    }
    chain.rig.settle()
    let heard = chain.rig.heard["out"]!
    let wrong = heard.enumerated().count {
      !(abs($0.element - sine(256 + Int64($0.offset))) <= 1e-5)
    }
    expectEqual(wrong, 0)
    expectEqual(clicks(heard).silent, 0)
  }

  /// Different gains and latencies are crossfaded: no step exceeds that of the sine plus that of the
  /// fade, and the output is never silent.
  @Test func fadesAreSmooth() throws {
    let chain = try Chain(Delay("first", 96), Gain("second", 0.5))
    let graph = chain.rig.graph
    chain.rig.run(512)
    chain.rig.forget()
    var isIn = true
    for i in 0..<400 {
      switch i % 4 {
      case 0: try graph.setBypassed(chain.second, i % 8 == 0)
      case 1: try graph.connect(chain.second, to: chain.output, gain: i % 3 == 0 ? 1 : 0.75)
      case 2: try graph.replace(chain.first, with: Delay("first", i % 5 * 48))
      default:
        if isIn {
          try graph.edit { wiring throws(HostError) in
            try wiring.disconnect(Wire(from: chain.source, to: chain.first))
            try wiring.disconnect(Wire(from: chain.first, to: chain.second))
            try wiring.connect(chain.source, to: chain.second)
          }
        } else {
          try graph.insert(chain.first, between: chain.source, and: chain.second)
        }
        isIn.toggle()
      }
      chain.rig.settle()
    }
    let (step, silent) = clicks(chain.rig.heard["out"]!)
    expectTrue(step <= sineStep + 1.0 / 480 + 1e-5)
    expectEqual(silent, 0)
    // The output is not silent throughout.
    expectTrue(chain.rig.heard["out"]!.max()! > 0.7)
  }

  /// If two nodes are swapped, no running order contains both chains.
  @Test func nodesAreSwapped() throws {
    let chain = try Chain(Gain("first", 0.5), Gain("second", 2))
    let graph = chain.rig.graph
    for _ in 0..<20 {
      for order in [[chain.second, chain.first], [chain.first, chain.second]] {
        try graph.edit { wiring throws(HostError) in
          let old = [chain.source] + order.reversed() + [chain.output]
          for (a, b) in zip(old, old.dropFirst()) { try wiring.disconnect(Wire(from: a, to: b)) }
          let next = [chain.source] + order + [chain.output]
          for (a, b) in zip(next, next.dropFirst()) { try wiring.connect(a, to: b) }
        }
        chain.rig.settle()
      }
    }
    // In between, the nodes run in parallel and are slightly louder.
    let (step, silent) = clicks(chain.rig.heard["out"]!)
    expectTrue(step <= sineStep * 1.3 + 1.0 / 480)
    expectEqual(silent, 0)
    chain.rig.forget()
    let begin = chain.rig.frame
    chain.rig.run(64)
    expectEqual(chain.rig.heard["out"], (begin..<begin + 64).map(sine))
  }

  /// During a fade, the gain is a linear function of the frame.
  @Test func aFadeIsLinearAndInStep() throws {
    let rig = Rig()
    let one = try rig.graph.add(Generator("one") { _ in 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(one, to: output)
    rig.begin()
    rig.run(64)
    try rig.graph.connect(one, to: output, gain: 0.5)
    let heard = rig.listen(640)
    for frame in 0..<640 {
      expectTrue(abs(heard[frame] - max(0.5, 1 - 0.5 * Float(frame) / 480)) < 1e-6)
    }
  }
}
