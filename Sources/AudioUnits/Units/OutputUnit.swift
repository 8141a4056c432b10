package import CRealTime
import Dispatch
package import Hardware
package import RealTime
import Server
import Synchronization
import System

/// An output unit: a device calls it in its cycles. Any thread that is not real time; `start` and `stop`
/// also in its own callbacks.
///
/// Bus 0 plays, bus 1 records. The input of bus 0 and the output of bus 1 are the app's; the others have
/// the device's channels and rate. Both of the app's sides are converted.
@safe
package final class OutputUnit: Unit, @unchecked Sendable {
  private struct DeviceState {
    var device: HardwareDevice
    var observer: UInt64 = 0
    /// The function that the device calls for this unit; nil while it calls none.
    var function: IOFunction?
    /// The function before it, which may still play what converters hold back.
    var draining: IOFunction?
    /// True from the beginning of a start on, so that a stop in its first call is not lost.
    var isStarted = false
    var plays = true
    var records = false
    var countsFromZero = true
    /// Buses whose format the app has set.
    var hasFormat = [false, false]
    var maps: [ChannelMapMemory?] = [nil, nil]
    var inputProc: NotifyMemory?
  }
  private let device: Mutex<DeviceState>
  /// Held while the unit is started or moved to another device, and while another thread than one that
  /// calls it stops it. Lock it before the locks of `Unit`.
  private let starting = Mutex<Void>(())
  let memory: DeviceUnitMemory

  init(_ kind: UnitKind, on device: HardwareDevice) throws(UnitError) {
    let format = try Self.standardFormat
    memory = DeviceUnitMemory()
    self.device = Mutex(DeviceState(device: device))
    unsafe super.init(
      kind.name, inputs: [format, format], outputs: [format, format],
      Self.makeRender(memory.pointer))
    makeParameters()
    guard let parameters = latestParameters else { preconditionFailure("no parameters") }
    unsafe memory.initialize(render, parameters)
    observe(device)
  }

  private func observe(_ device: HardwareDevice) {
    let number = device.addObserver { [weak self] in self?.deviceChanged($0) }
    let (old, oldNumber) = self.device.withLock { state in
      defer {
        state.device = device
        state.observer = number
      }
      return (state.device, state.observer)
    }
    if oldNumber != 0 { old.removeObserver(oldNumber) }
  }

  /// The device that calls the unit.
  package var hardware: HardwareDevice { device.withLock { $0.device } }

  override package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    [UnitParameter(id: 14, name: "volume", meaning: .linearGain, range: 0...1, standard: 1)]
  }
  override var elements: ParameterElements { .ignored }
  override var hasQuality: Bool { true }
  override package var isInside: Bool { hardware.isInside || super.isInside }

  override func fade(_ bus: Int, out: Bool) -> Bool {
    guard bus == 0 else { return false }
    unsafe memory.pointer.pointee.fade(out: out)
    return true
  }

  /// Share of its time that the latest cycle took for this unit; 0 while it does not run.
  package var load: Float { isRunning ? unsafe memory.pointer.pointee.latestLoad : 0 }
  /// The largest such share since the last call.
  package func takeMostLoad() -> Float { unsafe memory.pointer.pointee.takeMostLoad() }

  override func kernel(inputs: Int) -> Kernel {
    unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runPass($0, $1) }, context: UnsafeMutableRawPointer(render)), owner: memory)
  }

  override func rate(ofInput bus: Int, _ state: borrowing State) -> Double {
    state.outputs[0].format.sampleRate
  }

  override func rate(ofOutput bus: Int, _ state: borrowing State) -> Double {
    bus == 1 ? state.inputs[1].format.sampleRate : state.outputs[bus].format.sampleRate
  }

  override func keepsInput(_ state: borrowing State) -> Bool {
    device.withLock { $0.records }
      && (0..<2).contains {
        state.inputs[$0].format.sampleRate != state.outputs[$0].format.sampleRate
      }
  }

  override func check(_ format: BusFormat, _ side: Side, _ bus: Int, _ state: borrowing State)
    throws(UnitError)
  {
    guard (side == .input) == (bus == 0) else {
      throw .notWritable("this side has the format of the device")
    }
  }

  // MARK: Formats

  private func facts() throws(UnitError) -> HardwareFacts {
    do throws(ServerError) { return try hardware.facts } catch { throw .server(error) }
  }

  /// Gives the device's buses its rate and channels, and the app's buses its rate unless they have a
  /// format. An app that has set the rate at which it plays hears the input at that rate, too.
  private func adoptDevice() throws(UnitError) {
    let facts = try facts()
    let hasFormat = device.withLock { $0.hasFormat }
    func planar(_ channels: Int, _ rate: Double) throws(UnitError) -> BusFormat {
      guard let format = BusFormat.planar(channels: channels, sampleRate: rate) else {
        throw .formatNotSupported("\(channels) channels at \(rate) Hz")
      }
      return format
    }
    let rate = facts.sampleRate
    let appRate = hasFormat[0] ? try read { $0.inputs[0].format.sampleRate } : rate
    let (input, output, stereo, heard) = (
      try planar(max(1, facts.inputs), rate), try planar(max(1, facts.outputs), rate),
      try planar(2, rate), try planar(2, appRate)
    )
    let isKnown = try read { state in
      state.outputs[0].format == output && state.inputs[1].format == input
        && (hasFormat[0] || state.inputs[0].format == stereo)
        && (hasFormat[1] || state.outputs[1].format == heard)
    }
    if isKnown { return }
    try change { state in
      state.outputs[0].format = output
      state.inputs[1].format = input
      if !hasFormat[0] { state.inputs[0].format = stereo }
      if !hasFormat[1] { state.outputs[1].format = heard }
    }
  }

  override package func bus(_ side: Side, _ index: UInt32) throws(UnitError) -> Bus {
    if index < 2 { try adoptDevice() }
    return try super.bus(side, index)
  }

  override package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32)
    throws(UnitError)
  {
    if index == 1 { try adoptDevice() }
    try super.setFormat(format, side, index)
    device.withLock { $0.hasFormat[Int(index)] = true }
    if index == 0 && isInitialized { try adoptDevice() }
  }

  override package func initialize() throws(UnitError) {
    // Without the server, what is known of it is enough.
    try? hardware.prepare()
    do throws(UnitError) { try adoptDevice() } catch {
      if case .server(let reason) = error { hardware.tellUnusable(reason) }
      throw error
    }
    try super.initialize()
  }

  override package func uninitialize() {
    awaitDrained()
    stop { super.uninitialize() }
  }

  private func deviceChanged(_ change: HardwareChange) {
    switch change {
    case .sampleRate, .channels:
      guard (try? adoptDevice()) != nil else { return }
      tell(.format(.output, bus: 0))
      tell(.format(.input, bus: 1))
    default: break
    }
  }

  // MARK: Starting and stopping

  package var isRunning: Bool { device.withLock { $0.isStarted } }

  /// Starts the unit. Has no effect if it runs.
  package func start() throws(UnitError) {
    if isInside {
      if isRunning { return }
      // A thread that starts or stops the unit may wait for this very call.
      let hasBegun = try starting.withLockIfAvailable { _ throws(UnitError) in try begin() }
      switch hasBegun {
      case true?: tell(.running)
      case false?: break
      case nil: DispatchQueue.global().async { try? self.start() }
      }
    } else if try starting.withLock({ _ throws(UnitError) in try begin() }) {
      tell(.running)
    }
  }

  /// - Returns: True if the unit did not run before.
  private func begin() throws(UnitError) -> Bool {
    if isDisposed { throw .disposed }
    guard isInitialized else { throw .uninitialized }
    let wasRunning = device.withLock { state in
      defer { state.isStarted = true }
      return state.isStarted
    }
    if wasRunning { return false }
    awaitDrained()
    unsafe memory.pointer.pointee.restart()
    do throws(UnitError) { try run() } catch {
      _ = end()
      throw error
    }
    return true
  }

  /// Waits until all is played that a callback has given before it stopped the unit. Inside a callback, which would
  /// wait for itself, that ends at once.
  private func awaitDrained() {
    let (hardware, function) = device.withLock { state in
      defer { state.draining = nil }
      return (state.device, state.draining)
    }
    guard let function else { return }
    if isInside { function.endDrain() } else { hardware.awaitDrained(function) }
  }

  /// Lets the device call the unit if it is started. A unit that the device cannot call is stopped.
  private func run() throws(UnitError) {
    let (plays, records) = device.withLock { ($0.plays, $0.records) }
    let isHeard: Bool
    do throws(AudioSessionRefusal) {
      isHeard = try AudioSession.admit(plays: plays, records: records)
    } catch { throw .session(error) }
    guard let (hardware, function, isNew) = wanted() else { return }
    function.setUse(input: records, output: plays && isHeard)
    unsafe memory.pointer.pointee.setDirections(plays: plays, records: records)
    if isNew { hardware.add(function) }
    do throws(ServerError) {
      try hardware.start(function)
    } catch {
      _ = end()
      hardware.tellUnusable(error)
      throw .server(error)
    }
  }

  /// Returns the function for the device to call; nil if the unit was stopped.
  private func wanted() -> (device: HardwareDevice, function: IOFunction, isNew: Bool)? {
    device.withLock { state in
      guard state.isStarted else { return nil }
      if let function = state.function { return (state.device, function, false) }
      // It keeps the unit, which its calls use.
      let function = unsafe IOFunction(
        cue_io_function(
          run: { unsafe runDeviceUnit($0, $1) },
          context: UnsafeMutableRawPointer(memory.pointer)), keeping: self, keepsSound: true)
      state.function = function
      return (state.device, function, true)
    }
  }

  /// Stops the unit. Has no effect if it does not run. Waits for a start in progress on another thread,
  /// unless the caller is a call of the device.
  package func stop() { stop {} }

  /// - Parameter body: Called before another start can begin.
  private func stop(_ body: () -> Void) {
    let wasRunning: Bool
    if isInside {
      wasRunning = end()
      body()
    } else {
      wasRunning = starting.withLock { _ in
        defer { body() }
        return end()
      }
    }
    if wasRunning { tell(.running) }
  }

  /// Marks the unit as stopped, and lets the device call it no more.
  ///
  /// - Returns: True if it ran.
  private func end() -> Bool {
    halt { state in
      defer { state.isStarted = false }
      return state.isStarted
    }
  }

  /// Lets the device call the unit no more. A start after `body` gets a function of its own.
  private func halt<Result>(_ body: (inout DeviceState) -> Result) -> Result {
    let isInside = isInside
    let (hardware, function, result) = device.withLock { state in
      if isInside, let function = state.function { state.draining = function }
      defer { state.function = nil }
      return (state.device, state.function, body(&state))
    }
    if let function { hardware.remove(function) }
    return result
  }

  override package func dispose() {
    super.dispose()
    let (hardware, observer) = device.withLock { ($0.device, $0.observer) }
    hardware.removeObserver(observer)
  }

  /// Moves the unit to another server's device, where it goes on if it runs.
  package func setHardware(_ next: HardwareDevice) throws(UnitError) {
    if next.serverName == hardware.serverName { return }
    try starting.withLock { _ throws(UnitError) in
      if isDisposed { throw .disposed }
      // If it cannot be reached, the unit stays where it is.
      do throws(ServerError) { _ = try next.facts } catch { throw .server(error) }
      halt { _ in }
      observe(next)
      do throws(UnitError) {
        try adoptDevice()
        if isRunning { try run() }
      } catch {
        _ = end()
        throw error
      }
    }
    tell(.device)
  }

  // MARK: Directions

  package var plays: Bool { device.withLock { $0.plays } }
  package var records: Bool { device.withLock { $0.records } }

  /// Whether the device has inputs, or outputs.
  package func hasDirection(_ side: Side) throws(UnitError) -> Bool {
    let facts = try facts()
    return side == .input ? facts.inputs > 0 : facts.outputs > 0
  }

  package func setPlays(_ on: Bool) throws(UnitError) {
    try setDirections { $0.plays = on }
    tell(.direction(.output))
  }

  package func setRecords(_ on: Bool) throws(UnitError) {
    try setDirections { $0.records = on }
    // It keeps the input from now on, or no more.
    if isInitialized { try change { _ in } }
    tell(.direction(.input))
  }

  private func setDirections(_ body: (inout DeviceState) -> Void) throws(UnitError) {
    device.withLock { body(&$0) }
    // A call of the device waits for no thread that starts or stops the unit.
    if isInside {
      if isRunning { try run() }
    } else {
      try starting.withLock { _ throws(UnitError) in if isRunning { try run() } }
    }
  }

  // MARK: Callback and channel maps, which the device's calls read

  package func setInputProc(_ proc: cue_render_proc?, _ data: UnsafeMutableRawPointer?) {
    let memory = unsafe proc.map { unsafe NotifyMemory(UnitNotify($0, data)) }
    let old = device.withLock { state in
      defer { state.inputProc = memory }
      unsafe self.memory.pointer.pointee.setInputProc(memory?.pointer)
      return state.inputProc
    }
    retireCallMemory(old)
  }

  /// The channel map of a bus; nil if the app has set none.
  package func channelMap(_ bus: Int) -> [Int32]? { device.withLock { $0.maps[bus]?.sources } }

  package func setChannelMap(_ sources: [Int32]?, _ bus: Int) {
    let memory = sources.map { ChannelMapMemory($0) }
    let old = device.withLock { state in
      defer { state.maps[bus] = memory }
      if bus == 0 {
        unsafe self.memory.pointer.pointee.setOutputMap(memory?.pointer)
      } else {
        unsafe self.memory.pointer.pointee.setInputMap(memory?.pointer)
      }
      return state.maps[bus]
    }
    retireCallMemory(old)
    tell(.channelMap(bus: bus))
  }

  package var countsFromZero: Bool { device.withLock { $0.countsFromZero } }
  package func setCountsFromZero(_ on: Bool) {
    device.withLock { $0.countsFromZero = on }
    unsafe memory.pointer.pointee.setCountsFromZero(on)
  }

  /// Frees memory once no call reads it.
  private func retireCallMemory(_ old: (some AnyObject)?) {
    if let old, !settle() { keepForGood(old) }
  }
}

/// Memory of a `DeviceUnit`.
@safe
final class DeviceUnitMemory: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<DeviceUnit>
  private let state: UnsafeMutablePointer<DeviceUnitState>
  private var parameters: ParameterMemory?

  init() {
    unsafe pointer = .allocate(capacity: 1)
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: DeviceUnitState())
  }

  /// Call once, before anything reads `pointer`.
  func initialize(_ unit: UnsafeMutablePointer<RenderUnit>, _ parameters: ParameterMemory) {
    self.parameters = parameters
    unsafe pointer.initialize(to: DeviceUnit(unit, state, volume: parameters.slots))
  }

  deinit {
    if parameters != nil { unsafe pointer.deinitialize(count: 1) }
    unsafe pointer.deallocate()
    unsafe state.deallocate()
  }
}

@safe
private final class NotifyMemory: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<UnitNotify>
  init(_ notify: UnitNotify) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: notify)
  }
  deinit { unsafe pointer.deallocate() }
}

@safe
private final class ChannelMapMemory: @unchecked Sendable {
  let sources: [Int32]
  let pointer: UnsafeMutablePointer<UnitChannelMap>
  private let memory: UnsafeMutablePointer<Int32>

  init(_ sources: [Int32]) {
    self.sources = sources
    unsafe memory = .allocate(capacity: max(1, sources.count))
    unsafe memory.initialize(from: sources, count: sources.count)
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: UnitChannelMap(memory, count: sources.count))
  }

  deinit {
    unsafe pointer.deallocate()
    unsafe memory.deallocate()
  }
}
