package import Codecs
import Logging
import RealTime
import Server
import Synchronization
import System

extension TimePitch.Setting {
  mutating func follow(_ changes: TimePitchChanges) {
    rate = changes.rate ?? rate
    cents = changes.cents ?? cents
  }
}

extension PlaybackState {
  /// Returns the rate at which a buffer enqueued now will play, as far as is known.
  func rateAtTail(_ changes: TimePitchChanges) -> Double {
    guard part.settings.isTimePitchEnabled, !part.timePitch.isBypassed else { return 1 }
    if let rate = changes.rate { return rate }
    for case .buffer(let piece) in waiting.reversed() {
      if let rate = piece.timePitch.rate { return rate }
    }
    return part.timePitch.rate
  }

  /// Records a converter failure and notifies the app.
  mutating func report(_ failure: ConverterFailure) {
    log.error("converter: \(failure)")
    part.converterFailure = failure
    notices.append(.changed(.converterError))
  }
}

extension OutputQueue {
  /// The latest converter failure; nil if there was none.
  package var converterFailure: ConverterFailure? { state.read { $0.part.converterFailure } }

  // MARK: Rate and pitch

  /// Rate and pitch of the frames that are converted next.
  package var timePitch: TimePitch.Setting { state.read { $0.part.timePitch } }

  /// Changes rate and pitch of the frames converted from now on. The change is heard within one
  /// decode buffer. Requires time-pitch to be enabled.
  package func change(_ changes: TimePitchChanges) throws(QueueError) {
    try state.change { state throws(QueueError) in
      try state.checkReturns()
      guard state.part.settings.isTimePitchEnabled else { throw .invalidParameter }
      state.part.timePitch.follow(changes)
    }
  }

  /// True if the sound bypasses the time-pitch processor. May change at any time.
  package var isTimePitchBypassed: Bool {
    get { state.read { $0.part.timePitch.isBypassed } }
    set {
      tellIfChanged(.isTimePitchBypassed) { state in
        defer { state.part.timePitch.isBypassed = newValue }
        return state.part.timePitch.isBypassed != newValue
      }
    }
  }

  package var isTimePitchEnabled: Bool { state.read { $0.part.settings.isTimePitchEnabled } }

  /// Enables or disables the time-pitch processor. Call only while nothing is running.
  package func setTimePitchEnabled(_ isEnabled: Bool) throws(QueueError) {
    if isEnabled && !TimePitch.isAvailable {
      log.error("rate and pitch cannot be changed: this build is without Rubber Band")
      throw .invalidPropertyValue
    }
    try set(\.isTimePitchEnabled, isEnabled, changing: .isTimePitchEnabled)
  }

  package var timePitchAlgorithm: TimePitch.Algorithm { state.read { $0.part.settings.algorithm } }

  /// Selects the time-pitch algorithm. Call only while nothing is running.
  package func setTimePitchAlgorithm(_ algorithm: TimePitch.Algorithm) throws(QueueError) {
    try set(\.algorithm, algorithm, changing: .timePitchAlgorithm)
  }

  // MARK: Decoding ahead

  /// Frames, at the queue's rate, to convert ahead of the process thread if it cannot read the
  /// app's buffers directly. Two cycles or 20 ms, if that is longer.
  package var decodeFrames: Int {
    state.read { $0.part.settings.decodeFrames } ?? ChainSettings.defaultDecodeFrames
  }

  package static var decodeFramesRange: ClosedRange<Int> { 256...1 << 20 }

  /// Sets the number of frames to convert ahead. Call only while nothing is running.
  package func setDecodeFrames(_ frames: Int) throws(QueueError) {
    guard Self.decodeFramesRange.contains(frames) else { throw .invalidPropertyValue }
    try set(\.decodeFrames, frames, changing: .decodeFrames)
  }

  // MARK: Taps

  /// Inserts a tap if the queue has none yet. Call only while nothing is running.
  package func addTap(_ tap: ProcessingTap) throws(QueueError) {
    try settingUp { (settings) throws(QueueError) in
      if settings.tap != nil { throw .tooManyTaps }
      settings.tap = tap
    }
  }

  /// Removes the tap. Call only while nothing is running.
  package func removeTap() throws(QueueError) {
    try settingUp { (settings) throws(QueueError) in settings.tap = nil }
  }

  // MARK: Setting up

  private func set<Value: Equatable>(
    _ key: WritableKeyPath<ChainSettings, Value>, _ value: Value, changing change: QueueChange
  ) throws(QueueError) {
    if state.read({ $0.part.settings[keyPath: key] == value }) { return }
    try settingUp { (settings) throws(QueueError) in settings[keyPath: key] = value }
    tellIfChanged(change) { _ in true }
  }

  private func tellIfChanged(_ change: QueueChange, _ body: (inout PlaybackState) -> Bool) {
    let hasChanged = state.change { state in
      let hasChanged = body(&state)
      if hasChanged { state.notices.append(.changed(change)) }
      return hasChanged
    }
    if hasChanged { context.wake() }
  }

  /// Changes the settings and, if the device is open, replaces the converter. Enqueued buffers go
  /// through the new converter. Frames that are already converted cannot be undone, so there must
  /// be none.
  private func settingUp(_ body: (inout ChainSettings) throws(QueueError) -> Void)
    throws(QueueError)
  {
    try core.controlled { () throws(QueueError) in
      let isPrimed = state.change { state in
        readEvents(&state)
        guard state.isIdle, !state.part.holdsBack, state.part.replays == 0,
          state.part.offline?.renderer == nil
        else { return true }
        return state.inRing.contains { if case .stagingBuffer = $0 { true } else { false } }
      }
      // A working converter holds frames of its own.
      if isPrimed || state.read({ $0.isConverting }) { throw .invalidRunState }
      var settings = state.read { $0.part.settings }
      try body(&settings)
      let (device, converter) = takeOut()
      let old = state.change { state in
        defer { state.part.settings = settings }
        return state.part.settings
      }
      guard let device else { return }
      do throws(QueueError) {
        try core.holding(device) { state.change { emptyRing(&$0) } }
        withExtendedLifetime(converter) {}
        install(device, try makeConverter(device.client.sampleRate))
      } catch {
        // After this failure the queue can only be disposed of.
        state.change { state in
          state.part.settings = old
          state.device = device
        }
        throw error
      }
    }
  }

  /// Returns the conversion plan for a device rate.
  func plan(_ deviceRate: Double) -> Converter.Plan {
    Converter.Plan(
      streamFormat: streamFormat, format: format, layout: layout, deviceRate: deviceRate,
      settings: state.read { $0.part.settings })
  }

  /// Creates the converter for a device rate; nil if the process thread can read the buffers
  /// directly.
  func makeConverter(_ deviceRate: Double) throws(QueueError) -> Converter? {
    let plan = self.plan(deviceRate)
    guard plan.isNeeded else { return nil }
    guard let converter = Converter(plan) else { throw .unsupportedFormat }
    return converter
  }

  /// Connects the queue's buffers to the device. The caller must hold `control`.
  func install(_ device: Device, _ converter: Converter?) {
    state.change { state in
      state.device = device
      state.converter = converter
      memory.followsEveryWake.store(true, ordering: .relaxed)
      state.part.freeStagingBuffers = []
      state.part.announcedPeriodFrames = nil
      state.part.periodFrames = device.client.periodFrames
      forgetRing(&state)
      pump(&state)
    }
    // Offline the rendering thread converts.
    if let converter, !state.read({ $0.part.isOffline }) { startConverting(with: converter) }
  }

  /// Stops all filling of the ring and ends the converter's worker thread. The caller must hold
  /// `control`, and there must be no run.
  func takeOut() -> (Device?, Converter?) {
    let old = state.change { state in
      state.part.generation += 1
      defer {
        state.device = nil
        state.converter = nil
      }
      return (state.device, state.converter)
    }
    waitForConverter()
    return old
  }

  /// Counts the ring as empty. The process thread must be kept out of the voice, or not run yet.
  func forgetRing(_ state: inout PlaybackState) {
    let played = unsafe memory.voice.pointee.playedFrames.load(ordering: .relaxed)
    state.part.playedFrames = played
    state.part.pushedFrames = played
  }

  /// Moves the ring's buffers back to the waiting items. The process thread must be kept out of the
  /// voice.
  func emptyRing(_ state: inout PlaybackState) {
    readEvents(&state)
    unsafe memory.voice.pointee.stop()
    // Staging buffers are converted once more, from the buffers that they came from.
    func unconverted(_ items: some Sequence<PlaybackPart.Item>) -> [PlaybackPart.Item] {
      items.flatMap { item -> [PlaybackPart.Item] in
        switch item {
        case .buffer, .end: [item]
        case .stagingBuffer(let piece): piece.ended.map { .buffer($0) }
        case .replay, .flush: []
        }
      }
    }
    state.waiting =
      unconverted(state.inRing) + state.part.held.map { .buffer($0) }
      + unconverted(state.waiting.prefix(state.part.replays))
      + state.waiting.dropFirst(state.part.replays)
    forgetRing(&state)
    state.part.replays = 0
    state.part.held = []
    state.inRing = []
    state.part.freeStagingBuffers = []
    state.part.holdsBack = false
  }
}
