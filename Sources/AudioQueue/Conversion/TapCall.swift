package import Codecs

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
