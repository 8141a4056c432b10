import CProbe
import CRealTime
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// Long chains of units, on threads with the stack of JACK's process thread.
@Suite struct DepthTests {
  /// Counts the calls of a source, and resets a unit in each of them.
  private final class Calls: Sendable {
    let count = Atomic<Int>(0)
    nonisolated(unsafe) private let unit: UnsafeMutablePointer<RenderUnit>?
    init(resetting unit: AudioUnits.Unit? = nil) { self.unit = unit?.render }
    var data: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    static func note(_ data: UnsafeMutableRawPointer?) {
      Unmanaged<Calls>.fromOpaque(data!)._withUnsafeGuaranteedRef {
        _ = $0.count.add(1, ordering: .relaxed)
        _ = $0.unit?.pointee.reset()
      }
    }
  }

  /// Gives ones, and counts.
  private let ones: cue_render_proc = { data, flags, time, bus, frames, list in
    Calls.note(data)
    return steps(nil, flags, time, bus, frames, list)
  }

  private func mixer(_ inputs: Int = 1, rate: Double = 48000) throws -> EngineMixerUnit {
    let unit = try EngineMixerUnit("mixer", inputs: inputs)
    try unit.setOutputFormat(planar(1, rate))
    return unit
  }

  /// Runs a body with a chain of units on a small stack, and disposes of the units.
  ///
  /// - Parameters:
  ///   - first: Makes the first unit.
  ///   - source: Its source, which gets `calls`; nil if it has none.
  ///   - link: Makes the unit with a number, whose first input gets the unit before it.
  ///   - body: Gets the units and a renderer of the last one.
  private func withChain<Made: AudioUnits.Unit>(
    _ count: Int, _ first: () throws -> Made, source: cue_render_proc?,
    calls: (Made) -> Calls = { _ in Calls() }, _ link: (Int, _ before: Made) throws -> Made,
    body: ([Made], Renderer, Calls) throws -> Void
  ) async throws {
    try await onSmallStack {
      var units = [try first()]
      let calls = calls(units[0])
      if let source { try units[0].setCallback(source, calls.data, 0) }
      for i in 1..<count {
        try units.append(link(i, units[i - 1]))
        try units[i].connect(units[i - 1], output: 0, to: 0)
      }
      defer { for unit in units { unit.dispose() } }
      for unit in units { try unit.initialize() }
      try withExtendedLifetime(calls) { try body(units, Renderer(units[count - 1]), calls) }
    }
  }

  /// Expects that three renders give a value, and ask the source once each.
  private func expect(_ value: Float, _ renderer: Renderer, _ calls: Calls) throws {
    for i in 1...3 {
      try expectEqual(renderer.render(64)[0], Array(repeating: value, count: 64))
      expectEqual(calls.count.load(ordering: .relaxed), i)
    }
  }

  /// Mixers with gains, which make sound of their own.
  @Test func aThousandMixersRenderOnASmallStack() async throws {
    let wanted = (1..<1000).reduce(Float(1)) { product, i in
      i % 2 == 0 ? product * 1.25 * 0.75 : product * 2 * 0.5
    }
    try await withChain(1000, { try mixer() }, source: ones) { i, _ in
      let unit = try mixer()
      unit.outputLevel.pointee.set(volume: i % 2 == 0 ? 0.75 : 0.5)
      unit.level(ofInput: 0).pointee.set(volume: i % 2 == 0 ? 1.25 : 2)
      return unit
    } body: { units, renderer, calls in
      try expect(wanted, renderer, calls)
      expectEqual(units[0].render.pointee.latestTime?.sampleTime, 128)
      try expectEqual(countingCalls(units[999]), 0)
    }
  }

  /// Mixers that change nothing let their sources render for them, but not all of them one within another.
  @Test func aThousandMixersPassTheSoundOn() async throws {
    try await withChain(1000, { try mixer() }, source: ones) { _, _ in
      try mixer()
    } body: { units, renderer, calls in
      try expect(1, renderer, calls)
      // A mixer in the middle of the chain fades out within the next render.
      units[500].outputLevel.pointee.set(volume: 0)
      let found = try renderer.render(64)[0]
      for i in 0..<64 { expectTrue(abs(found[i] - 1 + Float(i + 1) / 64) < 1e-6) }
      units[500].outputLevel.pointee.set(volume: 1)
      _ = try renderer.render(64)
      expectEqual(calls.count.load(ordering: .relaxed), 5)
    }
  }

  /// Each unit is the source of the next one twice: 2^199 ways lead to the first one.
  @Test func sourcesWithManyConsumersRenderOnce() async throws {
    try await withChain(200, { try mixer() }, source: ones) { _, before in
      let unit = try mixer(2)
      for bus in 0..<2 { unit.level(ofInput: bus).pointee.set(volume: 0.5) }
      try unit.connect(before, output: 0, to: 1)
      return unit
    } body: { units, renderer, calls in
      try expect(1, renderer, calls)
      #expect(throws: UnitError.self) { try units[0].connect(units[199], output: 0, to: 0) }
    }
  }

  /// The error of the first source comes out of the last unit, and the source is asked again by the next render only.
  @Test func errorsReachTheEndOfAChain() async throws {
    let failing: cue_render_proc = { data, _, _, _, _, _ in
      Calls.note(data)
      return -4242
    }
    try await withChain(500, { try make(.converter) }, source: failing) { _, _ in
      try make(.converter)
    } body: { units, renderer, calls in
      for i in 1...3 {
        _ = try renderer.render(64, isLast: i > 1)
        expectEqual(renderer.status, -4242)
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
      expectEqual(units[499].render.pointee.takeError(), -4242)
      try units[0].setCallback(ones, calls.data, 0)
      try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
    }
  }

  /// A reset within the render of a source is one of the next render: the source is not asked again.
  @Test func aResetComesBehindTheRenderInProgress() async throws {
    try await withChain(
      300, { try make(.converter) }, source: ones, calls: { Calls(resetting: $0) }
    ) { _, _ in
      try make(.converter)
    } body: { _, renderer, calls in
      try expect(1, renderer, calls)
    }
  }

  /// Once a callback has stopped the output unit, a player at the beginning of the chain stands still.
  @Test func aPlayerThatWasStoppedRendersNothing() async throws {
    try await withChain(300, { try make(.soundPlayer) }, source: nil) { _, _ in
      try make(.converter)
    } body: { units, renderer, _ in
      let function = UnsafeMutablePointer<IOSlot>.allocate(capacity: 1)
      function.initialize(to: IOSlot(cue_io_function(run: { _, _ in }, context: function)))
      defer {
        function.deinitialize(count: 1)
        function.deallocate()
      }
      for isRunning in [false, true] {
        function.pointee.setRunning(isRunning)
        _ = try renderer.render(64, function: function)
        expectEqual(renderer.status, 0)
        expectEqual(units[0].render.pointee.latestTime != nil, isRunning)
      }
    }
  }

  /// A mixer does not ask the source of a bus that its switch turns off.
  @Test func aBusThatIsOffRendersNothing() async throws {
    let idle = Calls()
    try await withChain(300, { try make(.multiChannelMixer) }, source: ones) { i, _ in
      let unit = try make(.multiChannelMixer)
      try unit.setBusCount(2, .input)
      if i == 1 {
        let source = try mixer(rate: 44100)
        try source.setCallback(ones, idle.data, 0)
        try source.initialize()
        try unit.connect(source, output: 0, to: 1)
      }
      expectEqual(unit.set(1, 0, scope: 1, element: 1), 0)
      return unit
    } body: { units, renderer, calls in
      try expect(1, renderer, calls)
      expectEqual(idle.count.load(ordering: .relaxed), 0)
      expectEqual(units[1].set(1, 1, scope: 1, element: 1), 0)
      _ = try renderer.render(64)
      try expectEqual(renderer.render(64)[0], Array(repeating: 2, count: 64))
      expectEqual(idle.count.load(ordering: .relaxed), 2)
    }
  }

  /// Converters of rates ask for sound as they need it, one within another: too many give silence, not a crash.
  @Test func tooManyConvertersOfRatesAreSilent() async throws {
    try await withChain(300, { try mixer() }, source: ones) { i, _ in
      try mixer(rate: i % 2 == 0 ? 48000 : 44100)
    } body: { units, renderer, calls in
      for _ in 0..<3 { try expectEqual(renderer.render(64)[0], Array(repeating: 0, count: 64)) }
      expectTrue(units.contains { $0.render.pointee.takeError() == RenderError.wrongContext })
      expectEqual(calls.count.load(ordering: .relaxed), 0)
    }
  }

  @Test func aGraphOfManyUnitsIsMadeOnASmallStack() async throws {
    try await onSmallStack {
      let graph = UnitGraph(
        making: { component throws(UnitError) in
          try component.make { fatalError("it is on no device") }
        }, disposing: { $0.dispose() })
      let nodes = try (0..<600).map { i in
        try graph.addNode((i < 599 ? UnitKind.converter : .genericOutput).component)
      }
      for (a, b) in zip(nodes, nodes.dropFirst()) {
        try graph.set(.node(a, output: 0), for: UnitGraph.Input(node: b, bus: 0))
      }
      try graph.set(.callback(steps, nil), for: UnitGraph.Input(node: nodes[0], bus: 0))
      #expect(throws: UnitGraphError.self) {
        try graph.set(.node(nodes[599], output: 0), for: UnitGraph.Input(node: nodes[0], bus: 0))
      }
      try graph.open()
      try graph.initialize()
      let renderer = Renderer(try require(graph.outputUnit))
      try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
      graph.dispose()
    }
  }
}
