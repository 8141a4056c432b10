package import CDispatch
package import Dispatch

/// The thread, dispatch queue or, for the C API, run loop that runs the callbacks, chosen by the app.
@safe package enum CallbackExecutor {
  /// A thread that belongs to the queue. If there are many such queues, the later ones share threads.
  case ownThread
  /// A dispatch queue of the C API.
  case dispatchQueue(dispatch_queue_t)
  case queue(DispatchQueue)
  /// The callback context that the function returns for a delivery function.
  case other((@escaping @Sendable () -> Void) -> any CallbackContext)
}
