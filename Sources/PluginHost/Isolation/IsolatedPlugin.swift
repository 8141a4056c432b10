import CPluginRunner
package import CRealTime
package import Graph
import Logging
import Synchronization
import System

/// A plugin in a process of its own. Any thread, unless said otherwise.
///
/// The output is that of an in-process plugin, delayed by the longest block. When the plugin is late,
/// and once its process is gone, the node outputs its input instead. The input is delayed by the
/// plugin's latency, and a crossfade leaves no gap.
@safe
package final class IsolatedPlugin: HostedPlugin, @unchecked Sendable {
  package let name: String
  package let description: PluginDescription
  private let world: World
  private let program: IsolationProgram
  private let priority: Int?
  private let isTrusted: Bool
  package let ports: PluginPorts
  let memory: IsolatedMemory
  let process: IsolatedProcess
  private let states: StateExchange
  private let latency = LatencyReading()

  private struct Shared {
    var settings: PluginSettings
    /// The state restored last, retained because the plugin may use its files.
    var state: PluginState?
  }
  private let shared: Mutex<Shared>

  /// Starts a process with the plugin, in its default state and ready to run.
  ///
  /// - Parameters:
  ///   - name: The name in messages; nil for the plugin's own name.
  ///   - priority: The real-time priority of the cycles; nil if they are not real-time.
  ///   - isTrusted: Whether the plugin may do all that its user may. Otherwise its process is confined.
  /// - Throws: `HostError`: the errors of `PluginInstance`; `.notIsolated` if the process does not
  ///   start; `.faultyPlugin` if the plugin crashes or hangs at once.
  package convenience init(
    _ uri: String, in world: World, settings: PluginSettings, name: String? = nil,
    priority: Int? = nil, isTrusted: Bool = false, program: IsolationProgram = IsolationProgram()
  ) throws(HostError) {
    try self.init(
      uri, in: world, settings: settings, name: name, priority: priority, isTrusted: isTrusted,
      program: program, state: nil)
  }

  private init(
    _ uri: String, in world: World, settings: PluginSettings, name: String?, priority: Int?,
    isTrusted: Bool, program: IsolationProgram, state: PluginState?
  ) throws(HostError) {
    description = try world.usable(uri, settings).description
    self.name = name ?? description.name
    self.world = world
    self.program = program
    self.priority = priority
    self.isTrusted = isTrusted
    ports = PluginPorts(description, leftOut: settings.leftOut)
    shared = Mutex(Shared(settings: settings, state: state))
    guard let memory = IsolatedMemory(), memory.prepare(ports, settings) else {
      throw .notIsolated(plugin: uri, reason: "there is not enough memory")
    }
    self.memory = memory
    let scratch = ScratchFolder()
    guard scratch.make() else {
      throw .notIsolated(plugin: uri, reason: "\(scratch.path) cannot be created")
    }
    let states = StateExchange(in: scratch)
    self.states = states
    let start = try IsolatedStart(
      uri: uri, path: world.path, settings: settings, name: self.name,
      state: state.map { state throws(HostError) in try states.lend(state) },
      confinement: isTrusted ? nil : Confinement(of: description, path: world.path),
      priority: priority)
    process = try IsolatedProcess(program, for: start, memory: memory, scratch: scratch)
    do throws(HostError) {
      try process.ask(.instantiate(start))
      try attach(maximumFrames: settings.maximumFrames)
    } catch {
      process.end()
      if !isTrusted {
        log.warning(
          """
          “\(self.name)” could use neither the network, nor programs, nor files of its user: if it needs them, \
          trust it
          """)
      }
      guard case .gone(_, let reason) = error else { throw error }
      throw .faultyPlugin(uri: uri, reason: reason)
    }
    process.isReady()
  }

  deinit { process.end() }

  private func attach(maximumFrames: Int) throws(HostError) {
    let shape = IsolatedMemory.shape(ports, maximumFrames: maximumFrames)
    try process.ask(.attach(shape: shape.numbers))
  }

  // MARK: GraphNode

  package var needsWholeCycles: Bool { true }
  package var processor: cue_node { unsafe cue_isolated_node(memory.node) }

  /// One block plus the latency that the plugin reports.
  package var latencyFrames: Int {
    let settings = shared.withLock { $0.settings }
    guard let readout = ports.latencyReadout else { return settings.maximumFrames }
    return settings.maximumFrames
      + latency.frames(memory.shown(readout), sampleRate: settings.sampleRate, of: name)
  }

  package func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {
    var settings = shared.withLock { $0.settings }
    if settings.sampleRate == sampleRate && settings.maximumFrames == maximumFrames { return }
    settings.sampleRate = sampleRate
    settings.maximumFrames = maximumFrames
    do throws(HostError) {
      try process.ask(.prepare(sampleRate: sampleRate, maximumFrames: maximumFrames))
    } catch {
      // Without the plugin, the node passes its input on.
      guard case .gone = error else { throw error }
    }
    guard memory.prepare(ports, settings) else {
      throw .notIsolated(plugin: description.uri, reason: "there is not enough memory")
    }
    if !isGone { try attach(maximumFrames: maximumFrames) }
    shared.withLock { $0.settings = settings }
  }

  package func setEnabled(_ on: Bool) -> Bool {
    guard case .enabled(let can)? = try? process.ask(.setEnabled(on)) else { return false }
    return can
  }

  package func whenGone(_ body: @escaping @Sendable () -> Void) { process.whenGone(body) }
  package var isGone: Bool { process.reason != nil }
  package var hasRun: Bool { memory.doneFrames > 0 || isGone }

  package var lostEvents: UInt64 { memory.lost }

  // MARK: Controls

  package func set(
    _ symbol: String, to value: Float, at frame: Int64? = nil, over rampFrames: Int = 0
  ) throws(HostError) {
    try process.ask(.set(symbol: symbol, value: value, frame: frame, rampFrames: rampFrames))
  }

  package func value(of symbol: String) throws(HostError) -> Float {
    if let readout = ports.readouts.firstIndex(where: { $0.symbol == symbol }) {
      return memory.shown(readout)
    }
    return try ask(.value(symbol: symbol), about: symbol)
  }

  package func currentValue(of output: String) throws(HostError) -> Float {
    try ask(.currentValue(output: output), about: output)
  }

  private func ask(_ request: IsolationRequest, about symbol: String) throws(HostError) -> Float {
    guard case .value(let value) = try process.ask(request) else {
      throw .unknownPort(plugin: description.uri, symbol: symbol)
    }
    return value
  }

  // MARK: Parameters and events

  package func setParameter(_ uri: String, to value: ParameterValue, at frame: Int64? = nil)
    throws(HostError)
  {
    try process.ask(.setParameter(uri: uri, value: value, frame: frame))
  }

  package func requestParameter(_ uri: String? = nil) throws(HostError) {
    try process.ask(.requestParameter(uri: uri))
  }

  package var parameterValues: [String: ParameterValue] { process.parameterValues }

  package func whenParametersChange(
    _ body: @escaping @Sendable ([String: ParameterValue]) -> Void
  ) { process.whenParametersChange(body) }

  package func send(midi bytes: [UInt8], at frame: Int64? = nil) throws(HostError) {
    try process.ask(.midi(bytes, frame: frame))
  }

  package func send(_ position: TransportPosition, at frame: Int64? = nil) throws(HostError) {
    try process.ask(.position(position, frame: frame))
  }

  // MARK: Controllers

  package func check(_ target: MIDITarget) throws(HostError) { try process.ask(.check(target)) }

  package var bindings: [MIDIBinding] {
    guard case .bindings(let bindings)? = try? process.ask(.bindings) else { return [] }
    return bindings
  }

  package func bind(_ binding: MIDIBinding) throws(HostError) { try process.ask(.bind(binding)) }

  package func unbind(_ name: String) throws(HostError) { try process.ask(.unbind(name)) }

  package func learn(
    _ target: MIDITarget, passing passed: MIDIController? = nil,
    then: @escaping @Sendable (MIDIBinding) -> Void = { _ in }
  ) throws(HostError) {
    try check(target)
    process.onLearned = then
    try process.ask(.learn(target, passing: passed))
  }

  package var learning: MIDITarget? {
    guard case .learning(let target)? = try? process.ask(.learning) else { return nil }
    return target
  }

  package func cancelLearning() {
    _ = try? process.ask(.cancelLearning)
    process.onLearned = nil
  }

  /// Copies the controller bindings to another instance of the plugin, which also takes over a pending
  /// learning request.
  private func handControllers(to other: IsolatedPlugin) {
    for binding in bindings { try? other.bind(binding) }
    if let learning, let then = process.onLearned {
      cancelLearning()
      try? other.learn(learning, then: then)
    }
  }

  // MARK: State

  package func capture() throws(HostError) -> PluginState {
    let folder = ScratchFolder()
    guard folder.make() else {
      throw .unwritableState(folder: folder.path, reason: "it cannot be created")
    }
    try save(to: folder.path)
    return try PluginState(folder: folder.path, world: world, scratch: folder)
  }

  package func save(to folder: String) throws(HostError) {
    let folder = folder.isAbsolutePath ? folder : "\(currentFolder ?? "")/\(folder)"
    try states.save(to: folder) { folder throws(HostError) in
      let uri = description.uri
      do throws(HostError) {
        try process.ask(.save(folder: folder))
      } catch {
        guard case .unwritableState(_, let reason) = error else { throw error }
        throw .notSaved(plugin: uri, reason: reason)
      }
      // A plugin can make its process answer that it saved the state, and write none.
      guard let state = try? PluginState(folder: folder, world: world), state.plugin == uri else {
        throw .notSaved(plugin: uri, reason: "its process has written no whole state")
      }
    }
  }

  package func restore(_ state: PluginState) throws(HostError) {
    try check(state)
    try process.ask(.restore(states.lend(state)))
    states.keepLast()
    shared.withLock { $0.state = state }
  }

  package func replacement(restoring state: PluginState) throws(HostError) -> IsolatedPlugin {
    try check(state)
    let other = try IsolatedPlugin(
      description.uri, in: world, settings: shared.withLock { $0.settings }, name: name,
      priority: priority, isTrusted: isTrusted, program: program, state: state)
    handControllers(to: other)
    return other
  }
}

extension cue_shared_shape {
  /// All fields, for comparison with another process's shape.
  var numbers: [UInt32] {
    [inputs, outputs, event_inputs, event_outputs, readouts, maximum_frames, event_bytes]
  }
}
