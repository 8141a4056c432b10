package import CRealTime
import Glibc
import Hardware
package import RealTime
import Synchronization
import System

/// A graph of audio units: nodes, what supplies their inputs, and an output unit that drives them. Any
/// thread that is not real time.
package final class UnitGraph: Sendable {
  /// An input of a node.
  package struct Input: Hashable, Sendable {
    package let node: Int32
    package let bus: UInt32
    package init(node: Int32, bus: UInt32) {
      self.node = node
      self.bus = bus
    }
  }

  /// The supplier of an input: an output of another node, or a render callback of the app.
  @safe
  package enum Supply: @unchecked Sendable, Equatable {
    case node(Int32, output: UInt32)
    case callback(cue_render_proc, UnsafeMutableRawPointer?)

    package static func == (a: Supply, b: Supply) -> Bool {
      switch (a, b) {
      case (.node(let a, let output), .node(let b, let other)): a == b && output == other
      case (.callback(let a, let data), .callback(let b, let other)):
        unsafe UnitNotify(a, data).isSame(as: UnitNotify(b, other))
      default: false
      }
    }
  }

  private struct Node {
    let number: Int32
    let component: UnitComponent
    var unit: Unit?
  }

  private struct State {
    var nodes: [Node] = []
    var lastNumber: Int32 = 0
    /// The suppliers that the app has asked for, and those that the units have.
    var wanted: [(input: Input, supply: Supply)] = []
    var applied: [(input: Input, supply: Supply)] = []
    /// Units of nodes that were removed, until the next update.
    var leaving: [Unit] = []
    var notifies: [UnitNotify] = []
    var isOpen = false
    var isInitialized = false
    /// True from the beginning of a start on, so that a stop in the first render is not lost.
    var isRunning = false
    /// Set for good by `dispose`.
    var isDisposed = false

    func node(_ number: Int32) throws(UnitGraphError) -> Node {
      guard let node = nodes.first(where: { $0.number == number }) else {
        throw .nodeNotFound(number)
      }
      return node
    }

    var output: Node? { nodes.first { $0.component.drivesGraphs } }
  }
  private let state = Mutex(State())
  /// Held while units are made, changed or disposed of. Lock it before `state`.
  private let control = Mutex<Void>(())
  /// Held while the graph is started, and while another thread than one that renders it stops it. Lock it
  /// before `control`.
  private let starting = Mutex<Void>(())
  private let makeUnit: @Sendable (UnitComponent) throws(UnitError) -> Unit
  private let disposeUnit: @Sendable (Unit) -> Void

  /// Creates an empty graph.
  ///
  /// - Parameters:
  ///   - makeUnit: Makes a node's unit.
  ///   - disposeUnit: Disposes of a unit that `makeUnit` has made.
  package init(
    making makeUnit: @escaping @Sendable (UnitComponent) throws(UnitError) -> Unit,
    disposing disposeUnit: @escaping @Sendable (Unit) -> Void
  ) {
    self.makeUnit = makeUnit
    self.disposeUnit = disposeUnit
  }

  private func translatingErrors<R>(_ body: () throws(UnitError) -> R) throws(UnitGraphError) -> R {
    do throws(UnitError) { return try body() } catch { throw .unit(error) }
  }

  // MARK: Nodes

  package var nodes: [Int32] { state.withLock { $0.nodes.map(\.number) } }

  /// Returns a node's component and unit.
  package func node(_ number: Int32) throws(UnitGraphError) -> (
    component: UnitComponent, unit: Unit?
  ) {
    let node = try state.withLock { state throws(UnitGraphError) in try state.node(number) }
    return (node.component, node.unit)
  }

  package func addNode(_ component: UnitComponent) throws(UnitGraphError) -> Int32 {
    try control.withLock { _ throws(UnitGraphError) in
      let (isOpen, isInitialized) = try state.withLock { state throws(UnitGraphError) in
        if state.isDisposed { throw .disposed }
        if component.drivesGraphs, state.output != nil {
          throw .outputNode("a graph has one output unit")
        }
        return (state.isOpen, state.isInitialized)
      }
      var unit: Unit?
      if isOpen {
        let made = try translatingErrors { () throws(UnitError) in try makeUnit(component) }
        unit = made
        if isInitialized { try translatingErrors { () throws(UnitError) in try made.initialize() } }
      }
      return state.withLock { state in
        state.lastNumber += 1
        state.nodes.append(Node(number: state.lastNumber, component: component, unit: unit))
        return state.lastNumber
      }
    }
  }

  package func removeNode(_ number: Int32) throws(UnitGraphError) {
    try control.withLock { _ throws(UnitGraphError) in
      let gone = try state.withLock { state throws(UnitGraphError) -> Unit? in
        let node = try state.node(number)
        if node.component.drivesGraphs, state.isRunning {
          throw .outputNode("the graph runs")
        }
        state.nodes.removeAll { $0.number == number }
        state.wanted.removeAll { $0.input.node == number || $0.supply.source == number }
        guard let unit = node.unit else { return nil }
        // Inputs that it supplies keep its sound until the next update.
        if state.isInitialized {
          state.leaving.append(unit)
          return nil
        }
        return unit
      }
      if let gone { disposeUnit(gone) }
    }
  }

  /// The unit that asks all others for sound; nil while the graph is closed, or has none.
  package var outputUnit: Unit? { state.withLock { $0.output?.unit } }

  // MARK: Inputs

  /// Connections and render callbacks, also of those that wait for an update.
  package var supplies: [(input: Input, supply: Supply)] { state.withLock { $0.wanted } }

  /// Sets what supplies an input; nil for nothing. In a graph that is initialised it waits for `update`.
  package func set(_ supply: Supply?, for input: Input) throws(UnitGraphError) {
    try state.withLock { state throws(UnitGraphError) in
      let node = try state.node(input.node)
      if let unit = node.unit, input.bus >= unit.busCount(.input) {
        throw .invalidConnection("node \(input.node) has no input \(input.bus)")
      }
      if case .node(let source, let output) = supply {
        let sourceNode = try state.node(source)
        if let unit = sourceNode.unit, output >= unit.busCount(.output) {
          throw .invalidConnection("node \(source) has no output \(output)")
        }
        if Self.comes(input.node, before: source, in: state.wanted) {
          throw .invalidConnection("node \(input.node) comes before node \(source)")
        }
      }
      state.wanted.removeAll { $0.input == input }
      if let supply { state.wanted.append((input, supply)) }
    }
  }

  package func clearSupplies() { state.withLock { $0.wanted = [] } }

  /// Returns true if sound goes from one node to another, or they are the same.
  private static func comes(
    _ first: Int32, before last: Int32, in supplies: [(input: Input, supply: Supply)]
  ) -> Bool {
    order([last], supplies).contains(first)
  }

  /// Returns nodes and those that supply them, each behind those that supply it.
  private static func order(
    _ nodes: [Int32], _ supplies: [(input: Input, supply: Supply)]
  ) -> [Int32] {
    let inputs = Dictionary(grouping: supplies) { $0.input.node }
    return sourcesFirst(nodes) { inputs[$0]?.compactMap(\.supply.source) ?? [] }
  }

  /// Applies what waits.
  package func update() throws(UnitGraphError) {
    try control.withLock { _ throws(UnitGraphError) in
      guard state.withLock({ $0.isInitialized }) else { return }
      try apply()
    }
  }

  /// Gives the units' inputs what the app has asked for, from the first unit to the last. In a graph that
  /// runs, inputs fade out before and in afterwards. For an input that cannot, those behind it do.
  private func apply() throws(UnitGraphError) {
    let (wanted, applied, isRunning) = state.withLock { ($0.wanted, $0.applied, $0.isRunning) }
    let changed = Set(wanted.map(\.input)).union(applied.map(\.input)).filter { input in
      wanted.first { $0.input == input }?.supply != applied.first { $0.input == input }?.supply
    }
    let order = Self.order(nodes, wanted)
    let inputs = changed.sorted { a, b in
      let (first, second) = (order.firstIndex(of: a.node) ?? 0, order.firstIndex(of: b.node) ?? 0)
      return (first, a.bus) < (second, b.bus)
    }
    var faded: [Input: Unit] = [:]
    if isRunning {
      for input in inputs { fadeOut(input, applied, into: &faded) }
      if !faded.isEmpty { awaitRenders() }
    }
    defer { for (input, unit) in faded { _ = unit.fade(Int(input.bus), out: false) } }
    for input in inputs {
      guard let unit = try? node(input.node).unit else {
        state.withLock { $0.applied.removeAll { $0.input == input } }
        continue
      }
      let supply = wanted.first { $0.input == input }?.supply
      try translatingErrors { () throws(UnitError) in
        switch supply {
        case nil: try unsafe unit.setCallback(nil, nil, input.bus)
        case .callback(let proc, let data): try unsafe unit.setCallback(proc, data, input.bus)
        case .node(let source, let output):
          guard let source = try? node(source).unit else { return }
          try unit.connect(source, output: output, to: input.bus)
        }
      }
      state.withLock { state in
        state.applied.removeAll { $0.input == input }
        if let supply { state.applied.append((input, supply)) }
      }
    }
    let leaving = state.withLock { state in
      defer { state.leaving = [] }
      return state.leaving
    }
    for unit in leaving { disposeUnit(unit) }
  }

  /// Fades an input out. If its unit cannot do that, fades the inputs that its sound goes to.
  private func fadeOut(
    _ input: Input, _ supplies: [(input: Input, supply: Supply)], into faded: inout [Input: Unit]
  ) {
    var (open, seen): ([Input], Set<Input>) = ([input], [])
    while let input = open.popLast() {
      guard faded[input] == nil, seen.insert(input).inserted,
        let unit = try? node(input.node).unit
      else { continue }
      if unit.fade(Int(input.bus), out: true) {
        faded[input] = unit
      } else {
        open += supplies.filter { $0.supply.source == input.node }.map(\.input)
      }
    }
  }

  /// Waits until the output unit has rendered twice, so that every input is silent that fades out.
  ///
  /// A device that is held up, or has long cycles, is waited for two seconds. An app that renders by
  /// itself may do so on this very thread: it is waited for a fifth of a second.
  private func awaitRenders() {
    // A callback of the graph waits in vain.
    guard let output = state.withLock({ $0.output?.unit }), !output.isInside else { return }
    let device = (output as? OutputUnit)?.hardware
    let count = unsafe output.render.pointee.rendersOver + 2
    let deadline = HostTime.now + (device == nil ? 200_000_000 : 2_000_000_000)
    while unsafe output.render.pointee.rendersOver < count, device?.isAlive != false,
      HostTime.now < deadline
    {
      usleep(200)
    }
  }

  // MARK: States

  package var isOpen: Bool { state.withLock { $0.isOpen } }
  package var isInitialized: Bool { state.withLock { $0.isInitialized } }
  package var isRunning: Bool { state.withLock { $0.isRunning } }

  /// Makes the nodes' units. Has no effect if the graph is open.
  package func open() throws(UnitGraphError) {
    try control.withLock { _ throws(UnitGraphError) in
      if isOpen { return }
      if state.withLock({ $0.isDisposed }) { throw .disposed }
      var made: [Int32: Unit] = [:]
      for number in nodes {
        let component = try node(number).component
        do throws(UnitError) { made[number] = try makeUnit(component) } catch {
          for unit in made.values { disposeUnit(unit) }
          throw .unit(error)
        }
      }
      let notifies = state.withLock { state in
        for i in state.nodes.indices { state.nodes[i].unit = made[state.nodes[i].number] }
        state.isOpen = true
        return state.notifies
      }
      guard let output = state.withLock({ $0.output?.unit }) else { return }
      for notify in notifies {
        try translatingErrors { () throws(UnitError) in try output.add(notify) }
      }
    }
  }

  /// Stops the graph and disposes of its units. It cannot be opened again.
  package func dispose() {
    state.withLock { $0.isDisposed = true }
    close()
  }

  /// Stops the graph and disposes of its units.
  package func close() {
    var gone: [Unit] = []
    stop {
      gone = uninitializeUnits()
      control.withLock { _ in
        state.withLock { state in
          gone += state.nodes.compactMap(\.unit)
          for i in state.nodes.indices { state.nodes[i].unit = nil }
          state.applied = []
          state.isOpen = false
        }
      }
    }
    // Without a lock: a unit waits for its listeners, which may stop the graph.
    for unit in gone { disposeUnit(unit) }
  }

  /// Makes all connections and initialises all units. Has no effect if the graph is initialised.
  package func initialize() throws(UnitGraphError) {
    try control.withLock { _ throws(UnitGraphError) in
      if isInitialized { return }
      guard isOpen else { throw .notOpen }
      try apply()
      for number in Self.order(nodes, supplies) {
        guard let unit = try node(number).unit else { continue }
        try translatingErrors { () throws(UnitError) in try unit.initialize() }
      }
      state.withLock { $0.isInitialized = true }
    }
  }

  /// Stops the graph and uninitialises its units.
  package func uninitialize() {
    var gone: [Unit] = []
    stop { gone = uninitializeUnits() }
    for unit in gone { disposeUnit(unit) }
  }

  /// - Returns: The units of nodes that were removed, for the caller to dispose of.
  private func uninitializeUnits() -> [Unit] {
    control.withLock { _ in
      let (units, leaving) = state.withLock { state in
        defer { state.leaving = [] }
        state.isInitialized = false
        return (state.nodes.compactMap(\.unit), state.leaving)
      }
      for unit in units { unit.uninitialize() }
      return leaving
    }
  }

  /// Starts the output unit. Has no effect if the graph runs.
  package func start() throws(UnitGraphError) {
    if isInside { return try begin() }
    try starting.withLock { _ throws(UnitGraphError) in try begin() }
  }

  private func begin() throws(UnitGraphError) {
    let unit = try state.withLock { state throws(UnitGraphError) in
      if state.isDisposed { throw .disposed }
      guard state.isInitialized else { throw .unit(.uninitialized) }
      guard let unit = state.output?.unit else {
        throw .outputNode("the graph has no output unit")
      }
      state.isRunning = true
      return unit
    }
    guard let output = unit as? OutputUnit else { return }
    do throws(UnitError) { try output.start() } catch {
      state.withLock { $0.isRunning = false }
      throw .unit(error)
    }
  }

  /// Stops the output unit. Has no effect if the graph does not run. Waits for a start in progress on another
  /// thread, unless the caller is a callback of the graph.
  package func stop() { stop {} }

  /// - Parameter body: Called before another start can begin.
  private func stop(_ body: () -> Void) {
    if isInside {
      end()
      body()
    } else {
      starting.withLock { _ in
        end()
        body()
      }
    }
  }

  private func end() {
    let output = state.withLock { state in
      state.isRunning = false
      return state.output?.unit as? OutputUnit
    }
    output?.stop()
  }

  /// True if the caller is a render of the output unit.
  private var isInside: Bool { state.withLock { $0.output?.unit }?.isInside ?? false }

  /// Share of its time that the latest cycle took; 0 while the graph does not run.
  package var load: Float { state.withLock { $0.output?.unit as? OutputUnit }?.load ?? 0 }
  /// The largest such share since the last call.
  package func takeMostLoad() -> Float {
    state.withLock { $0.output?.unit as? OutputUnit }?.takeMostLoad() ?? 0
  }

  // MARK: Notifications of renders

  package func add(_ notify: UnitNotify) throws(UnitGraphError) {
    let output = state.withLock { state in
      state.notifies.append(notify)
      return state.output?.unit
    }
    if let output { try translatingErrors { () throws(UnitError) in try output.add(notify) } }
  }

  package func remove(_ notify: UnitNotify) throws(UnitGraphError) {
    let output = state.withLock { state in
      if let i = state.notifies.firstIndex(where: { $0.isSame(as: notify) }) {
        state.notifies.remove(at: i)
      }
      return state.output?.unit
    }
    if let output { try translatingErrors { () throws(UnitError) in try output.remove(notify) } }
  }
}

extension UnitGraph.Supply {
  /// The node that supplies; nil for a callback.
  package var source: Int32? {
    if case .node(let source, _) = self { source } else { nil }
  }
}
