import CPluginRunner
import CRealTime
package import Graph
import Synchronization
import System

// Bindings of MIDI controllers to controls and parameters.

extension PluginInstance {
  /// The controller bindings, the pending learning request and the tables for the cycle.
  struct Controllers {
    var bindings: [MIDIBinding] = []
    /// The pending learning request.
    var learning: Learning?
    /// The number of learning requests so far.
    var generation: UInt32 = 0
    /// The tables that a cycle may still read. The one offered last is at the end.
    var tables: [BindingTable] = []
  }
  struct Learning: Sendable {
    let target: MIDITarget
    let passed: MIDIController?
    let generation: UInt32
    let then: @Sendable (MIDIBinding) -> Void
  }

  /// Checks that a controller can move a target.
  ///
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  package func check(_ target: MIDITarget) throws(HostError) { _ = try resolved(target) }

  // MARK: Binding

  /// The bindings, oldest first.
  package var bindings: [MIDIBinding] {
    noteLearned()
    return shared.withLock { $0.controllers.bindings }
  }

  /// Binds a controller to a control or a parameter, effective with its next message and smooth where
  /// the control permits. The binding replaces an earlier one of the same target.
  ///
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  package func bind(_ binding: MIDIBinding) throws(HostError) {
    var binding = binding
    binding.target = try resolved(binding.target).target
    noteLearned()
    let bound = binding
    shared.withLock { shared in
      if shared.controllers.learning?.target.name == bound.target.name {
        shared.controllers.learning = nil
      }
      shared.controllers.add(bound)
      offerBindings(&shared)
    }
  }

  /// Removes the binding of a control or a parameter.
  ///
  /// - Throws: `HostError`: no such target.
  package func unbind(_ name: String) throws(HostError) {
    let name = try target(named: name).name
    noteLearned()
    shared.withLock { shared in
      shared.controllers.bindings.removeAll { $0.target.name == name }
      offerBindings(&shared)
    }
  }

  // MARK: Learning

  /// Binds the next controller that moves to a control or a parameter, in place of an earlier binding.
  /// The learned message already moves the target. A new request replaces one that is pending.
  ///
  /// - Parameters:
  ///   - passed: A controller of one channel that is ignored, such as the one learned just before,
  ///     which may still be moving.
  ///   - then: Called with the binding, on any thread of the host.
  /// - Throws: `HostError`: no such target, or a range outside the target's own.
  package func learn(
    _ target: MIDITarget, passing passed: MIDIController? = nil,
    then: @escaping @Sendable (MIDIBinding) -> Void = { _ in }
  ) throws(HostError) {
    let target = try resolved(target).target
    noteLearned()
    core.learner.set { [shared, memory = core.memory] in Self.noteLearned(shared, from: memory) }
    core.startLookingAfter()
    shared.withLock { shared in
      shared.controllers.generation += 1
      shared.controllers.learning = Learning(
        target: target, passed: passed, generation: shared.controllers.generation, then: then)
      offerBindings(&shared)
    }
  }

  /// The target that the next controller will be bound to.
  package var learning: MIDITarget? {
    noteLearned()
    return shared.withLock { $0.controllers.learning?.target }
  }

  /// Cancels learning. Existing bindings stay.
  package func cancelLearning() {
    noteLearned()
    shared.withLock { shared in
      guard shared.controllers.learning != nil else { return }
      shared.controllers.learning = nil
      offerBindings(&shared)
    }
  }

  /// Records a controller that the cycle has learned.
  private func noteLearned() { Self.noteLearned(shared, from: core.memory) }

  private static func noteLearned(_ shared: Shared, from memory: PluginMemory) {
    let learned = unsafe cue_plugin_learned(memory.plugin)
    let done = shared.withLock { shared -> (Learning, MIDIBinding)? in
      guard let learning = shared.controllers.learning,
        UInt64(learning.generation) == learned >> 32,
        let controller = MIDIController(
          number: Int(learned & 0xff), channel: Int(learned >> 8 & 0xff) + 1)
      else { return nil }
      let binding = MIDIBinding(controller, to: learning.target)
      shared.controllers.learning = nil
      shared.controllers.add(binding)
      return (learning, binding)
    }
    if let (learning, binding) = done { learning.then(binding) }
  }

  /// Copies the controller bindings to another instance of the plugin, which also takes over a pending
  /// learning request.
  func handControllers(to other: PluginInstance) {
    noteLearned()
    let controllers = shared.withLock { $0.controllers }
    for binding in controllers.bindings { try? other.bind(binding) }
    if let learning = controllers.learning {
      cancelLearning()
      try? other.learn(learning.target, passing: learning.passed, then: learning.then)
    }
  }

  // MARK: Binding table

  /// Passes the current bindings to the cycle, scaled for the current sample rate.
  func offerBindings(_ shared: inout Values) {
    let controllers = shared.controllers
    func entry(_ target: MIDITarget, _ controller: MIDIController?) -> BindingTable.Entry? {
      guard let found = try? resolved(target) else { return nil }
      return BindingTable.Entry(
        controller: controller, destination: found.destination, scale: found.scale)
    }
    var entries = controllers.bindings.compactMap { entry($0.target, $0.controller) }
    if let learning = controllers.learning, let last = entry(learning.target, nil) {
      entries.append(last)
    }
    let table = BindingTable(
      entries, generation: controllers.learning?.generation ?? 0,
      passing: controllers.learning?.passed, for: core.memory)
    unsafe cue_plugin_offer(core.memory.plugin, table.bindings)
    shared.controllers.tables.append(table)
    let taken = unsafe cue_plugin_bindings(core.memory.plugin)
    if let first = shared.controllers.tables.firstIndex(where: {
      unsafe UnsafePointer($0.bindings) == taken
    }) {
      shared.controllers.tables.removeFirst(first)
    }
  }

  // MARK: Targets

  private struct Resolved {
    /// The target with its full name.
    let target: MIDITarget
    let destination: BindingTable.Destination
    let scale: MIDIScale
  }

  /// Returns the full name of a target (a control's symbol or a parameter's URI) and its index.
  private func target(named name: String) throws(HostError) -> (
    name: String, control: Int?, parameter: Int?
  ) {
    if let index = core.memory.controls.firstIndex(where: { $0.symbol == name }) {
      return (name, index, nil)
    }
    let parameters = description.parameters
    let found =
      parameters.firstIndex { $0.uri == name }
      ?? parameters.firstIndex { $0.uri.hasSuffix("#" + name) }
    guard let found else { throw .unknownPort(plugin: description.uri, symbol: name) }
    return (parameters[found].uri, nil, found)
  }

  private func resolved(_ target: MIDITarget) throws(HostError) -> Resolved {
    let (name, control, parameter) = try self.target(named: target.name)
    let scale: MIDIScale
    let destination: BindingTable.Destination
    if let control {
      let port = core.memory.controls[control]
      let rate = core.settings.sampleRate
      let range = port.range(sampleRate: rate)
      let (least, most) = port.isToggled ? (0, 1) : (range.minimum, range.maximum)
      scale = try self.scale(target, name, least, most, port.shape)
      // Controls that are expensive to change, or cause artifacts, are not ramped.
      let isSudden = port.properties.contains {
        [LV2.portProperties("expensive"), LV2.portProperties("causesArtifacts")].contains($0)
      }
      let glides = scale.shape == .linear || scale.shape == .logarithmic
      destination = .control(
        control, isTrigger: port.isTrigger,
        rampFrames: glides && !isSudden && !port.isTrigger ? Int((rate / 100).rounded()) : 0)
    } else {
      let found = description.parameters[parameter!]
      guard found.isWritable, let type = found.range, let shape = Self.shapes[type] else {
        throw .notANumber(plugin: description.uri, parameter: name)
      }
      guard let port = port(for: LV2.patch("Message")) else {
        throw .notAccepted(plugin: description.uri, what: "<\(LV2.patch("Message"))>")
      }
      let isBool = shape == .toggle
      scale = try self.scale(
        target, name, isBool ? 0 : found.minimum.map { Float($0) },
        isBool ? 1 : found.maximum.map { Float($0) }, shape)
      destination = .parameter(parameter!, port: port, uri: name, type: type)
    }
    return Resolved(
      target: MIDITarget(name, low: target.low, high: target.high), destination: destination,
      scale: scale)
  }

  /// The scale shape for each numeric parameter type, by URI. Controllers cannot move other types.
  private static let shapes: [String: MIDIScale.Shape] = [
    LV2.atom("Float"): .linear, LV2.atom("Double"): .linear, LV2.atom("Bool"): .toggle,
    LV2.atom("Int"): .integer(isLogarithmic: false),
    LV2.atom("Long"): .integer(isLogarithmic: false),
  ]

  /// Returns the scale of a target within the range from `least` to `most`.
  private func scale(
    _ target: MIDITarget, _ name: String, _ least: Float?, _ most: Float?, _ shape: MIDIScale.Shape
  ) throws(HostError) -> MIDIScale {
    let uri = description.uri
    var (least, most) = (least, most)
    if case .points(let points) = shape {
      least = least ?? points.min()
      most = most ?? points.max()
    }
    guard let low = target.low ?? least, let high = target.high ?? most else {
      throw .noRange(plugin: uri, symbol: name)
    }
    let from = least ?? -.greatestFiniteMagnitude
    let bounds = from...max(from, most ?? .greatestFiniteMagnitude)
    for value in [low, high] where !bounds.contains(value) {
      throw .valueOutOfRange(plugin: uri, symbol: name, value: value, range: bounds)
    }
    var shape = shape
    switch shape {
    case .points(let points):
      let within = points.filter { (min(low, high)...max(low, high)).contains($0) }
      shape = within.isEmpty ? .linear : .points(low <= high ? within : within.reversed())
    case .logarithmic where low * high <= 0: shape = .linear
    case .integer(isLogarithmic: true) where low * high <= 0:
      shape = .integer(isLogarithmic: false)
    default: break
    }
    return MIDIScale(shape: shape, low: low, high: high)
  }
}

extension PluginInstance.Controllers {
  /// Adds a binding and removes an earlier one of the same target.
  mutating func add(_ binding: MIDIBinding) {
    bindings.removeAll { $0.target.name == binding.target.name }
    bindings.append(binding)
  }
}

extension PluginPort {
  /// The shape of the scale between controller positions and the control's values.
  fileprivate var shape: MIDIScale.Shape {
    if isToggled || isTrigger { return .toggle }
    if isEnumeration, !scalePoints.isEmpty { return .points(scalePoints.map(\.value)) }
    if isInteger { return .integer(isLogarithmic: isLogarithmic) }
    return isLogarithmic ? .logarithmic : .linear
  }
}
