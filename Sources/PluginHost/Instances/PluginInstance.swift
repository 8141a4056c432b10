import CLilv
import CPluginRunner
package import CRealTime
import Glibc
package import Graph
import Synchronization
import System

/// A plugin instance in this process, run by a graph. Any thread, unless said otherwise.
@safe
package final class PluginInstance: HostedPlugin, @unchecked Sendable {
  package let name: String
  package var description: PluginDescription { core.description }
  let core: PluginCore
  let world: World
  /// Held while the plugin is instantiated again, saved or restored.
  let lock = Lock()

  struct Values {
    /// The value last set for each control, and the number of moves by controllers at that time.
    var controls: [Float]
    var moves: [UInt64]
    var controllers = Controllers()
    var parameters: [String: ParameterValue] = [:]
    var parameterMoves: [String: UInt64] = [:]
    /// The state restored last, retained because the plugin may use its files.
    var state: PluginState?
  }
  /// The values behind a lock, for callers and the worker thread.
  ///
  /// The worker thread retains these values and the core, never the instance. So the thread that
  /// releases the instance last frees the plugin.
  final class Shared: Sendable {
    private let values: Mutex<Values>

    init(_ values: sending Values) { self.values = Mutex(values) }

    func withLock<Result, Failure: Error>(
      _ body: (inout sending Values) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try values.withLock(body)
    }
  }
  let shared: Shared
  private let latency = LatencyReading()

  /// Instantiates the plugin with a URI, ready to run.
  ///
  /// - Parameters:
  ///   - name: The name in messages; nil for the plugin's own name.
  /// - Throws: `HostError`: an unknown plugin, a faulty bundle, an unsupported feature, or a failed
  ///   instantiation.
  ///   - state: The state that it has at first; nil for its default.
  package init(
    _ uri: String, in world: World, settings: PluginSettings, name: String? = nil,
    state: PluginState? = nil
  ) throws(HostError) {
    let (scan, description) = try world.usable(uri, settings)
    if let failure = try world.validator?.plugin(uri, in: world).failures.first {
      throw .faultyPlugin(uri: uri, reason: failure)
    }
    self.world = world
    self.name = name ?? description.name
    core = PluginCore(description: description, scan: scan, settings: settings)
    shared = Shared(
      Values(
        controls: core.memory.controls.map { $0.usualValue(sampleRate: settings.sampleRate) },
        moves: core.memory.controls.map { _ in 0 }))
    try core.load()
    core.listener.set { [shared] message in
      shared.withLock { $0.parameters.merge(message.values) { $1 } }
    }
    if let state { apply(state) } else if let usual = try defaultState() { apply(usual) }
    core.activate()
    unsafe cue_plugin_settle(core.memory.plugin)
  }

  deinit { core.end() }

  // MARK: GraphNode

  package var ports: PluginPorts { core.memory.ports }

  /// The value of the plugin's latency port; 0 if it has none.
  var reportedLatency: Float {
    let index = unsafe Int(core.memory.plugin.pointee.latency_readout)
    return index < 0
      ? 0 : unsafe cue_plugin_shown(core.memory.plugin.pointee.readouts + index)
  }

  /// The reported latency in frames. An impossible value (not a number, negative, or more than half a
  /// minute) counts as 0 and is logged once.
  package var latencyFrames: Int {
    latency.frames(reportedLatency, sampleRate: core.settings.sampleRate, of: name)
  }

  package var processor: cue_node { unsafe cue_plugin_node(core.memory.plugin) }
  /// Moves a control, by its index among the control inputs, in a cycle before `processor` runs.
  package static var controlSetter: cue_control_setter {
    unsafe cue_control_setter(set: cue_plugin_move)
  }

  /// Prepares the plugin for another sample rate or longer blocks. If that requires a new instance, it
  /// restores the old one's state. Afterwards the latency is known, if the plugin can report it before
  /// it runs.
  package func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {
    lock.lock()
    defer { lock.unlock() }
    try adopt(sampleRate, maximumFrames)
    core.preroll()
  }

  package func currentValue(of output: String) throws(HostError) -> Float {
    lock.lock()
    core.runNoFrames()
    lock.unlock()
    return try value(of: output)
  }

  /// Applies another sample rate and block length. The caller holds `lock`.
  private func adopt(_ sampleRate: Double, _ maximumFrames: Int) throws(HostError) {
    var settings = core.settings
    settings.sampleRate = sampleRate
    settings.maximumFrames = maximumFrames
    if settings == core.settings { return }
    let missing = description.requiredFeatures.filter {
      !PluginFeatures.supported(settings).contains($0)
    }
    guard missing.isEmpty else {
      throw .missingFeatures(uri: description.uri, features: missing)
    }
    if settings.sampleRate == core.settings.sampleRate && core.tell(settings) { return }
    let state = try captureLocked(folder: nil)
    defer {
      apply(state)
      core.activate()
      unsafe cue_plugin_settle(core.memory.plugin)
      // Bounds may be multiples of the sample rate.
      shared.withLock { if !$0.controllers.tables.isEmpty { offerBindings(&$0) } }
    }
    try core.reload(settings)
  }

  /// Sets the control designated lv2:enabled. Returns `false` if the plugin has none.
  package func setEnabled(_ on: Bool) -> Bool {
    guard
      let index = core.memory.controls.firstIndex(where: { $0.designation == LV2.core("enabled") })
    else { return false }
    return change(index, to: on ? 1 : 0, at: nil, over: 0)
  }

  // MARK: Controls

  /// Sets a control.
  ///
  /// - Parameters:
  ///   - frame: The device frame of the change; nil for as soon as possible.
  ///   - rampFrames: The length of the ramp in frames. The value changes in steps of 32 frames.
  /// - Throws: `HostError`: no such control, a value outside its range, or too many pending changes.
  package func set(
    _ symbol: String, to value: Float, at frame: Int64? = nil, over rampFrames: Int = 0
  ) throws(HostError) {
    let uri = description.uri
    guard let index = core.memory.controls.firstIndex(where: { $0.symbol == symbol }) else {
      throw .unknownPort(plugin: uri, symbol: symbol)
    }
    let range = core.memory.controls[index].range(sampleRate: core.settings.sampleRate)
    let low = range.minimum ?? -.greatestFiniteMagnitude
    let bounds = low...max(low, range.maximum ?? .greatestFiniteMagnitude)
    guard bounds.contains(value) else {
      throw .valueOutOfRange(plugin: uri, symbol: symbol, value: value, range: bounds)
    }
    guard change(index, to: value, at: frame, over: rampFrames) else {
      throw .tooManyChanges(plugin: uri)
    }
  }

  /// Returns the value to which a control input was last set, by a controller too, or that the last run
  /// wrote to a control output.
  ///
  /// - Throws: `HostError.unknownPort`.
  package func value(of symbol: String) throws(HostError) -> Float {
    if let index = core.memory.controls.firstIndex(where: { $0.symbol == symbol }) {
      return shared.withLock { shared in
        let moved = unsafe cue_moved_now(core.memory.control(index).pointer(to: \.moved)!)
        if moved >> 32 != shared.moves[index] {
          shared.moves[index] = moved >> 32
          shared.controls[index] = Float(bitPattern: UInt32(truncatingIfNeeded: moved))
        }
        return shared.controls[index]
      }
    }
    if let index = core.memory.readouts.firstIndex(where: { $0.symbol == symbol }) {
      return unsafe cue_plugin_shown(core.memory.plugin.pointee.readouts + index)
    }
    throw .unknownPort(plugin: description.uri, symbol: symbol)
  }

  /// Puts a change into the ring to the cycle.
  ///
  /// - Returns: `false` if the ring is full.
  func change(_ index: Int, to value: Float, at frame: Int64?, over rampFrames: Int) -> Bool {
    var change = cue_control_change(
      frame: frame ?? .min, control: UInt32(index), value: value,
      ramp: UInt32(clamping: rampFrames))
    // The lock ensures a single producer, and that the stored value is the last one sent.
    return shared.withLock { shared in
      let ring = unsafe core.memory.plugin.pointee.changes!
      let bytes = UInt32(MemoryLayout<cue_control_change>.size)
      guard unsafe cue_ring_put(ring, &change, bytes, nil, 0) else { return false }
      shared.controls[index] = value
      shared.moves[index] =
        unsafe cue_moved_now(core.memory.control(index).pointer(to: \.moved)!) >> 32
      return true
    }
  }

  /// Events, messages and requests lost so far because a buffer of the cycle was full.
  package var lostEvents: UInt64 { unsafe cue_plugin_lost(core.memory.plugin) }
}
