import CDispatch
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioQueue

/// The context in which an app's callbacks run.
@Suite struct CallbackContextTests {
  private final class Calls: Sendable {
    let count = Atomic<Int>(0)
  }

  @Test("one block waits on a dispatch queue, however many notices come")
  func wakesMeet() {
    let queue = DispatchQueue(label: "app")
    let calls = Calls()
    let context = makeCallbackContext(.queue(queue)) {
      calls.count.add(1, ordering: .sequentiallyConsistent)
    }
    queue.suspend()
    for _ in 0..<1000 { context.wake() }
    queue.resume()
    queue.sync {}
    expectEqual(calls.count.load(ordering: .sequentiallyConsistent), 1)
    // A wake-up during or after a call is not lost.
    context.wake()
    queue.sync {}
    expectEqual(calls.count.load(ordering: .sequentiallyConsistent), 2)
    context.invalidate()
    context.wake()
    queue.sync {}
    expectEqual(calls.count.load(ordering: .sequentiallyConsistent), 2)
  }

  @Test("a notice that comes while the app is called gets a call of its own")
  func wakesDuringACall() {
    let queue = DispatchQueue(label: "app")
    let calls = Calls()
    let (isInside, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let context = makeCallbackContext(.queue(queue)) {
      if calls.count.add(1, ordering: .sequentiallyConsistent).newValue > 1 { return }
      isInside.signal()
      mayGo.wait()
    }
    context.wake()
    isInside.wait()
    context.wake()
    mayGo.signal()
    queue.sync {}
    expectEqual(calls.count.load(ordering: .sequentiallyConsistent), 2)
  }

  @Test("the same on a queue of the C interface")
  func wakesMeetOnACQueue() {
    let queue = CDispatch.dispatch_queue_create("app", nil)
    let calls = Calls()
    let context = makeCallbackContext(.dispatchQueue(queue)) {
      calls.count.add(1, ordering: .sequentiallyConsistent)
    }
    CDispatch.dispatch_suspend(unsafeBitCast(queue, to: CDispatch.dispatch_object_t.self))
    for _ in 0..<1000 { context.wake() }
    CDispatch.dispatch_resume(unsafeBitCast(queue, to: CDispatch.dispatch_object_t.self))
    waitUntil { calls.count.load(ordering: .sequentiallyConsistent) > 0 }
    context.invalidate()
    expectEqual(calls.count.load(ordering: .sequentiallyConsistent), 1)
  }
}
