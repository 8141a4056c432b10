package import CDispatch
import CLibdispatch
import Dispatch

/// A private serial queue that targets an app's queue of the C API, which has no Swift object. It keeps
/// the app's queue alive and runs blocks in order. Any thread.
package final class SerialQueue: Sendable {
  private let address: UInt

  package init(targeting queue: dispatch_queue_t) {
    address = unsafe UInt(
      bitPattern: CDispatch.dispatch_queue_create_with_target("cuejack.callbacks", nil, queue))
  }

  deinit {
    if let queue = unsafe dispatch_queue_t(bitPattern: address) {
      unsafe cue_dispatch_queue_release(queue)
    }
  }

  /// Address of the queue's label.
  var label: UInt {
    guard let queue = unsafe dispatch_queue_t(bitPattern: address) else { return 0 }
    return unsafe UInt(bitPattern: CDispatch.dispatch_queue_get_label(queue))
  }

  package func async(_ body: @escaping @Sendable () -> Void) {
    if let queue = unsafe dispatch_queue_t(bitPattern: address) {
      unsafe CDispatch.dispatch_async(queue, body)
    }
  }
}
