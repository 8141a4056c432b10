package import Codecs

/// A function of the app's that looks at the sound on its way to the ports, or makes it anew.
///
/// It is called on the thread that converts, never in a cycle.
package struct ProcessingTap: Sendable {
  package enum Place: Sendable { case preEffects, postEffects }

  /// Most frames of one call.
  package static var mostFrames: Int { Chain.blockFrames }

  package let place: Place
  /// What it does to the sound is not heard.
  package let isSiphon: Bool
  package let process: @Sendable (TapCall) -> Void

  package init(
    _ place: Place, isSiphon: Bool, process: @escaping @Sendable (TapCall) -> Void
  ) {
    self.place = place
    self.isSiphon = isSiphon
    self.process = process
  }
}

/// One call of a tap: valid as long as that lasts, on its thread.
@safe
package final class TapCall {
  package let channels: Int
  /// Frames that are asked for; for a siphon, those that are there.
  package let frames: Int
  /// Frames that have come to the tap since the run began.
  package let sampleTime: Double
  /// Frame of the run at which the first of these is heard, and how many frames of the run they
  /// make.
  package let queueTime: Double
  package let queueFrames: Int
  /// The first of these frames begins a stream.
  package let isStart: Bool
  /// The run's last frame has been: the source has no more.
  package let isEnd: Bool
  /// Where the sound is to go, `frames` frames; a siphon finds it there.
  package let output: Planes.Pointers
  private let source: Planes
  private var taken = 0

  /// Frames that the tap has put into `output`.
  package var givenFrames = 0
  /// The tap says that its last frame has been.
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

  /// Frames of the source in this call.
  private let available: Int

  /// Takes up to `frames` frames of the source.
  ///
  /// - Returns: Where they stand until the next call, how many there are, and the number of the first.
  package func takeSource(_ frames: Int) -> (planes: Planes.Pointers, frames: Int, time: Double) {
    let count = min(frames, available - taken)
    defer { taken += count }
    return unsafe (source.pointers(at: taken), count, sampleTime + Double(taken))
  }
}

/// A tap in its place in the chain: as many frames come out as went in, and a tail after the last.
final class TapStage {
  let tap: ProcessingTap
  private let output: Planes
  private var seen = 0
  private var isAtStart = true
  /// The tap has given the last frame after the source's last.
  private(set) var isOver = false
  /// What the tap did wrong since somebody asked.
  var failure: ConverterFailure?

  init(_ tap: ProcessingTap, channels: Int) {
    self.tap = tap
    output = Planes(channels: channels, capacity: Chain.blockFrames)
  }

  /// The frames that come next begin a stream of their own; a run of its own, perhaps.
  func begin(isNewRun: Bool) {
    isAtStart = true
    isOver = false
    if isNewRun { seen = 0 }
  }

  /// Has the tap do its work on the first `frames` frames.
  func process(_ planes: Planes, frames: Int, queueTime: Double, queueFrames: Int) {
    let call = call(
      planes, frames: frames, available: frames, queueTime: queueTime, queueFrames: queueFrames,
      isEnd: false)
    if tap.isSiphon { return }
    if call.givenFrames < frames && !call.hasEnded { failure = .tapGaveTooLittle }
    // Every frame keeps its place.
    output.silence(from: min(call.givenFrames, frames), to: frames)
    unsafe planes.copy(output.pointers(), frames: frames)
  }

  /// Asks for what the tap gives after the source's last frame.
  ///
  /// - Returns: Frames that it has put into `planes`.
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
