package import CRealTime
import Logging
package import RealTime
import Server
import Synchronization
import System
import Timeline

/// A graph of nodes (sources, plugins, mixers, ports) and wires that the process cycles of a device
/// run.
///
/// Any thread but the process thread may use it. The graph checks an edit at once and applies it
/// without a click: it feeds new nodes a signal that rises from silence for ten fade lengths (0.1
/// s), fills delay lines, then crossfades all changes together. Edits during a crossfade wait for
/// its end and are applied together.
@safe
package final class Graph: @unchecked Sendable {
  /// The part of the graph that process cycles run.
  package let cycle: UnsafeMutablePointer<GraphCycle>
  private let attention: UnsafeMutablePointer<Bool>
  private let course: UnsafeMutablePointer<cue_transport_course>
  /// The URIDs of the event types that the nodes use.
  package let types: cue_event_types
  /// Length of a crossfade.
  package let fadeSeconds: Double
  private let threads: Int
  private let helpers: HelperThreads?

  struct State {
    var wiring = Wiring()
    var sampleRate: Double
    var blockFrames: Int
    var nextNode = 1
    var nextSlot = 1
    var nextOrder: UInt64 = 1
    /// The faders and timelines; nil if there are none.
    var mix: MixMemory?
    /// Set while no cycle runs; edits take effect at once.
    var isHalted = true
    /// The plan that cycles play, or that they are fading to.
    var plan = Plan()
    var order: OrderMemory?
    var isFading = false
    /// Numbers of slots that an abandoned cycle may still run. No other cycle runs them.
    var abandoned: Set<Int> = []
    /// Running orders that a cycle may still read, and the cycle count after which each can be
    /// freed.
    var retired: [(order: OrderMemory, until: UInt64)] = []
    var delays: [Plan.Edge: DelayMemory] = [:]
    var eventDelays: [Plan.EventEdge: EventDelayMemory] = [:]
    /// The latency assumed for each node, by slot number.
    var latency: [Int: Int] = [:]
    /// Counts of bad samples and lost events already logged, by slot number.
    var told: [Int: UInt64] = [:]
    /// Slots whose JACK ports are to be unregistered. Output ports first stay silent for one cycle.
    var leaving: [Leaving] = []
    /// Slots whose JACK ports are not registered yet.
    var arriving: [SlotMemory] = []
    /// The port latencies last reported to the device.
    var reported: [PortLatency] = []
  }
  struct Leaving {
    let slot: SlotMemory
    /// The cycle count after which the slot is silent.
    var silentAfter: UInt64?
    var isSilent = false
  }
  let state: Mutex<State>
  /// Held while nodes are prepared, which may take long. Lock it before `state`.
  let preparing = Mutex<Void>(())
  struct Attachment: @unchecked Sendable {
    weak var device: Device?
    var teller: ReportServer?
  }
  let attachment = Mutex(Attachment())
  /// Whether a cycle that does not end was already logged.
  let isOverdue = Atomic<Bool>(false)

  /// Creates an empty graph.
  ///
  /// - Parameters:
  ///   - types: The URIDs of the event types that the nodes use.
  ///   - blockFrames: Maximum frames in one call of a node. A longer cycle takes several calls.
  ///   - threads: The threads that run nodes which do not depend on each other.
  package init(
    types: cue_event_types, sampleRate: Double, blockFrames: Int, fadeSeconds: Double = 0.01,
    threads: GraphThreads = .one
  ) {
    self.types = types
    self.threads = max(1, threads.count)
    helpers = threads.count > 1 ? HelperThreads(threads) : nil
    self.fadeSeconds = fadeSeconds
    state = Mutex(State(sampleRate: sampleRate, blockFrames: max(1, blockFrames)))
    unsafe attention = .allocate(capacity: 1)
    unsafe attention.initialize(to: false)
    unsafe course = .allocate(capacity: 1)
    unsafe course.initialize(to: cue_transport_course())
    unsafe cycle = .allocate(capacity: 1)
    unsafe cycle.initialize(
      to: GraphCycle(
        types: types, attention: attention, course: course, helpers: helpers?.helpers))
    unsafe helpers?.start(cycle, priority: threads.priority)
  }

  /// Precondition: no cycle is running.
  deinit {
    attachment.withLock { $0.teller?.end() }
    if helpers?.end() == false {
      log.error("a thread does not end, in a plugin that hangs: the memory of its graph is kept")
      state.withLock { state in
        for order in state.retired.map(\.order) + [state.order].compactMap({ $0 }) {
          keepForGood(order)
          order.slots.forEach(keepForGood)
        }
      }
      return
    }
    unsafe cycle.deinitialize(count: 1)
    unsafe cycle.deallocate()
    unsafe course.deallocate()
    unsafe attention.deallocate()
  }

  /// Frames for which cycles have run the nodes. Any thread.
  package var framesRun: Int64 { unsafe cycle.pointee.framesRun }

  // MARK: From edit to cycle

  /// Applies several edits together, or none of them if one fails.
  package func edit<Result: Sendable>(_ body: (inout Wiring) throws(HostError) -> Result)
    throws(HostError) -> Result
  {
    let result = try state.withLock { state throws(HostError) in
      var wiring = state.wiring
      let result = try body(&wiring)
      for (id, item) in state.wiring.items
      where !item.slot.jackPorts.isEmpty && wiring.items[id]?.slot !== item.slot {
        state.leaving.append(Leaving(slot: item.slot))
      }
      state.wiring = wiring
      apply(&state)
      return result
    }
    attachment.withLock { $0.device }?.wake()
    return result
  }

  /// Returns the plan for the requested wiring.
  private func plan(_ state: inout State) -> Plan {
    var latency: [Int: Int] = [:]
    let limit = Int(10 * state.sampleRate)
    let leaving = state.isHalted ? [] : state.leaving.filter { !$0.isSilent }.map(\.slot)
    let plan = Plan(state.wiring, and: leaving) { slot in
      if let known = state.latency[slot.number] { return known }
      let said = slot.node?.latencyFrames ?? 0
      if said > limit {
        log.warning(
          "“\(slot.name)” says that it takes \(said) frames; no more than \(limit) are made up for")
      }
      latency[slot.number] = min(max(said, 0), limit)
      return latency[slot.number]!
    }
    state.latency.merge(latency) { $1 }
    state.latency = state.latency.filter { plan.slots[$0.key] != nil }
    return plan
  }

  /// Applies the requested wiring, or starts a crossfade to it. Does nothing during a crossfade.
  func apply(_ state: inout State) {
    if state.isFading { return }
    let wanted = plan(&state)
    if state.isHalted {
      state.delays = [:]
      state.eventDelays = [:]
      state.plan = wanted
      stand(&state)
      return
    }
    if wanted == state.plan { return }
    if wanted.edges == state.plan.edges {
      // The audio edges are the same, so there is nothing to crossfade.
      state.plan = wanted
      stand(&state)
      return
    }
    var target = wanted
    if Plan.order(
      state.plan.slots.merging(wanted.slots) { a, _ in a }, state.plan.links.union(wanted.links))
      == nil
    {
      target = .between(state.plan, wanted)
    }
    fade(&state, to: target)
  }

  private func fade(_ state: inout State, to target: Plan) {
    let old = state.plan
    let (heardBefore, heardAfter) = (old.heard, target.heard)
    let fadeFrames = Int(held: (fadeSeconds * state.sampleRate).rounded())
    // New nodes get a signal that rises from silence well before they are audible. Sound that they
    // delay internally has come out by then, or comes out smoothly.
    let arriving = Set(
      target.slots.values.filter { $0.kind == .node && old.slots[$0.number] == nil }.map(\.number)
    ).intersection(heardAfter)
    var fillFrames = arriving.isEmpty ? 0 : 10 * fadeFrames
    let filling = target.edges.keys.filter { $0.delay > 0 && old.edges[$0] == nil }
    if !arriving.isEmpty || !filling.isEmpty {
      fillFrames += max(target.longestLatency, filling.map(\.delay).max() ?? 0)
    }
    var edges: [OrderMemory.Edge] = []
    for key in Set(old.edges.keys).union(target.edges.keys) {
      var from = old.edges[key] ?? 0
      var to = target.edges[key] ?? 0
      var start = fillFrames
      // An edge that is not audible during the fade keeps its full gain. So the node behind it receives
      // the signal of the old or the new graph unchanged.
      if arriving.contains(key.destination), old.slots[key.source] != nil {
        start = key.delay
      } else if !heardBefore.contains(key.destination) {
        from = to
      } else if !heardAfter.contains(key.destination) {
        to = from
      }
      edges.append(edge(key, of: target, from: from, to: to, start: start, &state))
    }
    let slots = old.slots.merging(target.slots) { a, _ in a }
    state.plan = target
    state.isFading = true
    install(
      &state, Plan.order(slots, old.links.union(target.links))!, edges,
      fillFrames: fillFrames, fadeFrames: fadeFrames, fades: true)
  }

  /// Installs the plan as it is, without a crossfade.
  private func stand(_ state: inout State) {
    state.delays = state.delays.filter { state.plan.edges[$0.key] != nil }
    state.eventDelays = state.eventDelays.filter { state.plan.eventEdges[$0.key] != nil }
    let plan = state.plan
    let edges = plan.edges.map { key, gain in
      edge(key, of: plan, from: gain, to: gain, start: 0, &state)
    }
    state.isFading = false
    install(
      &state, Plan.order(state.plan.slots, state.plan.links)!, edges, fillFrames: 0, fadeFrames: 0,
      fades: false)
    for i in state.leaving.indices
    where state.leaving[i].silentAfter == nil && !state.plan.hasEdges(state.leaving[i].slot) {
      state.leaving[i].silentAfter = unsafe cycle.pointee.cyclesBegun + 1
    }
  }

  private func edge(
    _ key: Plan.Edge, of plan: Plan, from: Float, to: Float, start: Int, _ state: inout State
  ) -> OrderMemory.Edge {
    OrderMemory.Edge(
      key: key, from: from, to: to, start: start,
      arrival: (plan.inputLatency[key.destination] ?? 0) + key.ownDelay,
      delay: delay(for: key, &state))
  }

  private func delay(for key: Plan.Edge, _ state: inout State) -> DelayMemory? {
    if key.delay == 0 { return nil }
    if let delay = state.delays[key] { return delay }
    let delay = DelayMemory(frames: key.delay)
    state.delays[key] = delay
    return delay
  }

  private func install(
    _ state: inout State, _ slots: [SlotMemory], _ edges: [OrderMemory.Edge], fillFrames: Int,
    fadeFrames: Int, fades: Bool
  ) {
    let numbers = Set(slots.map(\.number))
    var eventEdges: [OrderMemory.EventEdge] = []
    let bytes = Dictionary(uniqueKeysWithValues: slots.map { ($0.number, $0.eventBytes) })
    for (key, frames) in state.plan.eventEdges where numbers.contains(key.source) {
      let delay =
        state.eventDelays[key]
        ?? EventDelayMemory(types, bytes: bytes[key.source] ?? EventPlane.usualBytes)
      state.eventDelays[key] = delay
      eventEdges.append(OrderMemory.EventEdge(key: key, frames: frames, delay: delay))
    }
    let order = OrderMemory(
      number: state.nextOrder, slots: slots,
      edges: edges.sorted { a, b in
        let (a, b) = (a.key, b.key)
        return (a.destination, a.input, a.source, a.kind, a.output, a.delay)
          < (b.destination, b.input, b.source, b.kind, b.output, b.delay)
      },
      eventEdges: eventEdges.sorted { a, b in
        let (a, b) = (a.key, b.key)
        return (a.destination, a.input, a.source, a.isDry ? 1 : 0, a.output)
          < (b.destination, b.input, b.source, b.isDry ? 1 : 0, b.output)
      }, before: state.order?.eventKeys ?? [], fillFrames: fillFrames, fadeFrames: fadeFrames,
      fades: fades, mix: state.mix, blockFrames: state.blockFrames, threads: threads)
    run(order, &state)
  }

  /// Makes `order` the running order, effective with the next cycle.
  func run(_ order: OrderMemory, _ state: inout State) {
    state.nextOrder += 1
    unsafe cycle.pointee.swap(order.order)
    let count = unsafe cycle.pointee.cyclesBegun
    if let old = state.order, unsafe !cycle.pointee.areOver(count) {
      state.retired.append((old, count))
    }
    state.order = order
  }

  // MARK: Service

  /// Handles what cycles reported: completes a crossfade, frees memory, follows changed latencies,
  /// and logs errors of nodes. Call it after a cycle has signalled.
  ///
  /// - Returns: The seconds after which to call it again without a signal, or nil if that is not
  ///   needed.
  package func service() -> Double? {
    let asks = unsafe cycle.pointee.takeAttention()
    let (patience, gone) = state.withLock { state -> (Double?, [SlotMemory]) in
      if asks {
        tell(&state)
        // Ask all nodes for their latency again.
        state.latency = [:]
      }
      if state.isFading, let order = state.order,
        unsafe cycle.pointee.fadedOrder == order.number
      {
        stand(&state)
      }
      for i in state.leaving.indices {
        if let end = state.leaving[i].silentAfter, unsafe cycle.pointee.areOver(end) {
          state.leaving[i].isSilent = true
        }
      }
      if !state.isHalted { apply(&state) }
      state.retired.removeAll { unsafe cycle.pointee.areOver($0.until) }
      let seen = Set(
        (state.retired.map(\.order) + [state.order].compactMap { $0 }).flatMap(\.slots)
          .map(\.number))
      let gone = state.leaving.map(\.slot).filter { !seen.contains($0.number) }
      state.leaving.removeAll { !seen.contains($0.slot.number) }
      return (state.retired.isEmpty && state.leaving.isEmpty ? nil : 0.02, gone)
    }
    settlePorts(gone)
    return patience
  }

  /// Whether no crossfade is running or due, and no memory or port waits to be released.
  package var isSettled: Bool {
    state.withLock { state in
      !state.isFading && state.retired.isEmpty && state.leaving.isEmpty
        && (state.isHalted || plan(&state) == state.plan)
    }
  }

  /// Device frame at which the latest crossfade that is over began; nil if there was none.
  package var latestFade: Int64? { unsafe cycle.pointee.fadeStart }

  /// Logs what nodes did wrong.
  private func tell(_ state: inout State) {
    for slot in state.order?.slots ?? [] {
      let bad = unsafe slot.slot.pointee.badSamples.load(ordering: .relaxed)
      let known = state.told[slot.number] ?? 0
      // Log again whenever the count has doubled.
      if bad > 2 * known {
        log.warning(
          "“\(slot.name)” made \(bad) samples that are no numbers: they are silent now")
        state.told[slot.number] = bad
      }
    }
  }

  /// Returns how many samples of a node were infinite or not a number. The graph replaced them by
  /// silence.
  package func badSamples(of id: NodeID) throws(HostError) -> UInt64 {
    let slot = try state.withLock { state throws(HostError) in try state.wiring.item(id).slot }
    return unsafe slot.slot.pointee.badSamples.load(ordering: .relaxed)
  }

  /// Returns how many events were lost because the buffers of a node or its ports were full.
  package func lostEvents(of id: NodeID) throws(HostError) -> UInt64 {
    let slot = try state.withLock { state throws(HostError) in try state.wiring.item(id).slot }
    return unsafe slot.slot.pointee.lostEvents.load(ordering: .relaxed)
  }

  /// The sample rate in Hz for which the nodes were last prepared.
  package var sampleRate: Double { state.withLock { $0.sampleRate } }

  /// Returns the latency, in frames, from the sources to the inputs of a node.
  package func latency(of id: NodeID) throws(HostError) -> Int {
    try state.withLock { state throws(HostError) in
      state.plan.inputLatency[try state.wiring.item(id).slot.number] ?? 0
    }
  }

  /// Whether a node may report another latency once it has run.
  var reportsLatency: Bool {
    state.withLock { $0.wiring.items.values.contains { $0.slot.node?.reportsLatency == true } }
  }
}
