import CRealTime
import Foundation
import Host
import RealTime
import Server
import Synchronization
import TestSupport
import Testing

/// Graphs on a running JACK server.
@Suite(.serialized) struct JackGraphTests {
  /// An emitter's frames through a graph of one node into a capture client.
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

    init(_ node: TestNode, period: Int = 256) throws {
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

    /// How many of the captured frames are not what the emitter played `late` frames before, and how many
    /// were looked at.
    func wrong(_ frames: Int, late: Int) throws -> Int {
      try capture.setFreewheel(true)
      defer { try? capture.setFreewheel(false) }
      capture.arm()
      guard capture.wait(untilFrames: frames) else { return -1 }
      capture.disarm()
      let samples = capture.samples(channel: 0)
      let first = capture.firstFrame
      return samples.enumerated().count {
        $0.element
          != Emitter.sample(at: first &+ UInt32($0.offset) &- UInt32(late), channel: 0)
      }
    }

    /// The server ends as in a crash, and starts again.
    func restart(rate: Int) throws {
      server.end(jack, crash: true) { device.isLost }
      // JACK does not bear clients of the old server beside the new one.
      emitter = nil
      capture = nil
      try jack.start(rate: rate)
      emitter = try Emitter(on: jack, channels: 1)
      capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 16)
      server.open()
    }

    func latency(_ port: String) throws -> [String: [Int]] { try jackLatency(of: port, on: jack) }
  }

  /// Where a sound arrives is where JACK says that it does, also after a change.
  @Test func latencyIsWhatJackSays() throws {
    let node = Delay("node", 100)
    let rig = try Rig(node)
    try rig.device.connect("in_l", to: "system:capture_1")
    try rig.device.connect("out_l", to: "system:playback_1")
    for frames in [100, 333, 0] {
      node.change(to: frames)
      #expect(
        waits {
          (try? rig.graph.latency(of: rig.output)) == frames && rig.graph.isSettled
        })
      let capture = try rig.latency("system:capture_1")["capture"]!
      let playback = try rig.latency("system:playback_1")["playback"]!
      // The emitter's own latency is none.
      let expected = [frames, capture[1] + frames]
      #expect(waits { (try? rig.latency("graph:out_l"))?["capture"] == expected })
      #expect(try rig.latency("graph:out_l")["capture"] == expected)
      // The capture client is the end of the way for it, as the card is.
      let wanted = [frames, playback[1] + frames]
      #expect(waits { (try? rig.latency("graph:in_l"))?["playback"] == wanted })
      #expect(try rig.latency("graph:in_l")["playback"] == wanted)
      #expect(try rig.wrong(8192, late: frames) == 0)
    }
  }

  @Test func aGraphOutlivesJackd() throws {
    let rig = try Rig(Gain("gain"))
    try rig.restart(rate: 44100)
    #expect(waits { !rig.device.isLost && rig.device.client.sampleRate == 44100 })
    #expect(
      waits {
        rig.capture.connections(of: "graph:in_l") == ["emitter:out_1"]
          && rig.capture.connections(of: "graph:out_l") == ["capture:in_1"]
      })
    #expect(try rig.wrong(8192, late: 0) == 0)
  }

  /// A longer period has the nodes made ready for it, and no frame is lost.
  @Test func aLongerPeriodLosesNothing() throws {
    let gain = Gain("gain")
    let rig = try Rig(gain)
    rig.capture.arm()
    #expect(rig.capture.wait(untilFrames: 4096))
    try rig.capture.setPeriod(1024)
    #expect(waits { gain.prepared.count == 3 })
    #expect(gain.prepared.map(\.frames) == [64, 256, 1024])
    #expect(rig.capture.wait(untilFrames: 40000))
    rig.capture.disarm()
    // Each captured frame is that of its own cycle, whether cycles came late or not.
    var frame = rig.capture.firstFrame
    var gaps = rig.capture.gaps[...]
    var wrong = 0
    for (i, sample) in rig.capture.samples(channel: 0).enumerated() {
      if let gap = gaps.first, gap.frame == i {
        frame = gap.found
        gaps = gaps.dropFirst()
      }
      if sample != Emitter.sample(at: frame, channel: 0) { wrong += 1 }
      frame &+= 1
    }
    #expect(wrong == 0)
  }

  @Test func nodesAreToldOfFreewheeling() throws {
    let node = Watcher("watcher")
    let rig = try Rig(node)
    #expect(waits { node.sawCycle(freewheeling: false) })
    try rig.capture.setFreewheel(true)
    #expect(waits { node.sawCycle(freewheeling: true) })
  }

  /// From one client's MIDI output to another's input, to the frame.
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
    #expect(waits { sink.heard.count >= 100 })
    #expect(sink.heard == events.map { EventSink.Heard(frame: $0.0, byte: $0.1) })
    #expect(try sending.lostEvents(of: output) == 0)
    sending.stop()
    receiving.stop()
  }
}

/// Notes whether a cycle freewheels.
private final class Watcher: TestNode, @unchecked Sendable {
  private let seen = Mutex<Set<Bool>>([])
  func sawCycle(freewheeling: Bool) -> Bool { seen.withLock { $0.contains(freewheeling) } }
  override func work(_ block: cue_block) {
    let isFreewheeling = block.is_freewheeling
    seen.withLock { _ = $0.insert(isFreewheeling) }
  }
}

/// What jack_lsp says of a port: its capture and its playback latency, the least and the most.
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
