import CProbe
import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import TestSupport
import Testing

/// Returns a value that identifies the frame exactly.
private func number(_ frame: Int64) -> Float { Float(frame & 0xffff) }

@Suite(.serialized) struct GraphTests {
  @Test func whatComesInGoesOut() throws {
    let rig = Rig()
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(input, to: output)
    rig.plays = { _, frame in number(frame) }
    rig.begin()
    expectEqual(rig.listen(300, period: 100), (0..<300).map { number($0) })
  }

  @Test func anOutputToWhichNothingLeadsIsSilent() throws {
    let rig = Rig()
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let output = try rig.graph.addOutputs(named: "out", audio: ["out", "other"])
    try rig.graph.connect(Wire(from: input, to: output))
    rig.plays = { _, _ in 1 }
    rig.begin()
    expectEqual(rig.listen(10, to: "other"), Array(repeating: 0, count: 10))
  }

  @Test func aMixerSumsWithGains() throws {
    let rig = Rig()
    let a = try rig.graph.add(Generator("a") { number($0) })
    let b = try rig.graph.add(Generator("b") { _ in 1000 })
    let mixer = rig.graph.addMixer(named: "mix", channels: 1)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(Wire(from: a, to: mixer), gain: 0.5)
    try rig.graph.connect(Wire(from: b, to: mixer), gain: 2)
    try rig.graph.connect(mixer, to: output)
    rig.begin()
    expectEqual(rig.listen(100), (0..<100).map { number($0) / 2 + 2000 })
  }

  @Test func channelsAreMixedUpAndDown() throws {
    let rig = Rig()
    let one = try rig.graph.add(Generator("one") { _ in 8 })
    let two = rig.graph.addMixer(named: "two", channels: 2)
    let three = rig.graph.addMixer(named: "three", channels: 3)
    let output = try rig.graph.addOutputs(named: "out", audio: ["l", "r"])
    try rig.graph.connect(one, to: two)
    try rig.graph.connect(two, to: three)
    try rig.graph.connect(three, to: output, gain: 0.5)
    rig.begin()
    rig.run(8)
    expectEqual(rig.heard["l"], Array(repeating: 4, count: 8))
    expectEqual(rig.heard["r"], Array(repeating: 4, count: 8))
    expectEqual(rig.graph.wires[Wire(from: three, 2, to: output, 0)], 0.25)
    expectEqual(rig.graph.wires[Wire(from: three, 1, to: output, 1)], 0.5)
  }

  // MARK: Refused edits

  @Test func feedbackIsRefusedAndNamed() throws {
    let rig = Rig()
    let ids = try ["a", "b", "c"].map { try rig.graph.add(Gain($0)) }
    try rig.graph.connect(ids[0], to: ids[1])
    try rig.graph.connect(ids[1], to: ids[2])
    let before = rig.graph.wires
    #expect(throws: HostError.feedback(path: ["c", "a", "b", "c"])) {
      try rig.graph.connect(ids[2], to: ids[0])
    }
    #expect(throws: HostError.feedback(path: ["b", "b"])) {
      try rig.graph.connect(ids[1], to: ids[1])
    }
    expectEqual(rig.graph.wires, before)
    expectEqual(
      HostError.feedback(path: ["c", "a", "c"]).description, "that would feed back: “c” → “a” → “c”"
    )
  }

  @Test func whatIsNotThereIsNamed() throws {
    let rig = Rig()
    let a = try rig.graph.add(Gain("a"))
    let b = try rig.graph.add(Gain("b"))
    #expect(throws: HostError.noSuchPort(node: "a", kind: .output, number: 2)) {
      try rig.graph.connect(Wire(from: a, 1, to: b))
    }
    #expect(throws: HostError.noSuchPort(node: "b", kind: .eventInput, number: 1)) {
      let c = try rig.graph.add(TestNode("c", eventOutputs: 1))
      try rig.graph.connect(Wire(from: c, to: b, isEvent: true))
    }
    #expect(throws: HostError.notConnected(from: "a", to: "b")) {
      try rig.graph.disconnect(Wire(from: a, to: b))
    }
    try rig.graph.remove(a)
    #expect(throws: HostError.unknownNode(number: a.number)) { try rig.graph.remove(a) }
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    #expect(throws: HostError.portNameTaken("out")) {
      _ = try rig.graph.addInputs(named: "in", audio: ["out"])
    }
    #expect(throws: HostError.gainIsNoNumber(from: "c", to: "b", gain: "nan")) {
      try rig.graph.connect(try rig.graph.add(Gain("c")), to: b, gain: .nan)
    }
    #expect(throws: HostError.doesNotFit(node: "out")) { try rig.graph.connect(output, to: b) }
    let bad = Gain("bad")
    bad.refuses = true
    #expect(throws: HostError.unknownPlugin(uri: "bad")) { _ = try rig.graph.add(bad) }
    expectEqual(
      HostError.noSuchPort(node: "b", kind: .eventInput, number: 1).description,
      "“b” has no event input 1")
  }

  /// Several edits are applied together or not at all.
  @Test func aBatchThatFailsLeavesTheGraphAsItWas() throws {
    let rig = Rig()
    let a = try rig.graph.add(Gain("a"))
    let b = try rig.graph.add(Gain("b"))
    #expect(throws: HostError.feedback(path: ["b", "a", "b"])) {
      try rig.graph.edit { wiring throws(HostError) in
        try wiring.connect(a, to: b)
        try wiring.connect(b, to: a)
      }
    }
    expectTrue(rig.graph.wires.isEmpty)
  }

  // MARK: Delay compensation

  @Test func parallelBranchesLineUp() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { number($0) })
    let slow = Delay("slow", 37)
    let slowID = try rig.graph.add(slow)
    let slower = try rig.graph.add(Delay("slower", 100))
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(source, to: output)
    for id in [slowID, slower] {
      try rig.graph.connect(source, to: id)
      try rig.graph.connect(id, to: output)
    }
    rig.begin()
    rig.run(200)
    expectEqual(rig.listen(300), (200..<500).map { 3 * number($0 - 100) })
    try expectEqual(rig.graph.latency(of: output), 100)
    // The latency changes while the node runs.
    for frames in [250, 3, 0, 700] {
      slow.change(to: frames)
      rig.cycle(64)
      rig.settle()
      rig.run(1024)
      let begin = rig.frame
      let latency = Int64(max(100, frames))
      expectEqual(rig.listen(64), (begin..<begin + 64).map { 3 * number($0 - latency) })
      try expectEqual(rig.graph.latency(of: output), Int(latency))
    }
  }

  /// A bypass has the same latency as the node.
  @Test func aBypassIsAsLateAsTheNode() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { number($0) })
    let node = try rig.graph.add(Delay("node", 50))
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(source, to: output)
    try rig.graph.connect(source, to: node)
    try rig.graph.connect(node, to: output)
    rig.begin()
    rig.run(100)
    for isOn in [true, false] {
      try rig.graph.setBypassed(node, isOn)
      let begin = rig.frame
      // Nothing else is audible at any time.
      for (i, sample) in rig.listen(960).enumerated() {
        let right = 2 * number(begin + Int64(i) - 50)
        expectTrue(abs(sample - right) <= right * 1e-6)
      }
      rig.settle()
    }
  }

  // MARK: Blocks

  @Test(arguments: [1, 17, 64, 1000])
  func aCycleMayBeSplit(blockFrames: Int) throws {
    func listen(_ blockFrames: Int, _ period: Int) throws -> [Float] {
      let rig = Rig(blockFrames: blockFrames)
      let input = try rig.graph.addInputs(named: "in", audio: ["in"])
      let gain = try rig.graph.add(Gain("gain", 0.3))
      let slow = try rig.graph.add(Delay("slow", 77))
      let source = try rig.graph.add(Generator("source") { Float(sin(Double($0) * 0.1)) })
      let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
      try rig.graph.connect(input, to: gain)
      try rig.graph.connect(gain, to: output, gain: 0.7)
      try rig.graph.connect(input, to: slow)
      try rig.graph.connect(slow, to: output, gain: 0.11)
      try rig.graph.connect(source, to: output, gain: 0.13)
      rig.plays = { _, frame in Float(cos(Double(frame) * 0.01)) }
      rig.begin()
      rig.run(1000, period: period)
      // Also during a fade.
      try rig.graph.connect(gain, to: output, gain: -0.5)
      rig.run(2000, period: period)
      return rig.heard["out"]!
    }
    let whole = try listen(1000, 1000)
    try expectEqual(listen(blockFrames, 1000), whole)
    try expectEqual(listen(1000, blockFrames), whole)
  }

  @Test func aCycleThatComesTwiceIsPlayedOnce() throws {
    let rig = Rig()
    let slow = try rig.graph.add(Delay("slow", 100))
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(input, to: slow)
    try rig.graph.connect(slow, to: output)
    rig.plays = { _, frame in number(frame) }
    rig.begin()
    rig.run(64)
    rig.frame -= 64
    rig.cycle(64)
    expectEqual(rig.listen(64), (64..<128).map { $0 < 100 ? 0 : number($0 - 100) })
  }

  @Test func nodesAreMadeReadyAgainForAnotherRateAndLongerBlocks() throws {
    let rig = Rig(blockFrames: 64)
    let gain = Gain("gain")
    let bad = Gain("bad", 7)
    let source = try rig.graph.add(Generator("source") { _ in 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    let (id, badID) = (try rig.graph.add(gain), try rig.graph.add(bad))
    try rig.graph.edit { wiring throws(HostError) in
      try wiring.connect(source, to: id)
      try wiring.connect(id, to: badID)
      try wiring.connect(badID, to: output)
    }
    rig.begin()
    expectEqual(rig.listen(100), Array(repeating: 7, count: 100))
    rig.graph.prepare(sampleRate: 48000, blockFrames: 32)
    expectEqual(gain.prepared.count, 1)
    rig.graph.prepare(sampleRate: 48000, blockFrames: 512)
    bad.refuses = true
    rig.graph.prepare(sampleRate: 96000, blockFrames: 128)
    expectEqual(gain.prepared.map(\.rate), [48000, 48000, 96000])
    expectEqual(gain.prepared.map(\.frames), [64, 512, 512])
    // A node that cannot continue is bypassed.
    expectEqual(rig.listen(1000, period: 500), Array(repeating: 1, count: 1000))
  }

  @Test func whileNodesAreMadeReadyThereIsSilence() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { _ in 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(source, to: output)
    rig.begin()
    rig.graph.cycle.pointee.hold()
    expectEqual(rig.listen(64), Array(repeating: 0, count: 64))
    rig.graph.cycle.pointee.release()
    expectEqual(rig.listen(64), Array(repeating: 1, count: 64))
  }

  // MARK: Faulty nodes

  @Test func whatIsNoNumberIsSilentAndCounted() throws {
    let rig = Rig()
    let bad = try rig.graph.add(
      Generator("bad") { $0 == 3 ? .nan : $0 == 5 ? .infinity : $0 == 7 ? -.infinity : 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(bad, to: output)
    rig.begin()
    rig.cycle(64)
    expectEqual(rig.heard["out"], (0..<64).map { [3, 5, 7].contains($0) ? 0 : 1 })
    try expectEqual(rig.graph.badSamples(of: bad), 3)
    let largest = try rig.graph.add(Generator("largest") { _ in .greatestFiniteMagnitude })
    try rig.graph.edit { wiring throws(HostError) in
      try wiring.disconnect(Wire(from: bad, to: output))
      try wiring.connect(largest, to: output)
    }
    rig.settle()
    expectTrue(rig.listen(8).allSatisfy { $0 == .greatestFiniteMagnitude })
    try expectEqual(rig.graph.badSamples(of: largest), 0)
  }

  // MARK: Memory

  @Test func whatIsRemovedIsGivenBack() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { _ in 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    weak var gone: Gain?
    try {
      let gain = Gain("gain")
      gone = gain
      let id = try rig.graph.add(gain)
      try rig.graph.connect(source, to: id)
      try rig.graph.connect(id, to: output)
      rig.begin()
      rig.run(64)
      try rig.graph.remove(id, joins: true)
    }()
    expectTrue(gone != nil)
    rig.settle()
    expectNil(gone)
    expectEqual(rig.listen(64), Array(repeating: 1, count: 64))
  }

  @Test func aCycleNeitherAllocatesNorLocksNorRetains() throws {
    try require(cue_probe_works() || isSanitized)
    let rig = Rig(blockFrames: 100)
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let bad = try rig.graph.add(Plain("bad", .nan))
    let plain = try rig.graph.add(Plain("plain", 1))
    let mixer = rig.graph.addMixer(named: "mixer", channels: 2)
    let source = rig.graph.addSource(named: "source", channels: 2)
    let output = try rig.graph.addOutputs(named: "out", audio: ["l", "r"])
    let curve = GraphCurve(
      [0, 300, 5000].map { CurvePoint(frame: $0, value: Double(-$0) / 100) }, isStepped: false,
      course: 0)
    rig.graph.addFaders([[(.decibels, curve)]], courses: 1)
    let curves = try rig.graph.add(
      require(rig.graph.controlCurves(named: "curves", [(0, curve)], type: 1)))
    try rig.graph.edit { wiring throws(HostError) in
      try wiring.connect(input, to: plain)
      try wiring.connect(plain, to: mixer)
      try wiring.connect(Wire(from: curves, to: bad, isEvent: true))
      try wiring.connect(bad, to: mixer)
      try wiring.connect(input, to: bad)
      try wiring.connect(source, to: mixer)
      try wiring.connect(mixer, to: output)
      try wiring.connect(Wire(from: mixer, to: output), through: 0)
      try wiring.connect(input, to: output, gain: 0.5)
      try wiring.connect(Wire(from: plain, to: bad, isEvent: true))
    }
    rig.begin()
    rig.cycle(256)
    let cycle = rig.graph.cycle
    var frame = rig.frame
    for round in 0..<8 {
      try rig.graph.connect(input, to: output, gain: Float(round))
      rig.graph.setFaders([Float(round)])
      rig.graph.setCourses([GraphCourse(origin: 0, anchor: frame + 300)])
      if round == 4 { rig.graph.cycle.pointee.hold() }
      for _ in 0..<4 {
        cue_probe_enter()
        _ = cycle.pointee.cycle(frames: 256, at: frame, transport: cue_transport())
        let counts = cue_probe_leave()
        expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
        expectTrue(counts.retains == 0 && counts.releases == 0)
        frame += 256
      }
      if round == 4 { rig.graph.cycle.pointee.release() }
      _ = rig.graph.service()
    }
  }

  // MARK: Listings

  @Test func aGraphIsListed() throws {
    let rig = Rig()
    let input = try rig.graph.addInputs(named: "in", audio: ["in_l"], midi: ["keys"])
    let slow = try rig.graph.add(Delay("slow \"one\"", 64))
    let synth = try rig.graph.add(TestNode("synth", inputs: 0, outputs: 1, eventInputs: 1))
    let output = try rig.graph.addOutputs(named: "out", audio: ["out_l"])
    try rig.graph.connect(Wire(from: input, to: slow))
    try rig.graph.connect(Wire(from: input, to: synth, isEvent: true))
    try rig.graph.connect(synth, to: output, gain: 0.25)
    try rig.graph.connect(slow, to: output)
    try rig.graph.setBypassed(slow, true)
    let report = rig.graph.report
    try expectEqual(GraphReport(json: report.json()), report)
    expectEqual(
      rig.graph.description,
      """
      1 in: JACK inputs, 1 out, 1 out for events
      2 slow "one": node, 1 in, 1 out, takes 64 frames, bypassed
          1 ← in (1) in_l
      3 synth: node, 1 out, 1 in for events
          1 ← in (1) keys, events
      4 out: JACK outputs, 1 in, 64 frames late
          out_l ← slow "one" (2) 1, held back 64 frames
          out_l ← synth (3) 1 × 0.25, held back 64 frames
      """)
    expectEqual(
      rig.graph.report.dot(),
      """
      digraph {
        rankdir=LR;
        node [shape=box];
        n1 [label="1 in"];
        n2 [label="2 slow \\"one\\"\\n64 frames", style=dashed];
        n3 [label="3 synth"];
        n4 [label="4 out"];
        n1 -> n2 [label="1 → 1"];
        n1 -> n3 [style=dotted, label="1 → 1"];
        n2 -> n4 [label="1 → 1\\n+ 64 frames"];
        n3 -> n4 [label="1 → 1 × 0.25\\n+ 64 frames"];
      }
      """)
  }
}

/// A minimal node, so that the probe measures only the graph.
final class Plain: TestNode, @unchecked Sendable {
  private let memory = UnsafeMutablePointer<Float>.allocate(capacity: 1)
  init(_ name: String, _ factor: Float) {
    memory.initialize(to: factor)
    super.init(name, eventInputs: 1, eventOutputs: 1)
  }
  deinit { memory.deallocate() }
  override var processor: cue_node {
    cue_node(
      run: { context, block in
        let factor = context.assumingMemoryBound(to: Float.self).pointee
        var i = 0
        while i < Int(block.pointee.frames) {
          block.pointee.outputs![0][i] = block.pointee.inputs![0][i] * factor
          i += 1
        }
      }, context: UnsafeMutableRawPointer(memory), prefetched_bytes: 0)
  }
}
