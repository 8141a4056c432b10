import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Synchronization
import TestSupport
import Testing

/// Graphs that several threads run.
@Suite(.serialized) struct HelperThreadTests {
  /// A gain that counts its blocks and calls `body` in each.
  private final class Meeting: TestNode, @unchecked Sendable {
    let body: (Int) -> Void
    private(set) var blocks = 0
    init(_ name: String, _ body: @escaping (Int) -> Void) {
      self.body = body
      super.init(name)
    }
    override func work(_ block: cue_block) {
      blocks += 1
      body(blocks)
      for i in 0..<Int(block.frames) { block.outputs![0][i] = block.inputs![0][i] }
    }
  }

  /// Connects each node to one input and to one output.
  @discardableResult
  private func connect(_ nodes: [TestNode], in rig: Rig) throws -> [NodeID] {
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    let ids = try nodes.map { node in
      let id = try rig.graph.add(node)
      try rig.graph.connect(input, to: id)
      try rig.graph.connect(id, to: output)
      return id
    }
    rig.plays = { _, frame in Float(frame & 255) }
    rig.begin()
    return ids
  }

  /// Each of as many nodes as threads waits in each block until all have begun it.
  @Test(arguments: [2, 4]) func nodesSideBySideRunAtTheSameTime(threads: Int) throws {
    let begun = Atomic<Int>(0)
    let areAlone = Atomic<Int>(0)
    let rig = Rig(blockFrames: 64, threads: threads)
    let nodes = (0..<threads).map { number in
      Meeting("\(number)") { block in
        let count = begun.add(1, ordering: .acquiringAndReleasing).newValue
        let isMet =
          count == block * threads
          || waits { begun.load(ordering: .acquiring) >= block * threads }
        if !isMet { areAlone.add(1, ordering: .relaxed) }
      }
    }
    try connect(nodes, in: rig)
    expectEqual(rig.listen(1000), (0..<1000).map { Float(threads * ($0 & 255)) })
    expectEqual(areAlone.load(ordering: .relaxed), 0)
    expectTrue(nodes.allSatisfy { $0.blocks == 16 })
  }

  /// On one thread, the nodes run after each other.
  @Test func oneThreadRunsAll() throws {
    let thread = pthread_self()
    let others = Atomic<Int>(0)
    let rig = Rig()
    let nodes = (0..<3).map { number in
      Meeting("\(number)") { _ in
        if pthread_equal(pthread_self(), thread) == 0 { others.add(1, ordering: .relaxed) }
      }
    }
    try connect(nodes, in: rig)
    expectEqual(rig.listen(1000), (0..<1000).map { (i: Int) in Float(3 * (i & 255)) })
    expectEqual(others.load(ordering: .relaxed), 0)
  }

  /// A cycle whose node hangs on either thread is given up: what it may use is kept, later cycles lead the
  /// nodes around, and the graph ends.
  @Test func aStuckNodeOfAHelperIsLedAround() throws {
    let isFree = Atomic<Bool>(false)
    let working = Atomic<Int>(0)
    var rig: Rig? = Rig(blockFrames: 64, threads: 2)
    let nodes = (0..<2).map { number in
      Meeting("\(number)") { _ in
        working.add(1, ordering: .releasing)
        while !isFree.load(ordering: .acquiring) { usleep(1000) }
      }
    }
    try connect(nodes, in: rig!)
    let isOver = DispatchSemaphore(value: 0)
    // Only the other thread uses the rig meanwhile.
    nonisolated(unsafe) let other = rig!
    Thread.detachNewThread {
      other.cycle(64)
      isOver.signal()
    }
    expectTrue(waits { working.load(ordering: .acquiring) == 2 })
    rig!.graph.halt()
    isFree.store(true, ordering: .releasing)
    isOver.wait()
    rig!.graph.begin()
    expectEqual(rig!.listen(256, period: 64), (64..<320).map { (i: Int) in Float(2 * (i & 255)) })
    expectTrue(nodes.allSatisfy { $0.blocks == 1 })
    rig = nil
  }

  /// A node asks for attention, and another one makes samples that are no numbers, on whichever thread.
  @Test func whatNodesReportIsTold() throws {
    let rig = Rig(blockFrames: 64, threads: 3)
    let delays = (0..<3).map { Delay("\($0)", 1) }
    let bad = Gain("bad", .nan)
    let ids = try connect(delays + [bad], in: rig)
    _ = rig.listen(64)
    for (i, delay) in delays.enumerated() {
      delay.change(to: 5 + i)
      // The graph fades to the delays that make up for it.
      rig.run(64)
      rig.settle()
    }
    let sound = rig.listen(128)
    let first = Int(rig.frame) - 128 - 7
    expectEqual(sound, (0..<128).map { (i: Int) in Float(3 * ((i + first) & 255)) })
    expectTrue(try rig.graph.badSamples(of: ids[3]) >= 64)
  }
}
