import Dispatch
package import Hardware
import Logging
package import Server
import Synchronization
import System
import Timeline

/// An audio session: what the program wants of the sound card, what it gets, and what happens to it. Any
/// thread that is not real time.
///
/// Observers are called one after another on the session's own queue, never inside the call that brings
/// an event about.
package final class AudioSession: Sendable {
  private struct State {
    /// Set once the program has used the session: from then on it decides what may start.
    var isInUse = false
    var isActive = false
    /// True while the server of a session that was active is gone.
    var isInterrupted = false
    /// Whether the session is active again after the interruption.
    var resumes = false
    /// Whether the device is kept open for the session.
    var holdsDevice = false
    var category = AudioSessionCategory.soloAmbient
    var mode = AudioSessionMode.standard
    var options: AudioSessionOptions = []
    /// Wanted sample rate in Hz, and length of a call in seconds; 0 for any.
    var preferredRate = 0.0
    var preferredDuration = 0.0
    /// The sound card's channels, as they were read last.
    var channels: (inputs: Int, outputs: Int)?
    var device: HardwareDevice?
    var routeObserver: UInt64?
  }
  private let state = Mutex(State())
  /// Held while preferences take effect, so that the latest ones win.
  private let applying = Mutex<Void>(())
  private let observers = Mutex<[UInt64: @Sendable (AudioSessionEvent) -> Void]>([:])
  private let lastObserver = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "cuejack.session")
  private let decides: Bool
  private let findDevice: @Sendable () -> HardwareDevice
  /// The session that decides what may start; nil until the program uses one.
  private static let current = Mutex<AudioSession?>(nil)

  /// - Parameters:
  ///   - device: Returns the device of the session. It is called once.
  ///   - decides: True if the session decides what may start in this process, once it is used.
  package init(decides: Bool = true, on device: @escaping @Sendable () -> HardwareDevice) {
    self.decides = decides
    findDevice = device
  }

  package var device: HardwareDevice {
    if let device = state.withLock({ $0.device }) { return device }
    let found = findDevice()
    return state.withLock { state in
      if let device = state.device { return device }
      state.device = found
      return found
    }
  }

  /// Adds a function to call for each event, on a thread of the library.
  ///
  /// - Returns: The number for `removeObserver`.
  @discardableResult
  package func addObserver(_ body: @escaping @Sendable (AudioSessionEvent) -> Void) -> UInt64 {
    let number = lastObserver.add(1, ordering: .relaxed).newValue
    observers.withLock { $0[number] = body }
    return number
  }

  package func removeObserver(_ number: UInt64) { observers.withLock { $0[number] = nil } }

  private func tell(_ event: AudioSessionEvent) {
    queue.async { [self] in
      for body in observers.withLock({ $0.sorted { $0.key < $1.key }.map(\.value) }) { body(event) }
    }
  }

  /// Notes that the program uses the session: its category decides what may start, and it hears of
  /// changes.
  package func use() {
    let isFirst = state.withLock { state in
      defer { state.isInUse = true }
      return !state.isInUse
    }
    guard isFirst else { return }
    if decides { Self.current.withLock { $0 = self } }
    device.addObserver { [weak self] in self?.deviceChanged($0) }
    let number = CardRoutes.shared.addObserver { [weak self] in self?.routeChanged($0) }
    state.withLock { $0.routeObserver = number }
  }

  deinit {
    if let number = state.withLock({ $0.routeObserver }) {
      CardRoutes.shared.removeObserver(number)
    }
  }

  // MARK: Category and mode

  package var category: AudioSessionCategory { state.withLock { $0.category } }
  package var mode: AudioSessionMode { state.withLock { $0.mode } }
  package var options: AudioSessionOptions { state.withLock { $0.options } }

  /// Sets the category. A new one resets the options, and a mode that it does not allow.
  package func setCategory(_ category: AudioSessionCategory) {
    let old = state.withLock { state in
      defer {
        if category != state.category { state.options = [] }
        if !state.mode.fits(category) { state.mode = .standard }
        state.category = category
      }
      return state.category
    }
    if old != category { tellCategory(old) }
  }

  /// Sets the category with its mode and options.
  package func setCategory(
    _ category: AudioSessionCategory, _ mode: AudioSessionMode, _ options: AudioSessionOptions
  ) throws(AudioSessionRefusal) {
    guard mode.fits(category) else {
      throw .incompatibleCategory("the category \(category) has no mode \(mode)")
    }
    guard category.options.isSuperset(of: options) else {
      throw .incompatibleCategory("the category \(category) does not take these options")
    }
    setCategory(category)
    state.withLock { state in
      state.mode = mode
      state.options = options
    }
  }

  package func setMode(_ mode: AudioSessionMode) throws(AudioSessionRefusal) {
    try state.withLock { state throws(AudioSessionRefusal) in
      guard mode.fits(state.category) else {
        throw .incompatibleCategory("the category \(state.category) has no mode \(mode)")
      }
      state.mode = mode
    }
  }

  package func setOption(_ option: AudioSessionOptions, _ on: Bool) throws(AudioSessionRefusal) {
    try state.withLock { state throws(AudioSessionRefusal) in
      if on && !state.category.options.isSuperset(of: option) {
        throw .incompatibleCategory("the category \(state.category) does not take this option")
      }
      if on { state.options.insert(option) } else { state.options.remove(option) }
    }
  }

  /// Routes the output to the speaker, which is where it always goes.
  package func overrideOutput(toSpeaker: Bool) throws(AudioSessionRefusal) {
    let category = category
    if toSpeaker && category != .playAndRecord {
      throw .incompatibleCategory("the category \(category) does not override the output")
    }
  }

  /// Tells of a new category, if the device is open.
  private func tellCategory(_ old: AudioSessionCategory) {
    guard device.isOpen else { return }
    let route = CardRoutes.shared.route(on: device.serverName)
    let category = category
    let isUnsuitable = category.records && route.inputs.isEmpty
    tell(
      .routeChanged(
        isUnsuitable ? .noSuitableRoute : .categoryChange, old: route.allowed(by: old),
        new: route.allowed(by: category)))
  }

  // MARK: Activity

  package var isActive: Bool { state.withLock { $0.isActive } }

  /// Makes the session active: opens the device, and applies the preferences.
  package func activate() throws(AudioSessionRefusal) {
    use()
    let device = device
    do throws(ServerError) {
      if try device.open().isLost { throw .lost(server: device.serverName) }
    } catch {
      // If the server has just gone, the session goes on with its return.
      state.withLock { $0.resumes = $0.isInterrupted }
      throw .noHardware(error)
    }
    begin()
    applyDuration()
  }

  /// Makes the session inactive. Queues and units that run keep running.
  package func deactivate() {
    let lets = state.withLock { state in
      state.isActive = false
      state.resumes = false
      // The end of an interruption is told in any case.
      let lets = state.holdsDevice && !state.isInterrupted
      if lets { state.holdsDevice = false }
      return lets
    }
    if lets { device.endUse() }
  }

  private func begin() {
    let holds = state.withLock { state in
      state.isActive = true
      defer { state.holdsDevice = true }
      return !state.holdsDevice
    }
    if holds { device.beginUse() }
  }

  /// Checks whether the category allows what is about to start, and makes the session active.
  ///
  /// - Returns: False if what plays must be silent: it records, too, and the category allows only that.
  /// - Throws: `AudioSessionRefusal.incompatibleCategory` if the category does not allow it.
  package func admit(plays: Bool, records: Bool) throws(AudioSessionRefusal) -> Bool {
    let category = category
    if records && !category.records {
      throw .incompatibleCategory("the category \(category) of the session does not record")
    }
    if plays && !category.plays && !records {
      throw .incompatibleCategory("the category \(category) of the session does not play")
    }
    begin()
    // The device must be open to hear of interruptions.
    queue.async { [self] in _ = try? device.open() }
    return category.plays
  }

  /// Asks the session that decides what may start, if the program uses one.
  package static func admit(plays: Bool, records: Bool) throws(AudioSessionRefusal) -> Bool {
    try current.withLock { $0 }?.admit(plays: plays, records: records) ?? true
  }

  // MARK: Preferences

  package var preferredSampleRate: Double { state.withLock { $0.preferredRate } }
  package var preferredBufferDuration: Double { state.withLock { $0.preferredDuration } }

  /// Notes the wanted sample rate in Hz. The server keeps its own.
  package func setPreferredSampleRate(_ rate: Double) throws(AudioSessionRefusal) {
    guard rate.isFinite, rate >= 0 else { throw .badValue("\(rate) is no sample rate") }
    state.withLock { $0.preferredRate = rate }
  }

  /// Sets the wanted length of a call in seconds, which takes effect at once if the server can be
  /// reached.
  package func setPreferredBufferDuration(_ seconds: Double) throws(AudioSessionRefusal) {
    guard seconds.isFinite, seconds >= 0 else { throw .badValue("\(seconds) is no duration") }
    state.withLock { $0.preferredDuration = seconds }
    applyDuration()
  }

  /// Gives the device the wanted length of a call, in frames of its rate.
  private func applyDuration() {
    applying.withLock { _ in
      let (seconds, device) = (preferredBufferDuration, device)
      do throws(ServerError) {
        if seconds == 0 { return try device.followPeriod() }
        let range = HardwareDevice.bufferFrameRange
        let wanted = (seconds * (try device.facts.sampleRate)).rounded()
        let frames = Int(
          held:
            min(max(wanted, Double(range.lowerBound)), Double(range.upperBound)))
        if !(try device.setBufferFrames(
          frames, askingServer: HardwareDevice.asksServerForPeriod))
        {
          log.notice("the server refuses a period of \(frames) frames")
        }
      } catch { log.debug("the buffer duration takes effect later: \(error)") }
    }
  }

  // MARK: The hardware

  private func translatingErrors<R>(_ body: (HardwareDevice) throws(ServerError) -> R)
    throws(AudioSessionRefusal)
    -> R
  {
    do throws(ServerError) { return try body(device) } catch { throw .noHardware(error) }
  }

  private var facts: HardwareFacts {
    get throws(AudioSessionRefusal) {
      let facts = try translatingErrors { (device) throws(ServerError) in try device.facts }
      state.withLock { state in
        if state.channels == nil { state.channels = (facts.cardInputs, facts.outputs) }
      }
      return facts
    }
  }

  /// Keeps the device open until as many calls of `endListening`: somebody waits for its changes.
  package func beginListening() {
    device.beginUse()
    queue.async { [self] in _ = try? facts }
  }
  package func endListening() { device.endUse() }

  /// The server's sample rate in Hz.
  package var sampleRate: Double { get throws(AudioSessionRefusal) { try facts.sampleRate } }
  /// Length of a call in seconds.
  package var bufferDuration: Double {
    get throws(AudioSessionRefusal) {
      try translatingErrors { (device) throws(ServerError) in
        Double(try device.bufferFrames) / (try device.facts.sampleRate)
      }
    }
  }
  /// Latencies in seconds.
  package var inputLatency: Double {
    get throws(AudioSessionRefusal) {
      let facts = try facts
      return Double(facts.inputLatency) / facts.sampleRate
    }
  }
  package var outputLatency: Double {
    get throws(AudioSessionRefusal) {
      let facts = try facts
      let added = try translatingErrors { (device) throws(ServerError) in try device.addedLatency }
      return Double(facts.outputLatency + added) / facts.sampleRate
    }
  }
  /// Number of the sound card's inputs.
  package var inputChannels: Int { get throws(AudioSessionRefusal) { try facts.cardInputs } }
  /// Number of the sound card's outputs; 2 if it has none.
  package var outputChannels: Int { get throws(AudioSessionRefusal) { try facts.outputs } }
  /// Volume of the program's output, from 0 to 1.
  package var volume: Float { device.volume }
  /// True if another program plays to the sound card.
  package var othersPlay: Bool {
    get throws(AudioSessionRefusal) {
      _ = try facts
      return CardRoutes.shared.othersPlay(on: device.serverName)
    }
  }
  /// Ports of the sound card that the program plays to and records, as far as the category allows it.
  package var route: CardRoute {
    get throws(AudioSessionRefusal) {
      _ = try facts
      return CardRoutes.shared.route(on: device.serverName).allowed(by: category)
    }
  }

  // MARK: Events

  private func deviceChanged(_ change: HardwareChange) {
    switch change {
    case .presence: device.isAlive ? endInterruption() : beginInterruption()
    case .sampleRate:
      if preferredBufferDuration > 0 { queue.async { [self] in applyDuration() } }
    case .channels: queue.async { [self] in tellChannels() }
    case .volume: tell(.volumeChanged(volume))
    case .bufferFrames, .latency, .overload, .running, .mute, .hog: break
    }
  }

  private func beginInterruption() {
    let hasBegun = state.withLock { state in
      guard state.isActive, !state.isInterrupted else { return false }
      state.isActive = false
      state.isInterrupted = true
      state.resumes = true
      return true
    }
    if hasBegun { tell(.interruptionBegan) }
  }

  private func endInterruption() {
    let (hasEnded, lets) = state.withLock { state in
      guard state.isInterrupted else { return (false, false) }
      state.isInterrupted = false
      // Queues and units that played continue by themselves.
      state.isActive = state.resumes
      defer { if !state.resumes { state.holdsDevice = false } }
      return (true, !state.resumes && state.holdsDevice)
    }
    guard hasEnded else { return }
    if lets { device.endUse() }
    tell(.interruptionEnded)
  }

  /// Tells the numbers of channels that have changed.
  private func tellChannels() {
    guard let facts = try? facts else { return }
    let old = state.withLock { state in
      defer { state.channels = (facts.cardInputs, facts.outputs) }
      return state.channels
    }
    if let old, old.inputs != facts.cardInputs {
      tell(.inputsChanged(from: old.inputs, to: facts.cardInputs))
    }
    if let old, old.outputs != facts.outputs { tell(.outputsChanged(facts.outputs)) }
  }

  private func routeChanged(_ change: CardRouteChange) {
    guard change.server == device.serverName else { return }
    let category = category
    let gained = change.gained.allowed(by: category)
    if gained.isEmpty && change.lost.allowed(by: category).isEmpty { return }
    tell(
      .routeChanged(
        gained.isEmpty ? .oldDevice : .newDevice, old: change.old.allowed(by: category),
        new: change.new.allowed(by: category)))
  }
}

extension CardRoute {
  /// Returns the route without directions that a category does not allow.
  fileprivate func allowed(by category: AudioSessionCategory) -> CardRoute {
    CardRoute(
      inputs: category.records ? inputs : [], outputs: category.plays ? outputs : [])
  }
}
