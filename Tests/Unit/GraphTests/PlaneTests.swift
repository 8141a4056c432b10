import CRealTime
import System
import TestSupport
import Testing

@testable import Graph
@testable import PluginHost

/// The planes to which nodes write.
@Suite struct PlaneTests {
  /// A node that doubles its input and records the addresses that it read and wrote.
  private final class Witness: TestNode, @unchecked Sendable {
    private(set) var read: UnsafePointer<Float>?
    private(set) var written: UnsafeMutablePointer<Float>?
    override func work(_ block: cue_block) {
      read = block.inputs![0]
      written = block.outputs![0]
      for i in 0..<Int(block.frames) { written![i] = read![i] * 2 }
    }
  }

  private func rig(_ witnesses: [Witness], sideWay: Bool) throws -> Rig {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { Float($0 & 255) })
    let mixer = rig.graph.addMixer(named: "mix", channels: 1)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    var last = source
    for witness in witnesses {
      let next = try rig.graph.add(witness)
      try rig.graph.connect(last, to: next)
      last = next
    }
    try rig.graph.connect(last, to: mixer)
    if sideWay { try rig.graph.connect(source, to: mixer, gain: 0.5) }
    try rig.graph.connect(mixer, to: output)
    rig.begin()
    return rig
  }

  @Test func aRowOfNodesKeepsToTwoPlanes() throws {
    let witnesses = (0..<8).map { Witness("\($0)") }
    let rig = try rig(witnesses, sideWay: false)
    let expected: [Float] = (0..<100).map { 256 * Float($0) }
    expectEqual(rig.listen(100), expected)
    expectEqual(Set(witnesses.map(\.written)).count, 2)
    expectTrue(witnesses.allSatisfy { $0.read != UnsafePointer($0.written) })
  }

  @Test func whatIsReadLaterIsNotWrittenOver() throws {
    let witnesses = (0..<4).map { Witness("\($0)") }
    let rig = try rig(witnesses, sideWay: true)
    let expected: [Float] = (0..<100).map { 16.5 * Float($0) }
    expectEqual(rig.listen(100), expected)
    expectTrue(witnesses.dropFirst().allSatisfy { UnsafePointer($0.written) != witnesses[0].read })
  }

  /// The input of a bypassed node is read after it ran, possibly from its source's output plane.
  @Test func theWayAroundANodeIsNotWrittenOver() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { Float($0 & 255) })
    let around = try rig.graph.add(Gain("around", 100))
    let (a, b) = (try rig.graph.add(Gain("a", 2)), try rig.graph.add(Gain("b", 2)))
    let mixer = rig.graph.addMixer(named: "mix", channels: 1)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    for (from, to) in [(source, around), (around, mixer), (source, a), (a, b), (b, mixer)] {
      try rig.graph.connect(from, to: to)
    }
    try rig.graph.connect(mixer, to: output)
    try rig.graph.setBypassed(around, true)
    rig.begin()
    let expected: [Float] = (0..<100).map { 5 * Float($0) }
    expectEqual(rig.listen(100), expected)
  }
}

@Suite struct ArenaTests {
  @Test func memoryIsZeroSharesPagesAndGoesWithTheLastWhoKeepsIt() {
    weak var page: ArenaPage?
    do {
      var pages: [ArenaPage] = []
      let numbers = (0..<4).map { _ in
        Arena.small.allocate(8, of: UInt64.self, keptBy: &pages)
      }
      for number in numbers {
        expectTrue((0..<8).allSatisfy { number[$0] == 0 })
        expectEqual(UInt(bitPattern: number) % 64, 0)
        number.update(repeating: .max, count: 8)
      }
      let distances = zip(numbers.dropFirst(), numbers).map { $0 - $1 }
      // Unless a memory block ends between them.
      expectTrue(distances.filter { $0 == 8 }.count >= 2)

      var own: [ArenaPage] = []
      let long = Arena.small.allocate(1 << 17, of: UInt8.self, keptBy: &own)
      expectTrue(own.count == 1 && !pages.contains { $0 === own[0] })
      long.update(repeating: 1, count: 1 << 17)
      page = own[0]
      withExtendedLifetime(own) { expectTrue(page != nil) }
    }
    expectNil(page)
  }
}
