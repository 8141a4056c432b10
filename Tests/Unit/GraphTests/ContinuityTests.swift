import CRealTime
import Graph
import PluginHost
import TestSupport
import Testing

/// A running graph while block length and sample rate change.
@Suite struct ContinuityTests {
  /// Returns a value that identifies the frame exactly.
  private func number(_ frame: Int64) -> Float { Float(frame & 0xffff) }

  /// Delay lines keep their content: parallel paths stay in step across two consecutive changes.
  @Test func longerBlocksKeepWhatIsInDelays() throws {
    let rig = Rig(blockFrames: 64)
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let slow = try rig.graph.add(Delay("slow", 500))
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(input, to: output)
    try rig.graph.connect(input, to: slow)
    try rig.graph.connect(slow, to: output)
    rig.plays = { _, frame in Float(frame & 0xffff) }
    rig.begin()
    rig.run(640)
    rig.forget()
    for frames in [256, 1024] {
      rig.graph.prepare(blockFrames: frames)
      rig.run(2 * frames, period: frames)
    }
    rig.run(640)
    expectEqual(rig.heard["out"], (640..<3840).map { 2 * number($0 - 500) })
  }

  /// Blocks grow to 1,024 frames at most, since some plugins must be instantiated again for longer
  /// ones.
  @Test func blocksGrowToALimitWhileCyclesCome() throws {
    let rig = Rig(blockFrames: 64)
    let gain = Gain("gain")
    let input = try rig.graph.addInputs(named: "in", audio: ["in"])
    let id = try rig.graph.add(gain)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(input, to: id)
    try rig.graph.connect(id, to: output)
    rig.plays = { _, frame in Float(frame & 0xffff) }
    rig.begin()
    for frames in [512, 8192, 4096] {
      rig.graph.prepare(blockFrames: frames)
      rig.run(frames, period: frames)
    }
    expectEqual(gain.prepared.map(\.frames), [64, 512, 1024])
    expectEqual(rig.heard["out"], (0..<12800).map { number($0) })
  }

  /// A fade continues where it was.
  @Test func longerBlocksKeepFadesSmooth() throws {
    let rig = Rig(blockFrames: 64)
    let one = try rig.graph.add(Generator("one") { _ in 1 })
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(one, to: output)
    rig.begin()
    rig.run(64)
    try rig.graph.connect(one, to: output, gain: 0.5)
    rig.forget()
    rig.run(64)
    rig.graph.prepare(blockFrames: 128)
    rig.run(128, period: 128)
    rig.graph.prepare(blockFrames: 256)
    rig.run(512, period: 256)
    let wrong = rig.heard["out"]!.enumerated().filter {
      !(abs($0.element - max(0.5, 1 - 0.5 * Float($0.offset) / 480)) < 1e-6)
    }
    expectTrue(wrong.isEmpty)
    rig.settle()
    expectEqual(rig.listen(64), Array(repeating: 0.5, count: 64))
  }

  /// A node that cannot run at one sample rate runs again at the next supported one. A bypass stays.
  @Test func whatCouldNotGoOnComesBack() throws {
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { _ in 1 })
    let (picky, bypassed) = (Gain("picky", 7), Gain("bypassed", 5))
    let (pickyID, bypassedID) = (try rig.graph.add(picky), try rig.graph.add(bypassed))
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(source, to: pickyID)
    try rig.graph.connect(pickyID, to: bypassedID)
    try rig.graph.connect(bypassedID, to: output)
    try rig.graph.setBypassed(bypassedID, true)
    rig.begin()
    expectEqual(rig.listen(64), Array(repeating: 7, count: 64))
    (picky.refuses, bypassed.refuses) = (true, true)
    rig.graph.prepare(sampleRate: 96000, blockFrames: 1024)
    expectEqual(rig.listen(64), Array(repeating: 1, count: 64))
    expectTrue(
      rig.graph.description.contains(
        "2 picky: node, 1 in, 1 out, led around: it does not run at this rate"))
    (picky.refuses, bypassed.refuses) = (false, false)
    rig.graph.prepare(sampleRate: 48000, blockFrames: 1024)
    expectEqual(rig.listen(64), Array(repeating: 7, count: 64))
    try rig.graph.setBypassed(bypassedID, false)
    rig.settle()
    expectEqual(rig.listen(64), Array(repeating: 35, count: 64))
  }
}
