/// An observer of what a recorder writes to its file, in the queue's format. Called on the recorder's
/// callback thread, one call at a time.
package protocol RecordingObserver: Sendable {
  func note(_ bytes: UnsafeRawBufferPointer, frames: Int)
  /// Silence in place of lost frames.
  func noteSilence(frames: Int64)
}
