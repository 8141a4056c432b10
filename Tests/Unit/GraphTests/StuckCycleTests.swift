import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Synchronization
import TestSupport
import Testing

/// A node that blocks in its work until it is released.
private final class Stuck: TestNode, @unchecked Sendable {
  let isWorking = Atomic<Bool>(false)
  let isFree = Atomic<Bool>(false)
  override func work(_ block: cue_block) {
    isWorking.store(true, ordering: .releasing)
    while !isFree.load(ordering: .acquiring) { usleep(1000) }
    for i in 0..<Int(block.frames) { block.outputs![0][i] = block.inputs![0][i] }
  }
}

/// Cycles that exceed the timeout: the memory that they use is kept.
@Suite(.tags(.slow), .serialized) struct StuckCycleTests {
  /// Runs a cycle of `rig` that blocks in a node, calls `body` meanwhile, and then releases the node.
  private func whileStuck(_ rig: Rig, _ node: Stuck, _ body: () -> Void) throws {
    rig.begin()
    let isOver = DispatchSemaphore(value: 0)
    // Only the other thread uses the rig meanwhile.
    nonisolated(unsafe) let other = rig
    Thread.detachNewThread {
      other.cycle(64)
      isOver.signal()
    }
    let isStuck = waits { node.isWorking.load(ordering: .acquiring) }
    expectTrue(isStuck)
    body()
    node.isFree.store(true, ordering: .releasing)
    isOver.wait()
  }

  private func rig(_ node: Stuck) throws -> Rig {
    let rig = Rig(blockFrames: 64)
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let id = try rig.graph.add(node)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.edit { wiring throws(HostError) in
      try wiring.connect(input, to: id)
      try wiring.connect(id, to: output)
    }
    rig.plays = { _, frame in Float(frame) + 1 }
    return rig
  }

  /// Nodes in use by the cycle are neither prepared nor freed; this happens later.
  @Test func nothingIsMadeReadyUnderACycle() throws {
    let node = Stuck("stuck")
    let rig = try rig(node)
    let before = node.prepared.count
    try whileStuck(rig, node) {
      expectTrue(!rig.graph.prepare(blockFrames: 256))
      expectEqual(node.prepared.count, before)
    }
    expectEqual(rig.heard["out"]!, (1...64).map { Float($0) })
    expectTrue(rig.graph.prepare(blockFrames: 256))
    expectEqual(node.prepared.last?.frames, 256)
    expectEqual(rig.listen(256, period: 256).last, Float(64 + 256))
  }

  /// An abandoned cycle may still continue: its memory is kept, and its nodes are bypassed.
  @Test func aCycleThatIsGivenUpKeepsItsMemory() throws {
    let node = Stuck("stuck")
    let rig = try rig(node)
    let before = node.prepared.count
    try whileStuck(rig, node) {
      rig.graph.halt()
      rig.graph.prepare(sampleRate: 96000, blockFrames: 256)
      expectEqual(node.prepared.count, before)
    }
    rig.graph.begin()
    expectEqual(rig.listen(256, period: 256), (65...320).map { Float($0) })
    expectTrue(rig.graph.report.nodes.contains { $0.name == "stuck" && $0.isUnready })
  }
}
