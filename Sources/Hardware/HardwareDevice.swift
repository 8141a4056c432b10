import CRealTime
import Dispatch
import Glibc
package import Graph
import Logging
import RealTime
package import Server
import Synchronization
package import System

/// A server as a device: its facts, and the I/O functions that its cycles call. Any thread that is not
/// real time; `start` and `stop` of a function on the process thread, too.
///
/// The first question or function opens a JACK client, which closes some seconds after the last
/// question if nothing needs it. All functions of this process are called by that client, one after
/// another, and their outputs are added.
package final class HardwareDevice: Sendable {
  /// The name of the server.
  package let serverName: String
  let server: any Server

  struct State {
    var device: Device?
    /// The name that the next client asks for.
    var clientName: String
    var graph: Graph?
    /// The node of the graph that calls the functions.
    var node: NodeID?
    /// Names of the graph's input ports and output ports.
    var ports = (inputs: [String](), outputs: [String]())
    /// Ports that a port of ours is connected to, by its name, when it was removed. A port without an
    /// entry has never been there: it is connected to the sound card.
    var connections: [String: [String]] = [:]
    var memory: IOMemory?
    var functions: [IOFunction] = []
    var list: IOListMemory?
    /// The frames of each call that the app asked for; nil to follow the server's period.
    var wantedFrames: Int?
    /// The frames of each call since a function first ran.
    var pinnedFrames: Int?
    /// The frames of each call that were told last.
    var toldFrames = 0
    var volume: Float = 1
    var isMute = false
    var hogProcess: Int32 = -1
    /// Host time of the latest question.
    var latestUse: UInt64 = 0
    var uses = 0
    /// Set while a check is due that may close the client.
    var closesLater = false
  }
  let state: Mutex<State>
  /// Held while the client is opened or closed, and while ports are added or removed. Lock it before
  /// `state`.
  private let control = Mutex<Void>(())
  let known = Mutex<HardwareFacts?>(nil)
  private let observers = Mutex<[UInt64: @Sendable (HardwareChange) -> Void]>([:])
  private let lastObserver = Atomic<UInt64>(0)
  let wasAlive = Atomic<Bool>(true)
  let running = Atomic<Int>(0)
  /// Set once the log has told why an output unit is silent, until a function starts.
  let hasToldLoss = Atomic<Bool>(false)

  /// Returns what `cuejack graph` shows in the place of the functions; nil for a node that stands for them.
  package let interior = Hook<@Sendable () -> GraphInterior?>()

  /// Seconds after which a client that nothing needs is closed.
  private static let idleSeconds = 10.0

  package init(_ server: any Server, named serverName: String, clientName: String) {
    self.server = server
    self.serverName = serverName
    state = Mutex(State(clientName: clientName))
    Self.makesWay
    Self.all.withLock { all in
      all.removeAll { $0.device == nil }
      all.append(Weak(device: self))
    }
  }

  /// Adds a function to call after each change, on a thread of the library.
  ///
  /// - Returns: The number for `removeObserver`.
  @discardableResult
  package func addObserver(_ body: @escaping @Sendable (HardwareChange) -> Void) -> UInt64 {
    let number = lastObserver.add(1, ordering: .relaxed).newValue
    observers.withLock { $0[number] = body }
    return number
  }

  package func removeObserver(_ number: UInt64) { observers.withLock { $0[number] = nil } }

  func tell(_ change: HardwareChange) {
    for body in observers.withLock({ Array($0.values) }) { body(change) }
  }

  // MARK: The client

  /// Returns the open device for a question. Opens one if necessary. Fails in less than a second if the
  /// server, or one that another thread waits for, does not answer.
  package func open() throws(ServerError) -> Device {
    while true {
      if let present { return present }
      let device = try control.withLockIfAvailable { _ throws(ServerError) in
        try openLocked(server.forQuestions)
      }
      if let device { return device }
      if JackLibrary.isStuck { throw .libraryWaits }
      usleep(1000)
    }
  }

  /// Opens the device if necessary, for what is about to start: waits for a server that is busy.
  package func prepare() throws(ServerError) {
    if present != nil { return }
    _ = try control.withLock { _ throws(ServerError) in try openLocked(server) }
  }

  /// The open device, which is used now; nil if there is none.
  private var present: Device? {
    state.withLock { state in
      state.latestUse = HostTime.now
      return state.device
    }
  }

  private func openLocked(_ server: any Server) throws(ServerError) -> Device {
    if let present { return present }
    let device = try Device(server, clientName: state.withLock { $0.clientName })
    try device.hold()
    device.afterEvents { [weak self] in self?.look() }
    state.withLock { $0.device = device }
    let facts = HardwareFacts(of: device)
    known.withLock { $0 = facts }
    state.withLock { state in
      if state.toldFrames == 0 {
        state.toldFrames = state.wantedFrames ?? min(facts.periodFrames, IOCycle.mostCallFrames)
      }
    }
    wasAlive.store(true, ordering: .relaxed)
    closeLater()
    return device
  }

  private struct Weak { weak var device: HardwareDevice? }
  private static let all = Mutex<[Weak]>([])
  private static let makesWay: Void = IdleClients.closeThem {
    for device in all.withLock({ $0.compactMap(\.device) }) { device.closeIfUnused() }
  }

  /// Closes the client once nothing has needed it for some time.
  private func closeLater() {
    let isDue = state.withLock { state in
      defer { state.closesLater = true }
      return state.closesLater
    }
    if isDue { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.idleSeconds) { [weak self] in
      guard let self else { return }
      closeIfUnused(for: Self.idleSeconds * 0.9)
      let isOpen = state.withLock { state in
        state.closesLater = false
        return state.device != nil
      }
      if isOpen { closeLater() }
    }
  }

  /// Closes the client if no function or listener needs it and nobody has asked for `seconds`
  /// seconds.
  ///
  /// Does nothing while another thread opens or closes it.
  package func closeIfUnused(for seconds: Double = 0) {
    _ = control.withLockIfAvailable { _ in
      let device = state.withLock { state -> Device? in
        let age = Double(HostTime.now &- state.latestUse) / 1e9
        guard state.functions.isEmpty, state.uses == 0, age >= seconds else { return nil }
        defer { state.device = nil }
        return state.device
      }
      device?.letGo()
    }
  }

  /// Keeps the client open until as many calls of `endUse`: somebody listens to its changes.
  package func beginUse() { state.withLock { $0.uses += 1 } }
  package func endUse() { state.withLock { $0.uses -= 1 } }

  /// Tells in the log why an output unit is silent, once until one can start.
  package func tellUnusable(_ error: ServerError) {
    if hasToldLoss.exchange(true, ordering: .relaxed) { return }
    log.error("an output unit cannot use the JACK server “\(serverName)”: \(error)")
  }

  // MARK: Functions

  /// Whether a function of this process runs.
  package var isRunning: Bool { running.load(ordering: .relaxed) > 0 }

  /// Adds a function, which does not run yet.
  package func add(_ function: IOFunction) {
    // The present call reads the list that a new one takes the place of.
    if isInside {
      DispatchQueue.global().async { self.add(function) }
      return
    }
    control.withLock { _ in
      state.withLock { if !function.isRemoved { $0.functions.append(function) } }
      installList()
    }
  }

  /// Starts a function: adds the client's ports and connects them if that has not been done, and waits
  /// until they are heard. Starting a function that runs has no effect.
  ///
  /// - Returns: False if the function was removed.
  @discardableResult
  package func start(_ function: IOFunction) throws(ServerError) -> Bool {
    if isInside { return begin(function) }
    return try function.starting.withLock { _ throws(ServerError) in
      if state.withLock({ _ in function.isRemoved }) { return false }
      try control.withLock { _ throws(ServerError) in
        if function.usesInput || function.usesOutput {
          try attach()
        } else {
          _ = try openLocked(server)
        }
      }
      return begin(function)
    }
  }

  /// Lets cycles call a function, unless it was removed.
  private func begin(_ function: IOFunction) -> Bool {
    hasToldLoss.store(false, ordering: .relaxed)
    return state.withLock { _ in
      if function.isRemoved { return false }
      unsafe function.slot.pointee.endDrain()
      if unsafe function.slot.pointee.setRunning(true) {
        if running.add(1, ordering: .relaxed).oldValue == 0 { tellLater(.running) }
      }
      return true
    }
  }

  /// Stops a function. Afterwards no cycle calls it, unless the caller is that function itself: what it gives in the
  /// present call, and what converters hold back of it, is played then.
  ///
  /// Waits for a start in progress on another thread, and at most two seconds for a call in progress: it
  /// may wait for a lock of the caller's.
  package func stop(_ function: IOFunction) { halt(function, forGood: false) }

  private func halt(_ function: IOFunction, forGood: Bool) {
    // A call of a function waits for nothing: a start may wait for cycles.
    let wasRunning =
      isInside
      ? end(function, forGood: forGood)
      : function.starting.withLock { _ in end(function, forGood: forGood) }
    if wasRunning { _ = settle() }
  }

  /// Lets no later cycle call a function.
  ///
  /// - Returns: True if cycles called it before.
  private func end(_ function: IOFunction, forGood: Bool) -> Bool {
    let isInside = isInside
    return state.withLock { _ in
      if forGood { function.isRemoved = true }
      if isInside && function.isRunning { unsafe function.slot.pointee.drain() }
      guard unsafe function.slot.pointee.setRunning(false) else { return false }
      if running.subtract(1, ordering: .relaxed).newValue == 0 { tellLater(.running) }
      return true
    }
  }

  /// Waits until all is played that a function has given before it was stopped inside a call, for two seconds
  /// at most. Any thread but the one that calls it.
  package func awaitDrained(_ function: IOFunction) {
    let deadline = HostTime.now + 2_000_000_000
    while unsafe function.slot.pointee.isDraining, isAlive, HostTime.now < deadline { usleep(500) }
    unsafe function.slot.pointee.endDrain()
  }

  /// Removes a function for good, and the client's ports with the last one.
  package func remove(_ function: IOFunction) {
    halt(function, forGood: true)
    if isInside {
      DispatchQueue.global().async { self.remove(function) }
      return
    }
    awaitDrained(function)
    control.withLock { _ in
      // A call that does not return may still use all of this.
      if !settle() {
        keepForGood(function)
        let (memory, list) = state.withLock { ($0.memory, $0.list) }
        if let memory { keepForGood(memory) }
        if let list { keepForGood(list) }
      }
      let isLast = state.withLock { state in
        state.functions.removeAll { $0 === function }
        return state.functions.isEmpty
      }
      if isLast { detach() }
      if !installList() { keepForGood(function) }
      state.withLock { $0.latestUse = HostTime.now }
    }
    closeLater()
  }

  /// True on the thread that calls the functions, during a call.
  package var isInside: Bool {
    guard let memory = state.withLock({ $0.memory }) else { return false }
    return unsafe memory.cycle.pointee.isInside
  }

  /// Waits until the present block is over.
  private func settle() -> Bool {
    guard let memory = state.withLock({ $0.memory }), unsafe !memory.cycle.pointee.isInside else {
      return true
    }
    let count = unsafe memory.cycle.pointee.blocksBegun
    let deadline = HostTime.now + 2_000_000_000
    while unsafe !memory.cycle.pointee.areOver(count) {
      if HostTime.now > deadline {
        log.warning("an I/O function that was stopped has not returned for two seconds")
        return false
      }
      usleep(100)
    }
    return true
  }

  /// Calls listeners on another thread: the caller may be the process thread.
  private func tellLater(_ change: HardwareChange) {
    DispatchQueue.global().async { self.tell(change) }
  }

  /// Gives the cycles the present functions.
  ///
  /// - Returns: False if a cycle that does not end may still read the old list.
  @discardableResult
  private func installList() -> Bool {
    let (memory, list, old) = state.withLock { state in
      let list = IOListMemory(state.functions)
      defer { state.list = list }
      return (state.memory, list, state.list)
    }
    guard let memory else { return true }
    unsafe memory.cycle.pointee.swap(list.list)
    let isSettled = settle()
    if !isSettled, let old { keepForGood(old) }
    return isSettled
  }

  /// Removes the ports for good.
  private func detach() {
    keepConnections()
    let (graph, memory) = state.withLock { state in
      defer {
        state.graph = nil
        state.node = nil
        state.memory = nil
        state.pinnedFrames = nil
        state.ports = ([], [])
      }
      return (state.graph, state.memory)
    }
    graph?.stop()
    withExtendedLifetime(memory) {}
    tellBufferFrames()
  }

  /// Notes the connections of the ports, for the next ones of their names.
  private func keepConnections() {
    let (device, ports) = state.withLock { ($0.device, $0.ports.inputs + $0.ports.outputs) }
    guard let device else { return }
    for port in ports {
      let others = device.connectionsToKeep(of: port)
      state.withLock { $0.connections[port] = others }
    }
  }

  /// Adds the ports that the functions need and do not have. Functions that run go on.
  private func attach() throws(ServerError) {
    let (hasGraph, ports, reads, writes) = state.withLock { state in
      (
        state.graph != nil, state.ports, state.functions.contains { $0.usesInput },
        state.functions.contains { $0.usesOutput }
      )
    }
    let (addsInputs, addsOutputs) = (
      reads && ports.inputs.isEmpty, writes && ports.outputs.isEmpty
    )
    if hasGraph && !addsInputs && !addsOutputs { return }
    let device = try openLocked(server)
    if device.isLost { throw .lost(server: serverName) }
    do throws(HostError) {
      if !hasGraph { try makeGraph(for: device) }
      let added = try addPorts(inputs: addsInputs, outputs: addsOutputs)
      if !hasGraph { try run(on: device) }
      state.withLock { state in
        state.ports.inputs += added.inputs
        state.ports.outputs += added.outputs
      }
      connect(added.inputs, toCard: device.client.physicalInputs, on: device)
      connect(added.outputs, toCard: device.client.physicalOutputs, on: device)
      state.withLock { $0.graph }?.awaitSettled(on: device)
    } catch {
      if !hasGraph { detach() }
      if case .server(let reason) = error { throw reason }
      log.error("\(error)")
      throw .lost(server: serverName)
    }
    try device.awaitHeard(device.connectionMark)
  }

  private func run(on device: Device) throws(HostError) {
    try state.withLock { $0.graph }?.run(on: device)
    installList()
  }

  /// Makes the graph that calls the functions, without ports.
  private func makeGraph(for device: Device) throws(HostError) {
    CallbackChecks.start
    let facts = HardwareFacts(of: device)
    let frames = state.withLock { state in
      let frames =
        state.wantedFrames ?? state.pinnedFrames ?? min(facts.periodFrames, IOCycle.mostCallFrames)
      state.pinnedFrames = frames
      return frames
    }
    let memory = IOMemory(
      inputs: facts.inputs, outputs: facts.outputs, callFrames: frames,
      sampleRate: facts.sampleRate)
    unsafe memory.cycle.pointee.setLatencies(
      input: facts.inputLatency, output: facts.outputLatency, sampleRate: facts.sampleRate)
    let graph = Graph(
      types: cue_event_types(), sampleRate: facts.sampleRate, blockFrames: facts.periodFrames)
    // It runs also if nothing is wired to its outputs: its functions record.
    let node = unsafe CallbackNode(
      named: "I/O", inputs: facts.inputs, outputs: facts.outputs, runsUnheard: true,
      cue_node(
        run: { unsafe runIOCycle($0, $1) }, context: UnsafeMutableRawPointer(memory.cycle),
        prefetched_bytes: 0), keeping: memory,
      showing: { [weak self] in self?.interior.function?() })
    let id = try graph.add(node)
    state.withLock { state in
      state.memory = memory
      state.graph = graph
      state.node = id
      unsafe memory.cycle.pointee.setGain(state.isMute ? 0 : state.volume)
    }
  }

  /// Adds ports of a direction to the graph.
  ///
  /// - Returns: Their names.
  private func addPorts(inputs: Bool, outputs: Bool) throws(HostError)
    -> (inputs: [String], outputs: [String])
  {
    let (graph, node, memory) = state.withLock { ($0.graph, $0.node, $0.memory) }
    guard let graph, let node, let memory else { return ([], []) }
    let inputCount = inputs ? unsafe memory.cycle.pointee.inputs : 0
    let outputCount = outputs ? unsafe memory.cycle.pointee.outputs : 0
    let inputNames = (0..<inputCount).map { "in_\($0 + 1)" }
    let outputNames = (0..<outputCount).map { "out_\($0 + 1)" }
    if inputs {
      let source = try graph.addInputs(named: "inputs", audio: inputNames)
      try graph.edit { wiring throws(HostError) in
        for i in inputNames.indices { try wiring.connect(Wire(from: source, i, to: node, i)) }
      }
    }
    if outputs {
      let sink = try graph.addOutputs(named: "outputs", audio: outputNames)
      try graph.edit { wiring throws(HostError) in
        for i in outputNames.indices { try wiring.connect(Wire(from: node, i, to: sink, i)) }
      }
    }
    return (inputNames, outputNames)
  }

  /// Connects ports as they were connected before, or to the sound card if they are new.
  private func connect(_ ports: [String], toCard card: [String], on device: Device) {
    for (i, port) in ports.enumerated() {
      let kept = state.withLock { $0.connections[port] }
      for other in kept ?? (i < card.count ? [card[i]] : []) {
        device.connectAgain(port, to: other)
      }
    }
  }
}
