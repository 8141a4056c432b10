import Logging
import Synchronization

/// An LV2 plugin that a graph can run, in this process or in one of its own. Any thread, unless said
/// otherwise.
package protocol HostedPlugin: GraphNode {
  var description: PluginDescription { get }
  var ports: PluginPorts { get }
  /// Symbols of the controls that can be set.
  var controls: [String] { get }
  /// Events, messages and requests that found no room so far.
  var lostEvents: UInt64 { get }
  /// False until its first block is done: it may tell of its latency only then.
  var hasRun: Bool { get }
  /// True once it can process nothing any more.
  var isGone: Bool { get }

  /// Sets a control.
  ///
  /// - Parameters:
  ///   - frame: The device frame at which it changes; nil for as soon as possible.
  ///   - rampFrames: Over how many frames it changes, in steps of 32.
  /// - Throws: `HostError`: no such control, a value beyond its range, or too many changes at once.
  func set(_ symbol: String, to value: Float, at frame: Int64?, over rampFrames: Int)
    throws(HostError)
  /// The value of a control as it was last set, or that the plugin wrote in its latest run.
  ///
  /// - Throws: `HostError.unknownPort`.
  func value(of symbol: String) throws(HostError) -> Float
  /// Sets a parameter, by a patch:Set message.
  func setParameter(_ uri: String, to value: ParameterValue, at frame: Int64?) throws(HostError)
  /// Asks for a parameter's value, or for all: the answers appear in `parameterValues`.
  func requestParameter(_ uri: String?) throws(HostError)
  /// What the plugin said of its parameters so far, by their URIs.
  var parameterValues: [String: ParameterValue] { get }
  /// Has `body` called, on a thread of the plugin's own, each time that the plugin tells the values of
  /// parameters.
  func whenParametersChange(_ body: @escaping @Sendable ([String: ParameterValue]) -> Void)
  /// True if the plugin has a port for events of a kind: MIDI's, patch messages or positions.
  func accepts(_ type: String) -> Bool
  /// Sends a MIDI message to the first port that takes MIDI.
  func send(midi bytes: [UInt8], at frame: Int64?) throws(HostError)
  /// Tells the plugin where the music stands.
  func send(_ position: TransportPosition, at frame: Int64?) throws(HostError)

  /// Sees whether a controller could move a target.
  ///
  /// - Throws: `HostError`: no such target, or a range that it does not have.
  func check(_ target: MIDITarget) throws(HostError)
  /// What controllers move, in the order in which it was bound.
  var bindings: [MIDIBinding] { get }
  /// Has a controller move a control or a parameter from its next message on, smoothly where that can be; it
  /// takes the place of what moved it before.
  ///
  /// - Throws: `HostError`: no such target, or a range that it does not have.
  func bind(_ binding: MIDIBinding) throws(HostError)
  /// Has no controller move a control or a parameter any more.
  ///
  /// - Throws: `HostError`: no such target.
  func unbind(_ name: String) throws(HostError)
  /// Has the next controller that moves be bound to a control or a parameter, in the place of what moved it
  /// before; that very message moves it. What was to be learned before is not learned any more.
  ///
  /// - Parameters:
  ///   - passed: A controller of one channel that does not count: the one learned just before, say, which
  ///     may still be moving.
  ///   - then: Called, on any thread of the host, with the binding.
  /// - Throws: `HostError`: no such target, or a range that it does not have.
  func learn(
    _ target: MIDITarget, passing passed: MIDIController?,
    then: @escaping @Sendable (MIDIBinding) -> Void
  ) throws(HostError)
  /// What the next controller is to move.
  var learning: MIDITarget? { get }
  /// Learns no more. What is bound stays so.
  func cancelLearning()

  /// The plugin's state as it is now.
  func capture() throws(HostError) -> PluginState
  /// Saves the plugin's state to a folder of its own, which is made if it is not there.
  func save(to folder: String) throws(HostError)
  /// Restores a state in this very plugin: while no cycle runs it, or if `canRestoreWhileRunning`.
  func restore(_ state: PluginState) throws(HostError)
  /// A second one, ready to run, with a state: for the graph to crossfade to. This one goes on.
  func replacement(restoring state: PluginState) throws(HostError) -> Self
}

extension HostedPlugin {
  package var hasRun: Bool { true }
  package var isGone: Bool { false }

  package var inputs: Int { ports.inputs.count }
  package var outputs: Int { ports.outputs.count }
  package var eventInputs: Int { ports.eventInputs.count }
  package var eventOutputs: Int { ports.eventOutputs.count }
  /// Bytes that the graph's event buffers must have for this plugin.
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

  /// True if a state can be restored while a cycle runs the plugin.
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
  /// A plugin that can be instantiated, as far as its bundle tells.
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

/// A plugin's ports as a graph sees them, by what they carry, each in the order of their indices.
package struct PluginPorts: Sendable {
  let inputs, outputs, eventInputs, eventOutputs, controls, readouts: [PluginPort]
  /// Bytes that every event buffer has at least.
  let eventBytes: Int

  /// The ports of a plugin, save those whose symbols are in `leftOut`.
  init(_ description: PluginDescription, leftOut: Set<String>) {
    func ports(_ direction: PluginPort.Direction, _ kinds: PluginPort.Kind...) -> [PluginPort] {
      description.ports.filter {
        $0.direction == direction && kinds.contains($0.kind) && !leftOut.contains($0.symbol)
      }
    }
    inputs = ports(.input, .audio, .cv)
    outputs = ports(.output, .audio, .cv)
    eventInputs = ports(.input, .atom)
    eventOutputs = ports(.output, .atom)
    controls = ports(.input, .control)
    readouts = ports(.output, .control)
    eventBytes = (eventInputs + eventOutputs).reduce(PluginMemory.ringBytes) {
      max($0, $1.minimumBytes ?? 0)
    }
  }

  /// Which readout is the plugin's latency.
  var latencyReadout: Int? { readouts.firstIndex(where: \.reportsLatency) }

  /// The first event output that writes MIDI.
  var midiOutput: Int? {
    eventOutputs.firstIndex { $0.eventTypes.contains(LV2.midi("MidiEvent")) }
  }

  /// The first event input that takes events of a type.
  func eventInput(for type: String) -> Int? {
    // A port for control messages takes patch messages even if it does not say so.
    eventInputs.firstIndex { $0.eventTypes.contains(type) }
      ?? (type == LV2.patch("Message")
        ? eventInputs.firstIndex { $0.designation == LV2.core("control") } : nil)
  }
}

/// What to believe of a plugin's latency port. Any thread.
final class LatencyReading: Sendable {
  private let hasTold = Mutex(false)

  /// What the port says. What cannot be true (not a number, negative, over half a minute) counts as 0, and
  /// is told once.
  func frames(_ said: Float, sampleRate: Double, of name: String) -> Int {
    if said >= 0 && Double(said) <= 30 * sampleRate { return Int(said.rounded()) }
    let isFirst = hasTold.withLock { hasTold in
      defer { hasTold = true }
      return !hasTold
    }
    if isFirst {
      Logger(label: "cuejack")
        .warning("\(name) says that its latency is \(said) frames: taken as none")
    }
    return 0
  }
}
