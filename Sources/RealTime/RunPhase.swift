/// What a voice or a recorder does with its queue's run.
enum RunPhase: UInt8, BitwiseCopyable {
  /// No run.
  case stopped
  /// A run that begins at the state's `start`.
  case armed
  case running
  case paused
  /// A paused run that continues at `start`.
  case resuming
}
