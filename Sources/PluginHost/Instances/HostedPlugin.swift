package import Graph

/// An LV2 plugin instance that a graph can run, in this process or in a process of its own. Any thread,
/// unless said otherwise.
package protocol HostedPlugin: GraphNode {
  var description: PluginDescription { get }
  var ports: PluginPorts { get }
  /// Symbols of the control inputs.
  var controls: [String] { get }
  /// Events, messages and requests lost so far because a buffer was full.
  var lostEvents: UInt64 { get }
  /// Whether the plugin has processed its first block. It may report its latency only then.
  var hasRun: Bool { get }
  /// Whether the plugin can no longer process.
  var isGone: Bool { get }

  /// Sets a control.
  ///
  /// - Parameters:
  ///   - frame: The device frame of the change; nil for as soon as possible.
  ///   - rampFrames: The length of the ramp in frames. The value changes in steps of 32 frames.
  /// - Throws: `HostError`: no such control, a value outside its range, or too many pending changes.
  func set(_ symbol: String, to value: Float, at frame: Int64?, over rampFrames: Int)
    throws(HostError)
  /// Returns the value to which a control input was last set, or that the last run wrote to a control
  /// output.
  ///
  /// - Throws: `HostError.unknownPort`.
  func value(of symbol: String) throws(HostError) -> Float
  /// Runs the plugin for no frames, and returns the value that it wrote to a control output. No cycle may run it.
  ///
  /// - Throws: `HostError.unknownPort`.
  func currentValue(of output: String) throws(HostError) -> Float
  /// Sets a parameter by a patch:Set message.
  func setParameter(_ uri: String, to value: ParameterValue, at frame: Int64?) throws(HostError)
  /// Requests the value of one parameter, or of all. The answers appear in `parameterValues`.
  func requestParameter(_ uri: String?) throws(HostError)
  /// The parameter values that the plugin has reported so far, by URI.
  var parameterValues: [String: ParameterValue] { get }
  /// Sets the function that is called, on a thread of the plugin's own, whenever the plugin reports
  /// parameter values.
  func whenParametersChange(_ body: @escaping @Sendable ([String: ParameterValue]) -> Void)
  /// Returns whether the plugin has a port for a type of event: MIDI, patch messages or transport
  /// positions.
  func accepts(_ type: String) -> Bool
  /// Sends a MIDI message to the first port that accepts MIDI.
  func send(midi bytes: [UInt8], at frame: Int64?) throws(HostError)
  /// Sends the transport position to the plugin.
  func send(_ position: TransportPosition, at frame: Int64?) throws(HostError)

  /// Checks that a controller can move a target.
  ///
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  func check(_ target: MIDITarget) throws(HostError)
  /// The bindings of controllers, oldest first.
  var bindings: [MIDIBinding] { get }
  /// Binds a controller to a control or a parameter, effective with its next message and smooth where
  /// the control permits. The binding replaces an earlier one of the same target.
  ///
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  func bind(_ binding: MIDIBinding) throws(HostError)
  /// Removes the binding of a control or a parameter.
  ///
  /// - Throws: `HostError`: no such target.
  func unbind(_ name: String) throws(HostError)
  /// Binds the next controller that moves to a control or a parameter, in place of an earlier binding.
  /// The learned message already moves the target. A new request replaces one that is pending.
  ///
  /// - Parameters:
  ///   - passed: A controller of one channel that is ignored, such as the one learned just before,
  ///     which may still be moving.
  ///   - then: Called with the binding, on any thread of the host.
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  func learn(
    _ target: MIDITarget, passing passed: MIDIController?,
    then: @escaping @Sendable (MIDIBinding) -> Void
  ) throws(HostError)
  /// The target that the next controller will be bound to.
  var learning: MIDITarget? { get }
  /// Cancels learning. Existing bindings stay.
  func cancelLearning()

  /// Returns the plugin's current state.
  func capture() throws(HostError) -> PluginState
  /// Saves the plugin's state to a folder of its own, creating it if necessary.
  func save(to folder: String) throws(HostError)
  /// Restores a state in this instance. No cycle may run it, unless `canRestoreWhileRunning`.
  func restore(_ state: PluginState) throws(HostError)
  /// Creates a second instance with a state, ready to run, for the graph to crossfade to. This one
  /// continues.
  func replacement(restoring state: PluginState) throws(HostError) -> Self
}

extension HostedPlugin {
  package var hasRun: Bool { true }
  package var isGone: Bool { false }

  package var inputs: Int { ports.inputs.count }
  package var outputs: Int { ports.outputs.count }
  package var eventInputs: Int { ports.eventInputs.count }
  package var eventOutputs: Int { ports.eventOutputs.count }
  /// Size in bytes of the graph's event buffers for this plugin.
  package var eventBytes: Int { eventInputs + eventOutputs == 0 ? 0 : ports.eventBytes }
  package var takesControllers: Bool { true }
  package var reportsLatency: Bool { ports.latencyReadout != nil }
  package var controls: [String] { ports.controls.map(\.symbol) }
  package func accepts(_ type: String) -> Bool { ports.eventInput(for: type) != nil }

  package var details: NodeDetails {
    NodeDetails(
      uri: description.uri, inputs: ports.inputs.map(\.symbol),
      outputs: ports.outputs.map(\.symbol), eventInputs: ports.eventInputs.map(\.symbol),
      eventOutputs: ports.eventOutputs.map(\.symbol),
      controls: (ports.controls + ports.readouts).map { port in
        GraphReport.Control(
          symbol: port.symbol, name: port.name, value: (try? value(of: port.symbol)) ?? .nan,
          unit: port.unit?.symbol ?? port.unit?.name, isOutput: port.direction == .output)
      })
  }

  /// Whether a state can be restored while a cycle runs the plugin.
  package var canRestoreWhileRunning: Bool {
    !description.extensionData.contains(LV2.state("interface"))
      || (description.requiredFeatures + description.optionalFeatures).contains(
        LV2.state("threadSafeRestore"))
  }

  func check(_ state: PluginState) throws(HostError) {
    if state.plugin != description.uri {
      throw .stateOfAnother(plugin: description.uri, other: state.plugin)
    }
  }
}

extension World {
  /// Returns the description of a plugin. Throws if its bundle shows that it cannot be instantiated.
  func usable(_ uri: String, _ settings: PluginSettings) throws(HostError)
    -> (scan: Scan, description: PluginDescription)
  {
    let (scan, description) = try found(uri)
    guard description.problems.isEmpty else {
      throw .faultyBundle(uri: uri, bundle: description.bundle, problems: description.problems)
    }
    let supported = PluginFeatures.supported(settings)
    let missing = description.requiredFeatures.filter { !supported.contains($0) }
    guard missing.isEmpty else { throw .missingFeatures(uri: uri, features: missing) }
    for symbol in settings.leftOut where description.port(symbol)?.isOptional != true {
      throw .unknownPort(plugin: uri, symbol: symbol)
    }
    return (scan, description)
  }
}
