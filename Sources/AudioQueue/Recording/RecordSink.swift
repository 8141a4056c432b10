import Codecs

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
