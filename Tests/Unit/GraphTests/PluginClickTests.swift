import Foundation
import Graph
import PluginHost
import Server
import TestSupport
import Testing
import Timeline

/// A sine through real plugins that are rewired, bypassed and restored a thousand times each, without a
/// click.
@Suite(.tags(.server), .serialized) struct PluginClickTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  /// An equalizer with lv2:enabled, a phase shift, and a state that the host cannot restore while it runs.
  private static let filter = "http://gareus.org/oss/lv2/fil4#mono"
  /// A limiter with a latency, and a state that the host cannot restore while it runs.
  private static let limiter = "http://gareus.org/oss/lv2/dpl#mono"
  private static let world = World()

  private static func plugin(_ uri: String) throws -> PluginInstance {
    try PluginInstance(
      uri, in: world, settings: PluginSettings(sampleRate: 48000, maximumFrames: 1024))
  }

  /// A sine at half of full scale through a chain of plugins, with hand-driven cycles.
  private struct Chain {
    let rig = Rig()
    let source: NodeID
    let nodes: [NodeID]
    let output: NodeID
    var graph: Graph { rig.graph }

    init(_ plugins: PluginInstance...) throws {
      source = try rig.graph.add(Generator("source") { sine($0) * 0.5 })
      nodes = try plugins.map { [rig] in try rig.graph.add($0) }
      output = try rig.graph.addOutputs(named: "out", audio: ["out"])
      let chain = [source] + nodes + [output]
      for (a, b) in zip(chain, chain.dropFirst()) { try rig.graph.connect(a, to: b) }
      rig.begin()
      rig.run(1024)
      rig.settle()
      rig.run(1024)
      rig.forget()
    }

    /// Expects that no step exceeds the sine's own and that there is no silence. If `late` is given,
    /// expects the sine itself, delayed by `late` frames.
    func expectSine(late: Int?) {
      rig.settle(period: 256)
      let heard = rig.heard["out"]!
      let (step, silent) = clicks(heard)
      expectTrue(step <= sineStep * 0.5 * 1.0001)
      expectEqual(silent, 0)
      guard let late else { return }
      let begin = rig.frame - Int64(heard.count + late)
      let isSine = heard.enumerated().allSatisfy {
        abs($0.element - sine(begin + Int64($0.offset)) * 0.5) < 1e-5
      }
      expectTrue(isSine)
    }
  }

  /// All orders and subsets of three plugins, also during a fade.
  @Test func rewiringIsNotHeard() throws {
    let chain = try Chain(
      Self.plugin(Self.amp), Self.plugin(Self.amp), Self.plugin(Self.filter))
    var random = SplitMix(state: 3)
    var order = chain.nodes
    for _ in 0..<1000 {
      let new = Array(
        chain.nodes.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)))
      try chain.graph.rewire(
        [chain.source] + order + [chain.output], to: [chain.source] + new + [chain.output])
      order = new
      if Bool.random(using: &random) { chain.rig.settle() } else { chain.rig.run(64) }
    }
    chain.expectSine(late: nil)
  }

  /// By the plugin's own control, and by the graph.
  @Test(arguments: [filter, amp]) func bypassingIsNotHeard(uri: String) throws {
    let plugin = try Self.plugin(uri)
    expectEqual(plugin.setEnabled(true), (uri == Self.filter))
    let chain = try Chain(plugin)
    for i in 0..<1000 {
      try chain.graph.setBypassed(chain.nodes[0], i % 2 == 0)
      if i % 3 == 0 { chain.rig.run(48 + i % 64) } else { chain.rig.run(640) }
    }
    chain.expectSine(late: uri == Self.amp ? 0 : nil)
  }

  /// The states are restored in a second instance, since two of the plugins cannot restore one while
  /// they run. A thousand times in total.
  @Test(arguments: [(amp, 200), (filter, 400), (limiter, 400)])
  func loadingStatesIsNotHeard(uri: String, times: Int) throws {
    try withTemporaryFolder { folder in
      let first = try Self.plugin(uri)
      expectEqual(first.canRestoreWhileRunning, (uri == Self.amp))
      try first.save(to: folder.path)
      let state = try PluginState(folder: folder.path, world: Self.world)
      let chain = try Chain(first)
      let late = try chain.graph.latency(of: chain.output)
      expectEqual((late > 0), (uri == Self.limiter))
      for i in 0..<times {
        try chain.graph.replace(chain.nodes[0], with: first.replacement(restoring: state))
        if i % 4 == 0 { chain.rig.run(64) } else { chain.rig.settle(period: 256) }
      }
      chain.expectSine(late: uri == Self.filter ? nil : late)
    }
  }

  /// States with different gains: a step is at most that of the louder sine plus that of the fade.
  @Test func loadingOtherStatesIsAFade() throws {
    try withTemporaryFolder { folder in
      let gains: [Float] = [0, -6, -12, -3]
      let states = try gains.map { gain in
        let plugin = try Self.plugin(Self.amp)
        try plugin.set("gain", to: gain)
        let path = folder.appendingPathComponent("\(gain)").path
        try plugin.save(to: path)
        return try PluginState(folder: path, world: Self.world)
      }
      let first = try Self.plugin(Self.amp)
      let chain = try Chain(first)
      let fade = Float(chain.graph.fadeSeconds * 48000)
      for i in 1...100 {
        chain.rig.forget()
        try chain.graph.replace(
          chain.nodes[0], with: first.replacement(restoring: states[i % states.count]))
        chain.rig.settle(period: 256)
        let (old, new) = (
          pow(10, gains[(i - 1) % gains.count] / 20), pow(10, gains[i % gains.count] / 20)
        )
        let (step, silent) = clicks(chain.rig.heard["out"]!)
        expectTrue(step <= 0.5 * (sineStep * max(old, new) + abs(old - new) / fade) * 1.0001)
        expectEqual(silent, 0)
      }
    }
  }

  /// Presets from bundles of plugins that change the signal and have a latency. A step is at most the
  /// largest of one preset alone plus that of the fade.
  @Test(arguments: ["Splitter", "ThruZero", "Leslie", "Detune"])
  func loadingPresetsIsAFade(name: String) throws {
    let uri = "http://drobilla.net/plugins/mda/\(name)"
    let first = try Self.plugin(uri)
    let presets = try first.description.presets.map { try Self.world.preset($0.uri, of: uri) }
    expectTrue(presets.count > 2)
    let rig = Rig()
    let source = try rig.graph.add(Generator("source") { sine($0) * 0.5 })
    let node = try rig.graph.add(first)
    let output = try rig.graph.addOutputs(named: "out", audio: ["out"])
    try rig.graph.connect(source, to: node)
    try rig.graph.connect(Wire(from: node, to: output))
    rig.begin()
    func load(_ preset: PluginState) throws {
      try rig.graph.replace(node, with: first.replacement(restoring: preset))
      rig.settle(period: 256)
    }
    var own: Float = 0
    var peak: Float = 0
    for preset in presets {
      try load(preset)
      rig.run(24000, period: 256)
      let heard = rig.listen(48000, period: 256)
      own = max(own, clicks(heard).step)
      peak = max(peak, heard.max()!)
    }
    rig.forget()
    for i in 0..<60 {
      try load(presets[i % presets.count])
      rig.run(i % 5 * 500, period: 256)
    }
    let (step, silent) = clicks(rig.heard["out"]!)
    expectTrue(step <= own + 2 * peak / Float(rig.graph.fadeSeconds * 48000))
    expectEqual(silent, 0)
  }

  /// The same on a running server in freewheel mode.
  @Test func nothingIsHeardOnARunningServer() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 21)
    let device = try Device(JackServer(named: jack.name), clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 256)
    let source = try graph.add(Generator("source") { sine($0) * 0.5 })
    let (first, second) = (try Self.plugin(Self.amp), try Self.plugin(Self.amp))
    let (a, b) = (try graph.add(first), try graph.add(second))
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    let state = try first.capture()
    try graph.connect(source, to: a)
    try graph.connect(a, to: b)
    try graph.connect(b, to: output)
    try graph.run(on: device)
    try device.connect("out", to: "capture:in_1")
    try capture.setFreewheel(true)
    capture.arm()
    try require(capture.wait(untilFrames: 1))
    var edits = 0
    var order = [a, b]
    while edits < 60 && !capture.isFull {
      switch edits % 3 {
      case 0:
        let new = Array(order.reversed())
        try graph.edit { [order] wiring throws(HostError) in
          let old = [source] + order + [output]
          for (x, y) in zip(old, old.dropFirst()) { try wiring.disconnect(Wire(from: x, to: y)) }
          let next = [source] + new + [output]
          for (x, y) in zip(next, next.dropFirst()) { try wiring.connect(x, to: y) }
        }
        order = new
      case 1: try graph.setBypassed(a, edits % 2 == 0)
      default: try graph.replace(b, with: second.replacement(restoring: state))
      }
      expectTrue(waits { graph.isSettled || capture.isFull })
      edits += 1
    }
    capture.disarm()
    try capture.setFreewheel(false)
    expectTrue(edits >= 12)
    expectEqual(capture.gaps, [])
    let heard = capture.samples(channel: 0)
    let (step, silent) = clicks(heard)
    expectTrue(step <= sineStep * 0.5 * 1.0001)
    expectEqual(silent, 0)
    let begin = DeviceTime.widen(capture.firstFrame, near: device.latestFrame)
    let worst = heard.enumerated().map { abs($0.element - sine(begin + Int64($0.offset)) * 0.5) }
    expectTrue(worst.max()! < 1e-5)
    graph.stop()
  }
}
