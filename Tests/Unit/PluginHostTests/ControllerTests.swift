import CProbe
import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Graph
@testable import PluginHost

/// MIDI controllers that move controls and parameters.
@Suite(.serialized) struct ControllerTests {
  private let amp = examples + "amp"
  private let ones = [Float](repeating: 1, count: 2048)

  private func instance(_ uri: String) throws -> PluginInstance {
    try PluginInstance(uri, in: installed, settings: usual)
  }

  private func controller(_ number: UInt8, _ value: UInt8, channel: UInt8 = 1, at frame: Int)
    -> TimedEvent
  {
    TimedEvent(frame: frame, bytes: [0xb0 | (channel - 1), number, value])
  }

  private func binding(
    _ controller: String, _ name: String, _ low: Float? = nil, _ high: Float? = nil
  )
    -> MIDIBinding
  {
    MIDIBinding(MIDIController(controller)!, to: MIDITarget(name, low: low, high: high))
  }

  private final class Learned: Sendable {
    private let list = Mutex<[MIDIBinding]>([])
    var all: [MIDIBinding] { list.withLock { $0 } }
    func note(_ binding: MIDIBinding) { list.withLock { $0.append(binding) } }
  }

  // MARK: Moving

  /// The ramp starts at the message's frame and takes ten milliseconds in steps of 32 frames,
  /// independent of the blocks.
  @Test(arguments: [[1024], [64], [17], [1], [5, 300, 64, 1]])
  func aControllerMovesAControlFromItsFrameOn(blocks: [Int]) throws {
    let plugin = try instance(amp)
    try plugin.bind(binding("cc7@2", "gain", -40, 0))
    let sound = HandRun(plugin).run(
      [ones], blocks: blocks,
      controllers: [
        // Another controller, another channel, a note, and a channel mode message.
        controller(8, 3, channel: 2, at: 4), controller(7, 3, channel: 1, at: 5),
        TimedEvent(frame: 6, bytes: [0x91, 7, 3]), controller(123, 3, channel: 2, at: 7),
        controller(7, 0, channel: 2, at: 100), controller(7, 127, channel: 2, at: 1200),
      ]
    ).sound[0]
    for (i, sample) in sound.enumerated() {
      func part(_ first: Int) -> Float { min(1, Float((i - first) / 32 + 1) * 32 / 480) }
      let decibels: Float = i < 100 ? 0 : i < 1200 ? -40 * part(100) : -40 + 40 * part(1200)
      expectTrue(abs(sample - pow(10, decibels / 20)) <= 1e-5, "frame \(i)")
    }
    try expectEqual(plugin.value(of: "gain"), 0)
    expectEqual(plugin.lostEvents, 0)
  }

  /// The last value counts, whether the caller or a controller set it.
  @Test func whatControllersSetIsSeen() throws {
    let plugin = try instance(amp)
    let run = HandRun(plugin)
    try plugin.bind(binding("cc7", "gain"))
    for (channel, value) in [(1, 0), (16, 127), (3, 64)] {
      run.run(
        [ones],
        controllers: [controller(7, UInt8(value), channel: UInt8(channel), at: 9)])
      try expectEqual(plugin.value(of: "gain"), -90 + 114 * (Float(value) / 127))
    }
    run.run([ones], controllers: [controller(7, 1, at: 9)])
    try plugin.set("gain", to: -3)
    try expectEqual(plugin.value(of: "gain"), -3)
    run.run([ones])
    try expectEqual(plugin.value(of: "gain"), -3)
    let state = try plugin.capture()
    run.run([ones], controllers: [controller(7, 0, at: 0)])
    let copy = try plugin.replacement(restoring: state)
    HandRun(copy).run([ones])
    expectTrue(try copy.value(of: "gain") == -3 && copy.bindings == plugin.bindings)
    // The same controller moves the copy.
    HandRun(copy).run([ones], controllers: [controller(7, 127, at: 0)])
    try expectEqual(copy.value(of: "gain"), 24)
  }

  /// The ends are exact, and each kind of control gets valid values.
  @Test func scalesSuitTheirControls() {
    func values(_ shape: MIDIScale.Shape, _ low: Float, _ high: Float) -> [Float] {
      MIDIScale(shape: shape, low: low, high: high).values
    }
    let linear = values(.linear, -90, 24)
    expectTrue(linear[0] == -90 && linear[127] == 24 && linear[1] == -90 + 114 / 127)
    let falling = values(.linear, 1, 0)
    expectTrue(falling[0] == 1 && falling[127] == 0 && falling == falling.sorted(by: >))
    let octaves = values(.logarithmic, 20, 20480)
    expectTrue(octaves[0] == 20 && octaves[127] == 20480)
    for data in 0..<128 {
      let expected = 20 * pow(2, 10 * Double(data) / 127)
      expectTrue(abs(Double(octaves[data]) / expected - 1) < 1e-6)
    }
    let whole = values(.integer(isLogarithmic: false), 1, 4)
    expectTrue(Set(whole) == [1, 2, 3, 4] && whole == whole.sorted())
    expectEqual(values(.toggle, 0, 1), (0..<128).map { $0 < 64 ? 0 : 1 })
    let points = values(.points([2, 5, 9]), 2, 9)
    expectTrue(points[0] == 2 && points[42] == 2 && points[43] == 5 && points[127] == 9)
  }

  /// The fixture's trigger is a toggle, and its other controls have no range.
  @Test func triggersActInTheUpperHalf() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(
        in: folder, "ADDS",
        ports: Fixture.sound + """
          , [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol "trigger" ; lv2:name "T" ;
            lv2:portProperty pprop:trigger ; lv2:default 0 ; lv2:minimum 0 ; lv2:maximum 1 ] ,
          [ a lv2:ControlPort, lv2:InputPort ; lv2:index 3 ; lv2:symbol "switch" ; lv2:name "S" ;
            lv2:portProperty lv2:toggled ; lv2:default 0 ] ,
          [ a lv2:ControlPort, lv2:InputPort ; lv2:index 4 ; lv2:symbol "endless" ; lv2:name "E" ]
          """)
      let plugin = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: usual)
      try plugin.bind(binding("cc1", "trigger"))
      try plugin.bind(binding("cc2", "switch", 0, 1))
      let sound = HandRun(plugin).run(
        [[Float](repeating: 0, count: 600)], blocks: [100],
        controllers: [
          controller(1, 63, at: 10), controller(1, 64, at: 130), controller(2, 127, at: 250),
          controller(2, 63, at: 420),
        ]
      ).sound[0]
      let expected = (0..<600).map { frame -> Float in
        (130..<200 ~= frame ? 1 : 0) + (250..<420 ~= frame ? 2 : 0)
      }
      expectEqual(sound, expected)
      #expect(throws: HostError.noRange(plugin: Fixture.uri, symbol: "endless")) {
        try plugin.bind(binding("cc3", "endless"))
      }
      try plugin.bind(binding("cc3", "endless", -1, 1))
    }
  }

  /// The parameter's own answer reports the value.
  @Test func aParameterIsMovedByMessages() throws {
    let plugin = try instance(examples + "params")
    let (float, int) = (examples + "params#float", examples + "params#int")
    try plugin.bind(binding("cc1", "float", -1, 1))
    try plugin.bind(binding("cc2", int, 0, 1270))
    expectEqual(plugin.bindings.map(\.target.name), [float, int])
    let told = Mutex<[String: ParameterValue]>([:])
    plugin.whenParametersChange { values in told.withLock { $0.merge(values) { $1 } } }
    let run = HandRun(plugin)
    run.run(frames: 64, controllers: [controller(1, 127, at: 3), controller(2, 33, at: 60)])
    expectTrue(
      plugin.parameterValues[float] == .float(1) && plugin.parameterValues[int] == .int(330))
    try plugin.requestParameter()
    run.run(frames: 64)
    expectTrue(waits { told.withLock { $0[float] == .float(1) && $0[int] == .int(330) } })
  }

  // MARK: Learning

  @Test func theNextControllerIsLearned() throws {
    let plugin = try instance(amp)
    let run = HandRun(plugin)
    let learned = Learned()
    try plugin.learn(MIDITarget("gain", low: -20, high: 20), then: learned.note)
    expectEqual(plugin.learning?.name, "gain")
    // Notes and channel mode messages are not learned. The first controller takes effect at once.
    run.run(
      [ones],
      controllers: [
        TimedEvent(frame: 1, bytes: [0x90, 60, 100]), controller(121, 0, at: 2),
        controller(20, 127, channel: 5, at: 3), controller(21, 0, channel: 5, at: 4),
      ])
    let expected = binding("cc20@5", "gain", -20, 20)
    expectTrue(waits { learned.all == [expected] })
    try expectEqual(plugin.value(of: "gain"), 20)
    expectTrue(plugin.bindings == [expected] && plugin.learning == nil)
    run.run([ones], controllers: [controller(20, 0, channel: 5, at: 0)])
    try expectEqual(plugin.value(of: "gain"), -20)

    // The old controller works until another one moves; then it has no effect.
    try plugin.learn(MIDITarget("gain"), then: learned.note)
    plugin.cancelLearning()
    run.run([ones], controllers: [controller(30, 127, at: 0)])
    expectTrue(try plugin.value(of: "gain") == -20 && plugin.bindings == [expected])
    try plugin.learn(MIDITarget("gain"), then: learned.note)
    run.run([ones])
    run.run(
      [ones], controllers: [controller(31, 127, at: 0), controller(20, 0, channel: 5, at: 1)])
    try expectEqual(plugin.value(of: "gain"), 24)
    expectTrue(waits { learned.all.count == 2 })
    expectEqual(plugin.bindings, [binding("cc31@1", "gain")])

    try plugin.unbind("gain")
    run.run([ones], controllers: [controller(31, 0, at: 0)])
    expectTrue(try plugin.value(of: "gain") == 24 && plugin.bindings.isEmpty)
  }

  /// Binding during learning does not cancel it, in either order for the cycle. The controller learned
  /// just before may still be moving.
  @Test func oneControllerCanBePassed() throws {
    let plugin = try instance(amp)
    let run = HandRun(plugin)
    let learned = Learned()
    try plugin.learn(
      MIDITarget("gain"), passing: MIDIController(number: 20, channel: 5), then: learned.note)
    run.run([ones], controllers: [controller(20, 9, channel: 5, at: 3)])
    expectEqual(plugin.learning, MIDITarget("gain"))
    // The same number on another channel is another controller.
    run.run(
      [ones],
      controllers: [controller(20, 9, channel: 5, at: 3), controller(20, 127, channel: 4, at: 4)])
    expectTrue(waits { learned.all == [binding("cc20@4", "gain")] })
    try expectEqual(plugin.value(of: "gain"), 24)
  }

  @Test(arguments: [false, true]) func anEditDoesNotDisturbLearning(isSeen: Bool) throws {
    let plugin = try instance(examples + "params")
    let run = HandRun(plugin)
    let learned = Learned()
    try plugin.learn(MIDITarget("float", low: 0, high: 127), then: learned.note)
    if isSeen { run.run(frames: 64) }
    try plugin.bind(binding("cc2", "int", 0, 127))
    run.run(frames: 64, controllers: [controller(9, 1, at: 0)])
    try plugin.bind(binding("cc3", "long", 0, 127))
    run.run(
      frames: 64,
      controllers: [controller(9, 5, at: 0), controller(2, 6, at: 0), controller(3, 7, at: 0)])
    expectTrue(waits { learned.all.map(\.controller.description) == ["cc9@1"] })
    let values = plugin.parameterValues
    expectEqual(values[examples + "params#float"], .float(5))
    expectEqual(values[examples + "params#int"], .int(6))
    expectEqual(values[examples + "params#long"], .long(7))
  }

  /// A table created before the host noticed that a cycle had learned.
  @Test func whatWasLearnedIsNotLearnedAgain() throws {
    let plugin = try instance(amp)
    nonisolated(unsafe) let run = HandRun(plugin)
    let (ones, first) = (ones, controller(9, 0, at: 0))
    try plugin.learn(MIDITarget("gain", low: -20, high: 20))
    plugin.shared.withLock { shared in
      _ = run.run([ones], controllers: [first])
      plugin.offerBindings(&shared)
    }
    run.run([ones], controllers: [controller(10, 127, at: 0)])
    try expectEqual(plugin.value(of: "gain"), -20)
    run.run([ones], controllers: [controller(9, 127, at: 0), controller(10, 0, at: 1)])
    try expectEqual(plugin.value(of: "gain"), 20)
    expectTrue(waits { plugin.bindings == [binding("cc9@1", "gain", -20, 20)] })
  }

  // MARK: Lasting

  @Test func bindingsOutliveAnotherRateAndAreValues() throws {
    let plugin = try instance(amp)
    try plugin.bind(binding("cc7", "gain", -20, 20))
    let data = try JSONEncoder().encode(plugin.bindings)
    try expectEqual(JSONDecoder().decode([MIDIBinding].self, from: data), plugin.bindings)
    expectTrue(String(decoding: data, as: UTF8.self).contains("\"cc7\""))
    try plugin.prepare(sampleRate: 96000, maximumFrames: 2048)
    let sound = HandRun(plugin).run([ones], controllers: [controller(7, 127, at: 0)]).sound[0]
    // Ten milliseconds at the new sample rate.
    expectTrue(abs(sound[960] - 10) < 1e-4 && sound[900] < 9.9)
    try expectEqual(plugin.value(of: "gain"), 20)
  }

  /// Tables are replaced while cycles run.
  @Test func bindingsAreSwappedUnderACycle() throws {
    let plugin = try instance(amp)
    let run = HandRun(plugin)
    let isOver = Atomic<Bool>(false)
    let hasEnded = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let driver = run
    let controllers = (0..<64).map { controller(7, UInt8($0 * 2), at: $0) }
    let ones = ones
    Thread {
      while !isOver.load(ordering: .acquiring) {
        driver.run([Array(ones[..<64])], blocks: [64], controllers: controllers)
      }
      hasEnded.signal()
    }.start()
    for turn in 0..<2000 {
      try plugin.bind(binding("cc\(turn % 8)", "gain"))
      if turn % 3 == 0 { try plugin.learn(MIDITarget("gain")) }
      if turn % 5 == 0 { try plugin.unbind("gain") }
    }
    plugin.cancelLearning()
    try plugin.bind(binding("cc7", "gain", -10, -10))
    expectTrue(try waits { try plugin.value(of: "gain") == -10 })
    isOver.store(true, ordering: .releasing)
    hasEnded.wait()
    expectEqual(plugin.bindings, [binding("cc7", "gain", -10, -10)])
  }

  @Test func aCycleWithControllersNeitherAllocatesNorLocks() throws {
    let plugin = try instance(amp)
    let params = try instance(examples + "params")
    let metro = try instance(examples + "metro")
    let runs = [HandRun(plugin), HandRun(params), HandRun(metro)]
    try plugin.bind(binding("cc7", "gain"))
    try params.bind(binding("cc7", "float", 0, 1))
    for turn in 0..<20 {
      if turn % 4 == 0 { try plugin.learn(MIDITarget("gain")) }
      for run in runs {
        run.transport = { frame in
          var transport = cue_transport()
          transport.frame = frame + Int64(turn / 3)
          transport.is_rolling = true
          transport.has_beats = true
          transport.frames_per_second = 48000
          transport.beats_per_minute = 120
          transport.beats_per_bar = 4
          transport.beat_unit = 4
          return transport
        }
        run.run(
          [noise(64)], frames: 64, controllers: (0..<8).map { controller(7, $0, at: Int($0) * 5) }
        ) { body in
          cue_probe_enter()
          body()
          let seen = cue_probe_leave()
          expectTrue(seen.allocations == 0 && seen.frees == 0 && seen.locks == 0)
          expectTrue(seen.retains == 0 && seen.releases == 0)
        }
      }
    }
  }

  // MARK: Errors

  @Test func whatCannotBeBoundIsNamed() throws {
    let plugin = try instance(amp)
    #expect(throws: HostError.unknownPort(plugin: amp, symbol: "loud")) {
      try plugin.bind(binding("cc1", "loud"))
    }
    #expect(throws: HostError.unknownPort(plugin: amp, symbol: "loud")) {
      try plugin.unbind("loud")
    }
    #expect(
      throws: HostError.valueOutOfRange(plugin: amp, symbol: "gain", value: 25, range: -90...24)
    ) { try plugin.learn(MIDITarget("gain", low: -90, high: 25)) }
    let params = try instance(examples + "params")
    #expect(
      throws: HostError.notANumber(
        plugin: examples + "params", parameter: examples + "params#string")
    ) { try params.bind(binding("cc1", "string", 0, 1)) }
    expectTrue(plugin.bindings.isEmpty && params.bindings.isEmpty)
    for text in ["cc", "cc120", "cc7@0", "cc7@17", "7", "cc7@", "cc-1", "CC7"] {
      expectNil(MIDIController(text), "\(text)")
    }
    expectEqual(MIDIController("cc0@16")?.description, "cc0@16")
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([MIDIController].self, from: Data("[\"cc300\"]".utf8))
    }
  }
}
