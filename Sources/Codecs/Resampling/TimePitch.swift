import Timeline

/// A time-pitch processor for streams of float frames. Not real time; one thread at a time.
///
/// The number of output frames is exactly the sum of `frames / rate`, rounded where the stream ends
/// or becomes neutral. A neutral setting passes frames unchanged. At each change from or to a
/// neutral setting, the processed part begins and ends with complete frames, so none is lost. The
/// processor receives the frames before and after that part, so that the transitions are smooth.
@safe
package final class TimePitch {
  package enum Algorithm: Sendable {
    /// Independent rate and pitch, for music.
    case spectral
    /// Independent rate and pitch, for speech: shorter windows, half the work.
    case timeDomain
    /// The pitch follows the rate, as on a tape. The pitch setting has no effect.
    case varispeed
  }

  /// Rate and pitch settings.
  package struct Setting: Equatable, Sendable {
    /// Speed factor.
    package var rate: Double
    /// Pitch shift in cents.
    package var cents: Double
    /// True to pass frames unchanged, whatever the other settings.
    package var isBypassed: Bool

    package init(rate: Double = 1, cents: Double = 0, isBypassed: Bool = false) {
      self.rate = rate
      self.cents = cents
      self.isBypassed = isBypassed
    }

    /// The rate in effect: 1 if bypassed.
    package var effectiveRate: Double { isBypassed ? 1 : rate }
  }

  package static let rates = 0.5...2.0
  package static let cents = -2400.0...2400

  /// Output frames expected, in total, for all input since the last reset.
  package private(set) var expectedFrames = 0.0

  private let stretcher: any Stretcher
  private let isVarispeed: Bool
  private let output: PlaneQueue
  private let silence: Planes
  /// The latest input frames.
  private let history: Planes
  /// True while the stretcher processes frames.
  private var isStretching = false
  private var setting = Setting()
  /// Frames output since the last reset.
  private var given = 0

  /// True if this build includes Rubber Band, which independent rate and pitch need.
  package static var isAvailable: Bool {
    #if RubberBand
      true
    #else
      false
    #endif
  }

  /// Creates a processor; nil if the algorithm is not available.
  package init?(_ algorithm: Algorithm, sampleRate: Double, channels: Int) {
    let stretcher: (any Stretcher)?
    switch algorithm {
    case .varispeed: stretcher = Tape(channels: channels)
    case .spectral, .timeDomain:
      #if RubberBand
        stretcher = RubberBand(
          sampleRate: sampleRate, channels: channels, isFast: algorithm == .timeDomain)
      #else
        stretcher = nil
      #endif
    }
    guard let stretcher else { return nil }
    self.stretcher = stretcher
    isVarispeed = algorithm == .varispeed
    output = PlaneQueue(channels: channels)
    silence = Planes(channels: channels, capacity: 256)
    history = Planes(channels: channels, capacity: 2048)
  }

  private func isNeutral(_ setting: Setting) -> Bool {
    setting.isBypassed || (setting.rate == 1 && (isVarispeed || setting.cents == 0))
  }

  /// Processes all of the given frames.
  package func put(_ planes: Planes.Pointers, frames: Int, _ setting: Setting)
    throws(Resampler.Failure)
  {
    defer { unsafe history.shiftIn(planes, frames: frames) }
    if isNeutral(setting) {
      try unsafe end(followedBy: planes, frames: frames)
      unsafe output.append(planes, frames: frames)
      given += frames
      expectedFrames += Double(frames)
      return
    }
    if !isStretching {
      try stretcher.begin(setting, after: history)
      isStretching = true
    } else if setting != self.setting {
      expectedFrames += stretcher.change(setting)
    }
    self.setting = setting
    expectedFrames += Double(frames) / setting.rate
    given += try unsafe stretcher.put(planes, frames: frames, into: output)
  }

  /// Copies output frames to planes and removes them.
  ///
  /// - Returns: Number of frames; 0 if more input is needed first.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    unsafe output.take(into: planes, room: room)
  }

  /// Flushes all input to the output.
  package func end() throws(Resampler.Failure) {
    try unsafe end(followedBy: silence.pointers(), frames: 0)
  }

  /// Flushes the stretcher, with the given frames as its look-ahead.
  private func end(followedBy planes: Planes.Pointers, frames: Int) throws(Resampler.Failure) {
    guard isStretching else { return }
    isStretching = false
    let wanted = Int(held: expectedFrames.rounded())
    let next = unsafe Planes.Advancing(planes, channels: output.channels)
    var left = frames
    while given < wanted {
      let count = min(left, silence.capacity)
      if count > 0 {
        given += try unsafe stretcher.put(next.pointers, frames: count, into: output)
        next.advance(count)
        left -= count
      } else {
        given += try unsafe stretcher.put(
          silence.pointers(), frames: silence.capacity, into: output)
      }
    }
    output.cut(given - wanted)
    given = wanted
    expectedFrames = Double(wanted)
  }

  /// Discards the stream.
  package func reset() {
    isStretching = false
    output.removeAll()
    history.silence(from: 0, to: history.capacity)
    given = 0
    expectedFrames = 0
  }
}

/// The algorithm of a time-pitch processor.
protocol Stretcher: AnyObject {
  /// Starts a new processed part after the frames in `history`. The first output frame is aligned
  /// with the first input frame.
  func begin(_ setting: TimePitch.Setting, after history: Planes) throws(Resampler.Failure)
  /// Changes the setting for input from now on.
  ///
  /// - Returns: Frames by which the change lengthens the output, once.
  func change(_ setting: TimePitch.Setting) -> Double
  /// Processes frames and appends the output that is ready.
  ///
  /// - Returns: Number of frames appended to `output`.
  func put(_ planes: Planes.Pointers, frames: Int, into output: PlaneQueue)
    throws(Resampler.Failure) -> Int
}

/// Varispeed: the pitch follows the rate.
private final class Tape: Stretcher {
  private let resampler: Resampler
  /// Output frames still to drop before the first input frame.
  private var toSkip = 0

  init?(channels: Int) {
    guard let resampler = Resampler(variableUpTo: TimePitch.rates.upperBound, channels: channels)
    else { return nil }
    self.resampler = resampler
  }

  func begin(_ setting: TimePitch.Setting, after history: Planes) throws(Resampler.Failure) {
    resampler.reset()
    resampler.setRatio(setting.rate)
    let past = PlaneQueue(channels: history.channels)
    let frames = 512
    toSkip = Int(held: (Double(frames) / setting.rate).rounded())
    _ = try unsafe put(
      history.pointers(at: history.capacity - frames), frames: frames, into: past)
  }

  func change(_ setting: TimePitch.Setting) -> Double {
    resampler.setRatio(setting.rate)
    return 0
  }

  func put(_ planes: Planes.Pointers, frames: Int, into output: PlaneQueue)
    throws(Resampler.Failure) -> Int
  {
    let source = unsafe Planes.Advancing(planes, channels: output.channels)
    var left = frames
    var total = 0
    while true {
      let room = 1024
      let (consumed, produced) = try unsafe resampler.process(
        source.pointers, frames: left, into: output.room(for: room), room: room)
      output.add(produced)
      let skipped = min(toSkip, produced)
      toSkip -= skipped
      output.skip(skipped, of: produced)
      total += produced - skipped
      left -= consumed
      source.advance(consumed)
      if left == 0 && produced < room { return total }
      if consumed == 0 && produced == 0 { throw Resampler.Failure(reason: "no progress") }
    }
  }
}
