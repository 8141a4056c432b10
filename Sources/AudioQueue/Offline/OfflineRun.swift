import Glibc

/// Offline rendering: the app runs the cycles.
struct OfflineRun {
  let server: OfflineServer
  /// True once a `render` call has begun.
  var hasRendered = false
  /// Frames of the render format that were rendered or skipped since the latest start.
  var renderedFrames: Int64 = 0
  /// The thread that is inside a `render` call.
  var renderer: pthread_t?
}
