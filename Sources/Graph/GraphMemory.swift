import CRealTime
import RealTime
package import Server
import Synchronization
import System

/// A JACK port of a graph node.
package struct GraphPort: Hashable, Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
}

/// A buffer of samples, aligned for vector instructions, touched and locked in memory.
@safe
final class Plane: @unchecked Sendable {
  let samples: UnsafeMutablePointer<Float>
  private let pages: [ArenaPage]

  /// Allocates a silent buffer.
  init(frames: Int) {
    var pages: [ArenaPage] = []
    // Whole cache lines: the samples of two planes never share one.
    unsafe samples = Arena.large.allocate(
      (frames + 15) / 16 * 16, of: Float.self, keptBy: &pages)
    self.pages = pages
  }
}

/// A buffer for an event sequence.
@safe
final class EventPlane: @unchecked Sendable {
  /// Size for nodes that do not report one.
  static let usualBytes = 32768
  let bytes: Int
  let sequence: UnsafeMutableRawPointer
  private let pages: [ArenaPage]

  init(_ types: cue_event_types, bytes: Int = EventPlane.usualBytes) {
    self.bytes = bytes
    var pages: [ArenaPage] = []
    unsafe sequence = UnsafeMutableRawPointer(
      Arena.large.allocate((bytes + 7) / 8, of: UInt64.self, keptBy: &pages))
    self.pages = pages
    unsafe cue_rt_clear_events(sequence, types.sequence)
  }
}

/// Owns the memory of one node's slot in the running order.
@safe
final class SlotMemory: @unchecked Sendable {
  /// Unique number of the slot.
  let number: Int
  let name: String
  let kind: GraphSlot.Kind
  let node: (any GraphNode)?
  let inputs: Int
  let outputs: Int
  let eventInputs: Int
  let eventOutputs: Int
  /// The JACK ports, audio first; empty for a source with its own memory.
  let jackPorts: [GraphPort]
  let slot: UnsafeMutablePointer<GraphSlot>
  /// The JACK port of each input or output. Changed only while no cycle uses the slot.
  let ports: UnsafeMutablePointer<cue_port>
  private let planePointers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let buffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let sequences: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var planes: [Plane] = []
  private let eventPlanes: [EventPlane]
  /// The controllers' sequence, created for the first running order that wires controllers to the
  /// node.
  lazy var controllers = EventPlane(types, bytes: eventBytes)
  private let types: cue_event_types
  /// Size of each of its event sequences, in bytes.
  let eventBytes: Int
  private let sourcePlanes: [Plane]
  private let pages: [ArenaPage]

  init(
    number: Int, name: String, kind: GraphSlot.Kind, node: (any GraphNode)? = nil, inputs: Int,
    outputs: Int, eventInputs: Int = 0, eventOutputs: Int = 0, jackPorts: [GraphPort] = [],
    hasMemory: Bool = false, types: cue_event_types, blockFrames: Int
  ) {
    self.number = number
    self.name = name
    self.kind = kind
    self.node = node
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
    self.jackPorts = jackPorts
    let audio = inputs + outputs
    let events = eventInputs + eventOutputs
    unsafe ports = .allocate(capacity: max(1, audio + events))
    unsafe ports.initialize(repeating: cue_port(), count: audio + events)
    unsafe planePointers = .allocate(capacity: max(1, audio))
    var pages: [ArenaPage] = []
    unsafe slot = Arena.small.allocate(1, of: GraphSlot.self, keptBy: &pages)
    unsafe buffers = Arena.small.allocate(
      audio, of: UnsafeMutablePointer<Float>.self, keptBy: &pages)
    self.pages = pages
    unsafe sequences = .allocate(capacity: max(1, events))
    let eventBytes = max(EventPlane.usualBytes, node?.eventBytes ?? 0)
    self.types = types
    self.eventBytes = eventBytes
    eventPlanes = (0..<events).map { _ in EventPlane(types, bytes: eventBytes) }
    for i in 0..<events { unsafe (sequences + i).initialize(to: eventPlanes[i].sequence) }
    sourcePlanes =
      hasMemory ? (0..<outputs).map { _ in Plane(frames: GraphCycle.longestCycle) } : []
    for (i, plane) in sourcePlanes.enumerated() {
      unsafe ports[i] = cue_port(port: nil, memory: plane.samples, connections: nil)
    }
    unsafe slot.initialize(
      to: GraphSlot(
        kind: kind, node: node?.processor, inputs: inputs, outputs: outputs,
        eventInputs: eventInputs, eventOutputs: eventOutputs, ports: ports, clearsPorts: hasMemory,
        planes: planePointers, buffers: buffers, sequences: sequences,
        eventBytes: UInt32(eventBytes)))
    resize(blockFrames)
  }

  deinit {
    unsafe slot.deinitialize(count: 1)
    unsafe sequences.deallocate()
    unsafe planePointers.deallocate()
    unsafe ports.deallocate()
  }

  /// Keeps the slot and its current planes forever, and stops all cycles from running its node.
  func abandon() {
    unsafe slot.pointee.isAbandoned.store(true, ordering: .releasing)
    keepForGood(self)
    planes.forEach(keepForGood)
  }

  /// Replaces the planes by silent ones for blocks of `blockFrames` frames. Precondition: no cycle
  /// uses the slot.
  func resize(_ blockFrames: Int) {
    planes = (0..<inputs + outputs).map { _ in Plane(frames: blockFrames) }
    for (i, plane) in planes.enumerated() {
      unsafe (planePointers + i).initialize(to: plane.samples)
      unsafe (buffers + i).initialize(to: plane.samples)
    }
  }

  /// Returns the address at which the cycle finds the plane of an input or an output.
  func bufferPointer(ofInput i: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
    unsafe buffers + i
  }
  func bufferPointer(ofOutput i: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
    unsafe buffers + inputs + i
  }
  /// Returns the plane for an output to which the running order lends no other plane.
  func plane(ofOutput i: Int) -> Plane { planes[inputs + i] }
  func sequence(ofInput i: Int) -> UnsafeMutableRawPointer { unsafe eventPlanes[i].sequence }
  func sequence(ofOutput i: Int) -> UnsafeMutableRawPointer {
    unsafe eventPlanes[eventInputs + i].sequence
  }

  /// The JACK ports to register.
  var wantedPorts: [WantedPort] {
    jackPorts.enumerated().map { i, port in
      WantedPort(name: port.name, direction: port.direction, isMIDI: port.isMIDI) { [self] in
        unsafe ports[i] = $0.handle
      }
    }
  }

  /// Whether the node's result leaves the graph, or the node runs without that.
  var isEnd: Bool { kind == .sink || outputs + eventOutputs == 0 || node?.runsUnheard == true }
}

/// Owns a delay line.
@safe
final class DelayMemory: @unchecked Sendable {
  let line: UnsafeMutablePointer<DelayLine>
  private let plane: Plane

  init(frames: Int) {
    plane = Plane(frames: frames)
    unsafe line = .allocate(capacity: 1)
    unsafe line.initialize(to: DelayLine(plane.samples, frames: frames))
  }

  deinit { unsafe line.deallocate() }
}

/// Owns a delay line for events.
@safe
final class EventDelayMemory: @unchecked Sendable {
  let delay: UnsafeMutablePointer<EventDelay>
  private let pending: EventPlane
  private let due: EventPlane

  /// - Parameter bytes: Size of the longest event sequence.
  init(_ types: cue_event_types, bytes: Int) {
    pending = EventPlane(types, bytes: bytes)
    due = EventPlane(types, bytes: bytes)
    unsafe delay = .allocate(capacity: 1)
    unsafe delay.initialize(
      to: EventDelay(
        pending: pending.sequence, due: due.sequence, bytes: UInt32(bytes), types))
  }

  deinit { unsafe delay.deallocate() }
}

/// Owns a running order and retains everything that it points to.
@safe
final class OrderMemory: @unchecked Sendable {
  let number: UInt64
  let order: UnsafeMutablePointer<GraphOrder>
  let slots: [SlotMemory]
  private let list: [Edge]
  private let eventList: [EventEdge]
  /// The event edges of the previous order.
  private let before: [Plan.EventEdge]
  private let scratch: Plane
  private let threads: Int
  /// The groups and the indices of their readers; nil if the process thread runs all steps.
  private let groups: UnsafeMutablePointer<GraphGroups>?
  private let groupList: UnsafeMutablePointer<GraphGroup>
  private let groupCount: Int
  private let readers: UnsafeMutablePointer<Int>
  private let groupPages: [ArenaPage]
  private let steps: UnsafeMutablePointer<GraphStep>
  private let inputs: UnsafeMutablePointer<GraphInput>
  private let edges: UnsafeMutablePointer<GraphEdge>
  private let eventEdges: UnsafeMutablePointer<GraphEventEdge>
  private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// The planes that each node writes to, by slot number.
  private let lent: [Int: [Plane]]

  /// One edge, before its addresses are known.
  struct Edge {
    let key: Plan.Edge
    let from: Float
    let to: Float
    /// Frames from the start of the order to the start of the edge's fade.
    let start: Int
    let delay: DelayMemory?
  }
  struct EventEdge {
    let key: Plan.EventEdge
    let frames: Int
    let delay: EventDelayMemory
  }

  /// The event edges of this order.
  var eventKeys: [Plan.EventEdge] { eventList.map(\.key) }

  /// Creates an order of `slots`, which are in running order, with edges sorted by destination.
  ///
  /// - Parameters:
  ///   - before: The event edges of the previous order.
  ///   - threads: Threads that run the order.
  init(
    number: UInt64, slots order: [SlotMemory], edges list: [Edge],
    eventEdges eventList: [EventEdge], before: [Plan.EventEdge], fillFrames: Int, fadeFrames: Int,
    fades: Bool, blockFrames: Int, threads: Int
  ) {
    self.number = number
    self.threads = threads
    let grouping = threads > 1 ? Grouping(order, Self.links(list, eventList)) : nil
    let slots = grouping?.slots ?? order
    self.slots = slots
    self.list = list
    self.eventList = eventList
    self.before = before
    let gone = Set(before).subtracting(eventList.map(\.key))
    // Whole cache lines for each thread.
    let scratchStride = (blockFrames + 15) / 16 * 16
    scratch = Plane(frames: threads * scratchStride)
    let byNumber = Dictionary(uniqueKeysWithValues: slots.map { ($0.number, $0) })
    unsafe steps = .allocate(capacity: max(1, slots.count))
    unsafe inputs = .allocate(
      capacity: max(1, slots.reduce(0) { $0 + $1.inputs + $1.eventInputs + 1 }))
    unsafe edges = .allocate(capacity: max(1, list.count))
    unsafe eventEdges = .allocate(capacity: max(1, eventList.count))
    lent = Self.lendPlanes(slots, list, grouping?.groupOf)
    unsafe outputs = .allocate(capacity: max(1, lent.values.reduce(0) { $0 + $1.count }))
    var firstOutputs: [Int: Int] = [:]
    var output = 0
    for slot in slots {
      firstOutputs[slot.number] = output
      for plane in lent[slot.number] ?? [] {
        unsafe (outputs + output).initialize(to: plane.samples)
        output += 1
      }
    }
    for (i, edge) in list.enumerated() {
      let source = byNumber[edge.key.source]!
      let buffer =
        if edge.key.isDry {
          unsafe source.bufferPointer(ofInput: edge.key.output)
        } else if source.kind == .node {
          unsafe outputs + firstOutputs[source.number]! + edge.key.output
        } else {
          unsafe source.bufferPointer(ofOutput: edge.key.output)
        }
      unsafe (edges + i).initialize(
        to: GraphEdge(
          source: buffer,
          delay: edge.delay?.line, from: edge.from, to: edge.to, start: edge.start))
    }
    for (i, edge) in eventList.enumerated() {
      let source = byNumber[edge.key.source]!
      unsafe (eventEdges + i).initialize(
        to: GraphEventEdge(
          source: edge.key.isDry
            ? source.sequence(ofInput: edge.key.output)
            : source.sequence(ofOutput: edge.key.output), delay: edge.delay.delay,
          frames: edge.frames))
    }
    let ranges = Self.ranges(list) { [$0.key.destination, $0.key.input] }
    let eventRanges = Self.ranges(eventList) { [$0.key.destination, $0.key.input] }
    var input = 0
    for (i, slot) in slots.enumerated() {
      let controllers = eventRanges[[slot.number, slot.eventInputs]]
      unsafe (steps + i).initialize(
        to: GraphStep(
          slot.slot, inputs: inputs + input, outputs: outputs + firstOutputs[slot.number]!,
          controllers: controllers == nil ? nil : slot.controllers.sequence))
      for k in 0..<slot.inputs {
        let edges = ranges[[slot.number, k]] ?? (first: 0, count: 0)
        unsafe (inputs + input + k).initialize(
          to: GraphInput(first: edges.first, count: edges.count, of: self.edges))
      }
      input += slot.inputs
      for k in 0..<slot.eventInputs {
        let edges = eventRanges[[slot.number, k]] ?? (first: 0, count: 0)
        unsafe (inputs + input + k).initialize(
          to: GraphInput(
            first: edges.first, count: edges.count,
            endsNotes: gone.contains { $0.destination == slot.number && $0.input == k }))
      }
      input += slot.eventInputs
      if let controllers {
        unsafe (inputs + input).initialize(
          to: GraphInput(first: controllers.first, count: controllers.count))
        input += 1
      }
    }
    var pages: [ArenaPage] = []
    let chains = grouping?.groups ?? []
    unsafe groupList = Arena.small.allocate(chains.count, of: GraphGroup.self, keptBy: &pages)
    unsafe readers = Arena.small.allocate(
      chains.reduce(0) { $0 + $1.readers.count }, of: Int.self, keptBy: &pages)
    groupCount = chains.count
    // A single chain leaves nothing to share.
    if chains.count > 1 {
      var reader = 0
      for (i, chain) in chains.enumerated() {
        unsafe (groupList + i).initialize(
          to: GraphGroup(
            steps: chain.steps, sourceCount: chain.sourceCount, readers: readers + reader,
            readerCount: chain.readers.count))
        for index in chain.readers {
          unsafe readers[reader] = index
          reader += 1
        }
      }
      let groups = unsafe Arena.small.allocate(1, of: GraphGroups.self, keptBy: &pages)
      unsafe groups.initialize(
        to: GraphGroups(
          groupList, count: chains.count, scratch: scratch.samples, scratchStride: scratchStride))
      unsafe self.groups = groups
    } else {
      unsafe groups = nil
    }
    groupPages = pages
    unsafe self.order = .allocate(capacity: 1)
    unsafe self.order.initialize(
      to: GraphOrder(
        number: number, steps: steps, stepCount: slots.count, edges: edges,
        eventEdges: eventEdges, fillFrames: fillFrames, fadeFrames: fadeFrames, fades: fades,
        blockFrames: blockFrames, scratch: scratch.samples, groups: groups,
        groupedSteps: grouping?.steps ?? 0..<0))
  }

  private static func links(_ edges: [Edge], _ eventEdges: [EventEdge]) -> Set<Plan.Link> {
    Set(edges.map { Plan.Link(from: $0.key.source, to: $0.key.destination) })
      .union(eventEdges.map { Plan.Link(from: $0.key.source, to: $0.key.destination) })
  }

  /// Creates the same order with another block length, at the current position of `old`.
  /// Precondition: no cycle runs `old`.
  convenience init(_ old: OrderMemory, number: UInt64, blockFrames: Int) {
    let order = unsafe old.order.pointee
    self.init(
      number: number, slots: old.slots, edges: old.list, eventEdges: old.eventList,
      before: old.before, fillFrames: order.fillFrames, fadeFrames: order.fadeFrames,
      fades: order.fades, blockFrames: blockFrames, threads: old.threads)
    unsafe self.order.pointee.goOn(from: order)
  }

  /// Returns the range of edges for each input in a list sorted by input.
  private static func ranges<E>(_ list: [E], _ target: (E) -> [Int]) -> [[Int]: (
    first: Int, count: Int
  )] {
    var ranges: [[Int]: (first: Int, count: Int)] = [:]
    var first = 0
    while first < list.count {
      let input = target(list[first])
      let end = list[first...].firstIndex { target($0) != input } ?? list.count
      ranges[input] = (first, end - first)
      first = end
    }
    return ranges
  }

  deinit {
    unsafe order.deallocate()
    if let groups = unsafe groups {
      unsafe groupList.deinitialize(count: groupCount)
      unsafe groups.deinitialize(count: 1)
    }
    unsafe outputs.deallocate()
    unsafe eventEdges.deallocate()
    unsafe edges.deallocate()
    unsafe inputs.deallocate()
    unsafe steps.deallocate()
  }
}
