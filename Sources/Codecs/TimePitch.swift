/// Changes how fast a stream of float frames goes by, and how high it sounds. Not real time; one
/// thread at a time.
///
/// Frames that go in come out exactly as many as their rates say: `frames / rate`, summed up and
/// rounded where a stream ends or passes through. A neutral setting passes the frames through as they
/// are; at each change from or to a neutral one the processed part begins and ends with whole frames,
/// so that none is lost, and hears what comes before and after it, so that it joins up.
@safe
package final class TimePitch {
  package enum Algorithm: Sendable {
    /// Rate and pitch apart, for music.
    case spectral
    /// Rate and pitch apart, for speech: shorter windows, half the work.
    case timeDomain
    /// The pitch follows the rate, as on a tape. It has no pitch of its own.
    case varispeed
  }

  /// How the frames are to be changed.
  package struct Setting: Equatable, Sendable {
    /// How many times as fast.
    package var rate: Double
    /// How much higher.
    package var cents: Double
    /// Frames pass through, whatever the rest says.
    package var isBypassed: Bool

    package init(rate: Double = 1, cents: Double = 0, isBypassed: Bool = false) {
      self.rate = rate
      self.cents = cents
      self.isBypassed = isBypassed
    }

    /// The rate that frames go by at.
    package var effectiveRate: Double { isBypassed ? 1 : rate }
  }

  package static let rates = 0.5...2.0
  package static let cents = -2400.0...2400

  /// Frames that come out, in the end, for all that went in since the last reset.
  package private(set) var expectedFrames = 0.0

  private let stretcher: any Stretcher
  private let isVarispeed: Bool
  private let output: PlaneQueue
  private let silence: Planes
  /// The latest frames that went in.
  private let history: Planes
  /// The stretcher is at work.
  private var isStretching = false
  private var setting = Setting()
  /// Frames that went to `output` since the last reset.
  private var given = 0

  /// True if this build has what is needed: rate and pitch apart are Rubber Band's work.
  package static var isAvailable: Bool {
    #if RubberBand
      true
    #else
      false
    #endif
  }

  /// A time-pitch processor; nil if there can be none.
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

  /// Takes `frames` frames in, all of them.
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

  /// Gives frames out.
  ///
  /// - Returns: How many: 0 if more has to be put in first.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    unsafe output.take(into: planes, room: room)
  }

  /// Has all that went in come out.
  package func end() throws(Resampler.Failure) {
    try unsafe end(followedBy: silence.pointers(), frames: 0)
  }

  /// The same, if other frames follow.
  private func end(followedBy planes: Planes.Pointers, frames: Int) throws(Resampler.Failure) {
    guard isStretching else { return }
    isStretching = false
    let wanted = Int(expectedFrames.rounded())
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

  /// Forgets the stream.
  package func reset() {
    isStretching = false
    output.removeAll()
    history.silence(from: 0, to: history.capacity)
    given = 0
    expectedFrames = 0
  }
}

/// What does a time-pitch processor's work.
protocol Stretcher: AnyObject {
  /// Begins a new piece, after what is in `history`: its first frame out is aligned with the first that
  /// is put in.
  func begin(_ setting: TimePitch.Setting, after history: Planes) throws(Resampler.Failure)
  /// Another setting for the frames that are put in from now on.
  ///
  /// - Returns: Frames by which that makes the output longer, once.
  func change(_ setting: TimePitch.Setting) -> Double
  /// Takes frames in, and gives out what is ready.
  ///
  /// - Returns: Frames that were added to `output`.
  func put(_ planes: Planes.Pointers, frames: Int, into output: PlaneQueue)
    throws(Resampler.Failure) -> Int
}

/// Pitch that follows the rate.
private final class Tape: Stretcher {
  private let resampler: Resampler
  /// Frames out that stand before the first that was put in.
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
    toSkip = Int((Double(frames) / setting.rate).rounded())
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
