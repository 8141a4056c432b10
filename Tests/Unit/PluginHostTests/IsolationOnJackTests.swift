import CRealTime
import Foundation
import Graph
import Server
import TestSupport
import Testing

@testable import PluginHost

/// A source of a 1 kHz sine at full scale by device frame. No cycle of 256 frames starts near a zero.
private final class Sine: GraphNode, @unchecked Sendable {
  let name = "sine"
  let inputs = 0
  let outputs = 1
  var processor: cue_node {
    cue_node(
      run: { _, block in
        let block = block.pointee
        for i in 0..<Int(block.frames) {
          let phase = Double((block.frame + Int64(i) + 4) % 48) / 48
          block.outputs![0][i] = Float(sin(2 * Double.pi * phase))
        }
      }, context: Unmanaged.passUnretained(self).toOpaque(), prefetched_bytes: 0)
  }
  func prepare(sampleRate: Double, maximumFrames: Int) {}
}

/// An isolated plugin in a graph on a running JACK server.
@Suite(.tags(.server, .program), .serialized) struct IsolationOnJackTests {
  @Test func aKilledPluginIsNoStepAndNoSilence() throws {
    let jack = try JackDaemon(period: 256)
    let capture = try CaptureClient(on: jack, channels: 1, capacity: 1 << 18)
    let device = try Device(GatedServer(jack), clientName: "graph")
    let graph = Graph(sampleRate: 48000, blockFrames: 256)
    let amp = try IsolatedPlugin(
      examples + "amp", in: installed,
      settings: PluginSettings(sampleRate: 48000, maximumFrames: 256), program: isolation())
    try amp.set("gain", to: -6)
    let source = try graph.add(Sine())
    let id = try graph.add(amp)
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    try graph.connect(source, to: id)
    try graph.connect(id, to: output)
    try graph.run(on: device)
    defer {
      graph.stop()
      jack.stop()
    }
    try device.connect("out", to: "capture:in_1")
    func latency() throws -> String {
      try run("jack_lsp", ["-s", jack.name, "-l", "graph:out"]).output
    }
    expectTrue(try latency().contains("port capture latency = [ 256 256 ] frames"))
    try capture.setFreewheel(true)
    capture.arm()
    try require(capture.wait(untilFrames: 20_000))
    kill(amp.process.identifier, SIGKILL)
    let end = Date() + 20
    while !"\(graph)".contains("bypassed"), Date() < end { usleep(1000) }
    expectTrue("\(graph)".contains("bypassed"))
    try require(capture.wait(untilFrames: min(capture.capturedFrames + 20_000, capture.capacity)))
    capture.disarm()
    try capture.setFreewheel(false)
    // The latency is the same as before.
    expectTrue(try latency().contains("port capture latency = [ 256 256 ] frames"))

    let heard = capture.samples(channel: 0)
    var step: Float = 0
    var silent = 0
    for i in 1..<heard.count {
      step = max(step, abs(heard[i] - heard[i - 1]))
      if abs(heard[i]) < 1e-5 && abs(heard[i - 1]) < 1e-5 { silent += 1 }
    }
    expectTrue(step <= Float(2 * sin(Double.pi / 48)) * 1.05 && silent == 0, "\(step) \(silent)")
    let half = powf(10, -6 * 0.05)
    // The first cycles may be those before freewheel, in which a late process is bypassed.
    expectTrue(abs(heard[8192..<18_192].max()! - half) < 1e-5)
    expectEqual(heard.suffix(10_000).max()!, 1)
  }
}
