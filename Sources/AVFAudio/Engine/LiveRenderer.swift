import AudioToolbox
import AudioUnits
import Dispatch
import Foundation
import Hardware
import Logging
import RealTime
import Synchronization
import System

/// The part of an engine that renders its output node in a JACK client of the engine's own, which is named after the
/// program. Any thread that is not real-time.
final class LiveRenderer: Sendable {
  private struct State {
    /// The unit that the device calls, and the device that is observed.
    var unit: OutputUnit?
    var device: HardwareDevice
    var observer: UInt64 = 0
    /// The formats of the sound card's outputs and of its inputs.
    var format = AVAudioFormat.absent
    var inputFormat = AVAudioFormat.absent
    /// The unit that the inputs supply, and what is rendered though it goes nowhere.
    var input: AudioUnits.Unit?
    var sidePull: SidePull?
    /// Host time in nanoseconds from which on a server is looked for that was not there.
    var nextLook: UInt64 = 0
    var isRunning = false
    /// True from the loss of the server, while the unit ran, until it is back.
    var isLost = false
    /// True if the output node is rendered.
    var hasRoot = false
  }
  private let state: Mutex<State>
  /// Held while the unit is started or stopped. Lock it before `state`.
  private let control = Mutex<Void>(())
  private let changed = Hook<@Sendable (_ tellsApp: Bool) -> Void>()

  init(_ device: HardwareDevice) {
    state = Mutex(State(device: device))
    observe(device)
  }

  /// The device. An app may have moved the unit to another one.
  var device: HardwareDevice {
    let (known, present) = state.withLock { ($0.device, $0.unit?.hardware ?? $0.device) }
    if known !== present { observe(present) }
    return present
  }

  private func observe(_ device: HardwareDevice) {
    let number = device.addObserver { [weak self] change in
      switch change {
      case .sampleRate, .channels, .presence:
        // The stop waits for the thread that calls this function.
        DispatchQueue.global().async { [weak self] in self?.cardChanged() }
      default: break
      }
    }
    let (old, observer) = state.withLock { state in
      defer { (state.device, state.observer) = (device, number) }
      // Its formats are not known.
      if state.device !== device { (state.format, state.nextLook) = (.absent, 0) }
      return (state.device, state.observer)
    }
    if observer != 0 { old.removeObserver(observer) }
  }

  /// Sets the function that is called on a thread of the library when the sound card has changed. Its argument is true
  /// if rendering has stopped, or the server is back for which it had.
  func whenChanged(_ body: @escaping @Sendable (_ tellsApp: Bool) -> Void) { changed.set(body) }

  var isRunning: Bool { state.withLock { $0.isRunning } }
  /// True if what is connected to the output node is heard.
  var hasRoot: Bool { state.withLock { $0.hasRoot } }
  /// The format of the sound card's inputs; 0 Hz and no channels without a server.
  var inputFormat: AVAudioFormat {
    _ = format
    return state.withLock { $0.inputFormat }
  }
  /// The format of the sound card's outputs; 0 Hz and no channels without a server, which is looked for
  /// once a second at the most.
  var format: AVAudioFormat {
    _ = device
    let (format, isDue) = state.withLock { state in
      (state.format, state.format.channelCount == 0 && HostTime.now >= state.nextLook)
    }
    if !isDue { return format }
    _ = look()
    return state.withLock { $0.format }
  }

  /// Asks the server for the formats of the sound card.
  ///
  /// - Returns: True if they are others than before.
  @discardableResult
  func look() -> Bool {
    let facts = try? device.facts
    func format(_ channels: Int?) -> AVAudioFormat {
      guard let facts, let channels else { return .absent }
      return AVAudioFormat(rate: facts.sampleRate, channels: channels) ?? .absent
    }
    let (format, inputFormat) = (format(facts?.outputs), format(facts?.inputs))
    return state.withLock { state in
      defer { (state.format, state.inputFormat) = (format, inputFormat) }
      state.nextLook = HostTime.now + 1_000_000_000
      return state.format != format || state.inputFormat != inputFormat
    }
  }

  private func cardChanged() {
    let isOther = look()
    let isAlive = device.isAlive
    let hasStopped = isRunning && (isOther || !isAlive)
    if hasStopped { stop() }
    let isBack = state.withLock { state in
      let isBack = state.isLost && isAlive
      state.isLost = !isAlive && (state.isLost || hasStopped)
      return isBack
    }
    if hasStopped || isOther || isBack { changed.function?(hasStopped || isBack) }
  }

  /// Begins to render a unit in the calls of the device.
  ///
  /// - Parameters:
  ///   - root: The unit of the output node; nil if nothing is to be heard.
  ///   - input: The unit of the input node; nil if nothing is to be recorded.
  func start(_ root: AudioUnits.Unit?, recordingFor input: AudioUnits.Unit?) throws {
    let device = self.device
    try control.withLock { _ in
      if !isRunning { try begin(device, root, recordingFor: input) }
    }
  }

  /// Renders another unit from now on, unless somebody has stopped.
  func restart(_ root: AudioUnits.Unit?, recordingFor input: AudioUnits.Unit?) throws {
    let device = self.device
    try control.withLock { _ in
      if !isRunning { return }
      halt()
      try begin(device, root, recordingFor: input)
    }
  }

  /// Call it with `control`.
  private func begin(
    _ device: HardwareDevice, _ root: AudioUnits.Unit?, recordingFor input: AudioUnits.Unit?
  ) throws {
    try device.prepare()
    let unit = try output()
    if let root {
      try unit.setFormat(root.bus(.output, 0).format, .input, 0)
      try unit.connect(root, output: 0, to: 0)
    }
    try unit.setPlays(root != nil)
    try unit.setRecords(input != nil)
    if let input, let format = inputFormat.bus {
      try unit.setFormat(format, .output, 1)
      try input.setFormat(format, .input, 0)
      try unit.supply(input, bus: 0)
    }
    unit.setSidePull(nil)
    state.withLock { ($0.input, $0.sidePull, $0.hasRoot) = (input, nil, root != nil) }
    try unit.initialize()
    state.withLock { $0.isRunning = true }
    do { try unit.start() } catch {
      state.withLock { $0.isRunning = false }
      throw error
    }
  }

  /// The unit that the device calls, as the C functions take it; nil if there are too many units.
  var reference: AudioUnit? {
    unsafe control.withLock { _ in try? unsafe output().reference(of: UnitKind.halOutput.component)
    }
  }

  private func output() throws -> OutputUnit {
    if let unit = state.withLock({ $0.unit }) { return unit }
    let device = self.device
    guard let unit = try UnitKind.halOutput.make(on: { device }) as? OutputUnit else {
      preconditionFailure("it is an output unit")
    }
    // Renders count as the server does, also after a pause.
    unit.setCountsFromZero(false)
    state.withLock { $0.unit = unit }
    return unit
  }

  /// Ends rendering, and removes the ports.
  func stop() {
    control.withLock { _ in halt() }
  }

  /// Call it with `control`.
  private func halt() {
    let unit = state.withLock { state in
      state.isRunning = false
      return state.unit
    }
    unit?.stop()
  }

  /// Ends the client.
  func end() {
    stop()
    let device = self.device
    let (unit, input) = state.withLock { state in
      defer { (state.unit, state.input) = (nil, nil) }
      return (state.unit, state.input)
    }
    try? unsafe input?.setCallback(nil, nil, 0)
    unit?.disposeWithReference()
    device.closeIfUnused()
  }

  /// Sets the units that the device renders though their sound goes nowhere.
  func setSidePull(_ items: [SidePull.Item]) {
    control.withLock { _ in
      guard let unit = state.withLock({ $0.unit }) else { return }
      let pull = items.isEmpty ? nil : SidePull(items)
      unit.setSidePull(pull)
      state.withLock { $0.sidePull = pull }
    }
  }

  /// Seconds from a render to the moment when its sound leaves the sound card, and from the moment when sound comes in
  /// to its render.
  var latencies: (output: Double, input: Double) {
    guard isRunning, let facts = try? device.facts, facts.sampleRate > 0 else { return (0, 0) }
    return (
      Double(facts.outputLatency) / facts.sampleRate, Double(facts.inputLatency) / facts.sampleRate
    )
  }

  /// Waits until the device has rendered twice, unless the caller is a render.
  func awaitRenders() {
    guard let unit = state.withLock({ $0.isRunning ? $0.unit : nil }), !unit.isInside else {
      return
    }
    let count = unsafe unit.render.pointee.rendersOver + 2
    let deadline = HostTime.now + 2_000_000_000
    while unsafe unit.render.pointee.rendersOver < count, device.isAlive, HostTime.now < deadline {
      usleep(200)
    }
  }
}
