import Codecs
import RealTime

/// The content of an app's buffer after recording.
struct Recorded {
  let frames: Int
  let bytes: Int
  /// Offsets and sizes of the packets; empty for linear PCM.
  let packets: [PacketExtent]
  /// The first frame in the run, at the queue's rate.
  let startFrame: Int64
}

/// The destination of recorded frames at the queue's rate: fills the app's buffers one after
/// another. Use from one thread at a time.
protocol RecordSink: AnyObject {
  /// Sets the frame of the run for the next `put`. Frames between the previous one and this are
  /// lost.
  ///
  /// - Returns: The content of the current buffer if it must be handed back first. Call again after
  ///   that.
  func begin(at frame: Int64) -> Recorded?
  /// Returns true if nothing more goes into the current buffer.
  func isFull(_ buffer: QueueBuffer) -> Bool
  /// Returns the number of frames that may be put into the current buffer, which is not full.
  func room(_ buffer: QueueBuffer) -> Int
  func put(_ planes: Planes.Pointers, frames: Int, into buffer: QueueBuffer)
  /// Puts all frames held back into the buffer; no frame follows.
  ///
  /// - Returns: True if these were all.
  func finish(into buffer: QueueBuffer) -> Bool
  /// Returns the content of the current buffer and begins the next one; nil if it is empty.
  func takeFilled() -> Recorded?
  /// Discards all frames held back: the next frame continues nothing.
  ///
  /// - Returns: The number of frames discarded.
  func restart() -> Int
}

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
