import CProbe
import CRealTime
import Foundation
import Graph
import TestSupport
import Testing

@testable import PluginHost

/// Returns the built command, which runs plugins for the tests.
func isolation(patience: Double = 10) throws -> IsolationProgram {
  IsolationProgram(executable: try builtProduct(named: "cuejack").path, patience: patience)
}

/// Builds Cuejack's plugins and returns a world with them and Debian's.
func builtPlugins() throws -> World {
  let built = repository.appendingPathComponent(".build/lv2").path
  let made = try run("make", ["-C", "Plugins", "OUT=\(built)"], folder: repository)
  if made.status != 0 { throw SupportError("\(made.output)\(made.errors)") }
  return World(path: built + ":/usr/lib/lv2")
}

/// Isolated plugins: same result as in-process plugins, one block later.
@Suite(.serialized) struct IsolatedPluginTests {
  /// The maximum block length in frames.
  private static let lag = usual.maximumFrames

  private func isolated(
    _ uri: String, in world: World = installed, _ settings: PluginSettings = usual
  ) throws -> IsolatedPlugin {
    try IsolatedPlugin(uri, in: world, settings: settings, program: isolation())
  }

  private func plain(
    _ uri: String, in world: World = installed, _ settings: PluginSettings = usual
  ) throws -> PluginInstance {
    try PluginInstance(uri, in: world, settings: settings)
  }

  /// Returns a run in freewheel mode, in which waiting is allowed.
  private func waiting(_ node: any GraphNode) -> HandRun {
    let run = HandRun(node)
    run.isFreewheeling = true
    return run
  }

  /// Returns sound delayed by `lag` frames of silence.
  private func late(_ sound: [[Float]]) -> [[Float]] {
    sound.map { [Float](repeating: 0, count: Self.lag) + $0.dropLast(Self.lag) }
  }

  private func late(_ events: [TimedEvent], before end: Int) -> [TimedEvent] {
    events.map { TimedEvent(frame: $0.frame + Self.lag, bytes: $0.bytes) }
      .filter { $0.frame < end }
  }

  // MARK: Waiting

  /// A cycle that may wait also waits for the preceding block, for which nothing waited.
  @Test func freewheelingWaitsForWhatCameBefore() throws {
    let plugin = try isolated(examples + "amp")
    let run = HandRun(plugin)
    let child = plugin.process.identifier
    stop(child)
    run.run([noise(512, seed: 1)])
    run.isFreewheeling = true
    let done = DispatchSemaphore(value: 0)
    // Only the other thread uses it until it signals.
    nonisolated(unsafe) let other = run
    Thread.detachNewThread {
      other.run([noise(512, seed: 2)])
      done.signal()
    }
    usleep(50_000)
    kill(child, SIGCONT)
    let isOver = done.wait(timeout: .now() + 20) == .success
    expectTrue(isOver)
    if !isOver {
      kill(child, SIGKILL)
      done.wait()
    }
  }

  /// A longer cycle stays one block, since its second part would always be late.
  @Test func blocksGrowWithTheCycle() throws {
    let plugin = try isolated(examples + "amp")
    let graph = Graph(sampleRate: 48000, blockFrames: 256)
    _ = try graph.add(plugin)
    expectEqual(plugin.latencyFrames, 256)
    graph.prepare(blockFrames: 4096)
    expectEqual(plugin.latencyFrames, 4096)
  }

  // MARK: Sound and events

  @Test(arguments: [
    "http://lv2plug.in/plugins/eg-amp", "http://drobilla.net/plugins/mda/Ambience",
    "http://drobilla.net/plugins/mda/Limiter", "http://drobilla.net/plugins/mda/EPiano",
    "urn:cuejack:plugins:limiter", "urn:cuejack:plugins:parametric-eq",
  ])
  func theSoundIsThatOfThePluginHere(uri: String) throws {
    let world = try builtPlugins()
    for blocks in [[1024], [64, 17], [1], [5, 300, 64, 1, 1023]] {
      let (here, there) = try (plain(uri, in: world), isolated(uri, in: world))
      expectTrue(there.inputs == here.inputs && there.outputs == here.outputs)
      let frames = blocks == [1] ? 3000 : 9000
      let input = (0..<here.inputs).map { noise(frames, seed: UInt64($0) + 7) }
      let midi =
        here.accepts("http://lv2plug.in/ns/ext/midi#MidiEvent")
        ? [60, 700, 701].map { TimedEvent(frame: $0, bytes: [0x90, UInt8($0 / 20), 100]) } : []
      for plugin in [here, there] as [any HostedPlugin] {
        for (i, symbol) in plugin.controls.prefix(2).enumerated() {
          let port = try require(plugin.description.port(symbol))
          guard let low = port.minimum, let high = port.maximum else { continue }
          try plugin.set(
            symbol, to: low + (high - low) * 0.75, at: Int64(500 + 300 * i), over: 200 * i)
        }
      }
      let expected = waiting(here).run(input, frames: frames, blocks: blocks, midi: midi).sound
      let sound = waiting(there).run(input, frames: frames, blocks: blocks, midi: midi).sound
      expectEqual(sound, late(expected), "\(blocks)")
      expectTrue(expected.allSatisfy { $0.contains { $0 != 0 } })
      expectTrue(there.memory.late == 0 && there.lostEvents == 0)
    }
  }

  @Test(arguments: [[1024], [64], [17], [1]])
  func eventsKeepTheirFrames(blocks: [Int]) throws {
    let fifths = try isolated(examples + "fifths")
    let run = waiting(fifths)
    run.frame = 5000
    let midi = [0, 1, 16, 17, 63, 64, 500, 975, 976, 1500].map {
      TimedEvent(frame: $0, bytes: [0x90, UInt8($0 % 100), 100])
    }
    for frame in [3, 100, 701] { try fifths.send(midi: [0x80, 10, 0], at: 5000 + Int64(frame)) }
    let out = run.run(frames: 2500, blocks: blocks, midi: midi).events
    let here = try plain(examples + "fifths")
    let second = HandRun(here)
    second.frame = 5000
    for frame in [3, 100, 701] { try here.send(midi: [0x80, 10, 0], at: 5000 + Int64(frame)) }
    let expected = second.run(frames: 2500, blocks: blocks, midi: midi).events
    expectEqual(out, late(expected, before: 2500))
    expectEqual(out.count, 24)
  }

  @Test func aPositionIsTold() throws {
    let (here, there) = try (plain(examples + "metro"), isolated(examples + "metro"))
    for plugin in [here, there] as [any HostedPlugin] {
      try plugin.send(TransportPosition(frame: 0, speed: 1, beatsPerMinute: 120), at: 100)
    }
    let expected = waiting(here).run(frames: 30000, blocks: [512]).sound
    expectEqual(waiting(there).run(frames: 30000, blocks: [512]).sound, late(expected))
    expectTrue(expected[0].contains { $0 != 0 })
  }

  @Test func parametersAreSetAndTold() throws {
    let params = try isolated(examples + "params")
    let told = DispatchSemaphore(value: 0)
    params.whenParametersChange { if $0.count > 3 { told.signal() } }
    let run = waiting(params)
    let values: [(String, ParameterValue)] = [
      ("int", .int(42)), ("long", .long(1 << 40)), ("float", .float(1.5)), ("bool", .bool(true)),
      ("string", .string("hello")), ("path", .path("/etc/hostname")),
    ]
    for (name, value) in values { try params.setParameter(examples + "params#\(name)", to: value) }
    run.run(frames: 64)
    try params.requestParameter()
    run.run(frames: 64)
    expectEqual(told.wait(timeout: .now() + 20), .success)
    for (name, value) in values {
      expectEqual(params.parameterValues[examples + "params#\(name)"], value)
    }
  }

  @Test func latencyIsABlockAndThePlugins() throws {
    let limiter = try isolated(
      "urn:cuejack:plugins:limiter", in: builtPlugins())
    expectTrue(limiter.latencyFrames == 1264 && !limiter.hasRun)
    let run = waiting(limiter)
    run.run([noise(64), noise(64)])
    expectTrue(limiter.latencyFrames == 1264 && limiter.hasRun && run.sawAttention)
    run.run([noise(64), noise(64)])
    expectTrue(!run.sawAttention)
    try limiter.prepare(sampleRate: 96000, maximumFrames: 256)
    expectEqual(limiter.latencyFrames, 256 + 480)
  }

  // MARK: State and settings

  @Test func stateIsSavedAndRestored() throws {
    try withTemporaryFolder { folder in
      let amp = try isolated(examples + "amp")
      try amp.set("gain", to: -12.5)
      try expectEqual(amp.value(of: "gain"), -12.5)
      try amp.save(to: folder.appendingPathComponent("amp").path)
      let state = try amp.capture()
      let here = try plain(examples + "amp")
      try here.restore(state)
      try expectEqual(here.value(of: "gain"), -12.5)
      try here.set("gain", to: 3)
      // An in-memory state is passed to the other process, too.
      try amp.restore(here.capture())
      try expectEqual(amp.value(of: "gain"), 3)
      let second = try amp.replacement(
        restoring: PluginState(
          folder: folder.appendingPathComponent("amp").path, world: installed))
      try expectEqual(second.value(of: "gain"), -12.5)
      #expect(
        throws: HostError.stateOfAnother(plugin: examples + "params", other: examples + "amp")
      ) { try isolated(examples + "params").restore(state) }
    }
  }

  /// Including a property that the plugin stores itself and that refers to a file.
  @Test func aSampleGoesWithTheState() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("sample.wav").path
      try writeWave([[Float](repeating: 0.25, count: 48000)], to: path)
      let offline = PluginSettings(sampleRate: 48000, maximumFrames: 1024, isOffline: true)
      let here = try plain(examples + "sampler", offline)
      try here.setParameter(examples + "sampler#sample", to: .path(path))
      HandRun(here).run(frames: 64)
      let there = try isolated(examples + "sampler", offline)
        .replacement(restoring: here.capture())
      let note = [TimedEvent(frame: 0, bytes: [0x90, 60, 127])]
      let sound = HandRun(there).run(frames: 2048, midi: note).sound[0]
      expectTrue(sound[1024...].allSatisfy { abs($0 - 0.25) < 1e-4 })
      expectTrue(FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func aPresetIsRestored() throws {
    let uri = "http://drobilla.net/plugins/mda/EPiano"
    let (here, there) = try (plain(uri), isolated(uri))
    let preset = here.description.presets[3].uri
    for plugin in [here, there] as [any HostedPlugin] {
      try plugin.restore(installed.preset(preset, of: uri))
    }
    try expectEqual(
      there.controls.map { try there.value(of: $0) }, here.controls.map { try here.value(of: $0) })
  }

  @Test func anotherRateAndBlockLengthAreTaken() throws {
    let amp = try isolated(examples + "amp")
    try amp.set("gain", to: 20)
    let run = waiting(amp)
    let ones = [Float](repeating: 1, count: 5000)
    run.run([ones], blocks: [1000])
    for frames in [4096, 128] {
      try amp.prepare(sampleRate: 44100, maximumFrames: frames)
      expectEqual(amp.latencyFrames, frames)
      let sound = run.run([ones], blocks: [frames, 77]).sound[0]
      expectTrue(sound[..<frames].allSatisfy { $0 == 0 })
      expectTrue(sound[frames...].allSatisfy { abs($0 - 10) < 1e-4 })
    }
  }

  @Test func aPluginThatCanBypassItselfDoes() throws {
    let strip = try isolated(
      "urn:cuejack:plugins:channel-strip", in: builtPlugins())
    expectTrue(strip.setEnabled(false) && strip.setEnabled(true))
    expectTrue(try !isolated(examples + "amp").setEnabled(false))
  }

  // MARK: Errors

  @Test func wrongValuesAreRefusedByName() throws {
    let amp = try isolated(examples + "amp")
    expectRefusals(by: amp)
    #expect(
      throws: HostError.unknownParameter(plugin: examples + "amp", parameter: "urn:no")
    ) { try amp.setParameter("urn:no", to: .int(1)) }
    #expect(
      throws: HostError.unwritableState(
        folder: "/proc/nowhere", reason: "No such file or directory")
    ) { try amp.save(to: "/proc/nowhere") }
    #expect(throws: HostError.unknownPlugin(uri: "urn:no")) { try isolated("urn:no") }
    #expect(
      throws: HostError.notIsolated(
        plugin: examples + "amp", reason: "/no/such/program: No such file or directory")
    ) {
      try IsolatedPlugin(
        examples + "amp", in: installed, settings: usual,
        program: IsolationProgram(executable: "/no/such/program"))
    }
    #expect(
      throws: HostError.faultyPlugin(
        uri: examples + "amp",
        reason: "ended its process with code 0 while it is instantiated at 48000 Hz")
    ) {
      try IsolatedPlugin(
        examples + "amp", in: installed, settings: usual,
        program: IsolationProgram(executable: "/bin/true"))
    }
  }

  @Test(arguments: [
    ("REFUSES", "cannot be instantiated at 48000.0 Hz"),
    ("CRASHES_AT_ONCE", "it crashed (Segmentation fault) while it is instantiated at 48000 Hz"),
  ])
  func onePluginThatCannotBeMadeIsTold(kind: String, words: String) throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, kind)
      let error = #expect(throws: HostError.self) {
        try isolated(Fixture.uri, in: World(path: fixture.path))
      }
      expectEqual(error.map { "\($0)".contains(words) }, true, "\(error.map { "\($0)" } ?? "")")
    }
  }

  // MARK: The cycle

  @Test func aCycleNeitherAllocatesNorLocks() throws {
    let amp = try isolated(examples + "amp")
    let run = HandRun(amp)
    let fifths = try isolated(examples + "fifths")
    let second = HandRun(fifths)
    func turn(_ count: Int) {
      for _ in 0..<count {
        for run in [run, second] {
          let note = [TimedEvent(frame: 7, bytes: [0x90, 60, 100])]
          run.run([noise(64)], frames: 64, midi: note) { body in
            cue_probe_enter()
            body()
            let seen = cue_probe_leave()
            expectTrue(seen.allocations == 0 && seen.frees == 0 && seen.locks == 0)
            expectTrue(seen.retains == 0 && seen.releases == 0)
          }
        }
      }
    }
    turn(100)
    // Also when the answer is late, or when none comes any more.
    stop(amp.process.identifier)
    turn(100)
    kill(amp.process.identifier, SIGKILL)
    try wait(for: "the end") { amp.isGone }
    turn(20)
  }
}
