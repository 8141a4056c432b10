import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import Synchronization
import TestSupport
import Testing
import Timeline

/// Graphs on a running JACK server.
@Suite(.tags(.server, .program), .serialized) struct JackGraphTests {
  /// An emitter, a graph with one node, and a capture client.
  private final class Rig {
    let jack: JackDaemon
    let server: GatedServer
    let device: Device
    let graph: Graph
    private var emitter: Emitter?
    private(set) var capture: CaptureClient!
    let input: NodeID
    let output: NodeID
    let id: NodeID

    init(_ node: any GraphNode, period: Int = 256) throws {
      // In synchronous mode no cycle continues without a late client.
      jack = try JackDaemon(period: period)
      emitter = try Emitter(on: jack, channels: 1)
      capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 16)
      server = GatedServer(jack)
      device = try Device(server, clientName: "graph")
      graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
      input = try graph.addInputs(named: "in", audio: ["in_l"])
      id = try graph.add(node)
      output = try graph.addOutputs(named: "out", audio: ["out_l"])
      try graph.connect(input, to: id)
      try graph.connect(id, to: output)
      try graph.run(on: device)
      try device.connect("in_l", to: "emitter:out_1")
      try device.connect("out_l", to: "capture:in_1")
    }

    deinit {
      graph.stop()
      jack.stop()
    }

    /// Returns how many captured frames differ from the emitter's frame `late` frames earlier, times
    /// `gain`.
    func wrong(_ frames: Int, late: Int, gain: Float = 1) throws -> Int {
      try capture.setFreewheel(true)
      defer { try? capture.setFreewheel(false) }
      capture.arm()
      guard capture.wait(untilFrames: frames) else { return -1 }
      capture.disarm()
      let samples = capture.samples(channel: 0)
      let first = capture.firstFrame
      return samples.enumerated().count {
        $0.element
          != gain * Emitter.sample(at: first &+ UInt32($0.offset) &- UInt32(late), channel: 0)
      }
    }

    /// Kills the server, as in a crash, and starts it again.
    func restart(rate: Int) throws {
      server.end(jack, crash: true) { device.isLost }
      // libjack does not support clients of the old server beside the new one.
      emitter = nil
      capture = nil
      try jack.start(rate: rate)
      emitter = try Emitter(on: jack, channels: 1)
      capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 16)
      server.open()
    }

    func latency(_ port: String) throws -> [String: [Int]] { try jackLatency(of: port, on: jack) }
  }

  /// Sound arrives when JACK's latencies say so, also after a change.
  @Test func latencyIsWhatJackSays() throws {
    let node = Delay("node", 100)
    let rig = try Rig(node)
    try rig.device.connect("in_l", to: "system:capture_1")
    try rig.device.connect("out_l", to: "system:playback_1")
    for frames in [100, 333, 0] {
      node.change(to: frames)
      expectTrue(
        waits {
          (try? rig.graph.latency(of: rig.output)) == frames && rig.graph.isSettled
        })
      let capture = try rig.latency("system:capture_1")["capture"]!
      let playback = try rig.latency("system:playback_1")["playback"]!
      // The emitter itself has no latency.
      let expected = [frames, capture[1] + frames]
      expectTrue(waits { (try? rig.latency("graph:out_l"))?["capture"] == expected })
      try expectEqual(rig.latency("graph:out_l")["capture"], expected)
      // The capture client is the end of the path, like the sound card.
      let wanted = [frames, playback[1] + frames]
      expectTrue(waits { (try? rig.latency("graph:in_l"))?["playback"] == wanted })
      try expectEqual(rig.latency("graph:in_l")["playback"], wanted)
      try expectEqual(rig.wrong(8192, late: frames), 0)
    }
  }

  /// At another rate, with the controls of its plugin.
  @Test func aGraphOutlivesJackd() throws {
    let amp = try amplifier()
    let rig = try Rig(amp)
    try rig.restart(rate: 44100)
    expectTrue(waits { !rig.device.isLost && rig.device.client.sampleRate == 44100 })
    expectTrue(
      waits {
        rig.capture.connections(of: "graph:in_l") == ["emitter:out_1"]
          && rig.capture.connections(of: "graph:out_l") == ["capture:in_1"]
      })
    try expectEqual(amp.value(of: "gain"), -6)
    expectEqual(rig.graph.report.sampleRate, 44100)
    try expectEqual(rig.wrong(8192, late: 0, gain: powf(10, -6 * 0.05)), 0)
  }

  /// Returns eg-amp at -6 dB.
  private func amplifier() throws -> PluginInstance {
    let amp = try PluginInstance(
      "http://lv2plug.in/plugins/eg-amp", in: World(),
      settings: PluginSettings(sampleRate: 48000, maximumFrames: 1024))
    try amp.set("gain", to: -6)
    return amp
  }

  /// A voice and another client's sound pass through a plugin and a parallel path with more latency. No
  /// frame is lost or changed by periods of all lengths, up to jackd's longest.
  @Test func aChainPlaysOnThroughChangesOfThePeriod() throws {
    let jack = try JackDaemon(period: 16384)
    defer { jack.stop() }
    let emitter = try Emitter(on: jack, channels: 1)
    let capture = try CaptureClient(on: jack, channels: 2, capacity: 1 << 18)
    let device = try Device(JackServer(named: jack.name), clientName: "graph")
    // jackd's longest period.
    expectEqual(device.client.periodFrames, 8192)
    #expect(throws: SupportError.self) { try capture.setPeriod(16384) }
    try capture.setPeriod(512)
    let graph = Graph(sampleRate: 48000, blockFrames: 64)
    let input = try graph.addInputs(named: "in", audio: ["in_1"])
    let (amp, slow) = (try graph.add(amplifier()), try graph.add(Delay("slow", 700)))
    let source = graph.addSource(named: "voice", channels: 1)
    let output = try graph.addOutputs(named: "out", audio: ["out_1", "out_2"])
    try graph.edit { wiring throws(HostError) in
      for id in [amp, slow] {
        try wiring.connect(input, to: id)
        try wiring.connect(Wire(from: id, to: output, 0))
      }
      try wiring.connect(Wire(from: source, to: output, 1))
    }
    try graph.run(on: device)
    defer { graph.stop() }
    try device.connect("in_1", to: "emitter:out_1")
    try device.connect("out_1", to: "capture:in_1")
    try device.connect("out_2", to: "capture:in_2")
    let memory = VoiceMemory(channels: 1)
    let owner = PassiveOwner()
    try (1...1_000_000).map { Float($0) }.withUnsafeBytes { bytes in
      _ = memory.voice.pointee.entries.push(
        Entry(
          bytes.baseAddress!, frames: 1_000_000, layout: .float32(channels: 1), token: 0))
      _ = try device.attach(memory, owner: owner, destinations: graph.inputPorts(of: source))
      defer { device.detach(memory) }
      try device.holding(memory) { memory.voice.pointee.start(at: StartPoint(.atOnce)) }
      capture.arm()
      try require(capture.wait(untilFrames: 4096))
      for period in [2048, 1024, 8192, 512] {
        try capture.setPeriod(period)
        try require(capture.wait(untilFrames: capture.capturedFrames + max(4096, 2 * period)))
      }
      capture.disarm()
    }
    // The frame time of each captured frame. JACK's count jumps when the period changes.
    var times: [UInt32] = []
    var gaps = capture.gaps[...]
    for i in 0..<capture.capturedFrames {
      if gaps.first?.frame == i {
        times.append(gaps.removeFirst().found)
      } else {
        times.append(times.last.map { $0 &+ 1 } ?? capture.firstFrame)
      }
    }
    let (mixed, voice) = (capture.samples(channel: 0), capture.samples(channel: 1))
    let factor = powf(10, -6 * 0.05)
    let wrong = (700..<times.count).count {
      let sample = Emitter.sample(at: times[$0 - 700], channel: 0)
      return mixed[$0] != sample * factor + sample
    }
    expectEqual(wrong, 0)
    // The voice continues with its next frame.
    let starts = capture.gaps.map(\.frame)
    let first = try require(voice.firstIndex { $0 != 0 })
    let leaps = (first + 1..<voice.count).filter { voice[$0] != voice[$0 - 1] + 1 }
    let faults = leaps.filter { !starts.contains($0) || voice[$0] <= voice[$0 - 1] }
    expectEqual(faults.map { "\($0): \(voice[$0 - 1]), \(voice[$0])" }, [])
    expectTrue(voice.last! > 16384)
    withExtendedLifetime(emitter) {}
  }

  /// Nodes are prepared for a longer period, and no frame is lost, even if that takes much longer
  /// than a cycle.
  @Test func aLongerPeriodLosesNothing() throws {
    let wrong = try unlessBusy(patience: 0.004) { () -> String? in
      let gain = Gain("gain")
      let rig = try Rig(gain)
      gain.preparationMilliseconds = 100
      rig.capture.arm()
      try require(rig.capture.wait(untilFrames: 4096))
      try rig.capture.setPeriod(1024)
      expectTrue(waits { gain.prepared.count == 3 })
      expectEqual(gain.prepared.map(\.frames), [64, 256, 1024])
      try require(rig.capture.wait(untilFrames: 40000))
      rig.capture.disarm()
      // Each captured frame belongs to its own cycle, whether or not cycles were late.
      var frame = rig.capture.firstFrame
      var gaps = rig.capture.gaps[...]
      var wrong = 0
      var words: String?
      for (i, sample) in rig.capture.samples(channel: 0).enumerated() {
        if let gap = gaps.first, gap.frame == i {
          frame = gap.found
          gaps = gaps.dropFirst()
        }
        let expected = Emitter.sample(at: frame, channel: 0)
        if sample != expected {
          wrong += 1
          words = words ?? "\(i) is \(sample), not \(expected)"
        }
        frame &+= 1
      }
      return words.map {
        "\(wrong) frames are wrong, first \($0); \(rig.capture.xruns) xruns, "
          + "gaps at \(rig.capture.gaps.map(\.frame))"
      }
    }
    expectNil(wrong)
  }

  /// Denormals are flushed on JACK's process thread.
  @Test func nodesAreToldOfFreewheeling() throws {
    let node = Watcher("watcher")
    let rig = try Rig(node)
    expectTrue(waits { node.sawCycle(freewheeling: false) })
    expectTrue(node.flushed && node.tenth(of: .leastNormalMagnitude) > 0)
    try rig.capture.setFreewheel(true)
    expectTrue(waits { node.sawCycle(freewheeling: true) })
  }

  /// From one client's MIDI output to another's input, with frame accuracy.
  @Test func midiGoesOutAndIn() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    let (sender, receiver) = (
      try Device(server, clientName: "sender"), try Device(server, clientName: "receiver")
    )
    let receiving = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let keys = try receiving.addInputs(named: "keys", audio: [], midi: ["midi_in"])
    let sink = EventSink("sink")
    try receiving.connect(Wire(from: keys, to: try receiving.add(sink), isEvent: true))
    try receiving.run(on: receiver)
    let sending = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let output = try sending.addOutputs(named: "out", audio: [], midi: ["midi_out"])
    try sending.run(on: sender)
    try sender.connect("midi_out", to: "receiver:midi_in")
    let capture = try CaptureClient(on: jack, capacity: 16)
    try capture.setFreewheel(true)
    let first = sender.latestFrame + 48000
    let events = (0..<100).map { (first + Int64($0 * 97), UInt8($0)) }
    let source = try sending.add(EventSource("source", events))
    try sending.connect(Wire(from: source, to: output, isEvent: true))
    expectTrue(waits { sink.heard.count >= 100 })
    expectEqual(sink.heard, events.map { EventSink.Heard(frame: $0.0, byte: $0.1) })
    try expectEqual(sending.lostEvents(of: output), 0)
    sending.stop()
    receiving.stop()
  }
}

/// A node that records whether a cycle runs in freewheel mode.
private final class Watcher: TestNode, @unchecked Sendable {
  private let seen = Mutex<Set<Bool>>([])
  /// Unknown to the compiler.
  private let factor = Mutex<Float>(0.1)
  private let flushes = Mutex(false)
  /// Whether a tenth of the smallest normal number was 0 in the last cycle.
  var flushed: Bool { flushes.withLock { $0 } }
  func tenth(of number: Float) -> Float { factor.withLock { $0 * number } }
  func sawCycle(freewheeling: Bool) -> Bool { seen.withLock { $0.contains(freewheeling) } }
  override func work(_ block: cue_block) {
    let isFlushed = tenth(of: .leastNormalMagnitude) == 0
    flushes.withLock { $0 = isFlushed }
    let isFreewheeling = block.is_freewheeling
    seen.withLock { _ = $0.insert(isFreewheeling) }
  }
}

/// Returns a port's capture and playback latency (minimum and maximum) as jack_lsp prints them.
func jackLatency(of port: String, on jack: JackDaemon) throws -> [String: [Int]] {
  let result = try run("jack_lsp", ["-s", jack.name, "-l", port])
  var found: [String: [Int]] = [:]
  var isPort = false
  for line in result.output.split(separator: "\n") {
    if !line.hasPrefix("\t") && !line.hasPrefix(" ") { isPort = line == port }
    guard isPort,
      let match = line.firstMatch(of: #/port (capture|playback) latency = \[ (\d+) (\d+) \]/#)
    else { continue }
    found[String(match.output.1)] = [Int(match.output.2)!, Int(match.output.3)!]
  }
  return found
}
