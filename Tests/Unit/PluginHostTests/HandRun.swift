import CRealTime
import Foundation
import Graph
import PluginHost
import Testing

/// An event at a frame.
struct TimedEvent: Equatable {
  var frame: Int
  var bytes: [UInt8]
}

/// A driver that runs a plugin's processor block by block like a graph, with its own memory.
final class HandRun {
  private let node: any GraphNode
  private let capacity: Int
  private let eventBytes: Int
  private let inputs, outputs: [UnsafeMutablePointer<Float>]
  private let eventInputs, eventOutputs: [UnsafeMutableRawPointer]
  private let inputPlanes: UnsafeMutablePointer<UnsafePointer<Float>>
  private let outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let inputEvents: UnsafeMutablePointer<UnsafeRawPointer>
  private let outputEvents: UnsafeMutablePointer<UnsafeMutableRawPointer>
  /// Device frame of the next block's first frame.
  var frame: Int64 = 0
  var isFreewheeling = false
  /// The function that gives the transport position at a device frame.
  var transport: ((Int64) -> cue_transport)?
  private var course = cue_transport_course()
  private let heardControllers: UnsafeMutableRawPointer
  /// Whether a node requested attention in the last run.
  private(set) var sawAttention = false

  init(_ node: any GraphNode, capacity: Int = 4096, eventBytes: Int = 1 << 16) {
    self.node = node
    self.capacity = capacity
    self.eventBytes = eventBytes
    func plane(_: Int) -> UnsafeMutablePointer<Float> {
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: capacity)
      plane.initialize(repeating: 0, count: capacity)
      return plane
    }
    func events(_: Int) -> UnsafeMutableRawPointer {
      let events = UnsafeMutableRawPointer.allocate(byteCount: eventBytes, alignment: 8)
      memset(events, 0, eventBytes)
      return events
    }
    inputs = (0..<node.inputs).map(plane)
    outputs = (0..<node.outputs).map(plane)
    eventInputs = (0..<node.eventInputs).map(events)
    heardControllers = events(0)
    eventOutputs = (0..<node.eventOutputs).map(events)
    inputPlanes = .allocate(capacity: max(1, inputs.count))
    outputPlanes = .allocate(capacity: max(1, outputs.count))
    inputEvents = .allocate(capacity: max(1, eventInputs.count))
    outputEvents = .allocate(capacity: max(1, eventOutputs.count))
    for (i, plane) in inputs.enumerated() { inputPlanes[i] = UnsafePointer(plane) }
    for (i, plane) in outputs.enumerated() { outputPlanes[i] = plane }
    for (i, events) in eventInputs.enumerated() { inputEvents[i] = UnsafeRawPointer(events) }
    for (i, events) in eventOutputs.enumerated() { outputEvents[i] = events }
  }

  deinit {
    for plane in inputs + outputs { plane.deallocate() }
    for events in eventInputs + eventOutputs + [heardControllers] { events.deallocate() }
    inputPlanes.deallocate()
    outputPlanes.deallocate()
    inputEvents.deallocate()
    outputEvents.deallocate()
  }

  /// Runs blocks of the given lengths, repeated until the input is used up. `midi` goes to the first
  /// event input and `controllers` to the host. Returns the sound and the events of the first event
  /// output.
  @discardableResult
  func run(
    _ input: [[Float]] = [], frames: Int? = nil, blocks: [Int] = [1024], midi: [TimedEvent] = [],
    controllers: [TimedEvent] = [], around: (() -> Void) -> Void = { $0() }
  ) -> (sound: [[Float]], events: [TimedEvent]) {
    let frames = frames ?? input.first?.count ?? 0
    var sound = [[Float]](repeating: [], count: outputs.count)
    var events: [TimedEvent] = []
    sawAttention = false
    var done = 0
    var turn = 0
    while done < frames {
      let length = min(blocks[turn % blocks.count], frames - done)
      turn += 1
      for (plane, samples) in zip(inputs, input) {
        for i in 0..<length { plane[i] = samples[done + i] }
      }
      for (i, sequence) in eventInputs.enumerated() {
        write(
          i == 0 ? midi.filter { done..<done + length ~= $0.frame } : [], from: done, to: sequence)
      }
      for sequence in eventOutputs {
        sequence.storeBytes(of: UInt32(eventBytes - 8), as: UInt32.self)
      }
      var block = cue_block()
      block.frames = UInt32(length)
      block.is_freewheeling = isFreewheeling
      block.frame = frame
      block.inputs = UnsafePointer(inputPlanes)
      block.outputs = UnsafePointer(outputPlanes)
      block.event_inputs = UnsafePointer(inputEvents)
      block.event_outputs = UnsafePointer(outputEvents)
      if !controllers.isEmpty {
        write(
          controllers.filter { done..<done + length ~= $0.frame }, from: done, to: heardControllers)
        block.controllers = UnsafeRawPointer(heardControllers)
      }
      var now = transport?(frame) ?? cue_transport()
      let processor = node.processor
      withUnsafeMutablePointer(to: &sawAttention) { attention in
        block.attention = attention
        withUnsafeMutablePointer(to: &course) { course in
          if transport != nil {
            block.transport = cue_rt_follow_transport(course, &now, UInt32(length))
          }
          around { cue_rt_run_node(processor, &block) }
        }
      }
      for (i, plane) in outputs.enumerated() {
        sound[i] += UnsafeBufferPointer(start: plane, count: length)
      }
      if let sequence = eventOutputs.first { events += read(sequence, from: done) }
      frame += Int64(length)
      done += length
    }
    return (sound, events)
  }

  private let midiType = urid("http://lv2plug.in/ns/ext/midi#MidiEvent")
  private let sequenceType = urid("http://lv2plug.in/ns/ext/atom#Sequence")

  private func write(_ events: [TimedEvent], from: Int, to memory: UnsafeMutableRawPointer) {
    var used = 16
    for event in events {
      memory.storeBytes(of: Int64(event.frame - from), toByteOffset: used, as: Int64.self)
      memory.storeBytes(of: UInt32(event.bytes.count), toByteOffset: used + 8, as: UInt32.self)
      memory.storeBytes(of: midiType, toByteOffset: used + 12, as: UInt32.self)
      (memory + used + 16).copyMemory(from: event.bytes, byteCount: event.bytes.count)
      used += 16 + (event.bytes.count + 7) / 8 * 8
    }
    memory.storeBytes(of: UInt32(used - 8), as: UInt32.self)
    memory.storeBytes(of: sequenceType, toByteOffset: 4, as: UInt32.self)
    memory.storeBytes(of: 0, toByteOffset: 8, as: UInt64.self)
  }

  private func read(_ memory: UnsafeMutableRawPointer, from: Int) -> [TimedEvent] {
    precondition(
      memory.load(fromByteOffset: 4, as: UInt32.self) == sequenceType, "an output is no sequence")
    let end = 8 + Int(memory.load(as: UInt32.self))
    var offset = 16
    var events: [TimedEvent] = []
    while offset + 16 <= end {
      let size = Int(memory.load(fromByteOffset: offset + 8, as: UInt32.self))
      events.append(
        TimedEvent(
          frame: from + Int(memory.load(fromByteOffset: offset, as: Int64.self)),
          bytes: Array(UnsafeRawBufferPointer(start: memory + offset + 16, count: size))))
      offset += 16 + (size + 7) / 8 * 8
    }
    return events
  }
}

/// Returns reproducible noise.
func noise(_ count: Int, seed: UInt64 = 1) -> [Float] {
  var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
  return (0..<count).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Float(Int32(truncatingIfNeeded: state >> 32)) / Float(Int32.max) * 0.5
  }
}

/// A graph with one node between a source and an output, which runs offline.
struct OfflineNode {
  let graph: Graph
  let id: NodeID
  let offline: OfflineGraph

  init(_ node: any GraphNode, blockFrames: Int = 64) throws {
    graph = Graph(sampleRate: 48000, blockFrames: blockFrames)
    let source = graph.addSource(named: "source", channels: 1)
    id = try graph.add(node)
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    try graph.connect(Wire(from: source, to: id))
    try graph.connect(id, to: output)
    offline = try OfflineGraph(graph, source: source)
  }
}

/// Expects that the example “amp” refuses unknown ports, values out of range and events by name.
func expectRefusals(by amp: some HostedPlugin) {
  #expect(throws: HostError.unknownPort(plugin: examples + "amp", symbol: "volume")) {
    try amp.set("volume", to: 1, at: nil, over: 0)
  }
  #expect(
    throws: HostError.valueOutOfRange(
      plugin: examples + "amp", symbol: "gain", value: 25, range: -90...24)
  ) { try amp.set("gain", to: 25, at: nil, over: 0) }
  #expect(throws: HostError.self) { try amp.set("gain", to: .nan, at: nil, over: 0) }
  #expect(
    throws: HostError.notAccepted(
      plugin: examples + "amp", what: "<http://lv2plug.in/ns/ext/midi#MidiEvent>")
  ) {
    try amp.send(midi: [0x90, 60, 100], at: nil)
  }
}
