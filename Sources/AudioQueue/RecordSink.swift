import Codecs
import RealTime

/// What has been recorded into a buffer of the app's.
struct Recorded {
  let frames: Int
  let bytes: Int
  /// Where the packets lie; none if it holds linear PCM.
  let packets: [PacketExtent]
  /// Frame at the queue's rate.
  let startFrame: Int64
}

/// Puts frames at the queue's rate into the app's buffers: one after another, each until it is full. One
/// thread at a time.
protocol RecordSink: AnyObject {
  /// The next frame that is put is this one of the run; what went before it was lost.
  ///
  /// - Returns: What the buffer in hand holds, if it is to be given back first, and this to be called again.
  func begin(at frame: Int64) -> Recorded?
  /// True if nothing more goes into the buffer in hand.
  func isFull(_ buffer: QueueBuffer) -> Bool
  /// Frames that may be put into the buffer in hand, which is not full.
  func room(_ buffer: QueueBuffer) -> Int
  func put(_ planes: Planes.Pointers, frames: Int, into buffer: QueueBuffer)
  /// Puts what it holds back into the buffer; no frame follows.
  ///
  /// - Returns: True if that is all of it.
  func finish(into buffer: QueueBuffer) -> Bool
  /// What the buffer in hand holds; the next one begins. Nil if that is nothing.
  func takeFilled() -> Recorded?
  /// Forgets what it holds back: the next frame is a first one.
  ///
  /// - Returns: The frames that were.
  func restart() -> Int
}

/// Puts frames into the buffers as they are.
@safe
final class FrameSink: RecordSink {
  private let layout: SampleLayout
  private let bytesPerFrame: Int
  /// Frame that comes next.
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
