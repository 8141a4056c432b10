import CProbe
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import TestSupport
import Testing
import Timeline

/// The cost of whole cycles on a running server while a graph does everything it can.
@Suite(
  .tags(.server), .serialized, .disabled(if: isSanitized, "a sanitizer defines malloc itself"))
struct CycleCostTests {
  /// The graph has JACK audio and MIDI ports, a voice, plugins with ramping controls, a changing
  /// latency beside a delayed path, and mixers. Meanwhile it fades, bypasses and replaces nodes, and
  /// meets invalid samples. A cycle allocates, frees and locks nothing, and changes no reference count.
  /// Its only system call is sem_post, if a thread waits for it.
  @Test(arguments: [1, 2]) func aCycleMakesNoSystemCall(threads: Int) throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    let emitter = try Emitter(on: jack, channels: 2)
    let capture = try CaptureClient(on: jack, channels: 2, capacity: 1 << 16)
    // A separate client, which is not measured, sends notes.
    let sender = try Device(server, clientName: "sender")
    let sending = Graph(types: types, sampleRate: 48000, blockFrames: 256)
    let notes = (0..<4000).map { (Int64($0) * 1000, UInt8(60)) }
    let keys = try sending.add(EventSource("keys", notes))
    try sending.connect(
      Wire(
        from: keys, to: sending.addOutputs(named: "ports", audio: [], midi: ["notes"]),
        isEvent: true))
    try sending.run(on: sender)

    let world = World()
    func plugin(_ uri: String) throws -> PluginInstance {
      try PluginInstance(
        uri, in: world, settings: PluginSettings(sampleRate: 48000, maximumFrames: 256))
    }
    let (amp, delay) = (
      try plugin("http://lv2plug.in/plugins/eg-amp"),
      try plugin("http://gareus.org/oss/lv2/nodelay")
    )
    let graph = Graph(
      types: types, sampleRate: 48000, blockFrames: 100,
      threads: GraphThreads(threads, leastWork: 0))
    let input = try graph.addInputs(named: "in", audio: ["in_l", "in_r"], midi: ["keys"])
    let source = graph.addSource(named: "voice", channels: 1)
    let ampID = try graph.add(amp)
    let delayID = try graph.add(delay)
    let fifths = try graph.add(plugin("http://lv2plug.in/plugins/eg-fifths"))
    let bad = try graph.add(Plain("bad", .nan))
    let mixer = graph.addMixer(named: "mixer", channels: 2)
    let output = try graph.addOutputs(named: "out", audio: ["out_l", "out_r"], midi: ["fifths"])
    try graph.edit { wiring throws(HostError) in
      try wiring.connect(Wire(from: input, 0, to: ampID))
      try wiring.connect(Wire(from: ampID, to: delayID))
      try wiring.connect(Wire(from: delayID, to: mixer, 0))
      try wiring.connect(Wire(from: input, 1, to: mixer, 1), gain: 0.5)
      try wiring.connect(source, to: mixer)
      try wiring.connect(Wire(from: input, 0, to: bad))
      try wiring.connect(Wire(from: bad, to: mixer, 1))
      try wiring.connect(mixer, to: output)
      try wiring.connect(Wire(from: input, to: fifths, isEvent: true))
      try wiring.connect(Wire(from: input, to: bad, isEvent: true))
      try wiring.connect(Wire(from: fifths, to: output, isEvent: true))
    }
    cue_probe_watch_cycles(true)
    defer { cue_probe_watch_cycles(false) }
    let device = try Device(server, clientName: "graph")
    try graph.run(on: device)
    cue_probe_watch_cycles(false)
    try device.connect("in_l", to: "emitter:out_1")
    try device.connect("in_r", to: "emitter:out_2")
    try device.connect("keys", to: "sender:notes")
    try device.connect("out_l", to: "capture:in_1")
    try device.connect("out_r", to: "capture:in_2")

    let voice = VoiceMemory(channels: 1)
    let samples = [Float](repeating: 0.25, count: 48000)
    try samples.withUnsafeBytes { bytes in
      for token in 0..<8 {
        _ = voice.voice.pointee.entries.push(
          Entry(
            bytes.baseAddress!, frames: samples.count, layout: .float32(channels: 1),
            token: UInt32(token)))
      }
      _ = try device.attach(
        voice, owner: PassiveOwner(), destinations: graph.inputPorts(of: source))
      defer { device.detach(voice) }
      try device.holding(voice) {
        voice.voice.pointee.start(at: StartPoint(.frame(device.latestFrame)))
      }
      _ = cue_probe_take_cycles()
      for i in 0..<24 {
        switch i % 6 {
        case 0: try delay.set("delay", to: Float(i * 10))
        case 1: try graph.connect(Wire(from: input, 1, to: mixer, 1), gain: Float(i) / 24)
        case 2: try graph.setBypassed(ampID, i % 12 == 2)
        case 3: try graph.replace(ampID, with: plugin("http://lv2plug.in/plugins/eg-amp"))
        case 4: try amp.set("gain", to: Float(-i), over: 1000)
        default: try graph.setBypassed(delayID, i % 12 == 5)
        }
        expectTrue(waits { graph.isSettled })
      }
      let seen = cue_probe_take_cycles()
      expectTrue(seen.cycles > 24)
      let counts = seen.counts
      expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
      expectTrue(counts.retains == 0 && counts.releases == 0)
      try require(seen.has_watched_calls)
      expectEqual(counts.calls, 0)
      // One per cycle, plus one from a plugin that has a message.
      expectTrue(UInt64(counts.wakes) <= 2 * seen.cycles)
    }
    expectTrue(try graph.badSamples(of: bad) > 0)
    graph.stop()
    sending.stop()
    withExtendedLifetime((emitter, capture)) {}
  }
}
