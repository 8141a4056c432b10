package import CRealTime
import Glibc
import Logging
package import RealTime
import Server
package import Synchronization
import System

/// An audio unit: its buses, and what all units have. Any thread that is not real time, except where said.
///
/// Subclasses add the kernel that makes the outputs from the inputs.
@safe
package class Unit: @unchecked Sendable {
  /// A bus of the input or of the output.
  package struct Bus: Sendable {
    package var format: BusFormat
    var source = Source.none
    package var name: String?
    /// The bytes of a channel layout that the app has set.
    package var layout: [UInt8] = []
    /// Hears what an output gives.
    var tap: OutputTap?
  }

  /// The supplier of an input: nothing, a render callback of the app, or an output of another unit.
  @safe
  package enum Source: @unchecked Sendable {
    case none
    case callback(cue_render_proc, UnsafeMutableRawPointer?)
    case unit(Unit, output: Int)
  }

  /// A side of a unit.
  package enum Side: UInt32, Sendable {
    case input = 1
    case output = 2
  }

  /// The function that makes the outputs from the inputs, and the object that owns its context.
  @safe
  struct Kernel {
    let call: cue_unit_kernel
    let owner: AnyObject?
    /// The context of `call`, if that is `runEngineMixer`.
    var mixer: UnsafePointer<EngineMixer>?
    /// The context of `call`, if that is `runMixer`.
    var switched: UnsafePointer<Mixer>?
  }

  package struct State {
    var inputs: [Bus]
    var outputs: [Bus]
    var maximumFrames = 4096
    var isInitialized = false
    /// Set for good by `dispose`.
    var isDisposed = false
    var memory: SetupMemory?
    var notifies: [UnitNotify] = []
    /// Units that take an output of this one.
    var consumers: [Weak] = []
    var preset = UnitPreset(number: -1, name: "Untitled")
    /// The quality of the inputs' converters: 0 to 127.
    var quality: UInt32 = 0x60
  }
  struct Weak { weak var unit: Unit? }

  /// The name in messages.
  package let name: String
  /// The number by which C programs know the unit; 0 if they do not.
  package let handle = Atomic<UInt>(0)
  /// The unit as renders see it.
  package let render: UnsafeMutablePointer<RenderUnit>
  private let state: Mutex<State>
  /// Held while a setup is made or replaced. Lock it before `state`.
  private let control = Mutex<Void>(())
  private let observer = Hook<@Sendable (UnitChange) -> Void>()
  /// The parameters, and those of earlier numbers of buses, which another thread may still set.
  private let parameterMemory = Mutex<[ParameterMemory]>([])

  static var mostBuses: Int { 1024 }
  package static var mostNotifies: Int { 16 }

  /// - Parameter render: The unit as renders see it; the unit frees it.
  init(
    _ name: String, inputs: [BusFormat], outputs: [BusFormat],
    _ render: UnsafeMutablePointer<RenderUnit>
  ) {
    self.name = name
    unsafe self.render = render
    state = Mutex(
      State(
        inputs: inputs.map { Bus(format: $0) }, outputs: outputs.map { Bus(format: $0) }))
  }

  deinit {
    unsafe render.deinitialize(count: 1)
    unsafe render.deallocate()
  }

  // MARK: For subclasses to override

  /// Returns the kernel for a setup.
  func kernel(inputs: Int) -> Kernel { preconditionFailure("a kind of unit has no kernel") }

  /// Throws unless a bus may have a format, given the others.
  func check(_ format: BusFormat, _ side: Side, _ bus: Int, _ state: borrowing State)
    throws(UnitError)
  {}

  /// The rate at which an input's samples are needed.
  func rate(ofInput bus: Int, _ state: borrowing State) -> Double {
    state.outputs.first?.format.sampleRate ?? state.inputs[bus].format.sampleRate
  }
  /// The rate of the samples before an output.
  func rate(ofOutput bus: Int, _ state: borrowing State) -> Double {
    state.outputs[bus].format.sampleRate
  }
  /// Whether the unit is one whose second output keeps a device's input: see `InputRing`.
  func keepsInput(_ state: borrowing State) -> Bool { false }
  /// Returns the converter of a bus's sample rate; nil if it needs none.
  func converter(_ shape: BusShape) throws(UnitError) -> (any BusConverter)? {
    if shape.rate == shape.format.sampleRate { return nil }
    return try RateConverter(shape)
  }
  /// True if a program may set the number of a side's buses.
  package func canSetBusCount(_ side: Side) -> Bool { false }
  /// The parameters of a bus, or of the unit (`side` nil).
  package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] { [] }
  /// The name of a group of parameters.
  package func groupName(_ id: UInt32) -> String? { nil }
  /// What the elements of the parameters are.
  var elements: ParameterElements { .buses }
  /// The elements of a scope that have parameters.
  func elements(_ side: Side?) -> [UInt32] {
    guard let side else { return [0] }
    return (0..<UInt32(busCount(side))).map { $0 }
  }
  /// True if a program may set the quality of the inputs' converters.
  var hasQuality: Bool { false }
  /// Called when the number of buses has changed.
  func busCountChanged() { makeParameters() }
  /// True if the meters of a bus are on; nil if it has none.
  package func isMetering(_ side: Side, bus: Int) -> Bool? { nil }
  package func setMetering(_ on: Bool, _ side: Side, bus: Int) {}
  /// Fades an input out, or in again, within one render.
  ///
  /// - Returns: False if the unit cannot do that.
  func fade(_ bus: Int, out: Bool) -> Bool { false }
  /// Prepares what `kernel` returns for these formats, while renders may go on.
  func prepare(inputs: [BusFormat], outputs: [BusFormat], maximumFrames: Int) throws(UnitError) {}
  /// The channels that the first buses can have; nil if they can have any, as many of one as of the other.
  package var channelCounts: (inputs: Int, outputs: Int)? { (-1, -2) }
  /// True if the input takes the output's place; nil if the unit cannot do that.
  package var isBypassed: Bool? { nil }
  package func setBypassed(_ on: Bool) {}
  /// True if renders may take any time.
  package var isOffline: Bool { false }
  package func setOffline(_ on: Bool) {}
  /// The presets that the unit brings.
  package var presets: [UnitPreset] { [] }
  /// Takes over the preset with a number.
  func adopt(preset number: Int) throws(UnitError) {}
  /// A plugin's state; nil for units that are no plugins.
  package func pluginState() throws(UnitError) -> String? { nil }
  package func restore(pluginState text: String) throws(UnitError) {
    throw .invalidValue("\(name) is no plugin")
  }
  func keep(_ memory: ParameterMemory) { parameterMemory.withLock { $0.append(memory) } }
  /// The memory of the parameters.
  var latestParameters: ParameterMemory? { parameterMemory.withLock { $0.last } }

  // MARK: Changes

  /// Sets the function that is told of changes, on the thread that brings them about.
  package func whenChanged(_ body: @escaping @Sendable (UnitChange) -> Void) {
    observer.set(body)
  }

  func tell(_ change: UnitChange) { observer.function?(change) }

  // MARK: Initialising

  package var isInitialized: Bool { state.withLock { $0.isInitialized } }
  package var isDisposed: Bool { state.withLock { $0.isDisposed } }

  /// Prepares the unit to render. Has no effect if it is initialised.
  package func initialize() throws(UnitError) {
    try control.withLock { _ throws(UnitError) in
      if isDisposed { throw .disposed }
      if state.withLock({ $0.isInitialized }) { return }
      try install()
      state.withLock { $0.isInitialized = true }
    }
  }

  /// Ends all renders and frees what they use.
  package func uninitialize() {
    control.withLock { _ in
      let old = state.withLock { state in
        state.isInitialized = false
        defer { state.memory = nil }
        return state.memory
      }
      unsafe render.pointee.swap(nil)
      retire(old)
    }
  }

  /// Forgets earlier sound: of filters, echoes and converters.
  package func forget() {
    _ = unsafe render.pointee.reset()
    control.withLock { _ in if isInitialized { try? install(anew: true) } }
  }

  /// Makes a setup of the present state, with new converters if `anew`, and gives it to renders.
  private func install(anew: Bool = false) throws(UnitError) {
    try prepareKernel()
    let memory = try state.withLock { state throws(UnitError) in
      let count = state.inputs.count
      var rates: [Double] = []
      for bus in 0..<count { rates.append(rate(ofInput: bus, state)) }
      for bus in state.outputs.indices { rates.append(rate(ofOutput: bus, state)) }
      return try SetupMemory(
        state, kernel(inputs: count), rates: rates, keepsInput: keepsInput(state),
        reusing: anew ? nil : state.memory
      ) { shape throws(UnitError) in try converter(shape) }
    }
    let old = state.withLock { state in
      defer { state.memory = memory }
      return state.memory
    }
    unsafe render.pointee.swap(memory.setup)
    retire(old)
  }

  private func prepareKernel() throws(UnitError) {
    let (inputs, outputs, frames) = state.withLock { state in
      (state.inputs.map(\.format), state.outputs.map(\.format), state.maximumFrames)
    }
    try prepare(inputs: inputs, outputs: outputs, maximumFrames: frames)
  }

  /// Calls `prepare`. If the unit is initialised, the next render sees what that has changed.
  func makeInstances() throws(UnitError) {
    try control.withLock { _ throws(UnitError) in
      if state.withLock({ $0.isInitialized }) { try install() } else { try prepareKernel() }
    }
  }

  /// Changes the state. If the unit is initialised, the next render sees the change.
  func change<R: Sendable>(_ body: (inout State) throws(UnitError) -> R) throws(UnitError) -> R {
    try control.withLock { _ throws(UnitError) in
      let before = state.withLock { Copy($0) }
      let result = try state.withLock { state throws(UnitError) in try body(&state) }
      guard state.withLock({ $0.isInitialized }) else { return result }
      do throws(UnitError) {
        try install()
      } catch {
        state.withLock { before.restore(&$0) }
        throw error
      }
      return result
    }
  }

  /// The buses and the maximum of frames before a change, for the case that it fails.
  private struct Copy: Sendable {
    let inputs: [Bus]
    let outputs: [Bus]
    let maximumFrames: Int
    let quality: UInt32
    init(_ state: borrowing State) {
      inputs = state.inputs
      outputs = state.outputs
      maximumFrames = state.maximumFrames
      quality = state.quality
    }
    func restore(_ state: inout State) {
      state.inputs = inputs
      state.outputs = outputs
      state.maximumFrames = maximumFrames
      state.quality = quality
    }
  }

  func read<R: Sendable>(_ body: (borrowing State) throws(UnitError) -> R) throws(UnitError) -> R {
    try state.withLock { state throws(UnitError) in try body(state) }
  }

  /// Frees memory once no render reads it.
  private func retire(_ old: (some AnyObject)?) {
    guard let old else { return }
    if !settle() { keepForGood(old) }
  }

  /// Waits until no render is in progress, for two seconds at most.
  ///
  /// - Returns: False if one still is.
  @discardableResult
  package func settle() -> Bool {
    let deadline = HostTime.now + 2_000_000_000
    while unsafe render.pointee.rendersInProgress > 0 {
      if isInside { return false }
      if HostTime.now > deadline {
        log.warning("a render of an audio unit has not returned for two seconds")
        return false
      }
      usleep(100)
    }
    return true
  }

  /// True if the caller is a callback of this unit.
  package var isInside: Bool { unsafe render.pointee.isInside }

  /// Ends the unit: nothing renders or initialises it, and nothing is told, afterwards.
  package func dispose() {
    observer.set(nil)
    let consumers = state.withLock { state in
      state.isDisposed = true
      defer { state.consumers = [] }
      return state.consumers.compactMap(\.unit)
    }
    for consumer in consumers { consumer.disconnect(from: self) }
    uninitialize()
    // A render that calls this, or that does not return, goes on to use the unit.
    if unsafe render.pointee.rendersInProgress > 0 { keepForGood(self) }
    try? change { state in
      for bus in state.inputs.indices { state.inputs[bus].source = .none }
    }
  }

  private func disconnect(from unit: Unit) {
    try? change { state in
      for bus in state.inputs.indices {
        if case .unit(let source, _) = state.inputs[bus].source, source === unit {
          state.inputs[bus].source = .none
        }
      }
    }
  }

  // MARK: Buses

  package func busCount(_ side: Side) -> Int {
    state.withLock { side == .input ? $0.inputs.count : $0.outputs.count }
  }

  package func setBusCount(_ count: Int, _ side: Side) throws(UnitError) {
    guard canSetBusCount(side) else {
      throw .notWritable("the number of buses of \(name) is fixed")
    }
    guard (1...Self.mostBuses).contains(count) else {
      throw .invalidValue("a unit has 1 to \(Self.mostBuses) buses, not \(count)")
    }
    if isInitialized {
      if count == busCount(side) { return }
      throw .initialized
    }
    try change { state throws(UnitError) in
      var buses = side == .input ? state.inputs : state.outputs
      while buses.count > count { buses.removeLast() }
      while buses.count < count { buses.append(Bus(format: state.outputs[0].format)) }
      if side == .input { state.inputs = buses } else { state.outputs = buses }
    }
    busCountChanged()
    tell(.busCount(side))
  }

  /// Returns a bus.
  package func bus(_ side: Side, _ index: UInt32) throws(UnitError) -> Bus {
    try state.withLock { state throws(UnitError) in
      let buses = side == .input ? state.inputs : state.outputs
      guard index < buses.count else { throw .invalidElement(index) }
      return buses[Int(index)]
    }
  }

  /// Changes a bus.
  func changeBus(
    _ side: Side, _ index: UInt32, _ body: (inout Bus, borrowing State) throws(UnitError) -> Void
  ) throws(UnitError) {
    try change { state throws(UnitError) in
      var bus = side == .input ? state.inputs : state.outputs
      guard index < bus.count else { throw .invalidElement(index) }
      try body(&bus[Int(index)], state)
      if side == .input { state.inputs = bus } else { state.outputs = bus }
    }
  }

  /// Sets the format of a bus.
  package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32) throws(UnitError) {
    try changeBus(side, index) { bus, state throws(UnitError) in
      try check(format, side, Int(index), state)
      bus.format = format
    }
    tell(.format(side, bus: index))
  }

  package var maximumFrames: Int { state.withLock { $0.maximumFrames } }

  package func setMaximumFrames(_ frames: Int) throws(UnitError) {
    guard (1...1 << 20).contains(frames) else {
      throw .invalidValue("a render has 1 to \(1 << 20) frames, not \(frames)")
    }
    try change { $0.maximumFrames = frames }
    tell(.maximumFrames)
  }

  /// Seconds from input to output.
  package var latencySeconds: Double {
    state.withLock { $0.memory?.delaySeconds ?? 0 }
  }

  /// Seconds for which the output goes on after the input has ended.
  package var tailSeconds: Double { 0 }

  /// The preset that was set last.
  package var preset: UnitPreset { state.withLock { $0.preset } }

  func note(_ preset: UnitPreset) {
    state.withLock { $0.preset = preset }
    tell(.preset)
  }

  // MARK: Sources

  package func setCallback(
    _ proc: cue_render_proc?, _ data: UnsafeMutableRawPointer?, _ bus: UInt32
  ) throws(UnitError) {
    try changeBus(.input, bus) { bus, _ in
      bus.source = unsafe proc.map { unsafe .callback($0, data) } ?? .none
    }
  }

  /// Puts a unit's output before an input; nil to remove it. The input takes the source's format, if it
  /// can; else the source takes the input's.
  package func connect(_ source: Unit?, output: UInt32, to bus: UInt32) throws(UnitError) {
    guard let source else { return try changeBus(.input, bus) { bus, _ in bus.source = .none } }
    guard !source.isReachable(from: self) else {
      throw .invalidValue("the unit would be its own input")
    }
    let format = try source.bus(.output, output).format
    let own = try self.bus(.input, bus).format
    if own != format {
      let before = try self.bus(.input, bus).source
      // No render may ask the source before this one for the new format.
      if isInitialized { try changeBus(.input, bus) { bus, _ in bus.source = .none } }
      do throws(UnitError) {
        try takeFormat(format, of: source, output: output, to: bus)
      } catch {
        try? changeBus(.input, bus) { bus, _ in bus.source = before }
        throw error
      }
    }
    source.state.withLock { state in
      state.consumers.removeAll { $0.unit == nil || $0.unit === self }
      state.consumers.append(Weak(unit: self))
    }
    try changeBus(.input, bus) { bus, _ in bus.source = .unit(source, output: Int(output)) }
    // If another thread has disposed of the source, it may have looked for this input too early.
    guard source.isDisposed else { return }
    disconnect(from: source)
    throw .disposed
  }

  /// Returns true if this unit, or one before it, is `unit`.
  private func isReachable(from unit: Unit) -> Bool {
    var (open, seen): ([Unit], Set<ObjectIdentifier>) = ([self], [])
    while let next = open.popLast() {
      guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
      open += next.state.withLock { state in
        state.inputs.compactMap { if case .unit(let source, _) = $0.source { source } else { nil } }
      }
    }
    return seen.contains(ObjectIdentifier(unit))
  }

  // MARK: Notifications of renders

  package func add(_ notify: UnitNotify) throws(UnitError) {
    try change { state throws(UnitError) in
      guard state.notifies.count < Self.mostNotifies else {
        throw .unsupported("a unit tells \(Self.mostNotifies) functions of its renders at most")
      }
      state.notifies.append(notify)
    }
  }

  package func remove(_ notify: UnitNotify) throws(UnitError) {
    try change { state in
      if let i = state.notifies.firstIndex(where: { $0.isSame(as: notify) }) {
        state.notifies.remove(at: i)
      }
    }
  }
}
