import RealTime
import Server
import System
import Timeline

extension OutputQueue {
  /// Prepares enqueued buffers so that a start finds them converted. Opens the device. See
  /// `prime(frames:_:)`.
  ///
  /// - Returns: The number of prepared frames at the queue's rate.
  @discardableResult
  package func prime(frames: Int) throws(QueueError) -> Int {
    var ready = 0
    try prime(frames: frames, &ready)
    return ready
  }

  /// Converts enqueued buffers ahead of a start, beyond the decode buffer if necessary, and waits
  /// until that is done. Opens the device.
  ///
  /// - Parameters:
  ///   - frames: The minimum number of frames at the queue's rate; 0 for all enqueued frames.
  ///   - ready: Set to the number of prepared frames at the queue's rate. Unchanged if the device
  ///     cannot be opened.
  /// - Throws: `primeTimedOut` if fewer frames are enqueued, if they need more entries than the
  ///   ring has, or if the converter makes no progress for five seconds.
  package func prime(frames: Int, _ ready: inout Int) throws(QueueError) {
    let device = try core.controlled { () throws(QueueError) in try openDevice() }
    let ratio = format.sampleRate / device.client.sampleRate
    // No queue can hold more than 2^53 frames.
    let target = frames > 0 ? Int(held: min((Double(frames) / ratio).rounded(.up), 0x1p53)) : .max
    state.change { $0.part.primeTargets.append(target) }
    defer {
      state.change { state in
        if let i = state.part.primeTargets.firstIndex(of: target) {
          state.part.primeTargets.remove(at: i)
        }
      }
    }
    pumpConverter()
    var deviceFrames = 0
    var progress = PrimeProgress.goesOn
    while progress == .goesOn {
      let seen = deviceFrames
      let next = state.wait(seconds: Self.primePatience) { state -> PrimeProgress? in
        deviceFrames = state.readyFrames
        let progress = self.progress(of: state, to: target)
        return progress == .goesOn && deviceFrames <= seen ? nil : progress
      }
      ready = Int(held: Double(deviceFrames) * ratio)
      guard let next else { throw .primeTimedOut }
      progress = next
    }
    state.change { state in
      if deviceFrames > 0, state.resets == 0, state.isIdle { state.phase = .primed }
    }
    if progress == .fallsShort { throw .primeTimedOut }
  }

  private enum PrimeProgress { case goesOn, isDone, fallsShort }

  private func progress(of state: PlaybackState, to target: Int) -> PrimeProgress {
    let ready = state.readyFrames
    if ready >= target { return .isDone }
    // Buffers that are about to be handed back are no longer converted.
    if state.resets > 0 || state.disposal != .none || state.isLost { return .isDone }
    guard let converter = state.converter else { return target == .max ? .isDone : .fallsShort }
    if converter.isFull(state) { return .fallsShort }
    guard state.waiting.isEmpty, !state.isConverting else { return .goesOn }
    // Frames that a resampler holds back count as ready: they come with the next buffer. Rounding
    // may cost a frame.
    return target == .max || ready + converter.heldFrames + 1 >= target ? .isDone : .fallsShort
  }

  /// Seconds to wait for the next prepared frame.
  static var primePatience: Double { 5 }
}
