import Codecs
import RealTime

/// What an app's frames go through before a cycle sees them: a tap before the effects, rate and
/// pitch, a tap after them, and the device's rate. Each only if it is wanted.
///
/// A stream goes through it from `begin` on; `end` has all of it come out. One thread at a time.
@safe
final class Chain {
  /// Frames that go in at one time, at most.
  static var blockFrames: Int { 1024 }

  /// How far the end of a stream has come.
  private enum Stage { case source, firstTap, timePitch, secondTap, resampler, over }

  /// Where the frames go that are put in.
  let input: Planes
  /// Frames that go to the resampler next. The first of them is `at`.
  private let ready: Planes
  private var at = 0
  private var count = 0
  private let taps: [ProcessingTap.Place: TapStage]
  private let timePitch: TimePitch?
  private var resampler: ResamplerChain
  private var stage = Stage.source
  /// The end of the stream is that of the run too.
  private var endsRun = false

  /// Frame of the run, at the queue's rate, at which the stream begins.
  var base: Int64 = 0
  /// Frames before and after rate and pitch.
  private var putFrames = 0
  private var stretchedFrames = 0
  private(set) var failure: ConverterFailure?

  /// A chain; nil if there is no converting between these rates.
  init?(
    channels: Int, from inputRate: Double, to outputRate: Double, tap: ProcessingTap?,
    timePitch algorithm: TimePitch.Algorithm?
  ) {
    guard let resampler = ResamplerChain(from: inputRate, to: outputRate, channels: channels)
    else { return nil }
    self.resampler = resampler
    if let algorithm {
      timePitch = TimePitch(algorithm, sampleRate: inputRate, channels: channels)
      if timePitch == nil { failure = .noTimePitch }
    } else {
      timePitch = nil
    }
    taps = tap.map { [$0.place: TapStage($0, channels: channels)] } ?? [:]
    input = Planes(channels: channels, capacity: Self.blockFrames)
    ready = timePitch == nil ? input : Planes(channels: channels, capacity: Self.blockFrames)
  }

  /// Frames at the queue's rate that the stream has come to, after rate and pitch.
  var expectedFrames: Double { timePitch?.expectedFrames ?? Double(putFrames) }

  /// True once something was put in.
  var hasBegun: Bool { putFrames > 0 }

  /// Forgets the stream; another one begins at this frame of the run.
  func begin(at frame: Int64, isNewRun: Bool) {
    stage = .source
    endsRun = false
    base = frame
    putFrames = 0
    stretchedFrames = 0
    at = 0
    count = 0
    timePitch?.reset()
    resampler.reset()
    taps.values.forEach { $0.begin(isNewRun: isNewRun) }
  }

  /// Takes the first `frames` frames of `input`. Only when `take` wanted more.
  func put(_ frames: Int, _ setting: TimePitch.Setting) throws(ConverterFailure) {
    let rate = timePitch == nil ? 1 : setting.effectiveRate
    process(
      .preEffects, input, frames: frames, queueTime: Double(base) + expectedFrames,
      queueFrames: Int((Double(frames) / rate).rounded()))
    putFrames += frames
    try pass(frames, setting)
  }

  /// Has the tap in `place`, if there is one, do its work.
  private func process(
    _ place: ProcessingTap.Place, _ planes: Planes, frames: Int, queueTime: Double,
    queueFrames: Int
  ) {
    guard let tap = taps[place] else { return }
    tap.process(planes, frames: frames, queueTime: queueTime, queueFrames: queueFrames)
    note(tap)
  }

  private func note(_ tap: TapStage) {
    if let failure = tap.failure { self.failure = failure }
    tap.failure = nil
  }

  /// Brings frames of `input` to where `ready` comes from.
  private func pass(_ frames: Int, _ setting: TimePitch.Setting) throws(ConverterFailure) {
    if let timePitch {
      try resampling { () throws(Resampler.Failure) in
        try unsafe timePitch.put(input.pointers(), frames: frames, setting)
      }
    } else {
      makeReady(frames)
    }
  }

  private func makeReady(_ frames: Int) {
    process(
      .postEffects, ready, frames: frames, queueTime: Double(base + Int64(stretchedFrames)),
      queueFrames: frames)
    stretchedFrames += frames
    at = 0
    count = frames
  }

  /// Has all that was put in come out of `take`.
  func end(run endsRun: Bool) {
    guard stage == .source else { return }
    self.endsRun = endsRun
    stage = .firstTap
  }

  /// Nothing more goes in.
  var isEnding: Bool { stage != .source }

  /// Everything has come out.
  var isOver: Bool { stage == .over }

  /// Gives frames out.
  ///
  /// - Returns: How many. Fewer than `room`: more has to be put in, or all is out.
  func take(into planes: Planes.Pointers, room: Int, _ setting: TimePitch.Setting)
    throws(ConverterFailure) -> Int
  {
    let output = unsafe Planes.Advancing(planes, channels: input.channels)
    var given = 0
    func add(_ frames: Int) {
      given += frames
      output.advance(frames)
    }
    while given < room {
      if at < count {
        let (consumed, produced) = try unsafe give(
          ready.pointers(at: at), frames: count - at, into: output.pointers, room: room - given)
        if consumed == 0 && produced == 0 { throw .resampling("no progress") }
        at += consumed
        add(produced)
        continue
      }
      if let timePitch {
        let frames = unsafe timePitch.take(into: ready.pointers(), room: Self.blockFrames)
        if frames > 0 {
          makeReady(frames)
          continue
        }
      }
      switch stage {
      case .source, .over: return given
      case .firstTap:
        let frames = tail(.preEffects, input, queueTime: Double(base) + expectedFrames)
        if frames == 0 { stage = .timePitch } else { try pass(frames, setting) }
      case .timePitch:
        try resampling { () throws(Resampler.Failure) in try timePitch?.end() }
        stage = .secondTap
      case .secondTap:
        count = tail(.postEffects, ready, queueTime: Double(base + Int64(stretchedFrames)))
        at = 0
        stretchedFrames += count
        if count == 0 { stage = .resampler }
      case .resampler:
        guard stretchedFrames > 0 || resampler.isContinued else {
          stage = .over
          continue
        }
        let (_, produced) = try unsafe give(
          nil, frames: 0, into: output.pointers, room: room - given)
        if produced == 0 { stage = .over }
        add(produced)
      }
    }
    return given
  }

  /// What the tap in `place` gives after the run's last frame, one block at a time.
  private func tail(_ place: ProcessingTap.Place, _ planes: Planes, queueTime: Double) -> Int {
    guard endsRun, let tap = taps[place], !tap.isOver else { return 0 }
    let frames = tap.processTail(planes, queueTime: queueTime)
    note(tap)
    return frames
  }

  private func give(
    _ planes: Planes.Pointers?, frames: Int, into output: Planes.Pointers, room: Int
  ) throws(ConverterFailure) -> (consumed: Int, produced: Int) {
    try resampling { () throws(Resampler.Failure) in
      try unsafe resampler.process(planes, frames: frames, into: output, room: room)
    }
  }

  // MARK: Another rate

  /// What gives the stream out at another rate from where it stands; nil if there is no converting to
  /// that rate.
  func resampler(continuingAt outputRate: Double) -> ResamplerChain? {
    ResamplerChain(continuing: resampler, to: outputRate)
  }

  /// Has the stream go on through `resampler`, which continues the present one.
  func go(on resampler: ResamplerChain) { self.resampler = resampler }

  /// Brings frames that were given out before the latest change of the rate to the present one, or, if
  /// there are none, gives out what is left of them.
  ///
  /// - Returns: Frames taken, and frames given: fewer than `room` if no more can come.
  func replay(
    _ planes: Planes?, from first: Int, frames: Int, into output: Planes.Pointers, room: Int
  ) throws(ConverterFailure) -> (consumed: Int, produced: Int) {
    let rest = unsafe Planes.Advancing(output, channels: input.channels)
    var (consumed, produced) = (0, 0)
    while produced < room {
      if planes != nil && consumed == frames { break }
      let (taken, given) = try resampling { () throws(Resampler.Failure) in
        try unsafe resampler.processLast(
          planes?.pointers(at: first + consumed), frames: frames - consumed, into: rest.pointers,
          room: room - produced)
      }
      consumed += taken
      produced += given
      rest.advance(given)
      if taken == 0 && given == 0 { break }
    }
    return (consumed, produced)
  }

  /// No more of those frames follows what has come.
  func endReplay() { resampler.resetLast() }

  private func resampling<R>(_ body: () throws(Resampler.Failure) -> R) throws(ConverterFailure)
    -> R
  {
    do throws(Resampler.Failure) {
      return try body()
    } catch {
      throw .resampling(error.reason)
    }
  }

  /// The latest failure that nobody has asked for yet.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }
}
