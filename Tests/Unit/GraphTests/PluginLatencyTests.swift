import Foundation
import Graph
import PluginHost
import Server
import TestSupport
import Testing

/// Latencies of real plugins on a running server. Impulses arrive when JACK's latencies say so, and a
/// parallel path has the same latency, before and after changes while everything runs.
@Suite(.tags(.server), .serialized) struct PluginLatencyTests {
  /// Frames between two impulses.
  private static let spacing = 8192
  private static let impulse: Float = 0.25

  private static let settings = PluginSettings(sampleRate: 48000, maximumFrames: 256)

  /// Impulses of another client through a plugin, beside it, and the difference of both paths.
  private final class Rig {
    let jack: JackDaemon
    private let capture: CaptureClient
    private let source: Device
    private let impulses: Graph
    private let device: Device
    private let graph: Graph
    private let output: NodeID
    private let id: NodeID
    private let world: World
    private(set) var plugin: PluginInstance

    init(_ uri: String, in world: World = World()) throws {
      self.world = world
      jack = try JackDaemon(period: 256)
      capture = try CaptureClient(on: jack, channels: 4, capacity: 4 * spacing)
      let server = JackServer(named: jack.name)
      source = try Device(server, clientName: "source")
      impulses = Graph(types: types, sampleRate: 48000, blockFrames: 256)
      let generator = try impulses.add(
        Generator("impulses") { $0 % Int64(spacing) == 0 ? impulse : 0 })
      try impulses.connect(
        generator, to: impulses.addOutputs(named: "ports", audio: ["impulses"]))
      try impulses.run(on: source)

      device = try Device(server, clientName: "graph")
      graph = Graph(sampleRate: 48000, blockFrames: 256)
      let input = try graph.addInputs(named: "in", audio: ["in"])
      plugin = try PluginInstance(uri, in: world, settings: settings)
      id = try graph.add(plugin)
      output = try graph.addOutputs(named: "out", audio: ["wet", "dry", "difference"])
      let mixer = graph.addMixer(named: "mixer", channels: 3)
      let (id, out) = (id, output)
      try graph.edit { wiring throws(HostError) in
        try wiring.connect(Wire(from: input, to: id))
        try wiring.connect(Wire(from: id, to: mixer, 0))
        try wiring.connect(Wire(from: input, to: mixer, 1))
        try wiring.connect(Wire(from: id, to: mixer, 2))
        try wiring.connect(Wire(from: input, to: mixer, 2), gain: -1)
        try wiring.connect(mixer, to: out)
      }
      try graph.run(on: device)
      try device.connect("in", to: "source:impulses")
      for (port, channel) in [("wet", 2), ("dry", 3), ("difference", 4)] {
        try device.connect(port, to: "capture:in_\(channel)")
      }
      try capture.connect("source:impulses", toInput: 1)
    }

    deinit {
      graph.stop()
      impulses.stop()
      jack.stop()
    }

    /// Replaces the plugin by another one.
    func replace(_ uri: String) throws {
      plugin = try PluginInstance(uri, in: world, settings: settings)
      try graph.replace(id, with: plugin)
    }

    /// Waits until the graph assumes this latency for the plugin and JACK reports it for the graph's
    /// ports.
    func awaitLatency(_ frames: Int) throws {
      expectTrue(waits { (try? graph.latency(of: output)) == frames && graph.isSettled })
      for port in ["wet", "dry", "difference"] {
        expectTrue(waits { (try? said("graph:\(port)", "capture")) == [frames, frames] })
      }
      expectTrue(waits { (try? said("graph:in", "playback")) == [frames, frames] })
    }

    private func said(_ port: String, _ direction: String) throws -> [Int]? {
      try jackLatency(of: port, on: jack)[direction]
    }

    /// Captures in freewheel mode. Returns the impulses, the plugin's path, the parallel path, and
    /// their difference.
    func listen() throws -> [[Float]] {
      try capture.setFreewheel(true)
      defer { try? capture.setFreewheel(false) }
      capture.arm()
      try require(capture.wait(untilFrames: capture.capacity))
      capture.disarm()
      expectEqual(capture.gaps, [])
      return (0..<4).map { capture.samples(channel: $0) }
    }

    /// Expects impulses `frames` frames after those of the source and nothing else; on the plugin's
    /// path, `more` frames later.
    func expectImpulses(after frames: Int, more: Int = 0, within error: Float = 0) throws {
      let heard = try listen()
      expectTrue(heard[0].count { $0 != 0 } >= 3)
      for (way, late) in [(heard[1], frames + more), (heard[2], frames)] {
        let wrong = zip(way.dropFirst(late), heard[0]).count { abs($0 - $1) > error }
        expectEqual(wrong, 0)
      }
      if more == 0 { expectEqual(heard[3].count { abs($0) > error }, 0) }
    }
  }

  /// Bit for bit, since it does not change the samples.
  @Test func nodelayComesWhenItSays() throws {
    let rig = try Rig("http://gareus.org/oss/lv2/nodelay")
    for frames in [0, 480, 4800, 1, 777] {
      try rig.plugin.set("delay", to: Float(frames))
      try rig.awaitLatency(frames)
      try rig.expectImpulses(after: frames)
    }
  }

  /// Its look-ahead is constant. The latency changes when the plugin is replaced.
  @Test func theLimiterComesWhenItSays() throws {
    let rig = try Rig("http://gareus.org/oss/lv2/dpl#mono")
    for _ in 0..<2 {
      _ = try rig.listen()
      let frames = rig.plugin.latencyFrames
      expectTrue(frames > 0)
      try rig.awaitLatency(frames)
      try rig.expectImpulses(after: frames, within: 1e-6)
      try rig.replace("http://gareus.org/oss/lv2/nodelay")
      try rig.plugin.set("delay", to: 17)
      try rig.awaitLatency(17)
      try rig.expectImpulses(after: 17)
      try rig.replace("http://gareus.org/oss/lv2/dpl#mono")
    }
  }

  /// States with single-impulse responses, restored while everything runs. The reported latency is that
  /// of the transforms plus one that the state may name. The position of the impulse in the response
  /// adds to the delay if the state does not name it.
  @Test func theConvolverComesWhenItSays() throws {
    let uri = "http://gareus.org/oss/lv2/zeroconvolv#Mono"
    try withTemporaryFolder { folder in
      let world = World()
      let rig = try Rig(uri, in: world)
      expectTrue(rig.plugin.canRestoreWhileRunning)
      var transforms: Set<Int> = []
      for (i, (peak, named)) in [(0, 0), (100, 100), (100, 0), (411, 411), (30, 10)].enumerated() {
        let folder = folder.appendingPathComponent("\(i)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let response = folder.appendingPathComponent("response.wav").path
        try writeWave([(0..<512).map { $0 == peak ? 1 : 0 }], to: response)
        try """
        @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
        @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
        @prefix state: <http://lv2plug.in/ns/ext/state#> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        @prefix zero: <http://gareus.org/oss/lv2/zeroconvolv#> .
        <> a pset:Preset ; lv2:appliesTo <\(uri)> ; state:state [
          zero:ir <file://\(response)> ; zero:predelay "0"^^xsd:int ;
          zero:artificial_latency "\(named)"^^xsd:int ] .
        """.write(
          to: folder.appendingPathComponent("state.ttl"), atomically: false, encoding: .utf8)
        try rig.plugin.restore(PluginState(folder: folder.path, world: world))
        _ = try rig.listen()
        let frames = rig.plugin.latencyFrames
        transforms.insert(frames - named)
        try rig.awaitLatency(frames)
        try rig.expectImpulses(after: frames, more: peak - named, within: 1e-6)
      }
      expectTrue(transforms.count == 1 && transforms.first! > 0, "\(transforms)")
    }
  }
}
