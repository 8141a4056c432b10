import CProbe
import CRealTime
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// Long chains of units, on threads with the stack of JACK's process thread.
@Suite struct DepthTests {
  /// How often a source was asked for sound.
  private final class Calls: Sendable {
    let count = Atomic<Int>(0)
    var data: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    static func note(_ data: UnsafeMutableRawPointer?) {
      Unmanaged<Calls>.fromOpaque(data!)._withUnsafeGuaranteedRef {
        _ = $0.count.add(1, ordering: .relaxed)
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

  /// Makes a chain of units, the last of which is the result. `link` connects each to the one before.
  private func chain<Made: AudioUnits.Unit>(
    _ count: Int, _ first: Made, _ link: (Int, Made) throws -> Made
  ) throws -> [Made] {
    var units = [first]
    for i in 1..<count { try units.append(link(i, units[i - 1])) }
    for unit in units { try unit.initialize() }
    return units
  }

  /// Mixers with gains, which make sound of their own.
  @Test func aThousandMixersRenderOnASmallStack() throws {
    try onSmallStack {
      let calls = Calls()
      let first = try mixer()
      try first.setCallback(ones, calls.data, 0)
      let units = try chain(1000, first) { i, before in
        let unit = try mixer()
        try unit.connect(before, output: 0, to: 0)
        unit.outputLevel.pointee.set(volume: i % 2 == 0 ? 0.75 : 0.5)
        unit.level(ofInput: 0).pointee.set(volume: i % 2 == 0 ? 1.25 : 2)
        return unit
      }
      let wanted = (1..<1000).reduce(Float(1)) { sum, i in
        i % 2 == 0 ? sum * 1.25 * 0.75 : sum * 2 * 0.5
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[999])
      for i in 1...3 {
        try expectEqual(renderer.render(64)[0], Array(repeating: wanted, count: 64))
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
      expectEqual(units[0].render.pointee.latestTime?.sampleTime, 128)
      try expectEqual(countingCalls(units[999]), 0)
    }
  }

  /// Mixers that change nothing let their sources render for them, but not all of them one within another.
  @Test func aThousandMixersPassTheSoundOn() throws {
    try onSmallStack {
      let calls = Calls()
      let first = try mixer()
      try first.setCallback(ones, calls.data, 0)
      let units = try chain(1000, first) { _, before in
        let unit = try mixer()
        try unit.connect(before, output: 0, to: 0)
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[999])
      for i in 1...5 {
        // What is in the middle of the chain goes on in the same render.
        units[500].outputLevel.pointee.set(volume: i == 4 ? 0 : 1)
        let found = try renderer.render(64)[0]
        if i < 4 { expectEqual(found, Array(repeating: 1, count: 64)) }
        if i == 4 { for i in 0..<64 { expectTrue(abs(found[i] - 1 + Float(i + 1) / 64) < 1e-6) } }
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
    }
  }

  /// Each unit is the source of the next one twice: 2^200 ways lead to the first one.
  @Test func sourcesWithManyConsumersRenderOnce() throws {
    try onSmallStack {
      let calls = Calls()
      let first = try mixer()
      try first.setCallback(ones, calls.data, 0)
      let units = try chain(200, first) { _, before in
        let unit = try mixer(2)
        for bus in 0..<2 as Range<UInt32> {
          unit.level(ofInput: Int(bus)).pointee.set(volume: 0.5)
          try unit.connect(before, output: 0, to: bus)
        }
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[199])
      for i in 1...3 {
        try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
      #expect(throws: UnitError.self) { try units[0].connect(units[199], output: 0, to: 0) }
    }
  }

  /// The error of the first source comes out of the last unit, and the source is asked again by the next render only.
  @Test func errorsReachTheEndOfAChain() throws {
    try onSmallStack {
      let calls = Calls()
      let first = try make(.converter)
      let units = try chain(500, first) { _, before in
        let unit = try make(.converter)
        try unit.connect(before, output: 0, to: 0)
        return unit
      }
      try first.setCallback(
        { data, _, _, _, _, _ in
          Calls.note(data)
          return -4242
        }, calls.data, 0)
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[499])
      for i in 1...3 {
        _ = try renderer.render(64, isLast: i > 1)
        expectEqual(renderer.status, -4242)
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
      expectEqual(units[499].render.pointee.takeError(), -4242)
      try first.setCallback(ones, calls.data, 0)
      try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
    }
  }

  /// A reset within the render of a source is one of the next render: the source is not asked again.
  @Test func aResetComesBehindTheRenderInProgress() throws {
    try onSmallStack {
      let first = try make(.converter)
      let calls = ResettingCalls(first)
      try first.setCallback(
        { data, flags, time, bus, frames, list in
          ResettingCalls.note(data)
          return steps(nil, flags, time, bus, frames, list)
        }, Unmanaged.passUnretained(calls).toOpaque(), 0)
      let units = try chain(300, first) { _, before in
        let unit = try make(.converter)
        try unit.connect(before, output: 0, to: 0)
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[299])
      for i in 1...3 {
        try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
    }
  }

  /// Counts renders of a source, and resets its unit in each.
  private final class ResettingCalls: Sendable {
    let count = Atomic<Int>(0)
    private let unit: AudioUnits.Unit
    init(_ unit: AudioUnits.Unit) { self.unit = unit }
    static func note(_ data: UnsafeMutableRawPointer?) {
      Unmanaged<ResettingCalls>.fromOpaque(data!)._withUnsafeGuaranteedRef {
        _ = $0.count.add(1, ordering: .relaxed)
        _ = $0.unit.render.pointee.reset()
      }
    }
  }

  /// Once a callback has stopped the output unit, a player at the beginning of the chain stands still.
  @Test func aPlayerThatWasStoppedRendersNothing() throws {
    try onSmallStack {
      let player = try make(.soundPlayer)
      let units = try chain(300, player) { _, before in
        let unit = try make(.converter)
        try unit.connect(before, output: 0, to: 0)
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let function = UnsafeMutablePointer<IOSlot>.allocate(capacity: 1)
      function.initialize(to: IOSlot(cue_io_function(run: { _, _ in }, context: function)))
      defer {
        function.deinitialize(count: 1)
        function.deallocate()
      }
      let renderer = Renderer(units[299])
      for isRunning in [false, true] {
        function.pointee.setRunning(isRunning)
        _ = try renderer.render(64, function: function)
        expectEqual(renderer.status, 0)
        expectEqual(player.render.pointee.latestTime != nil, isRunning)
      }
    }
  }

  /// What a switch of a mixer turns off is not asked for.
  @Test func aBusThatIsOffRendersNothing() throws {
    try onSmallStack {
      let (calls, idle) = (Calls(), Calls())
      let source = try mixer(rate: 44100)
      try source.setCallback(ones, idle.data, 0)
      try source.initialize()
      let first = try make(.multiChannelMixer)
      try first.setCallback(ones, calls.data, 0)
      let units = try chain(300, first) { i, before in
        let unit = try make(.multiChannelMixer)
        try unit.setBusCount(2, .input)
        try unit.connect(before, output: 0, to: 0)
        if i == 1 { try unit.connect(source, output: 0, to: 1) }
        expectEqual(unit.set(1, 0, scope: 1, element: 1), 0)
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[299])
      for i in 1...3 {
        try expectEqual(renderer.render(64)[0], Array(repeating: 1, count: 64))
        expectEqual(calls.count.load(ordering: .relaxed), i)
      }
      expectEqual(idle.count.load(ordering: .relaxed), 0)
      expectEqual(units[1].set(1, 1, scope: 1, element: 1), 0)
      _ = try renderer.render(64)
      try expectEqual(renderer.render(64)[0], Array(repeating: 2, count: 64))
      expectEqual(idle.count.load(ordering: .relaxed), 2)
    }
  }

  /// Converters of rates ask for sound as they need it, one within another: too many give silence, not a crash.
  @Test func tooManyConvertersOfRatesAreSilent() throws {
    try onSmallStack {
      let calls = Calls()
      let first = try mixer()
      try first.setCallback(ones, calls.data, 0)
      let units = try chain(300, first) { i, before in
        let unit = try mixer(rate: i % 2 == 0 ? 48000 : 44100)
        try unit.connect(before, output: 0, to: 0)
        return unit
      }
      defer { for unit in units { unit.dispose() } }
      let renderer = Renderer(units[299])
      for _ in 0..<3 { try expectEqual(renderer.render(64)[0], Array(repeating: 0, count: 64)) }
      expectTrue(units.contains { $0.render.pointee.takeError() == RenderError.wrongContext })
      expectEqual(calls.count.load(ordering: .relaxed), 0)
    }
  }

  @Test func aGraphOfManyUnitsIsMadeOnASmallStack() throws {
    try onSmallStack {
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
