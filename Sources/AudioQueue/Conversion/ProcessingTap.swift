package import Codecs

/// An app callback that observes or replaces the sound on its way to the ports.
///
/// Called on the thread that converts: the worker thread or, offline, the thread that renders or
/// primes. Never called on the process thread.
package struct ProcessingTap: Sendable {
  package enum Position: Sendable { case preEffects, postEffects }

  /// The maximum number of frames per call.
  package static var mostFrames: Int { Chain.blockFrames }

  package let position: Position
  /// True if the tap only observes: its changes are not heard.
  package let isSiphon: Bool
  package let process: @Sendable (TapCall) -> Void

  package init(
    _ position: Position, isSiphon: Bool, process: @escaping @Sendable (TapCall) -> Void
  ) {
    self.position = position
    self.isSiphon = isSiphon
    self.process = process
  }
}

/// The arguments and results of one tap call. Valid only during that call, on its thread.
@safe
package final class TapCall {
  package let channels: Int
  /// The number of frames requested; for a siphon, the number available.
  package let frames: Int
  /// The number of frames that reached the tap since the run began.
  package let sampleTime: Double
  /// The frame of the run at which the first frame is heard, and the length of these frames in the
  /// run.
  package let queueTime: Double
  package let queueFrames: Int
  /// True if the first frame begins a stream.
  package let isStart: Bool
  /// True after the last frame of the run: the source has no more frames.
  package let isEnd: Bool
  /// The destination of `frames` frames. For a siphon it already holds the sound.
  package let output: Planes.Pointers
  private let source: Planes
  private var taken = 0

  /// The number of frames that the tap has put into `output`.
  package var givenFrames = 0
  /// Set by the tap once it has output its last frame.
  package var hasEnded = false

  init(
    _ source: Planes, frames: Int, available: Int, sampleTime: Double, queueTime: Double,
    queueFrames: Int, isStart: Bool, isEnd: Bool, output: Planes.Pointers
  ) {
    channels = source.channels
    self.source = source
    self.frames = frames
    self.available = available
    self.sampleTime = sampleTime
    self.queueTime = queueTime
    self.queueFrames = queueFrames
    self.isStart = isStart
    self.isEnd = isEnd
    unsafe self.output = unsafe output
  }

  /// Source frames available in this call.
  private let available: Int

  /// Takes up to `frames` frames from the source.
  ///
  /// - Returns: The planes, valid until the next call; the number of frames; the sample time of the
  ///   first.
  package func takeSource(_ frames: Int) -> (planes: Planes.Pointers, frames: Int, time: Double) {
    let count = min(frames, available - taken)
    defer { taken += count }
    return unsafe (source.pointers(at: taken), count, sampleTime + Double(taken))
  }
}

/// A tap's stage in the processing chain. It outputs as many frames as it receives, and a tail
/// after the last.
final class TapStage {
  let tap: ProcessingTap
  private let output: Planes
  private var seen = 0
  private var isAtStart = true
  /// True once the tap has output its last frame after the end of the source.
  private(set) var isOver = false
  /// The latest violation of the tap's contract; cleared by the reader.
  var failure: ConverterFailure?

  init(_ tap: ProcessingTap, channels: Int) {
    self.tap = tap
    output = Planes(channels: channels, capacity: Chain.blockFrames)
  }

  /// Begins another stream, which may also begin another run.
  func begin(isNewRun: Bool) {
    isAtStart = true
    isOver = false
    if isNewRun { seen = 0 }
  }

  /// Runs the tap on the first `frames` frames of `planes`.
  func process(_ planes: Planes, frames: Int, queueTime: Double, queueFrames: Int) {
    let call = call(
      planes, frames: frames, available: frames, queueTime: queueTime, queueFrames: queueFrames,
      isEnd: false)
    if tap.isSiphon { return }
    if call.givenFrames < frames && !call.hasEnded { failure = .tapGaveTooLittle }
    // Every frame keeps its position in time.
    output.silence(from: min(call.givenFrames, frames), to: frames)
    unsafe planes.copy(output.pointers(), frames: frames)
  }

  /// Requests the tap's output after the last source frame.
  ///
  /// - Returns: The number of frames in `planes`.
  func processTail(_ planes: Planes, queueTime: Double) -> Int {
    let frames = tap.isSiphon ? 0 : Chain.blockFrames
    let call = call(
      planes, frames: frames, available: 0, queueTime: queueTime, queueFrames: frames, isEnd: true)
    let given = min(call.givenFrames, frames)
    isOver = call.hasEnded || given == 0
    unsafe planes.copy(output.pointers(), frames: given)
    return given
  }

  private func call(
    _ planes: Planes, frames: Int, available: Int, queueTime: Double, queueFrames: Int, isEnd: Bool
  ) -> TapCall {
    if tap.isSiphon { unsafe output.copy(planes.pointers(), frames: frames) }
    let call = unsafe TapCall(
      planes, frames: frames, available: available, sampleTime: Double(seen), queueTime: queueTime,
      queueFrames: queueFrames, isStart: isAtStart, isEnd: isEnd, output: output.pointers())
    tap.process(call)
    isAtStart = false
    seen += available
    if !tap.isSiphon && call.givenFrames > frames { failure = .tapGaveTooMuch }
    return call
  }
}
