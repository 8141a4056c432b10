import Codecs

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
