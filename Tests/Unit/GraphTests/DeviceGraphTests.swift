import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import Synchronization
import System
import TestSupport
import Testing
import Timeline

private final class Editors: Sendable {
  let done = Atomic<Int>(0)
}

private func name(_ frame: Int64) -> Float { Float(frame & 0xffff) + 1 }

/// A node whose preparation blocks while it is slow.
private final class Slow: TestNode, @unchecked Sendable {
  let isSlow = Atomic<Bool>(false)
  let longest = Atomic<Int>(0)
  override func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {
    _ = waits { !isSlow.load(ordering: .acquiring) }
    try super.prepare(sampleRate: sampleRate, maximumFrames: maximumFrames)
    longest.store(maximumFrames, ordering: .releasing)
  }
}

/// Graphs on hand-driven devices.
@Suite(.serialized) struct DeviceGraphTests {
  private let owner = PassiveOwner()

  private func voice(_ samples: [Float], _ body: (VoiceMemory) throws -> Void) throws {
    let memory = VoiceMemory(channels: 1)
    try samples.withUnsafeBytes { bytes in
      _ = memory.voice.pointee.entries.push(
        Entry(
          bytes.baseAddress!, frames: samples.count, layout: .float32(channels: 1), token: 0))
      _ = memory.voice.pointee.entries.push(.end)
      try body(memory)
    }
  }

  /// Runs a graph whose source goes to its output.
  private func runSource() throws -> (HandDrivenServer, Device, Graph, NodeID) {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let source = graph.addSource(named: "source", channels: 1)
    let output = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.connect(source, to: output)
    try graph.run(on: device)
    return (server, device, graph, source)
  }

  @Test func twoVoicesMeetInAMixerBehindAChain() throws {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let (a, b) = (
      graph.addSource(named: "a", channels: 1), graph.addSource(named: "b", channels: 1)
    )
    let gain = try graph.add(Gain("gain", 0.5))
    let mixer = graph.addMixer(named: "mixer", channels: 1)
    let output = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.edit { wiring throws(HostError) in
      try wiring.connect(a, to: gain)
      try wiring.connect(gain, to: mixer)
      try wiring.connect(b, to: mixer)
      try wiring.connect(mixer, to: output)
    }
    try graph.run(on: device)
    expectEqual(server.clients[0].outputs.map(\.name), ["main"])
    try voice((0..<300).map { Float($0) }) { first in
      try voice((0..<300).map { Float(1000 * $0) }) { second in
        for (memory, id) in [(first, a), (second, b)] {
          let names = try device.attach(
            memory, owner: owner, destinations: graph.inputPorts(of: id))
          expectTrue(names.isEmpty)
          try device.holding(memory) {
            memory.voice.pointee.start(at: StartPoint(.frame(100)))
          }
        }
        for _ in 0..<4 { server.cycle(frames: 128) }
        let expected = (0..<512).map { (frame: Int) -> Float in
          frame < 100 || frame >= 400 ? 0 : Float(frame - 100) * 1000.5
        }
        expectEqual(server.clients[0].samples, [expected])
        // The ports belong to the graph: a removed voice leaves silence at once.
        device.detach(first)
        server.cycle(frames: 64)
        expectTrue(server.clients[0].samples[0].suffix(64).allSatisfy { $0 == 0 })
        device.detach(second)
      }
    }
    expectTrue(!server.clients[0].isClosed)
    graph.stop()
    expectTrue(server.clients[0].isClosed)
  }

  /// A voice's last samples are heard once, even if nothing writes to the source in the next cycle.
  @Test func aVoiceThatGoesInTheMiddleOfItsSoundIsNotRepeated() throws {
    let (server, device, graph, source) = try runSource()
    try voice(Array(repeating: 1, count: 1000)) { memory in
      _ = try device.attach(memory, owner: owner, destinations: graph.inputPorts(of: source))
      try device.holding(memory) { memory.voice.pointee.start(at: StartPoint(.frame(0))) }
      server.cycle(frames: 128)
      device.detach(memory)
      server.cycle(frames: 128)
    }
    let heard = server.clients[0].samples[0]
    expectEqual(heard, Array(repeating: 1, count: 128) + Array(repeating: 0, count: 128))
    graph.stop()
  }

  /// They are not heard later either, if nodes were being prepared when the voice was removed.
  @Test func whatComesWhileNodesAreMadeReadyIsNotHeardLater() throws {
    let (server, device, graph, source) = try runSource()
    try voice(Array(repeating: 1, count: 1000)) { memory in
      _ = try device.attach(memory, owner: owner, destinations: graph.inputPorts(of: source))
      try device.holding(memory) { memory.voice.pointee.start(at: StartPoint(.frame(0))) }
      server.cycle(frames: 128)
      graph.cycle.pointee.hold()
      server.cycle(frames: 128)
      device.detach(memory)
      graph.cycle.pointee.release()
      server.cycle(frames: 128)
    }
    let heard = server.clients[0].samples[0]
    expectEqual(heard, Array(repeating: 1, count: 128) + Array(repeating: 0, count: 256))
    graph.stop()
  }

  @Test func portsComeAndGoWithTheirNodes() throws {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let input = try graph.addInputs(named: "in", audio: ["in_l"])
    server.hears = { frame, _ in name(Int64(frame)) }
    try graph.run(on: device)
    let client = server.clients[0]
    server.cycle(frames: 64)
    let output = try graph.addOutputs(named: "out", audio: ["out_l"])
    expectEqual(client.outputs.map(\.name), ["out_l"])
    server.cycle(frames: 64)
    expectEqual(client.samples[0], Array(repeating: 0, count: 64))
    try graph.connect(input, to: output)
    for _ in 0..<10 { server.cycle(frames: 64) }
    expectEqual(client.samples[0].suffix(64), (704..<768).map { name($0) }[...])
    try graph.remove(output)
    // The output fades, is silent for a whole cycle, and is removed.
    while !client.outputs[0].isRemoved {
      server.cycle(frames: 64)
      device.deliverEvents()
      try require(server.counter < 100_000)
    }
    expectTrue(client.samples.isEmpty)
    expectEqual(client.outputs[0].samples.suffix(64), Array(repeating: 0, count: 64)[...])
    expectTrue(graph.isSettled)
    #expect(throws: HostError.portNameTaken("in_l")) {
      _ = try graph.addOutputs(named: "again", audio: ["in_l"])
    }
    _ = try graph.addOutputs(named: "again", audio: ["out_l"])
    graph.stop()
  }

  @Test func portsThatThereAreNoneOfAreReported() throws {
    let server = HandDrivenServer()
    server.portLimit = 1
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    _ = try graph.addOutputs(named: "out", audio: ["l", "r"])
    #expect(throws: HostError.server(.cannotAddPort(name: "r", client: "graph"))) {
      try graph.run(on: device)
    }
    expectTrue(server.clients[0].isClosed)
  }

  /// If one port of a node cannot be registered, the earlier ones are unregistered.
  @Test func portsComeAllOrNone() throws {
    let server = HandDrivenServer()
    server.portLimit = 2
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    _ = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.run(on: device)
    server.cycle(frames: 64)
    #expect(throws: HostError.server(.cannotAddPort(name: "r", client: "graph"))) {
      _ = try graph.addOutputs(named: "more", audio: ["l", "r"])
    }
    let client = server.clients[0]
    expectEqual(client.outputs.map(\.name), ["main", "l"])
    expectEqual(client.outputs.map(\.isRemoved), [false, true])
    server.portLimit = 10
    _ = try graph.addOutputs(named: "more", audio: ["l", "r"])
    server.cycle(frames: 64)
    expectEqual(client.samples.map(\.count), [128, 64, 64])
    graph.stop()
  }

  /// A source has memory for JACK's longest cycle. On a server with longer ones, nothing beyond it is
  /// overwritten.
  @Test func cyclesThatAreTooLongAreRefusedOrSilent() throws {
    let server = HandDrivenServer(maximumFrames: 16384)
    server.periodFrames = 16384
    let refused = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let error = ServerError.periodTooLong(server: "by-hand", frames: 16384, longest: 8192)
    #expect(throws: HostError.server(error)) {
      try refused.run(on: try Device(server, clientName: "refused"))
    }
    server.periodFrames = 8192
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let source = graph.addSource(named: "source", channels: 1)
    let output = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.connect(source, to: output)
    try graph.run(on: device)
    try voice(Array(repeating: 1, count: 40_000)) { memory in
      _ = try device.attach(memory, owner: owner, destinations: graph.inputPorts(of: source))
      try device.holding(memory) { memory.voice.pointee.start(at: StartPoint(.frame(0))) }
      for frames in [8192, 16384, 8192] {
        server.changePeriod(to: frames)
        server.cycle(frames: frames)
      }
      device.detach(memory)
    }
    let heard = server.clients[1].samples[0]
    expectTrue(heard[..<8192].allSatisfy { $0 == 1 })
    expectTrue(heard[8192..<24576].allSatisfy { $0 == 0 })
    expectTrue(heard[24576...].allSatisfy { $0 == 1 })
    graph.stop()
  }

  /// jackd waits for the thread that reports a period, so the event thread prepares the nodes.
  @Test func nodesAreMadeReadyForAPeriodOnTheDevicesThread() throws {
    let server = HandDrivenServer()
    server.periodFrames = 64
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let node = Slow("slow")
    let id = try graph.add(node)
    let output = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.connect(id, to: output)
    try graph.run(on: device)
    node.isSlow.store(true, ordering: .releasing)
    server.changePeriod(to: 1024)
    expectTrue(!node.prepared.contains { $0.frames == 1024 })
    node.isSlow.store(false, ordering: .releasing)
    let isReady = waits {
      device.deliverEvents()
      return node.longest.load(ordering: .acquiring) == 1024
    }
    expectTrue(isReady)
    graph.stop()
  }

  /// The server goes away during a fade and returns, possibly at another rate. The graph runs again.
  @Test(arguments: [48000, 96000.0]) func aGraphOutlivesItsServer(rate: Double) throws {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64)
    let gain = Gain("gain", 1)
    let input = try graph.addInputs(named: "in", audio: ["in_l"])
    let gainID = try graph.add(gain)
    let output = try graph.addOutputs(named: "out", audio: ["out_l"])
    try graph.connect(input, to: gainID)
    try graph.connect(gainID, to: output)
    server.hears = { frame, _ in name(Int64(frame)) }
    try graph.run(on: device)
    server.cycle(frames: 64)
    expectEqual(server.clients[0].samples[0], (0..<64).map { name($0) })
    try graph.connect(gainID, to: output, gain: 0.5)
    server.cycle(frames: 64)
    server.goAway()
    expectTrue(waits { device.isLost && server.attempts > 0 })
    expectTrue(graph.report.isServerGone)
    expectTrue(graph.report.headline.hasSuffix("; the server is gone, and waited for"))
    // Edits are accepted while the server is gone.
    try graph.connect(input, to: output, gain: 2)
    server.comeBack(sampleRate: rate, counter: 5000)
    expectTrue(waits { device.restarts == 1 && !device.isLost })
    expectEqual(gain.prepared.map(\.rate), [48000, 48000] + (rate == 48000 ? [] : [rate]))
    let client = server.clients[server.clients.count - 1]
    expectEqual(client.outputs.map(\.name), ["out_l"])
    expectEqual(client.inputs.map(\.name), ["in_l"])
    expectTrue(!graph.report.isServerGone && graph.report.sampleRate == rate)
    server.cycle(frames: 64)
    expectEqual(client.samples[0], (5000..<5064).map { 2.5 * name($0) })
    graph.stop()
  }

  /// Several threads edit the graph while cycles run and events are delivered.
  @Test func everyThreadMayEdit() throws {
    let server = HandDrivenServer(keepsSamples: false)
    let device = try Device(server, clientName: "graph")
    let graph = Graph(types: types, sampleRate: 48000, blockFrames: 64, fadeSeconds: 0.001)
    let input = try graph.addInputs(named: "in", audio: ["in_l"])
    let output = try graph.addOutputs(named: "out", audio: ["out_l"])
    try graph.connect(input, to: output)
    try graph.run(on: device)
    let editors = Editors()
    for editor in 0..<4 {
      startThread(named: "editor") {
        for i in 0..<100 {
          do {
            let id = try graph.add(Delay("\(editor)", i % 30))
            try graph.connect(input, to: id)
            try graph.connect(id, to: output)
            try graph.setBypassed(id, i % 2 == 0)
            if i % 10 == 0 { graph.prepare(sampleRate: 48000, blockFrames: 64 + i) }
            _ = graph.description
            try graph.remove(id)
          } catch {
            Issue.record("\(error)")
          }
        }
        editors.done.add(1, ordering: .releasing)
      }
    }
    while editors.done.load(ordering: .acquiring) < 4 { server.cycle(frames: 32) }
    while !graph.isSettled {
      server.cycle(frames: 64)
      device.deliverEvents()
    }
    expectEqual(graph.wires, [Wire(from: input, to: output): 1])
    graph.stop()
  }
}
