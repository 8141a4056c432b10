import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import TestSupport
import Testing

/// Plugin chains on a running JACK server: MIDI, controllers and transport.
@Suite(.tags(.server), .serialized) struct JackMusicTests {
  private static let examples = "http://lv2plug.in/plugins/eg-"

  /// MIDI and an emitter as input of a chain, a MIDI recorder and a capture client at its output.
  private final class Stage {
    let jack: JackDaemon
    let keys: Keys
    let listener: Keys
    private let emitter: Emitter
    let capture: CaptureClient
    let conductor: Conductor
    let device: Device
    let chain: PluginChain

    /// Creates the stage. With a tempo, the plugins are the only source of sound.
    init(_ plugins: [String], hearsControllers: Bool = false, tempo: Double? = nil) throws {
      jack = try JackDaemon(period: 256)
      keys = try Keys(on: jack)
      listener = try Keys(on: jack, name: "listener")
      emitter = try Emitter(on: jack, channels: 1)
      capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 20)
      conductor = try Conductor(on: jack, tempo: tempo)
      device = try Device(JackServer(named: jack.name), clientName: "chain")
      chain = try PluginChain(
        plugins.map { PluginChoice(uri: JackMusicTests.examples + $0) }, in: World(), channels: 1,
        sampleRate: 48000, isOffline: false, hearsControllers: hearsControllers)
      let input = try chain.graph.addInputs(named: "in", audio: ["in_1"])
      try chain.graph.connect(input, to: chain.entrance)
      try chain.graph.run(on: device)
      if tempo == nil { try device.connect("in_1", to: "emitter:out_1") }
      try device.connect("out_1", to: "capture:in_1")
      if let port = chain.midiInput { try device.connect(port, to: "keys:out") }
      if let port = chain.midiOutput { try device.connect(port, to: "listener:in") }
      try capture.setFreewheel(true)
    }

    deinit {
      chain.graph.stop()
      jack.stop()
    }

    /// Starts recording. Returns the first frame of a cycle six seconds ahead, which leaves time to
    /// prepare.
    func prepare() -> UInt32 {
      capture.arm()
      return UInt32(truncatingIfNeeded: device.latestFrame) &+ 6 * 187 * 256
    }

    /// Returns the recording up to `frames` frames after `first`, which has the index `begin`.
    func heard(from first: UInt32, _ frames: Int) throws -> (
      first: UInt32, begin: Int, samples: [Float]
    ) {
      try require(capture.wait(untilFrames: 1))
      let begin = Int(first &- capture.firstFrame)
      try require(capture.wait(untilFrames: begin + frames))
      capture.disarm()
      expectEqual(capture.gaps, [])
      return (capture.firstFrame, begin, capture.samples(channel: 0))
    }

    /// Records `frames` frames and returns them with the frame time of the first one.
    func listen(_ frames: Int) -> (first: UInt32, samples: [Float]) {
      capture.arm()
      expectTrue(capture.wait(untilFrames: frames))
      capture.disarm()
      expectEqual(capture.gaps, [])
      return (capture.firstFrame, capture.samples(channel: 0))
    }
  }

  /// From one client through consecutive plugins to another client, with frame accuracy.
  @Test(arguments: [1, 2]) func notesGoThroughPlugins(count: Int) throws {
    let stage = try Stage([String](repeating: "fifths", count: count))
    expectTrue(stage.chain.midiInput == "midi_in" && stage.chain.midiOutput == "midi_out")
    let first = stage.prepare()
    let notes = (0..<60).map { number -> Keys.Message in
      let status: UInt8 = number % 2 == 0 ? 0x90 : 0x80
      return Keys.Message(first &+ UInt32(number * 97), [status, UInt8(30 + number / 2), 100])
    }
    try stage.keys.play(notes)
    // The second plugin adds fifths to the first one's fifths.
    var expected = notes
    for _ in 0..<count {
      expected = expected.flatMap { note -> [Keys.Message] in
        let fifth = [note.bytes[0], note.bytes[1] + 7, note.bytes[2]]
        return [note, Keys.Message(note.frame, fifth)]
      }
    }
    expectTrue(waits { stage.listener.heard.count >= expected.count })
    expectEqual(stage.listener.heard, expected)
    // The audio passes the plugins.
    let heard = stage.listen(4096)
    let wrong = heard.samples.enumerated().count {
      $0.element != Emitter.sample(at: heard.first &+ UInt32($0.offset), channel: 0)
    }
    expectEqual(wrong, 0)
  }

  /// The output of eg-fifths opens eg-midigate and goes nowhere else. The gate applies a note from the
  /// start of its cycle on, so these notes start with cycles.
  @Test func whatAPluginWritesGoesToTheNext() throws {
    let stage = try Stage(["fifths", "midigate"])
    expectNil(stage.chain.midiOutput)
    let first = stage.prepare()
    let frames: [UInt32] = [0, 1024, 2560, 2816, 5120, 8192]
    try stage.keys.play(
      frames.enumerated().map {
        Keys.Message(first &+ $0.element, [$0.offset % 2 == 0 ? 0x90 : 0x80, 60, 100])
      })
    let heard = try stage.heard(from: first, 1 << 14)
    let begin = heard.begin
    var wrong = 0
    for (i, sample) in heard.samples.enumerated() {
      let frame = i - begin
      let isOpen = 0..<1024 ~= frame || 2560..<2816 ~= frame || 5120..<8192 ~= frame
      let expected =
        isOpen ? Emitter.sample(at: heard.first &+ UInt32(i), channel: 0) : 0
      if sample != expected { wrong += 1 }
    }
    expectEqual(wrong, 0)
  }

  /// A controller moves the gain of a plugin without MIDI ports, with frame accuracy. A second one is
  /// learned.
  @Test func controllersMoveGains() throws {
    let stage = try Stage(["amp", "amp"], hearsControllers: true)
    expectTrue(stage.chain.midiInput == "midi_in" && stage.chain.midiOutput == nil)
    try stage.chain.bind(
      MIDIBinding(MIDIController("cc7")!, to: MIDITarget("gain", low: 0, high: 20)), ofPlugin: 0)
    try stage.chain.learn(MIDITarget("gain", low: 0, high: -20), ofPlugin: 1) { _ in }
    let first = stage.prepare()
    try stage.keys.play([
      Keys.Message(first, [0xb3, 9, 127]), Keys.Message(first &+ 1000, [0xb0, 7, 127]),
      Keys.Message(first &+ 3001, [0xb3, 9, 0]),
    ])
    let heard = try stage.heard(from: first, 1 << 14)
    let begin = heard.begin
    func gain(_ frame: Int) -> Float {
      func part(_ first: Int) -> Float {
        min(1, max(0, Float((frame - first) / 32 + 1) * 32 / 480))
      }
      var decibels: Float = 0
      if frame >= 0 { decibels -= 20 * part(0) }
      if frame >= 1000 { decibels += 20 * part(1000) }
      if frame >= 3001 { decibels += 20 * part(3001) }
      return pow(10, decibels / 20)
    }
    var worst: Float = 0
    for (i, sample) in heard.samples.enumerated() {
      let emitted = Emitter.sample(at: heard.first &+ UInt32(i), channel: 0)
      guard emitted != 0 else { continue }
      worst = max(worst, abs(sample / emitted - gain(i - begin)) / gain(i - begin))
    }
    expectTrue(worst < 1e-5)
    expectTrue(
      waits { stage.chain.stages[1][0].bindings.map(\.controller.description) == ["cc9@4"] })
  }

  /// A metronome clicks on the beats of the transport: from its start, after a jump, and at another
  /// tempo. A click fades in, so it is audible from its second or third frame on.
  @Test func aMetronomeFollowsTheTransport() throws {
    let stage = try Stage(["metro"], tempo: 120)
    /// Returns the frames, relative to the transport's frame 0, at which clicks start.
    func clicks(of heard: (first: UInt32, samples: [Float]), _ frames: Int) throws -> [Int] {
      let begin = try require(stage.conductor.begin)
      var found: [Int] = []
      var silent = 0
      for (i, sample) in heard.samples.enumerated() {
        if sample == 0 {
          silent += 1
          continue
        }
        if silent >= 1000 { found.append(Int(heard.first) + i - begin) }
        silent = 0
      }
      return Array(found.prefix(frames))
    }
    expectTrue(stage.listen(48000).samples.allSatisfy { $0 == 0 })
    stage.conductor.start()
    expectTrue(waits { stage.conductor.begin != nil })
    let rolling = try clicks(of: stage.listen(120_000), 4)
    expectTrue(rolling.count == 4 && rolling.allSatisfy { 1...2 ~= $0 % 24000 }, "\(rolling)")

    let before = try require(stage.conductor.begin)
    stage.conductor.locate(48_000 * 100 + 12_345)
    expectTrue(waits { stage.conductor.begin.map { $0 != before } ?? false })
    let jumped = try clicks(of: stage.listen(120_000), 4)
    expectTrue(jumped.count == 4 && jumped.allSatisfy { $0 > 4_800_000 }, "\(jumped)")
    // The position within a beat is counted in ticks of 12.5 frames and passed as a float.
    expectTrue(jumped.allSatisfy { abs(($0 - 1 + 12000) % 24000 - 12000) <= 26 }, "\(jumped)")

    stage.conductor.setTempo(240)
    _ = stage.listen(24_000)
    let faster = try clicks(of: stage.listen(60_000), 4)
    expectTrue(
      zip(faster, faster.dropFirst()).allSatisfy { abs($1 - $0 - 12_000) <= 1 }
        && faster.count == 4,
      "\(faster)")
    stage.conductor.stop()
    expectTrue(waits { stage.conductor.begin == nil })
    _ = stage.listen(24_000)
    expectTrue(stage.listen(48_000).samples.allSatisfy { $0 == 0 })
  }

  /// Bindings stay when the server goes away and returns.
  @Test func controllersOutliveJackd() throws {
    let jack = try JackDaemon(period: 256)
    let server = GatedServer(jack)
    let device = try Device(server, clientName: "chain")
    let chain = try PluginChain(
      [PluginChoice(uri: Self.examples + "amp")], in: World(), channels: 1, sampleRate: 48000,
      isOffline: false, hearsControllers: true)
    try chain.graph.run(on: device)
    try chain.bind(
      MIDIBinding(MIDIController("cc7")!, to: MIDITarget("gain")), ofPlugin: 0)
    server.end(jack, crash: true) { device.isLost }
    try jack.start(rate: 44100)
    let keys = try Keys(on: jack)
    defer { withExtendedLifetime(keys) { chain.graph.stop() } }
    server.open()
    expectTrue(waits { !device.isLost && device.client.sampleRate == 44100 })
    try device.connect("midi_in", to: "keys:out")
    // The server applies a connection between two cycles: a message of this cycle can be too early.
    let frame = UInt32(truncatingIfNeeded: device.latestFrame) &+ 22050
    try keys.play([Keys.Message(frame, [0xb0, 7, 127])])
    expectTrue(try waits { try chain.stages[0][0].value(of: "gain") == 24 })
  }
}
