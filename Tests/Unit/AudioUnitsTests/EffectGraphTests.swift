import CProbe
import CRealTime
import Graph
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// Audio units as nodes of a client's graph. `effects.c` has the queues.
@Suite(.tags(.program)) struct EffectGraphTests {
  /// Runs a node with inputs that are constants.
  private func run(_ node: UnitNode, _ inputs: [Float], frames: Int = 128) -> [[Float]] {
    let planes = (0..<node.inputs + node.outputs).map { _ in
      UnsafeMutablePointer<Float>.allocate(capacity: frames)
    }
    defer { for plane in planes { plane.deallocate() } }
    for (i, value) in inputs.enumerated() { planes[i].update(repeating: value, count: frames) }
    for plane in planes.dropFirst(node.inputs) { plane.update(repeating: .nan, count: frames) }
    let sources = planes.prefix(node.inputs).map { UnsafePointer($0) }
    let targets = Array(planes.dropFirst(node.inputs))
    sources.withUnsafeBufferPointer { sources in
      targets.withUnsafeBufferPointer { targets in
        var block = cue_block()
        block.frames = UInt32(frames)
        block.inputs = sources.baseAddress
        block.outputs = targets.baseAddress
        cue_rt_run_node(node.processor, &block)
      }
    }
    return targets.map { Array(UnsafeBufferPointer(start: $0, count: frames)) }
  }

  @Test func theBusesOfAMixerAreTheInputsOfItsNode() throws {
    let unit = try make(.multiChannelMixer)
    try unit.setBusCount(2, .input)
    try unit.setFormat(planar(2), .input, 0)
    try unit.setFormat(planar(1), .input, 1)
    try unit.setFormat(planar(2), .output, 0)
    expectEqual(unit.set(0, 0.5, scope: 1, element: 0), 0)
    expectEqual(unit.set(0, 0.25, scope: 1, element: 1), 0)
    let node = try UnitNode(unit, channels: nil, sampleRate: 44100)
    expectTrue(node.inputs == 3 && node.outputs == 2 && node.firstChannels == [0, 2])
    // The graph's rate is that of the server.
    try node.prepare(sampleRate: 44100, maximumFrames: 256)
    try expectEqual(unit.bus(.input, 1).format.sampleRate, 44100)
    let found = run(node, [1, 2, 4])
    expectTrue(found[0].allSatisfy { $0 == 1.5 } && found[1].allSatisfy { $0 == 2 })
    unit.dispose()
  }

  @Test func aUnitThatWasDisposedOfPassesTheSoundOn() throws {
    let unit = try make(.varispeed)
    let node = try UnitNode(unit, channels: 2, sampleRate: 48000)
    try node.prepare(sampleRate: 48000, maximumFrames: 256)
    unit.dispose()
    expectEqual(run(node, [3, 5]).map { $0[127] }, [3, 5])
  }

  @Test func aUnitWithoutInputIsNoEffect() throws {
    let unit = try make(.soundPlayer)
    #expect(throws: UnitError.self) {
      _ = try UnitNode(unit, channels: 2, sampleRate: 48000)
    }
    unit.dispose()
  }

  @Test func runsOfANodeAllocateNothing() throws {
    try require(cue_probe_works() || isSanitized)
    let unit = try make(.converter)
    let node = try UnitNode(unit, channels: 1, sampleRate: 48000)
    try node.prepare(sampleRate: 48000, maximumFrames: 256)
    var samples = [Float](repeating: 0.5, count: 512)
    let counts = samples.withUnsafeMutableBufferPointer { samples in
      let sources = UnsafeMutablePointer<UnsafePointer<Float>>.allocate(capacity: 1)
      let targets = UnsafeMutablePointer<UnsafeMutablePointer<Float>>.allocate(capacity: 1)
      defer {
        sources.deallocate()
        targets.deallocate()
      }
      sources.initialize(to: UnsafePointer(samples.baseAddress!))
      targets.initialize(to: samples.baseAddress! + 256)
      var block = cue_block()
      block.inputs = UnsafePointer(sources)
      block.outputs = UnsafePointer(targets)
      cue_probe_enter()
      for i in 1...64 {
        block.frames = UInt32(4 * i)
        cue_rt_run_node(node.processor, &block)
      }
      return cue_probe_leave()
    }
    expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
    expectTrue(counts.retains == 0 && counts.releases == 0 && samples[256] == 0.5)
    unit.dispose()
  }
}
