import CProbe
import CRealTime
import Foundation
import Graph
import PluginHost
import Synchronization
import TestSupport
import Testing

let examples = "http://lv2plug.in/plugins/eg-"
let installed = World()
let usual = PluginSettings(sampleRate: 48000, maximumFrames: 1024)

/// Instances of real plugins, run by hand.
@Suite(.serialized) struct PluginInstanceTests {
  private func instance(_ uri: String, _ settings: PluginSettings = usual) throws -> PluginInstance
  {
    try PluginInstance(uri, in: installed, settings: settings)
  }

  // MARK: Sound and controls

  @Test func soundPasses() throws {
    let amp = try instance(examples + "amp")
    expectTrue(amp.inputs == 1 && amp.outputs == 1 && amp.eventInputs == 0)
    let input = noise(3000)
    expectEqual(HandRun(amp).run([input], blocks: [64, 17, 1024]).sound, [input])
  }

  @Test func aControlChangesOnItsFrame() throws {
    let amp = try instance(examples + "amp")
    let run = HandRun(amp)
    run.frame = 1000
    let ones = [Float](repeating: 1, count: 1024)
    try amp.set("gain", to: 20, at: 1000 + 333)
    try amp.set("gain", to: 0, at: 1000 + 700)
    let sound = run.run([ones]).sound[0]
    expectTrue(sound[..<333].allSatisfy { $0 == 1 })
    expectTrue(sound[333..<700].allSatisfy { abs($0 - 10) < 1e-5 })
    expectTrue(sound[700...].allSatisfy { $0 == 1 })
    // A change that is too late takes effect at once.
    try amp.set("gain", to: 20, at: 5)
    expectTrue(run.run([ones]).sound[0].allSatisfy { abs($0 - 10) < 1e-5 })
    try expectEqual(amp.value(of: "gain"), 20)
  }

  /// The value changes in steps of 32 frames from the first frame of the ramp on, independent of the
  /// blocks.
  @Test(arguments: [[1024], [64], [17], [1], [5, 300, 64, 1]])
  func aRampDoesNotDependOnTheBlocks(blocks: [Int]) throws {
    let amp = try instance(examples + "amp")
    try amp.set("gain", to: -40, at: 100, over: 1000)
    let ones = [Float](repeating: 1, count: 2048)
    let sound = HandRun(amp).run([ones], blocks: blocks).sound[0]
    for (i, sample) in sound.enumerated() {
      let step = i < 100 ? 0 : Float((i - 100) / 32 + 1) * 32 / 1000
      let expected = pow(10, -40 * min(1, step) / 20)
      expectTrue(abs(sample - expected) <= 1e-5, "frame \(i)")
    }
  }

  @Test func wrongValuesAreRefusedByName() throws {
    let amp = try instance(examples + "amp")
    expectRefusals(by: amp)
    // Changes that exceed the ring are refused, and earlier ones are not lost.
    var sent = 0
    #expect(throws: HostError.tooManyChanges(plugin: examples + "amp")) {
      while true {
        try amp.set("gain", to: Float(sent % 20), at: Int64(sent))
        sent += 1
      }
    }
    expectTrue(sent >= 1024)
  }

  @Test func aCycleNeitherAllocatesNorLocks() throws {
    let amp = try instance(examples + "amp")
    let run = HandRun(amp)
    let fifths = try instance(examples + "fifths")
    let second = HandRun(fifths)
    let params = try instance(examples + "params")
    let third = HandRun(params)
    for turn in 0..<20 {
      try amp.set("gain", to: Float(turn), at: Int64(turn * 64 + 20), over: 100)
      try fifths.send(midi: [0x90, 60, 100], at: Int64(turn * 64 + 9))
      try params.setParameter(examples + "params#float", to: .float(1), at: Int64(turn * 64 + 3))
      for run in [run, second, third] {
        run.run([noise(64)], frames: 64) { body in
          cue_probe_enter()
          body()
          let seen = cue_probe_leave()
          expectTrue(seen.allocations == 0 && seen.frees == 0 && seen.locks == 0)
          expectTrue(seen.retains == 0 && seen.releases == 0)
        }
      }
    }
  }

  // MARK: Events

  @Test(arguments: [[1024], [64], [17], [1]])
  func eventsKeepTheirFrames(blocks: [Int]) throws {
    let fifths = try instance(examples + "fifths")
    let midi = [0, 1, 16, 17, 63, 64, 500, 1023, 1024].map {
      TimedEvent(frame: $0, bytes: [0x90, UInt8($0 % 100), 100])
    }
    let out = HandRun(fifths).run(frames: 2000, blocks: blocks, midi: midi).events
    let expected = midi.flatMap {
      [$0, TimedEvent(frame: $0.frame, bytes: [$0.bytes[0], $0.bytes[1] + 7, $0.bytes[2]])]
    }
    expectEqual(out, expected)
  }

  /// Events from the host are merged with those of the graph, also where a change splits the run.
  @Test(arguments: [[1024], [64], [17], [1]])
  func theHostsEventsJoinTheGraphs(blocks: [Int]) throws {
    let fifths = try instance(examples + "fifths")
    let run = HandRun(fifths)
    run.frame = 5000
    let frames = [3, 100, 100, 101, 700]
    for frame in frames { try fifths.send(midi: [0x80, 60, 0], at: 5000 + Int64(frame)) }
    let midi = [0, 100, 102, 699, 701].map { TimedEvent(frame: $0, bytes: [0x90, 50, 1]) }
    let out = run.run(frames: 1000, blocks: blocks, midi: midi).events
    let roots = out.filter { $0.bytes[1] % 10 == 0 }
    expectTrue(out.count == 20 && out.map(\.frame) == out.map(\.frame).sorted())
    expectEqual(roots.map(\.frame), (frames + midi.map(\.frame)).sorted())
    expectEqual(roots.filter { $0.bytes[0] == 0x80 }.map(\.frame), frames)
    // An event for a frame before its block arrives at the block's first frame.
    try fifths.send(midi: [0x80, 60, 0], at: 1)
    expectEqual(run.run(frames: 64).events.map(\.frame), [0, 0])
  }

  /// This plugin's gate reports each state one event late. The test checks that it receives all events.
  @Test func aNoteOpensTheGate() throws {
    let gate = try instance(examples + "midigate")
    let ones = [Float](repeating: 1, count: 1000)
    try gate.send(midi: [0x90, 60, 100], at: 100)
    try gate.send(midi: [0x80, 60, 0], at: 400)
    let midi = [
      TimedEvent(frame: 600, bytes: [0x90, 61, 100]), TimedEvent(frame: 601, bytes: [0x80, 61, 0]),
    ]
    let sound = HandRun(gate).run([ones], blocks: [512], midi: midi).sound[0]
    expectEqual(sound.indices.filter { sound[$0] == 1 }, Array(0..<100) + Array(512..<600))
  }

  @Test func aPositionIsTold() throws {
    let metro = try instance(examples + "metro")
    let run = HandRun(metro)
    expectTrue(metro.accepts("http://lv2plug.in/ns/ext/time#Position"))
    expectTrue(run.run(frames: 4800).sound[0].allSatisfy { $0 == 0 })
    try metro.send(TransportPosition(frame: 0, speed: 1, beatsPerMinute: 120), at: run.frame + 100)
    let sound = run.run(frames: 48000).sound[0]
    expectTrue(sound[..<100].allSatisfy { $0 == 0 })
    expectTrue(sound[100...].contains { $0 != 0 })
    try metro.send(TransportPosition(frame: 0, speed: 0, beatsPerMinute: 120))
    run.run(frames: 4800)
    expectTrue(run.run(frames: 48000).sound[0].allSatisfy { $0 == 0 })
  }

  @Test func parametersAreSetAndTold() throws {
    let params = try instance(examples + "params")
    let run = HandRun(params)
    let values: [(String, ParameterValue)] = [
      ("int", .int(42)), ("long", .long(1 << 40)), ("float", .float(1.5)), ("double", .double(2.5)),
      ("bool", .bool(true)), ("string", .string("hello")), ("path", .path("/etc/hostname")),
    ]
    for (name, value) in values { try params.setParameter(examples + "params#\(name)", to: value) }
    run.run(frames: 64)
    try params.requestParameter()
    run.run(frames: 64)
    try wait(for: "the answer") { params.parameterValues.count >= values.count }
    for (name, value) in values {
      expectEqual(params.parameterValues[examples + "params#\(name)"], value)
    }
    #expect(
      throws: HostError.unknownParameter(plugin: examples + "params", parameter: "urn:no")
    ) { try params.setParameter("urn:no", to: .int(1)) }
  }

  // MARK: The worker

  private static let sample = examples + "sampler#sample"

  /// Writes a constant sample of one second.
  private func makeSample(in folder: URL, level: Float) throws -> String {
    let path = folder.appendingPathComponent("sample-\(level).wav").path
    try writeWave([[Float](repeating: level, count: 48000)], to: path)
    return path
  }

  @Test(arguments: [true, false])
  func workIsDoneAtOnceWhereWaitingIsAllowed(isOffline: Bool) throws {
    try withTemporaryFolder { folder in
      let sampler = try instance(
        examples + "sampler",
        PluginSettings(sampleRate: 48000, maximumFrames: 1024, isOffline: isOffline))
      let run = HandRun(sampler)
      run.isFreewheeling = !isOffline
      try sampler.setParameter(Self.sample, to: .path(makeSample(in: folder, level: 0.25)))
      run.run(frames: 64)
      // The very next block plays the new sample.
      let sound = run.run(frames: 64, midi: [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]).sound[0]
      expectTrue(sound.allSatisfy { abs($0 - 0.25) < 1e-4 })
    }
  }

  @Test func workIsDoneOnAThreadOfItsOwn() throws {
    try withTemporaryFolder { folder in
      let sampler = try instance(examples + "sampler")
      let run = HandRun(sampler)
      try sampler.setParameter(Self.sample, to: .path(makeSample(in: folder, level: 0.25)))
      try wait(for: "the sample") {
        let sound = run.run(frames: 64, midi: [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]).sound
        return sound[0].allSatisfy { abs($0 - 0.25) < 1e-4 }
      }
      expectEqual(sampler.lostEvents, 0)
    }
  }

  // MARK: Settings

  @Test func anotherRateKeepsTheState() throws {
    let amp = try instance(examples + "amp")
    try amp.set("gain", to: 20)
    let ones = [Float](repeating: 1, count: 64)
    expectTrue(HandRun(amp).run([ones]).sound[0].allSatisfy { abs($0 - 10) < 1e-5 })
    try amp.prepare(sampleRate: 96000, maximumFrames: 2048)
    expectTrue(HandRun(amp).run([ones]).sound[0].allSatisfy { abs($0 - 10) < 1e-5 })
    try expectEqual(amp.value(of: "gain"), 20)
  }

  @Test func anotherRateKeepsWhatThePluginStores() throws {
    let params = try instance(examples + "params")
    try params.setParameter(examples + "params#string", to: .string("kept"))
    HandRun(params).run(frames: 64)
    try params.prepare(sampleRate: 96000, maximumFrames: 1024)
    try params.requestParameter()
    HandRun(params).run(frames: 64)
    try wait(for: "the answer") { !params.parameterValues.isEmpty }
    expectEqual(params.parameterValues[examples + "params#string"], .string("kept"))
  }

  @Test func optionalPortsCanBeLeftOut() throws {
    #expect(throws: HostError.unknownPort(plugin: examples + "amp", symbol: "in")) {
      try instance(
        examples + "amp", PluginSettings(sampleRate: 48000, maximumFrames: 64, leftOut: ["in"]))
    }
  }

  @Test func instancesComeAndGoWithTheirThreads() throws {
    weak var last: PluginInstance?
    for _ in 0..<20 {
      let sampler = try instance(examples + "sampler")
      HandRun(sampler).run(frames: 64)
      last = sampler
    }
    expectNil(last)
  }

  /// The instance is released while the worker thread is in a callback, which does not retain the
  /// instance.
  @Test func theWorkerThreadDoesNotHoldTheInstance() throws {
    let (isLearned, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var amp: PluginInstance? = try instance(examples + "amp")
    weak let observed = amp
    try amp?.learn(MIDITarget("gain")) { _ in
      isLearned.signal()
      mayGoOn.wait()
    }
    HandRun(try require(amp)).run(
      [[Float](repeating: 1, count: 64)],
      controllers: [TimedEvent(frame: 0, bytes: [0xb0, 7, 64])])
    isLearned.wait()
    let owner = Mutex(amp)
    amp = nil
    let isGone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      owner.withLock { $0 = nil }
      isGone.signal()
    }
    defer {
      mayGoOn.signal()
      isGone.wait()
    }
    try wait(for: "the instance to go") { observed == nil }
  }

  /// A run of no frames, in which a plugin reports its latency, does not consume messages.
  @Test func whatIsSentWaitsForTheFirstFrame() throws {
    try withTemporaryFolder { folder in
      let plugin = try Fixture.echo(in: folder, hasLatency: true)
      try plugin.send(midi: [0x90, 60, 100])
      try plugin.prepare(sampleRate: 48000, maximumFrames: 1024)
      let heard = HandRun(plugin).run(frames: 64).events
      expectEqual(heard, [TimedEvent(frame: 0, bytes: [0x90, 60, 100])])
      expectEqual(plugin.lostEvents, 0)
    }
  }
}
