import Glibc

/// A notification to the app. A queue delivers its notifications in order.
enum Notice<Returned> {
  /// A buffer that the queue returns. `isReset` is true if a reset or a stop hands it back: the app
  /// may not enqueue it in that callback.
  case buffer(Returned, isReset: Bool)
  /// A change of `QueueChange.isRunning`, with the new value and the number of runs that were over
  /// then.
  case isRunning(Bool, runsOver: Int)
  /// A change of any other property.
  case changed(QueueChange)

  var isBuffer: Bool { if case .buffer = self { true } else { false } }
}
