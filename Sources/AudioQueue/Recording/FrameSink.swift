import Codecs
import RealTime

/// Stores linear PCM frames in the buffers without encoding.
@safe
final class FrameSink: RecordSink {
  private let layout: SampleLayout
  private let bytesPerFrame: Int
  /// The next frame of the run.
  private var nextFrame: Int64 = 0
  private var filled = 0

  init(_ format: PCMFormat, _ layout: SampleLayout) {
    self.layout = layout
    bytesPerFrame = format.bytesPerFrame
  }

  func begin(at frame: Int64) -> Recorded? {
    if let recorded = takeFilled() { return recorded }
    nextFrame = frame
    return nil
  }

  func isFull(_ buffer: QueueBuffer) -> Bool { room(buffer) == 0 }
  func room(_ buffer: QueueBuffer) -> Int { buffer.capacity / bytesPerFrame - filled }

  func put(_ planes: Planes.Pointers, frames: Int, into buffer: QueueBuffer) {
    unsafe layout.store(
      from: planes, at: 0, frames: frames, to: buffer.data.baseAddress! + filled * bytesPerFrame,
      planeFrames: 0)
    filled += frames
    nextFrame += Int64(frames)
  }

  func finish(into buffer: QueueBuffer) -> Bool { true }

  func takeFilled() -> Recorded? {
    guard filled > 0 else { return nil }
    defer { filled = 0 }
    return Recorded(
      frames: filled, bytes: filled * bytesPerFrame, packets: [],
      startFrame: nextFrame - Int64(filled))
  }

  func restart() -> Int { 0 }
}
