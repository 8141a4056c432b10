import Graph
import PluginHost
import TestSupport
import Testing

/// Edits of a chain while it runs.
@Suite(.tags(.program)) struct ChainEditTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  /// Half as loud.
  private static let half: Float = -6.0206

  /// A chain of amplifiers whose input is 0.5.
  private struct Rig {
    let chain: PluginChain
    private let graph: OfflineGraph

    init(_ gains: [Float], channels: Int = 1) throws {
      chain = try PluginChain(
        gains.map { PluginChoice(uri: ChainEditTests.amp, values: ["gain": $0]) }, in: installed,
        channels: channels, sampleRate: 48000, isOffline: true)
      let source = chain.graph.addSource(named: "half", channels: channels)
      try chain.graph.connect(source, to: chain.entrance)
      graph = try OfflineGraph(chain.graph, source: source)
    }

    /// Runs 9600 frames, and returns the last sample and the largest step.
    func run(channels: Int = 1) -> (last: Float, step: Float) {
      let heard = graph.run([Float](repeating: 0.5, count: 9600 * channels)[...], silence: 0)
      let one = stride(from: 0, to: heard.count, by: channels).map { heard[$0] }
      return (one.last ?? 0, zip(one, one.dropFirst()).map { abs($1 - $0) }.max() ?? 0)
    }

    func gains() throws -> [Float] { try chain.stages.map { try $0[0].value(of: "gain") } }
  }

  private func expect(
    _ rig: Rig, _ level: Float, channels: Int = 1, _ location: SourceLocation = #_sourceLocation
  ) {
    let (last, step) = rig.run(channels: channels)
    expectTrue(abs(last - level) < 1e-4, "\(last) is not \(level)", sourceLocation: location)
    // A fade of 10 ms.
    expectTrue(step < 0.002, "a step of \(step)", sourceLocation: location)
  }

  @Test(arguments: [1, 2]) func pluginsAreInsertedMovedAndRemovedWithoutAStep(channels: Int) throws
  {
    let rig = try Rig([0], channels: channels)
    expect(rig, 0.5, channels: channels)
    try rig.chain.insert(PluginChoice(uri: Self.amp, values: ["gain": Self.half]), at: 1)
    expect(rig, 0.25, channels: channels)
    expectTrue(rig.chain.stages.allSatisfy { $0.count == channels })
    try rig.chain.setGain(0.5)
    expect(rig, 0.125, channels: channels)
    let kept = rig.chain.stages[0][0]
    try rig.chain.move(from: 1, to: 0)
    expect(rig, 0.125, channels: channels)
    try expectEqual(rig.gains(), [Self.half, 0])
    // Only the plugin that moves is another instance.
    expectTrue(rig.chain.stages[1][0] === kept)
    try rig.chain.setBypassed(true, plugin: 0)
    expect(rig, 0.25, channels: channels)
    // A bypass moves with its plugin.
    try rig.chain.move(from: 0, to: 1)
    expect(rig, 0.25, channels: channels)
    expectTrue(rig.chain.isBypassed(plugin: 1) && !rig.chain.isBypassed(plugin: 0))
    try rig.chain.setBypassed(false, plugin: 1)
    expect(rig, 0.125, channels: channels)
    try rig.chain.remove(at: 0)
    expect(rig, 0.125, channels: channels)
    try expectEqual(rig.gains(), [Self.half])
  }

  /// A plugin is learned for by its place in the chain as it was made.
  @Test func learningFindsAPluginThatWasMoved() throws {
    let rig = try Rig([0, Self.half])
    let target = MIDITarget("gain", low: -20, high: 20)
    try rig.chain.move(from: 0, to: 1)
    try rig.chain.insert(PluginChoice(uri: Self.amp, values: ["gain": 3]), at: 0)
    try expectEqual(rig.gains(), [3, Self.half, 0])
    try rig.chain.learn(target, ofPlugin: 0) { _ in }
    expectEqual(rig.chain.stages.map { $0[0].learning != nil }, [false, false, true])
    try rig.chain.remove(at: 2)
    #expect(throws: HostError.self) { try rig.chain.learn(target, ofPlugin: 0) { _ in } }
    try rig.chain.learn(target, ofPlugin: 1) { _ in }
    expectEqual(rig.chain.stages.map { $0[0].learning != nil }, [false, true])
  }

  /// A plugin that cannot be made leaves the chain as it was.
  @Test func anInsertionThatFailsChangesNothing() throws {
    let rig = try Rig([Self.half])
    #expect(throws: HostError.self) {
      try rig.chain.insert(PluginChoice(uri: Self.amp, values: ["nothing": 1]), at: 0)
    }
    expect(rig, 0.25)
    expectEqual(rig.chain.stages.count, 1)
  }

  @Test func aPresetIsLoadedIntoAnotherInstance() throws {
    let uri = "http://drobilla.net/plugins/mda/EPiano"
    let chain = try PluginChain(
      [PluginChoice(uri: uri)], in: installed, channels: 2, sampleRate: 48000, isOffline: true)
    func values() throws -> [Float] {
      try chain.stages[0][0].controls.map { try chain.stages[0][0].value(of: $0) }
    }
    let (before, first) = (try values(), chain.stages[0][0])
    try chain.load(preset: "http://drobilla.net/plugins/mda/presets#EPiano-tremolo", ofPlugin: 0)
    expectTrue(try chain.stages[0][0] !== first && values() != before)
  }
}
