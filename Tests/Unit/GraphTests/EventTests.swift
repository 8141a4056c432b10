import CRealTime
import Graph
import PluginHost
import RealTime
import Synchronization
import TestSupport
import Testing

/// A node that writes a one-byte event at each of the given device frames.
final class EventSource: TestNode, @unchecked Sendable {
  private let events: [(frame: Int64, byte: UInt8)]
  init(_ name: String, _ events: [(Int64, UInt8)]) {
    self.events = events
    super.init(name, inputs: 0, outputs: 0, eventOutputs: 1)
  }
  override func work(_ block: cue_block) {
    let sequence = block.event_outputs![0]
    // The graph passes the buffer with its capacity.
    let capacity = sequence.assumingMemoryBound(to: LV2_Atom.self).pointee.size
    cue_rt_clear_events(sequence, types.sequence)
    for (frame, byte) in events
    where frame >= block.frame && frame < block.frame + Int64(block.frames) {
      var byte = byte
      _ = cue_rt_add_event(sequence, capacity, frame - block.frame, types.midi, 1, &byte)
    }
  }
}

/// A node that records its events.
final class EventSink: TestNode, @unchecked Sendable {
  struct Heard: Equatable, CustomStringConvertible {
    let frame: Int64
    let byte: UInt8
    var description: String { "\(byte)@\(frame)" }
  }
  private let lock = Mutex<[Heard]>([])
  var heard: [Heard] { lock.withLock { $0 } }
  init(_ name: String) { super.init(name, inputs: 0, outputs: 0, eventInputs: 1) }
  override func work(_ block: cue_block) {
    let sequence = block.event_inputs![0]
    var offset = cue_rt_first_event()
    while let event = cue_rt_event_at(sequence, offset) {
      offset = cue_rt_event_after(event, offset)
      expectTrue(event.pointee.time.frames < Int64(block.frames))
      lock.withLock {
        $0.append(
          Heard(
            frame: block.frame + event.pointee.time.frames,
            byte: UnsafeRawPointer(event + 1).load(as: UInt8.self)))
      }
    }
  }
}

/// A node that records the controllers of its blocks.
private final class Listener: TestNode, @unchecked Sendable {
  private let lock = Mutex<(heard: [EventSink.Heard], blocks: Int)>(([], 0))
  var heard: [EventSink.Heard] { lock.withLock { $0.heard } }
  /// Number of blocks that carried controllers.
  var blocks: Int { lock.withLock { $0.blocks } }
  init() { super.init("listener", eventInputs: 1, eventOutputs: 1) }
  override var takesControllers: Bool { true }
  override func work(_ block: cue_block) {
    guard let sequence = block.controllers else { return }
    lock.withLock { $0.blocks += 1 }
    var offset = cue_rt_first_event()
    while let event = cue_rt_event_at(sequence, offset) {
      offset = cue_rt_event_after(event, offset)
      let heard = EventSink.Heard(
        frame: block.frame + event.pointee.time.frames,
        byte: UnsafeRawPointer(event + 1).load(as: UInt8.self))
      lock.withLock { $0.heard.append(heard) }
    }
  }
}

/// A node that delays events by a number of frames.
private final class LateEvents: TestNode, @unchecked Sendable {
  private let late: Int
  init(_ late: Int) {
    self.late = late
    super.init("late", inputs: 1, outputs: 1, eventInputs: 1, eventOutputs: 1)
  }
  override var latencyFrames: Int { late }
}

@Suite(.serialized) struct EventTests {
  private func heard(_ list: [(Int64, UInt8)]) -> [EventSink.Heard] {
    list.map { EventSink.Heard(frame: $0.0, byte: $0.1) }
  }

  @Test(arguments: [7, 64, 1024]) func eventsAreMergedByFrame(period: Int) throws {
    let rig = Rig(blockFrames: 50)
    let a = try rig.graph.add(EventSource("a", [(0, 1), (10, 2), (63, 3), (64, 4), (500, 5)]))
    let b = try rig.graph.add(EventSource("b", [(5, 11), (10, 12), (64, 13), (499, 14)]))
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    try rig.graph.connect(Wire(from: a, to: sinkID, isEvent: true))
    try rig.graph.connect(Wire(from: b, to: sinkID, isEvent: true))
    rig.begin()
    rig.run(1024, period: period)
    expectEqual(
      sink.heard,
      heard([
        (0, 1), (5, 11), (10, 2), (10, 12), (63, 3), (64, 4), (64, 13), (499, 14), (500, 5),
      ]))
  }

  /// Events are delayed as much as the sound of a parallel path.
  @Test(arguments: [7, 64, 1024]) func eventsAreHeldBackWithTheSound(period: Int) throws {
    let rig = Rig(blockFrames: 50)
    let source = try rig.graph.add(
      EventSource("source", [(0, 1), (10, 2), (63, 3), (64, 4), (500, 5)]))
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    let late = try rig.graph.add(LateEvents(100))
    try rig.graph.connect(Wire(from: source, to: sinkID, isEvent: true))
    try rig.graph.connect(Wire(from: source, to: late, isEvent: true))
    try rig.graph.connect(Wire(from: late, to: sinkID, isEvent: true))
    rig.begin()
    rig.run(1024, period: period)
    expectEqual(sink.heard, heard([(100, 1), (110, 2), (163, 3), (164, 4), (600, 5)]))
  }

  /// A node that writes no sequence has no events. A bypassed node passes its input events on.
  @Test func aBypassedNodeHandsItsEventsOn() throws {
    let rig = Rig()
    let source = try rig.graph.add(EventSource("source", [(10, 2), (200, 3)]))
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    let late = try rig.graph.add(LateEvents(0))
    try rig.graph.connect(Wire(from: source, to: late, isEvent: true))
    try rig.graph.connect(Wire(from: late, to: sinkID, isEvent: true))
    rig.begin()
    rig.run(100)
    expectTrue(sink.heard.isEmpty)
    try rig.graph.setBypassed(late, true)
    rig.run(200)
    expectEqual(sink.heard.filter { $0.byte < 0x80 }, heard([(200, 3)]))
  }

  /// When a wire is removed, the sender cannot end its notes any more.
  @Test func notesEndWithTheirWire() throws {
    let rig = Rig()
    let source = try rig.graph.add(EventSource("source", [(10, 0x3c)]))
    let other = try rig.graph.add(EventSource("other", []))
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    try rig.graph.connect(Wire(from: source, to: sinkID, isEvent: true))
    try rig.graph.connect(Wire(from: other, to: sinkID, isEvent: true))
    rig.begin()
    rig.run(128)
    expectEqual(sink.heard, heard([(10, 0x3c)]))
    // Another wire that stays, and unrelated edits, end no notes.
    let mixer = rig.graph.addMixer(named: "mixer", channels: 1)
    try rig.graph.connect(mixer, to: rig.graph.addMixer(named: "next", channels: 1))
    rig.settle()
    expectEqual(sink.heard.count, 1)
    let begin = rig.frame
    try rig.graph.disconnect(Wire(from: source, to: sinkID, isEvent: true))
    rig.run(640)
    rig.settle()
    // Two controllers on each channel, once.
    expectEqual(
      sink.heard.dropFirst(), heard((0..<32).map { (begin, 0xb0 | UInt8($0 / 2)) })[...])
  }

  /// Controllers come by an input of their own, delayed like the sound. A bypass does not pass them on,
  /// and removing their wire ends no notes.
  @Test func controllersAreForTheHost() throws {
    let rig = Rig()
    let source = try rig.graph.add(EventSource("source", [(10, 2), (200, 3), (1100, 4)]))
    let late = try rig.graph.add(LateEvents(100))
    let node = Listener()
    let listener = try rig.graph.add(node)
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    try rig.graph.connect(Wire(from: listener, to: sinkID, isEvent: true))
    try rig.graph.connect(late, to: listener)
    rig.begin()
    rig.run(64)
    expectEqual(node.blocks, 0)
    try rig.graph.edit { wiring throws(HostError) in
      try wiring.connectControllers(source, 0, to: listener)
    }
    rig.run(640)
    rig.settle()
    expectTrue(node.blocks > 0 && node.heard == heard([(300, 3)]))
    try rig.graph.setBypassed(listener, true)
    rig.run(640)
    expectTrue(sink.heard.filter { $0.byte < 0x80 }.isEmpty)
    expectTrue(
      rig.graph.description.contains("controllers ← source (1) 1"), "\(rig.graph.description)")
    let count = node.heard.count
    try rig.graph.disconnect(Wire(from: source, 0, to: listener, 1, isEvent: true))
    rig.run(640)
    rig.settle()
    expectEqual(node.heard.count, count)
    // Other nodes have no such input.
    #expect(
      throws: HostError.noSuchPort(node: "sink", kind: .eventInput, number: 2)
    ) {
      try rig.graph.edit { wiring throws(HostError) in
        try wiring.connectControllers(source, 0, to: sinkID)
      }
    }
  }

  @Test func eventsThatThereIsNoRoomForAreCounted() throws {
    let rig = Rig()
    let many = (0..<2000).map { index -> (Int64, UInt8) in (Int64(index / 4), UInt8(index & 0x7f)) }
    let sink = EventSink("sink")
    let sinkID = try rig.graph.add(sink)
    for name in ["a", "b"] {
      let id = try rig.graph.add(EventSource(name, many.map { ($0.0, $0.1) }))
      try rig.graph.connect(Wire(from: id, to: sinkID, isEvent: true))
    }
    rig.begin()
    rig.cycle(512)
    let lost = try rig.graph.lostEvents(of: sinkID)
    // The number of 24-byte events that fit into 32 KiB.
    expectEqual(sink.heard.count, (32768 - 16) / 24)
    expectTrue(lost > 0)
    expectEqual(sink.heard.map(\.frame), sink.heard.map(\.frame).sorted())
  }
}
