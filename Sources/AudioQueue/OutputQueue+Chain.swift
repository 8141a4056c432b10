package import Codecs
import Logging
import RealTime
import Server

/// What a queue's buffers go through before the cycles, as far as it does not change while it runs.
struct ChainSettings: Sendable {
  var isTimePitchEnabled = false
  var algorithm = TimePitch.Algorithm.spectral
  var tap: ProcessingTap?
  /// Frames, at the queue's rate, that are made ready ahead of the cycles.
  var decodeFrames = 8 * 2048
}

/// Changes of rate and pitch. What is nil stays as it is.
package struct TimePitchChanges: Sendable {
  /// How many times as fast, 0.5 to 2; what lies outside is clamped.
  package var rate: Double?
  /// How much higher, -2400 to 2400; what lies outside is clamped.
  package var cents: Double?

  package init(rate: Double? = nil, cents: Double? = nil) {
    self.rate = rate.map { min(max($0, TimePitch.rates.lowerBound), TimePitch.rates.upperBound) }
    self.cents = cents.map {
      min(max($0, TimePitch.cents.lowerBound), TimePitch.cents.upperBound)
    }
  }

  package var isEmpty: Bool { rate == nil && cents == nil }

  /// Adds later changes, which win.
  package mutating func add(_ changes: TimePitchChanges) {
    rate = changes.rate ?? rate
    cents = changes.cents ?? cents
  }
}

extension TimePitch.Setting {
  mutating func follow(_ changes: TimePitchChanges) {
    rate = changes.rate ?? rate
    cents = changes.cents ?? cents
  }
}

extension QueueState {
  /// The rate at which a buffer will be played that is enqueued now, as far as is known.
  func rateAtTail(_ changes: TimePitchChanges) -> Double {
    guard settings.isTimePitchEnabled, !timePitch.isBypassed else { return 1 }
    if let rate = changes.rate { return rate }
    for case .buffer(let piece) in waiting.reversed() {
      if let rate = piece.timePitch.rate { return rate }
    }
    return timePitch.rate
  }

  /// Notes what went wrong, for the app to be told.
  mutating func report(_ failure: ConverterFailure) {
    log.error("converter: \(failure)")
    converterFailure = failure
    notices.append(.changed(.converterError))
  }
}

extension OutputQueue {
  /// What went wrong last in the converter; nil if nothing has.
  package var converterFailure: ConverterFailure? { state.read { $0.converterFailure } }

  // MARK: Rate and pitch

  /// Rate and pitch of what is converted next.
  package var timePitch: TimePitch.Setting { state.read { $0.timePitch } }

  /// Changes rate and pitch of what is converted from now on: it is heard within one decode buffer.
  /// Needs time-pitch enabled.
  package func change(_ changes: TimePitchChanges) throws(QueueError) {
    try state.change { state throws(QueueError) in
      try state.checkUsable()
      guard state.settings.isTimePitchEnabled else { throw .invalidParameter }
      state.timePitch.follow(changes)
    }
  }

  /// Sound passes by the time-pitch processor. At any time.
  package var isTimePitchBypassed: Bool {
    get { state.read { $0.timePitch.isBypassed } }
    set {
      tellIfChanged(.isTimePitchBypassed) { state in
        defer { state.timePitch.isBypassed = newValue }
        return state.timePitch.isBypassed != newValue
      }
    }
  }

  package var isTimePitchEnabled: Bool { state.read { $0.settings.isTimePitchEnabled } }

  /// Has what is played go through a time-pitch processor, or not. While nothing runs.
  package func setTimePitchEnabled(_ isEnabled: Bool) throws(QueueError) {
    if isEnabled && !TimePitch.isAvailable {
      log.error("rate and pitch cannot be changed: this build is without Rubber Band")
      throw .invalidPropertyValue
    }
    try set(\.isTimePitchEnabled, isEnabled, changing: .isTimePitchEnabled)
  }

  package var timePitchAlgorithm: TimePitch.Algorithm { state.read { $0.settings.algorithm } }

  /// How rate and pitch are changed. While nothing runs.
  package func setTimePitchAlgorithm(_ algorithm: TimePitch.Algorithm) throws(QueueError) {
    try set(\.algorithm, algorithm, changing: .timePitchAlgorithm)
  }

  // MARK: Decoding ahead

  /// Frames, at the queue's rate, that are made ready ahead of the cycles if they cannot read the app's
  /// buffers themselves.
  package var decodeFrames: Int { state.read { $0.settings.decodeFrames } }

  package static var decodeFramesRange: ClosedRange<Int> { 256...1 << 20 }

  /// Changes how many frames are made ready ahead. While nothing runs.
  package func setDecodeFrames(_ frames: Int) throws(QueueError) {
    guard Self.decodeFramesRange.contains(frames) else { throw .invalidPropertyValue }
    try set(\.decodeFrames, frames, changing: .decodeFrames)
  }

  // MARK: Taps

  /// Puts a tap into the way of the sound, if there is none yet. While nothing runs.
  package func addTap(_ tap: ProcessingTap) throws(QueueError) {
    try settingUp { (settings) throws(QueueError) in
      if settings.tap != nil { throw .tooManyTaps }
      settings.tap = tap
    }
  }

  /// Takes the tap out again. While nothing runs.
  package func removeTap() throws(QueueError) {
    try settingUp { (settings) throws(QueueError) in settings.tap = nil }
  }

  // MARK: Setting up

  private func set<Value: Equatable>(
    _ key: WritableKeyPath<ChainSettings, Value>, _ value: Value, changing change: QueueChange
  ) throws(QueueError) {
    if state.read({ $0.settings[keyPath: key] == value }) { return }
    try settingUp { (settings) throws(QueueError) in settings[keyPath: key] = value }
    tellIfChanged(change) { _ in true }
  }

  private func tellIfChanged(_ change: QueueChange, _ body: (inout QueueState) -> Bool) {
    let hasChanged = state.change { state in
      let hasChanged = body(&state)
      if hasChanged { state.notices.append(.changed(change)) }
      return hasChanged
    }
    if hasChanged { context.wake() }
  }

  /// Changes the settings and, if the device is open, the converter with them. What is enqueued goes
  /// through the new one; what is converted already does not come back, so nothing may be.
  private func settingUp(_ body: (inout ChainSettings) throws(QueueError) -> Void)
    throws(QueueError)
  {
    try controlled { () throws(QueueError) in
      let isPrimed = state.change { state in
        readEvents(&state)
        guard state.phase == .idle, !state.isRunning, !state.holdsBack, state.replays == 0,
          state.renderer == nil
        else { return true }
        return state.inRing.contains { if case .slab = $0 { true } else { false } }
      }
      // A converter at work has frames of its own.
      if isPrimed || state.read({ $0.isConverting }) { throw .invalidRunState }
      var settings = state.read { $0.settings }
      try body(&settings)
      let (device, converter) = takeOut()
      let old = state.change { state in
        defer { state.settings = settings }
        return state.settings
      }
      guard let device else { return }
      do throws(QueueError) {
        try holding(device) { state.change { emptyRing(&$0) } }
        withExtendedLifetime(converter) {}
        install(device, try makeConverter(device.client.sampleRate))
      } catch {
        // The queue can only be disposed of.
        state.change { state in
          state.settings = old
          state.device = device
        }
        throw error
      }
    }
  }

  /// What there is to be done at a rate of the device.
  func plan(_ deviceRate: Double) -> Converter.Plan {
    Converter.Plan(
      streamFormat: streamFormat, format: format, layout: layout, deviceRate: deviceRate,
      settings: state.read { $0.settings })
  }

  /// The converter that buffers need at a rate of the device; nil if the cycles can read them as
  /// they are.
  func makeConverter(_ deviceRate: Double) throws(QueueError) -> Converter? {
    let plan = self.plan(deviceRate)
    guard plan.isNeeded else { return nil }
    guard let converter = Converter(plan) else { throw .unsupportedFormat }
    return converter
  }

  /// Has the queue's buffers go to the device. Holding `control`.
  func install(_ device: Device, _ converter: Converter?) {
    state.change { state in
      state.device = device
      state.converter = converter
      state.freeSlabs = converter?.pool ?? []
      pump(&state)
    }
    // Whoever renders converts, too.
    if let converter, !state.read({ $0.isOffline }) { startConverting(with: converter) }
  }

  /// Has nobody fill the ring any more, and the converter's thread end. Holding `control`, no run.
  func takeOut() -> (Device?, Converter?) {
    let old = state.change { state in
      state.generation += 1
      defer {
        state.device = nil
        state.converter = nil
      }
      return (state.device, state.converter)
    }
    waitForConverter()
    return old
  }

  /// Has what is in the ring wait again. No cycle is in the queue's voice.
  func emptyRing(_ state: inout QueueState) {
    readEvents(&state)
    unsafe memory.voice.pointee.stop()
    // Slabs hold what buffers held that have gone back already: at another rate it is lost.
    state.waiting =
      (state.inRing + state.waiting.prefix(state.replays)).filter {
        switch $0 {
        case .buffer, .end: true
        case .slab, .replay, .flush: false
        }
      } + state.waiting.dropFirst(state.replays)
    state.replays = 0
    state.inRing = []
    state.freeSlabs = []
    state.holdsBack = false
  }
}
