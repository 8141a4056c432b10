package import CRealTime
import Glibc
import Logging
package import RealTime
import Server
import Synchronization

/// A graph of nodes that a device's cycles run: sources, plugins, mixers and ports, and the wires between
/// them.
///
/// Safe on every thread that is not real time. An edit is checked at once, and made without a click: nodes
/// that are new hear what rises from silence for a tenth of a second, delays are filled, then everything
/// that changes fades in step. Edits that come meanwhile wait for the end of that fade, and are made
/// together.
@safe
package final class Graph: @unchecked Sendable {
  /// What cycles run.
  package let cycle: UnsafeMutablePointer<GraphCycle>
  private let attention: UnsafeMutablePointer<Bool>
  private let course: UnsafeMutablePointer<cue_transport_course>
  let types: cue_event_types
  /// How long a change takes.
  package let fadeSeconds: Double

  struct State {
    var wiring = Wiring()
    var sampleRate: Double
    var blockFrames: Int
    var nextNode = 1
    var nextCell = 1
    var nextOrder: UInt64 = 1
    /// No cycle runs: what is changed is so at once.
    var isHalted = true
    /// What cycles play, or fade to.
    var plan = Plan()
    var order: OrderMemory?
    var isFading = false
    /// Cells of nodes that a cycle which was given up may still run, by number: no other cycle does.
    var abandoned: Set<Int> = []
    /// Orders that a cycle may still see, and how many cycles have to be over.
    var retired: [(order: OrderMemory, until: UInt64)] = []
    var delays: [Plan.Edge: DelayMemory] = [:]
    var eventDelays: [Plan.EventEdge: EventDelayMemory] = [:]
    /// What each node's latency is taken for, by cell.
    var latency: [Int: Int] = [:]
    /// What has been told of bad samples and lost events, by cell.
    var told: [Int: UInt64] = [:]
    /// Cells with JACK ports that are no longer wanted. Those of outputs are silent for a cycle first.
    var leaving: [Leaving] = []
    /// Cells that are waiting for their JACK ports.
    var arriving: [CellMemory] = []
    /// What the device knows of latencies.
    var reported: [PortLatency] = []
  }
  struct Leaving {
    let cell: CellMemory
    /// Once so many cycles are over it is silent.
    var silentAfter: UInt64?
    var isSilent = false
  }
  let state: Mutex<State>
  /// Held while nodes are made ready: they may take their time. Taken before `state`.
  let preparing = Mutex<Void>(())
  struct Seat: @unchecked Sendable {
    weak var device: Device?
    var teller: GraphTeller?
  }
  let seat = Mutex(Seat())
  /// It was told that a cycle does not end.
  private let isOverdue = Atomic<Bool>(false)

  /// An empty graph.
  ///
  /// - Parameters:
  ///   - types: The numbers that nodes know the types of events by.
  ///   - blockFrames: Frames that nodes work on in one call, at most. A longer cycle is several calls.
  package init(
    types: cue_event_types, sampleRate: Double, blockFrames: Int, fadeSeconds: Double = 0.01
  ) {
    self.types = types
    self.fadeSeconds = fadeSeconds
    state = Mutex(State(sampleRate: sampleRate, blockFrames: max(1, blockFrames)))
    unsafe attention = .allocate(capacity: 1)
    unsafe attention.initialize(to: false)
    unsafe course = .allocate(capacity: 1)
    unsafe course.initialize(to: cue_transport_course())
    unsafe cycle = .allocate(capacity: 1)
    unsafe cycle.initialize(to: GraphCycle(types: types, attention: attention, course: course))
  }

  /// No cycle may be under way.
  deinit {
    seat.withLock { $0.teller?.end() }
    unsafe cycle.deinitialize(count: 1)
    unsafe cycle.deallocate()
    unsafe course.deallocate()
    unsafe attention.deallocate()
  }

  // MARK: From edit to cycle

  /// Makes several edits at once: all of them, or none if one cannot be.
  package func edit<Result: Sendable>(_ body: (inout Wiring) throws(HostError) -> Result)
    throws(HostError) -> Result
  {
    let result = try state.withLock { state throws(HostError) in
      var wiring = state.wiring
      let result = try body(&wiring)
      for (id, item) in state.wiring.items
      where !item.cell.jackPorts.isEmpty && wiring.items[id]?.cell !== item.cell {
        state.leaving.append(Leaving(cell: item.cell))
      }
      state.wiring = wiring
      apply(&state)
      return result
    }
    seat.withLock { $0.device }?.wake()
    return result
  }

  /// The present wishes as cycles would play them.
  private func plan(_ state: inout State) -> Plan {
    var latency: [Int: Int] = [:]
    let limit = Int(10 * state.sampleRate)
    let leaving = state.isHalted ? [] : state.leaving.filter { !$0.isSilent }.map(\.cell)
    let plan = Plan(state.wiring, and: leaving) { cell in
      if let known = state.latency[cell.number] { return known }
      let said = cell.node?.latencyFrames ?? 0
      if said > limit {
        graphLog.warning(
          "“\(cell.name)” says that it takes \(said) frames; no more than \(limit) are made up for")
      }
      latency[cell.number] = min(max(said, 0), limit)
      return latency[cell.number]!
    }
    state.latency.merge(latency) { $1 }
    state.latency = state.latency.filter { plan.cells[$0.key] != nil }
    return plan
  }

  /// Has cycles play the present wishes, or begin to fade to them, unless they are fading.
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
      // Nothing of it can be heard to fade.
      state.plan = wanted
      stand(&state)
      return
    }
    var target = wanted
    if Plan.order(
      state.plan.cells.merging(wanted.cells) { a, _ in a }, state.plan.links.union(wanted.links))
      == nil
    {
      target = .between(state.plan, wanted)
    }
    fade(&state, to: target)
  }

  private func fade(_ state: inout State, to target: Plan) {
    let old = state.plan
    let (heardBefore, heardAfter) = (old.heard, target.heard)
    let fadeFrames = Int((fadeSeconds * state.sampleRate).rounded())
    // They begin with a sound that rises, well before they are heard: what they hold back themselves has
    // come out by then, or comes out as smoothly.
    let arriving = Set(
      target.cells.values.filter { $0.kind == .node && old.cells[$0.number] == nil }.map(\.number)
    ).intersection(heardAfter)
    var fillFrames = arriving.isEmpty ? 0 : 10 * fadeFrames
    if !arriving.isEmpty
      || target.edges.keys.contains(where: { $0.delay > 0 && old.edges[$0] == nil })
    {
      fillFrames += target.longestLatency
    }
    var edges: [OrderMemory.Edge] = []
    for key in Set(old.edges.keys).union(target.edges.keys) {
      var from = old.edges[key] ?? 0
      var to = target.edges[key] ?? 0
      var start = fillFrames
      // What nobody hears is at its full gain all through, so that what it goes to sounds as it will, or
      // as it did.
      if arriving.contains(key.destination), old.cells[key.source] != nil {
        start = key.delay
      } else if !heardBefore.contains(key.destination) {
        from = to
      } else if !heardAfter.contains(key.destination) {
        to = from
      }
      edges.append(
        OrderMemory.Edge(
          key: key, from: from, to: to, start: start, delay: delay(for: key, &state)))
    }
    let cells = old.cells.merging(target.cells) { a, _ in a }
    state.plan = target
    state.isFading = true
    install(
      &state, Plan.order(cells, old.links.union(target.links))!, edges,
      fillFrames: fillFrames, fadeFrames: fadeFrames, fades: true)
  }

  /// Has cycles play the plan as it is.
  private func stand(_ state: inout State) {
    state.delays = state.delays.filter { state.plan.edges[$0.key] != nil }
    state.eventDelays = state.eventDelays.filter { state.plan.eventEdges[$0.key] != nil }
    let edges = state.plan.edges.map { key, gain in
      OrderMemory.Edge(key: key, from: gain, to: gain, start: 0, delay: delay(for: key, &state))
    }
    state.isFading = false
    install(
      &state, Plan.order(state.plan.cells, state.plan.links)!, edges, fillFrames: 0, fadeFrames: 0,
      fades: false)
    for i in state.leaving.indices
    where state.leaving[i].silentAfter == nil && !state.plan.hasEdges(state.leaving[i].cell) {
      state.leaving[i].silentAfter = unsafe cycle.pointee.cyclesBegun + 1
    }
  }

  private func delay(for key: Plan.Edge, _ state: inout State) -> DelayMemory? {
    if key.delay == 0 { return nil }
    if let delay = state.delays[key] { return delay }
    let delay = DelayMemory(frames: key.delay)
    state.delays[key] = delay
    return delay
  }

  private func install(
    _ state: inout State, _ cells: [CellMemory], _ edges: [OrderMemory.Edge], fillFrames: Int,
    fadeFrames: Int, fades: Bool
  ) {
    let numbers = Set(cells.map(\.number))
    var eventEdges: [OrderMemory.EventEdge] = []
    let bytes = Dictionary(uniqueKeysWithValues: cells.map { ($0.number, $0.eventBytes) })
    for (key, frames) in state.plan.eventEdges where numbers.contains(key.source) {
      let delay =
        state.eventDelays[key]
        ?? EventDelayMemory(types, bytes: bytes[key.source] ?? EventPlane.usualBytes)
      state.eventDelays[key] = delay
      eventEdges.append(OrderMemory.EventEdge(key: key, frames: frames, delay: delay))
    }
    let order = OrderMemory(
      number: state.nextOrder, cells: cells,
      edges: edges.sorted { a, b in
        let (a, b) = (a.key, b.key)
        return (a.destination, a.input, a.source, a.isDry ? 1 : 0, a.output, a.delay)
          < (b.destination, b.input, b.source, b.isDry ? 1 : 0, b.output, b.delay)
      },
      eventEdges: eventEdges.sorted { a, b in
        let (a, b) = (a.key, b.key)
        return (a.destination, a.input, a.source, a.isDry ? 1 : 0, a.output)
          < (b.destination, b.input, b.source, b.isDry ? 1 : 0, b.output)
      }, before: state.order?.eventKeys ?? [], fillFrames: fillFrames, fadeFrames: fadeFrames,
      fades: fades,
      blockFrames: state.blockFrames)
    run(order, &state)
  }

  /// Has cycles that begin from now on run an order.
  private func run(_ order: OrderMemory, _ state: inout State) {
    state.nextOrder += 1
    unsafe cycle.pointee.swap(order.order)
    let count = unsafe cycle.pointee.cyclesBegun
    if let old = state.order, unsafe !cycle.pointee.areOver(count) {
      state.retired.append((old, count))
    }
    state.order = order
  }

  // MARK: The host's turn

  /// Does what cycles ask for: goes on after a fade, gives memory back, follows latencies, and says what
  /// went wrong in nodes. To be called when a cycle has said that something happened.
  ///
  /// - Returns: The seconds after which it is to be called again even if nothing happens.
  package func tend() -> Double? {
    let asks = unsafe cycle.pointee.takeAttention()
    let (patience, gone) = state.withLock { state -> (Double?, [CellMemory]) in
      if asks {
        tell(&state)
        // What the nodes say is asked for again.
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
        (state.retired.map(\.order) + [state.order].compactMap { $0 }).flatMap(\.cells)
          .map(\.number))
      let gone = state.leaving.map(\.cell).filter { !seen.contains($0.number) }
      state.leaving.removeAll { !seen.contains($0.cell.number) }
      return (state.retired.isEmpty && state.leaving.isEmpty ? nil : 0.02, gone)
    }
    settlePorts(gone)
    return patience
  }

  /// Nothing fades, nothing waits to, and nothing waits to be given back.
  package var isSettled: Bool {
    state.withLock { state in
      !state.isFading && state.retired.isEmpty && state.leaving.isEmpty
        && (state.isHalted || plan(&state) == state.plan)
    }
  }

  /// Says what nodes did wrong.
  private func tell(_ state: inout State) {
    for cell in state.order?.cells ?? [] {
      let bad = unsafe cell.cell.pointee.badSamples.load(ordering: .relaxed)
      let known = state.told[cell.number] ?? 0
      // Once more whenever it has done it twice as often.
      if bad > 2 * known {
        graphLog.warning(
          "“\(cell.name)” made \(bad) samples that are no numbers: they are silent now")
        state.told[cell.number] = bad
      }
    }
  }

  /// Samples of a node that were no numbers, and that silence was put in the place of.
  package func badSamples(of id: NodeID) throws(HostError) -> UInt64 {
    let cell = try state.withLock { state throws(HostError) in try state.wiring.item(id).cell }
    return unsafe cell.cell.pointee.badSamples.load(ordering: .relaxed)
  }

  /// Events that a node's inputs, or its ports, had no room for.
  package func lostEvents(of id: NodeID) throws(HostError) -> UInt64 {
    let cell = try state.withLock { state throws(HostError) in try state.wiring.item(id).cell }
    return unsafe cell.cell.pointee.lostEvents.load(ordering: .relaxed)
  }

  /// Frames per second, as nodes were last made ready for.
  package var sampleRate: Double { state.withLock { $0.sampleRate } }

  /// Frames that a sound has taken by the inputs of a node.
  package func latency(of id: NodeID) throws(HostError) -> Int {
    try state.withLock { state throws(HostError) in
      state.plan.inputLatency[try state.wiring.item(id).cell.number] ?? 0
    }
  }

  /// True if a node may tell of another latency once it has run.
  var reportsLatency: Bool {
    state.withLock { $0.wiring.items.values.contains { $0.cell.node?.reportsLatency == true } }
  }

  // MARK: Halt and resume

  /// Cycles come from now on: edits fade.
  package func begin() {
    state.withLock { state in
      if !state.isHalted { return }
      apply(&state)
      state.isHalted = false
    }
  }

  /// No cycle comes until `begin`: edits are made at once. One that has begun and does not end, in a
  /// node that hangs, is given up: what it may use is kept for good.
  package func halt() {
    let isOver = unsafe cycle.pointee.areOver(cycle.pointee.cyclesBegun)
    unsafe cycle.pointee.rebase()
    state.withLock { state in
      if !isOver { abandon(&state) }
      state.isHalted = true
      state.isFading = false
      apply(&state)
      state.retired = []
    }
  }

  /// Keeps what a cycle that does not end may use, and leads around its nodes: it may still run them.
  private func abandon(_ state: inout State) {
    let orders = state.retired.map(\.order) + [state.order].compactMap { $0 }
    for order in orders { _ = unsafe Unmanaged.passRetained(order) }
    state.delays = [:]
    state.eventDelays = [:]
    for cell in orders.flatMap(\.cells) {
      cell.abandon()
      if cell.kind == .node, state.abandoned.insert(cell.number).inserted {
        graphLog.error("“\(cell.name)” is led around: a cycle that may run it does not end")
      }
    }
    for (id, item) in state.wiring.items where state.abandoned.contains(item.cell.number) {
      state.wiring.setUnready(id, true)
    }
  }

  /// Makes all nodes ready for another rate or longer blocks. Cycles that come meanwhile are silent.
  ///
  /// A node that cannot be made ready is led around.
  ///
  /// - Returns: False if a cycle is under way that does not end: nothing has changed then.
  @discardableResult
  package func prepare(sampleRate: Double, blockFrames: Int) -> Bool {
    preparing.withLock { _ in prepareAlone(sampleRate, blockFrames) }
  }

  /// The same for longer blocks only, without a gap in the sound. A node that is being added keeps it from
  /// that: as long as it does, cycles run in blocks of the present length.
  ///
  /// Blocks do not grow beyond `longestGrownBlock`: some plugins have to be made anew for that, and would
  /// forget what they are sounding. They do if there are nodes that need whole cycles.
  ///
  /// - Returns: False if a node is being added, or a cycle is under way that does not end: nothing has
  ///   changed then, and it is to be tried again.
  @discardableResult
  package func prepare(blockFrames: Int) -> Bool {
    preparing.withLockIfAvailable { _ in
      let (rate, needsAll) = state.withLock { state in
        (
          state.sampleRate,
          state.wiring.items.values.contains { $0.cell.node?.needsWholeCycles == true }
        )
      }
      return prepareAlone(
        rate, needsAll ? blockFrames : min(blockFrames, Self.longestGrownBlock))
    } ?? false
  }

  /// Frames.
  private static let longestGrownBlock = 1024

  /// Holding `preparing`.
  private func prepareAlone(_ sampleRate: Double, _ blockFrames: Int) -> Bool {
    guard
      state.withLock({ $0.sampleRate != sampleRate || $0.blockFrames < blockFrames })
    else { return true }
    // No edit meanwhile leads to cycles of the new length with planes of the old one.
    unsafe cycle.pointee.hold()
    defer { unsafe cycle.pointee.release() }
    guard awaitCycles() else {
      if !isOverdue.exchange(true, ordering: .relaxed) {
        graphLog.error("a cycle does not end: no node is made ready for longer ones before it does")
      }
      return false
    }
    isOverdue.store(false, ordering: .relaxed)
    let (cells, frames, isOtherRate) = state.withLock { state in
      let isOtherRate = state.sampleRate != sampleRate
      state.sampleRate = sampleRate
      state.blockFrames = max(state.blockFrames, blockFrames)
      // Those that are on their way out run on, too.
      let leaving = (state.order?.cells ?? []).filter { cell in
        !state.wiring.items.values.contains { $0.cell === cell }
      }
      return (
        state.wiring.items.values.map(\.cell) + leaving, state.blockFrames, isOtherRate
      )
    }
    var failed = state.withLock { $0.abandoned }.intersection(cells.map(\.number))
    for cell in cells where !failed.contains(cell.number) {
      do throws(HostError) {
        try cell.node?.prepare(sampleRate: sampleRate, maximumFrames: frames)
      } catch {
        graphLog.error("“\(cell.name)” does not go on: \(error)")
        failed.insert(cell.number)
      }
    }
    return state.withLock { state in
      let known = Set(state.wiring.items.values.map(\.cell.number))
      // One on its way out that cannot go on goes at once.
      var isInterrupted = state.isHalted || isOtherRate || !failed.isSubset(of: known)
      for (id, item) in state.wiring.items where item.isUnready != failed.contains(item.cell.number)
      {
        state.wiring.setUnready(id, !item.isUnready)
        isInterrupted = true
      }
      // Those that are on their way out have planes of the old length, too.
      for cell in state.order?.cells ?? [] { cell.resize(state.blockFrames) }
      for item in state.wiring.items.values { item.cell.resize(state.blockFrames) }
      state.latency = [:]
      if !isInterrupted, let order = state.order {
        // The sound goes on: what is in delays stays, and so does the place in a fade.
        run(OrderMemory(order, number: state.nextOrder, blockFrames: state.blockFrames), &state)
        return true
      }
      let wasHalted = state.isHalted
      state.isHalted = true
      state.isFading = false
      apply(&state)
      state.isHalted = wasHalted
      return true
    }
  }

  /// Waits until the cycles that have begun are over.
  ///
  /// - Returns: False if one has not ended after five seconds: it may wait for a plugin that hangs.
  private func awaitCycles() -> Bool {
    let count = unsafe cycle.pointee.cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while unsafe !cycle.pointee.areOver(count) {
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }
}

/// Made anew each time: who hosts plugins may set logging up late.
var graphLog: Logger { Logger(label: "cuejack") }
