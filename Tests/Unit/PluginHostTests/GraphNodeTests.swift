import CRealTime
import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// Plugins of all kinds as graph nodes.
@Suite(.tags(.program), .serialized) struct GraphNodeTests {
  /// Returns the output of a graph with one node.
  private func run(_ node: any GraphNode, _ samples: [Float]) throws -> ([Float], GraphReport) {
    let run = try OfflineNode(node)
    let heard = run.offline.run(samples[...])
    return (heard, run.graph.report)
  }

  private let ramp = (0..<3000).map { Float($0) }

  @Test func controlVoltagesAreWiredAsSamplesAre() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(
        in: folder, ports: Fixture.sound.replacing("lv2:AudioPort", with: "lv2:CVPort"))
      let plugin = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: usual)
      expectEqual(plugin.description.ports.map(\.kind), [.cv, .cv])
      let (heard, report) = try run(plugin, ramp)
      expectEqual(heard, ramp)
      expectTrue(report.nodes[1].kind == .plugin && report.nodes[1].uri == Fixture.uri)
      expectTrue(report.nodes[1].inputs == ["in"] && report.nodes[1].outputs == ["out"])
    }
  }

  /// lv2:connectionOptional: the host connects the port to NULL.
  @Test func anOptionalPortMayStayUnconnected() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(
        in: folder, "LOOKS_FOR_A_PORT",
        ports: Fixture.sound + """
          , [ a lv2:AudioPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol "side" ; lv2:name "Side" ;
            lv2:portProperty lv2:connectionOptional ]
          """)
      for (leftOut, expected) in [(["side"], 0), ([], 1)] as [(Set<String>, Float)] {
        var settings = usual
        settings.leftOut = leftOut
        let plugin = try PluginInstance(
          Fixture.uri, in: World(path: fixture.path), settings: settings)
        expectEqual(plugin.inputs, 2 - leftOut.count)
        let heard = try OfflineNode(plugin).offline.run(ramp[...])
        expectEqual(heard, ramp.map { _ in expected })
      }
    }
  }

  /// Samples that are not a number become silence. They are counted and logged with the plugin's name.
  @Test func whatIsNoNumberIsToldWithItsName() throws {
    try withTemporaryFolder { folder in
      let fixture = try Fixture(in: folder, "WRITES_NAN")
      let plugin = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: usual, name: "Broken")
      let entries = Entries.shared
      entries.clear()
      let (heard, report) = try run(plugin, ramp)
      expectEqual(heard, ramp.map { _ in 0 })
      let node = try require(report.nodes.first { $0.name == "Broken" })
      expectTrue(node.badSamples >= 3000)
      expectTrue(report.text().contains("\(node.badSamples) samples were no numbers"))
      expectTrue(
        entries.all.contains {
          $0.text.wholeMatch(of: #/“Broken” made \d+ samples that are no numbers: .*/#) != nil
        })
    }
  }

  @Test func controlsAreListed() throws {
    let amp = try PluginInstance(examples + "amp", in: installed, settings: usual)
    try amp.set("gain", to: -6)
    let (_, report) = try run(amp, ramp)
    expectTrue(report.text(withControls: true).contains("\n    gain = -6.0 dB\n"))
    expectTrue(!report.text().contains("gain ="))
    expectTrue(report.dot(withControls: true).contains(#"\ngain = -6.0 dB""#))
    try expectEqual(GraphReport(json: report.json()), report)
  }

  // MARK: Callbacks

  /// A render callback is a source and receives the frame, independent of the blocks.
  @Test func aCallbackIsASource() throws {
    let node = CallbackNode(
      named: "callback", outputs: 1,
      cue_node(
        run: { _, block in
          for i in 0..<Int(block.pointee.frames) {
            block.pointee.outputs![0][i] = Float(block.pointee.frame + Int64(i))
          }
        }, context: UnsafeMutableRawPointer(bitPattern: 8)!, prefetched_bytes: 0))
    let graph = Graph(sampleRate: 48000, blockFrames: 100)
    let source = graph.addSource(named: "source", channels: 1)
    let id = try graph.add(node)
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    try graph.connect(source, to: output)
    try graph.connect(id, to: output)
    let heard = try OfflineGraph(graph, source: source).run(ramp[...])
    // No node reports a latency, so no cycle runs in advance.
    expectEqual(heard, ramp.map { $0 + $0 })
  }

  /// The node retains the owner of its context until no cycle can call it any more.
  @Test func aCallbackKeepsItsContext() throws {
    final class Box { var gain: Float = 3 }
    weak var gone: Box?
    let graph = Graph(sampleRate: 48000, blockFrames: 64)
    let source = graph.addSource(named: "source", channels: 1)
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    let id = try {
      let box = Box()
      gone = box
      return try graph.add(
        CallbackNode(
          named: "effect", inputs: 1, outputs: 1,
          cue_node(
            run: { context, block in
              let gain = Unmanaged<Box>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.gain }
              for i in 0..<Int(block.pointee.frames) {
                block.pointee.outputs![0][i] = gain * block.pointee.inputs![0][i]
              }
            }, context: Unmanaged.passUnretained(box).toOpaque(), prefetched_bytes: 0), keeping: box
        ))
    }()
    try graph.connect(source, to: id)
    try graph.connect(id, to: output)
    let offline = try OfflineGraph(graph, source: source)
    expectEqual(offline.run(ramp[...]), ramp.map { 3 * $0 })
    try graph.remove(id, joins: true)
    expectTrue(gone != nil)
    _ = offline.run([], silence: 4096)
    expectNil(gone)
    expectEqual(offline.run(ramp[...]), ramp)
  }

  // MARK: Denormals

  /// As in a process cycle. The caller's floating-point mode is restored.
  @Test func denormalsAreFlushedOffline() throws {
    let node = CallbackNode(
      named: "quiet", inputs: 1, outputs: 1,
      cue_node(
        run: { _, block in
          for i in 0..<Int(block.pointee.frames) {
            block.pointee.outputs![0][i] = block.pointee.inputs![0][i] * 0.01
          }
        }, context: UnsafeMutableRawPointer(bitPattern: 8)!, prefetched_bytes: 0))
    let least = Float.leastNormalMagnitude
    let (heard, _) = try run(node, [least, 1, least])
    expectEqual(heard, [0, 0.01, 0])
    // Unknown to the compiler.
    let small = heard[1] * 0 + least
    expectTrue(small * 0.5 > 0)
  }
}
