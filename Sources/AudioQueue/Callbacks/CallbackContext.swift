import CDispatch
import Dispatch
import Synchronization
import System

/// Runs a delivery function on one thread, run loop or dispatch queue.
package protocol CallbackContext: AnyObject, Sendable {
  /// True on the callback thread, where callbacks may be made directly.
  var isCurrent: Bool { get }
  /// False if the callbacks belong on a run loop that is not running at the moment.
  var isServed: Bool { get }
  /// Schedules the delivery function on the callback thread. Call on any thread that is not
  /// real-time.
  func wake()
  /// Prevents further deliveries. One that has begun continues.
  func invalidate()
}

extension CallbackContext {
  var isServed: Bool { true }
}

/// Returns the callback context for `executor`, which calls `deliver`.
package func makeCallbackContext(
  _ executor: CallbackExecutor, _ deliver: @escaping @Sendable () -> Void
)
  -> any CallbackContext
{
  switch executor {
  case .ownThread: ThreadContext.isRoom ? ThreadContext(deliver) : SharedThreadContext(deliver)
  case .queue(let queue): DispatchContext(queue, deliver)
  case .dispatchQueue(let queue): unsafe DispatchContext(queue, deliver)
  case .other(let make): make(deliver)
  }
}

/// A thread that belongs to the queue and starts with the first callback.
private final class ThreadContext: CallbackContext {
  private struct State {
    var hasThread = false
    var isAwake = false
    var isOver = false
  }
  private let state = Monitor(State())
  private let deliver: @Sendable () -> Void

  /// Number of contexts of this kind that exist.
  private static let count = Atomic<Int>(0)
  /// True if another queue may have a thread of its own.
  static var isRoom: Bool { count.load(ordering: .relaxed) < 16 }

  init(_ deliver: @escaping @Sendable () -> Void) {
    self.deliver = deliver
    Self.count.add(1, ordering: .relaxed)
  }

  deinit { Self.count.subtract(1, ordering: .relaxed) }

  /// Always false: a call from inside a callback is recognized by its thread id.
  var isCurrent: Bool { false }

  func wake() {
    let isFirst = state.change { state in
      state.isAwake = true
      defer { state.hasThread = true }
      return !state.hasThread && !state.isOver
    }
    guard isFirst else { return }
    startThread(named: "cuejack-callback") { [state, deliver] in
      while true {
        let isOver = state.wait { state -> Bool? in
          guard state.isAwake || state.isOver else { return nil }
          state.isAwake = false
          return state.isOver
        }
        if isOver { return }
        deliver()
      }
    }
  }

  func invalidate() { state.change { $0.isOver = true } }
}

/// A dispatch queue that runs callbacks.
private final class DispatchContext: CallbackContext {
  private struct State {
    /// True while a block is queued. The block also delivers notifications that arrive before it
    /// runs.
    var isPending = false
    var isOver = false
  }
  private let submit: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let isOn: @Sendable () -> Bool
  private let deliver: @Sendable () -> Void
  private let cleanUp: @Sendable () -> Void
  private let state = Monitor(State())

  init(_ queue: DispatchQueue, _ deliver: @escaping @Sendable () -> Void) {
    let key = DispatchSpecificKey<Void>()
    queue.setSpecific(key: key, value: ())
    isOn = { DispatchQueue.getSpecific(key: key) != nil }
    submit = { queue.async(execute: $0) }
    cleanUp = { queue.setSpecific(key: key, value: nil) }
    self.deliver = deliver
  }

  /// Creates a context for a queue of the C API, which has no Swift object.
  init(_ queue: dispatch_queue_t, _ deliver: @escaping @Sendable () -> Void) {
    let own = unsafe SerialQueue(targeting: queue)
    let names = unsafe [own.label, UInt(bitPattern: CDispatch.dispatch_queue_get_label(queue))]
    // The address of the current queue's label identifies the queue. Queues without a label share
    // "".
    isOn = {
      let label = unsafe CDispatch.dispatch_queue_get_label(nil)
      if unsafe label.pointee == 0 { return false }
      return names.contains(UInt(bitPattern: label))
    }
    submit = { own.async($0) }
    cleanUp = {}
    self.deliver = deliver
  }

  deinit { cleanUp() }

  var isCurrent: Bool { isOn() }

  func wake() {
    let isNeeded = state.change { state in
      defer { state.isPending = true }
      return !state.isPending && !state.isOver
    }
    guard isNeeded else { return }
    submit { [state, deliver] in
      let isOver = state.change { state in
        state.isPending = false
        return state.isOver
      }
      if !isOver { deliver() }
    }
  }

  func invalidate() { state.change { $0.isOver = true } }
}
