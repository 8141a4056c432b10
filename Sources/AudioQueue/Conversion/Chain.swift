import Codecs
import RealTime
import Timeline

/// The processing chain from an app's frames to the ring: a tap before the effects, time-pitch, a
/// tap after the effects, and a resampler to the device's rate. Stages that are not needed are left
/// out.
///
/// A stream begins with `begin`. After `end` the chain outputs all remaining frames. Use from one
/// thread at a time.
@safe
final class Chain {
  /// The maximum number of frames per `put` call.
  static var blockFrames: Int { 1024 }

  /// The stage that the end of the stream has reached.
  private enum Stage { case source, firstTap, timePitch, secondTap, resampler, over }

  /// The input planes that the caller fills before `put`.
  let input: Planes
  /// The resampler's input. Frames from `at` up to `count` have not been consumed.
  private let ready: Planes
  private var at = 0
  private var count = 0
  private let taps: [ProcessingTap.Position: TapStage]
  private let timePitch: TimePitch?
  private var resampler: ResamplerChain
  private var stage = Stage.source
  /// True if the end of the stream also ends the run.
  private var endsRun = false

  /// The frame of the run, at the queue's rate, at which the stream begins.
  var base: Int64 = 0
  /// Frames of the stream before and after the time-pitch stage.
  private var putFrames = 0
  private var stretchedFrames = 0
  private(set) var failure: ConverterFailure?

  /// Creates a chain; nil if there is no conversion between these rates.
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
    taps = tap.map { [$0.position: TapStage($0, channels: channels)] } ?? [:]
    input = Planes(channels: channels, capacity: Self.blockFrames)
    ready = timePitch == nil ? input : Planes(channels: channels, capacity: Self.blockFrames)
  }

  /// The length of the stream so far in frames at the queue's rate, after time-pitch.
  var expectedFrames: Double { timePitch?.expectedFrames ?? Double(putFrames) }

  /// True once a frame was put in.
  var hasBegun: Bool { putFrames > 0 }

  /// Discards the stream and begins another one at this frame of the run.
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

  /// Processes the first `frames` frames of `input`. Call only when `take` needs more input.
  func put(_ frames: Int, _ setting: TimePitch.Setting) throws(ConverterFailure) {
    let rate = timePitch == nil ? 1 : setting.effectiveRate
    process(
      .preEffects, input, frames: frames, queueTime: Double(base) + expectedFrames,
      queueFrames: Int(held: (Double(frames) / rate).rounded()))
    putFrames += frames
    try pass(frames, setting)
  }

  /// Runs the tap at `position`, if there is one.
  private func process(
    _ position: ProcessingTap.Position, _ planes: Planes, frames: Int, queueTime: Double,
    queueFrames: Int
  ) {
    guard let tap = taps[position] else { return }
    tap.process(planes, frames: frames, queueTime: queueTime, queueFrames: queueFrames)
    note(tap)
  }

  private func note(_ tap: TapStage) {
    if let failure = tap.failure { self.failure = failure }
    tap.failure = nil
  }

  /// Passes frames of `input` to the time-pitch stage, or straight to `ready` without one.
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

  /// Ends the stream: `take` then outputs everything that was put in.
  func end(run endsRun: Bool) {
    guard stage == .source else { return }
    self.endsRun = endsRun
    stage = .firstTap
  }

  /// True once `end` was called: no more input is accepted.
  var isEnding: Bool { stage != .source }

  /// True once everything has been output.
  var isOver: Bool { stage == .over }

  /// Outputs frames.
  ///
  /// - Returns: The number of frames. If it is less than `room`, the chain needs more input or has
  ///   output everything.
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
      case .over: return given
      case .source:
        // The resampler may have more frames than there was room for.
        let (_, produced) = try unsafe give(
          ready.pointers(), frames: 0, into: output.pointers, room: room - given)
        if produced == 0 { return given }
        add(produced)
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

  /// Asks the tap at `position` for one block of frames after the run's last frame.
  ///
  /// - Returns: The number of frames in `planes`.
  private func tail(_ position: ProcessingTap.Position, _ planes: Planes, queueTime: Double) -> Int
  {
    guard endsRun, let tap = taps[position], !tap.isOver else { return 0 }
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

  // MARK: Rate changes

  /// Returns a resampler that continues the stream at another output rate; nil if there is no
  /// conversion to that rate.
  func resampler(continuingAt outputRate: Double) -> ResamplerChain? {
    ResamplerChain(continuing: resampler, to: outputRate)
  }

  /// Continues the stream with `resampler`, which must continue the present one.
  func go(on resampler: ResamplerChain) { self.resampler = resampler }

  /// Converts frames that were output before the latest rate change to the present rate. With nil
  /// `planes` it outputs what the resampler still holds of them.
  ///
  /// - Returns: Frames consumed and frames produced. Less than `room` is produced if no more can
  ///   come.
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

  /// Ends a sequence of replayed frames: resets the resampler for the present rate.
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

  /// Returns the latest failure and clears it.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }
}
