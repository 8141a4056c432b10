import Glibc
import Logging
import System

// Callbacks to the app: delivering notifications, and waiting for callbacks in progress.

extension QueueCore {
  /// Delivers the pending notifications to the app, one after another, on the calling thread.
  ///
  /// Does nothing while another call of this function is in progress: callbacks never nest.
  func deliver(onlyBuffers: Bool = false) {
    var budget = 0
    var next = state.change { state in
      budget = state.notices.count
      return state.takeNotice(onlyBuffers: onlyBuffers)
    }
    var hasMore = false
    while let notice = next {
      call(notice)
      budget -= 1
      next = state.change { state in
        state.delivering = nil
        if budget > 0 { return state.takeNotice(onlyBuffers: onlyBuffers) }
        hasMore = Part.nextNotice(state, onlyBuffers: false) != nil && state.disposal == .none
        return nil
      }
    }
    if hasMore { context.wake() }
  }

  /// Delivers the next notification to the app on the calling thread.
  ///
  /// - Returns: False if there is none, or another delivery is in progress.
  func deliverNext() -> Bool {
    guard let notice = state.change({ $0.takeNotice(onlyBuffers: false) }) else { return false }
    call(notice)
    state.change { $0.delivering = nil }
    return true
  }

  /// Waits until the app has received every buffer that is being handed back. Inside a callback it
  /// does not wait: the remaining buffers follow after that callback.
  ///
  /// - Parameter isDisposing: True to give up early on a run loop that is not running.
  func handBack(isDisposing: Bool = false) {
    defer { state.change { $0.resets -= 1 } }
    if state.read({ $0.isInCallback }) {
      context.wake()
      return
    }
    if context.isCurrent || state.read({ $0.part.isOffline }) { deliver(onlyBuffers: true) }
    context.wake()
    func isDone(_ state: inout State) -> Void? {
      // A disposed queue makes no more callbacks.
      if state.disposal != .none { return () }
      let isCalling = state.delivering?.notice.isBuffer ?? false
      return isCalling || state.notices.contains { $0.isBuffer } ? nil : ()
    }
    if state.wait(seconds: shortPatience, for: isDone) != nil { return }
    let isWorthWaiting = !isDisposing || context.isServed
    if isWorthWaiting, state.wait(seconds: patience - shortPatience, for: isDone) != nil {
      return
    }
    // Either a callback waits for a lock that the caller holds, or the app's run loop is not
    // running. No callback may follow this return, so the buffers go back without one.
    state.change { state in
      for notice in state.notices where notice.isBuffer { state.willDeliver(notice) }
      state.notices.removeAll { $0.isBuffer }
    }
    log.warning("buffers were handed back without a callback: the app's callback did not return")
  }

  /// Waits until no other thread is inside a callback. No new callback begins: the queue is
  /// disposed of.
  ///
  /// A callback may wait for a lock that the caller of AudioQueueDispose holds, so the wait is
  /// limited.
  ///
  /// - Parameter isPatient: False to wait only as long as a callback needs that does not block.
  func awaitCallback(isPatient: Bool) {
    func isOver(_ state: inout State) -> Void? {
      state.delivering == nil || state.isInCallback ? () : nil
    }
    if state.wait(seconds: shortPatience, for: isOver) != nil || !isPatient { return }
    if state.wait(seconds: patience - shortPatience, for: isOver) != nil { return }
    log.warning("AudioQueueDispose waits for a callback that has not returned for one second")
    if state.wait(seconds: longPatience - patience, for: isOver) != nil { return }
    log.error(
      """
      AudioQueueDispose returns while a callback still runs: it has not returned for five seconds. It may \
      wait for a lock that the caller of AudioQueueDispose holds
      """)
  }

  /// Seconds to wait for an app callback that may itself be waiting for this call.
  var patience: Double { 1 }
  /// Seconds to wait for a callback if the caller did not ask to wait.
  var shortPatience: Double { 0.1 }
  /// Seconds to wait for a callback that would continue to use memory the caller is about to free.
  var longPatience: Double { 5 }
}
