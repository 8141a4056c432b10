package import CDispatch
import CLibdispatch
package import CoreFoundation
package import Dispatch
import Server
import System

/// The place where callbacks run, chosen by the app: a thread of the queue, a run loop or a
/// dispatch queue.
@safe package enum CallbackPlace {
  /// A thread that belongs to the queue.
  case ownThread
  /// A run loop in the given mode; nil for the common modes.
  case runLoop(CFRunLoop, mode: CFString?)
  /// A dispatch queue of the C API.
  case dispatchQueue(dispatch_queue_t)
  case queue(DispatchQueue)
}

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

/// Returns the callback context for `place`, which calls `deliver`.
package func makeCallbackContext(_ place: CallbackPlace, _ deliver: @escaping @Sendable () -> Void)
  -> any CallbackContext
{
  switch place {
  case .ownThread: ThreadContext(deliver)
  case .runLoop(let loop, let mode): RunLoopContext(loop, mode, deliver)
  case .queue(let queue): DispatchContext(queue, deliver)
  case .dispatchQueue(let queue): unsafe DispatchContext(queue, deliver)
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

  init(_ deliver: @escaping @Sendable () -> Void) { self.deliver = deliver }

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

/// A run loop source that delivers callbacks.
private final class RunLoopContext: CallbackContext, @unchecked Sendable {
  private let loop: CFRunLoop
  private let source: CFRunLoopSource

  private final class Target {
    let deliver: @Sendable () -> Void
    init(_ deliver: @escaping @Sendable () -> Void) { self.deliver = deliver }
  }

  init(_ loop: CFRunLoop, _ mode: CFString?, _ deliver: @escaping @Sendable () -> Void) {
    self.loop = loop
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.info = Unmanaged.passRetained(Target(deliver)).toOpaque()
    unsafe context.release = { info in
      if let info = unsafe info { unsafe Unmanaged<Target>.fromOpaque(info).release() }
    }
    unsafe context.perform = { info in
      if let info = unsafe info {
        unsafe Unmanaged<Target>.fromOpaque(info).takeUnretainedValue().deliver()
      }
    }
    unsafe source = CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(loop, source, mode ?? kCFRunLoopCommonModes)
  }

  var isCurrent: Bool { CFRunLoopGetCurrent() === loop }

  var isServed: Bool { CFRunLoopCopyCurrentMode(loop) != nil }

  func wake() {
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  func invalidate() { CFRunLoopSourceInvalidate(source) }
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
    // A private serial queue that targets the app's queue. It keeps the app's queue alive and keeps
    // the callbacks in order.
    let own = unsafe CDispatch.dispatch_queue_create_with_target("cuejack.callbacks", nil, queue)
    let names = unsafe [
      UInt(bitPattern: CDispatch.dispatch_queue_get_label(own)),
      UInt(bitPattern: CDispatch.dispatch_queue_get_label(queue)),
    ]
    let place = UInt(bitPattern: own)
    // The address of the current queue's label identifies the queue. Queues without a label share
    // "".
    isOn = {
      let label = unsafe CDispatch.dispatch_queue_get_label(nil)
      if unsafe label.pointee == 0 { return false }
      return names.contains(UInt(bitPattern: label))
    }
    submit = { body in
      if let own = unsafe dispatch_queue_t(bitPattern: place) {
        unsafe CDispatch.dispatch_async(own, body)
      }
    }
    cleanUp = {
      if let own = unsafe dispatch_queue_t(bitPattern: place) {
        unsafe cue_dispatch_queue_release(own)
      }
    }
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
