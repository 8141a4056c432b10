import RealTime
import System

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
  private let mix: MixMemory?
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
    /// Frames that sound takes from the sources to the end of the edge.
    let arrival: Int
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
  ///   - mix: The faders that edges have.
  ///   - threads: Threads that run the order.
  init(
    number: UInt64, slots order: [SlotMemory], edges list: [Edge],
    eventEdges eventList: [EventEdge], before: [Plan.EventEdge], fillFrames: Int, fadeFrames: Int,
    fades: Bool, mix: MixMemory?, blockFrames: Int, threads: Int
  ) {
    self.number = number
    self.mix = mix
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
          delay: edge.delay?.line, fader: edge.key.fader.flatMap { unsafe mix?.fader($0) },
          arrival: edge.arrival, from: edge.from, to: edge.to, start: edge.start))
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
      fades: order.fades, mix: old.mix, blockFrames: blockFrames, threads: old.threads)
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
